//===- host-across.mlir - Rows across memory on the host ------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-opt %s --norm-schedule=target=host --norm-tile --convert-norm-tile-to-host --split-input-file | FileCheck %s

// A vector of neighbouring rows; the states of its 32 lanes, and those of the
// slices, are in memory.

// CHECK-LABEL: func.func @softmax_0(
// CHECK:         %[[LANES:.*]] = memref.alloca() {alignment = 64 : i64} : memref<512xf32>
// CHECK:         %[[SLICES:.*]] = memref.alloca() {alignment = 64 : i64} : memref<16xf32>
// CHECK:         scf.for
// CHECK:           scf.for
// CHECK:             vector.store %{{.*}}, %[[LANES]]
// CHECK:             scf.for
// CHECK-COUNT-4:       llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr -> vector<16xf32>
// CHECK:               vector.load %[[LANES]]
// CHECK:               vector.store %{{.*}}, %[[LANES]]
// CHECK:             vector.store %{{.*}}, %[[SLICES]]
// CHECK:           vector.load %[[SLICES]]
// CHECK:           scf.for
// CHECK:             scf.for
// CHECK:               llvm.store %{{.*}} {alignment = 4 : i64} : vector<16xf32>, !llvm.ptr
// CHECK-LABEL: func.func @softmax(
// CHECK:         variants = [#norm_tile.variant<symbol = "softmax_0", alignment = 1, block = 1, rows_per_cta = 16, shared = 0>]
func.func @softmax(%x: memref<64x64xf32>, %y: memref<64x64xf32>) {
  norm.generic (col, row) ins(%a = %x[col, row] : memref<64x64xf32>)
      outs(%o = %y[col, row] : memref<64x64xf32>) {
    %m = norm.reduce max %a over [col] : f32
    %d = arith.subf %a, %m : f32
    norm.yield %d : f32
  }
  return
}

// -----

// A leaf that the columns end in is checked, column by column.

// CHECK-LABEL: func.func @tail_0(
// CHECK:         scf.for
// CHECK:         scf.if
// CHECK-COUNT-4:   scf.if
// CHECK-LABEL: func.func @tail(
func.func @tail(%x: memref<66x16xf32>, %y: memref<66x16xf32>) {
  norm.generic (col, row) ins(%a = %x[col, row] : memref<66x16xf32>)
      outs(%o = %y[col, row] : memref<66x16xf32>) {
    %m = norm.reduce max %a over [col] : f32
    %d = arith.subf %a, %m : f32
    norm.yield %d : f32
  }
  return
}

// -----

// Rows that can be any number, one at a time.

// CHECK-LABEL: func.func @dynamic_0(
// CHECK:         llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr -> vector<1xf32>
// CHECK-LABEL: func.func @dynamic(
// CHECK:         rows_per_cta = 1,
func.func @dynamic(%x: memref<?x?xf32>, %y: memref<?x?xf32>) {
  norm.generic (col, row) ins(%a = %x[col, row] : memref<?x?xf32>)
      outs(%o = %y[col, row] : memref<?x?xf32>) {
    %m = norm.reduce max %a over [col] : f32
    %d = arith.subf %a, %m : f32
    norm.yield %d : f32
  }
  return
}

// -----

// Whole groups of ten columns; a row's value is stored once.

// CHECK-LABEL: func.func @inner_0(
// CHECK:         llvm.load %{{.*}} {alignment = 2 : i64} : !llvm.ptr -> vector<10xf16>
// CHECK:         vector.from_elements
// CHECK:         llvm.store %{{.*}} : f32, !llvm.ptr
// CHECK-NOT:     llvm.store
// CHECK-LABEL: func.func @inner(
// CHECK:         rows_per_cta = 10,
func.func @inner(%x: memref<2x64x4x10xf16>, %r: memref<2x4xf32>) {
  norm.generic (n, h, g, c) ins(%a = %x[n, h, g, c] : memref<2x64x4x10xf16>)
      outs(%o = %r[n, g] : memref<2x4xf32>) {
    %f = arith.extf %a : f16 to f32
    %s = norm.reduce add %f over [h, c] : f32
    norm.yield %s : f32
  }
  return
}
