//===- host.mlir - Kernels as host functions ------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-opt %s --norm-schedule --norm-tile --convert-norm-tile-to-host --split-input-file | FileCheck %s

// Lanes are vectors; their states are in memory and are halved there, and those
// of one vector in registers. The row is read again.

// CHECK-LABEL: func.func @sum_0(
// CHECK-SAME:      %[[PARAMS:.*]]: !llvm.ptr, %[[BEGIN:.*]]: i64, %[[END:.*]]: i64)
// CHECK:         %[[SLOT:.*]] = llvm.getelementptr %[[PARAMS]][0] : (!llvm.ptr) -> !llvm.ptr, i64
// CHECK:         llvm.load %[[SLOT]] : !llvm.ptr -> !llvm.ptr
// CHECK:         %[[LANES:.*]] = memref.alloca() {alignment = 64 : i64} : memref<512xf32>
// CHECK:         scf.for
// CHECK:           scf.for
// CHECK:             scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}) -> (vector<8xf32>)
// CHECK:               llvm.load %{{.*}} {alignment = 2 : i64} : !llvm.ptr -> vector<64xbf16>
// CHECK:             vector.store %{{.*}}, %[[LANES]]
// CHECK-NOT:       scf.if
// CHECK-COUNT-6:   scf.for
// CHECK:           arith.addf %{{.*}} : vector<4xf32>
// CHECK:           arith.addf %{{.*}} : vector<2xf32>
// CHECK:           scf.for
// CHECK:             llvm.load %{{.*}} {alignment = 2 : i64} : !llvm.ptr -> vector<64xbf16>
// CHECK:             llvm.store %{{.*}} {alignment = 2 : i64} : vector<64xbf16>, !llvm.ptr
// CHECK:         return
// CHECK-LABEL: func.func @sum(
// CHECK:         variants = [#norm_tile.variant<symbol = "sum_0", alignment = 1, block = 1, rows_per_cta = 1, shared = 0>]
func.func @sum(%x: memref<?x4096xbf16, strided<[?, 1]>>, %y: memref<?x4096xbf16, strided<[?, 1]>>) {
  norm.generic (row, col)
      ins(%a = %x[row, col] : memref<?x4096xbf16, strided<[?, 1]>>)
      outs(%o = %y[row, col] : memref<?x4096xbf16, strided<[?, 1]>>) {
    %f = arith.extf %a : bf16 to f32
    %s = norm.reduce add %f over [col] : f32
    %d = arith.subf %f, %s : f32
    %t = arith.truncf %d : f32 to bf16
    norm.yield %t : bf16
  }
  return
}

// -----

// The columns after the last whole chunk go through a buffer, one by one, and
// what is beyond them is left out of the sum.

// CHECK-LABEL: func.func @tail_0(
// CHECK:         %[[COPY:.*]] = memref.alloca() {alignment = 64 : i64} : memref<64xbf16>
// CHECK:         scf.if
// CHECK:           scf.for
// CHECK:             %[[E:.*]] = llvm.load %{{.*}} {alignment = 2 : i64} : !llvm.ptr -> bf16
// CHECK:             memref.store %[[E]], %[[COPY]]
// CHECK:           vector.load %[[COPY]]
// CHECK:           arith.select %{{.*}} : vector<64xi1>, vector<64xf32>
func.func @tail(%x: memref<?x1001xbf16>, %r: memref<?xf32>) {
  norm.generic (row, col) ins(%a = %x[row, col] : memref<?x1001xbf16>) outs(%o = %r[row] : memref<?xf32>) {
    %f = arith.extf %a : bf16 to f32
    %s = norm.reduce add %f over [col] : f32
    norm.yield %s : f32
  }
  return
}

// -----

// Scalars come in slots of 8 bytes, and so do the columns where they are known
// at launch only.

// CHECK-LABEL: func.func @slots_0(
// CHECK-SAME:      %[[PARAMS:[^:]*]]: !llvm.ptr
// CHECK:         %[[S:.*]] = llvm.getelementptr %[[PARAMS]][0]
// CHECK-NEXT:    llvm.load %[[S]] : !llvm.ptr -> f32
// CHECK:         %[[ROWS:.*]] = llvm.getelementptr %[[PARAMS]][3]
// CHECK-NEXT:    llvm.load %[[ROWS]] : !llvm.ptr -> i64
// CHECK:         %[[COLUMNS:.*]] = llvm.getelementptr %[[PARAMS]][4]
// CHECK-NEXT:    llvm.load %[[COLUMNS]] : !llvm.ptr -> i64
func.func @slots(%x: memref<?x?xf32>, %s: f32) {
  norm.generic (row, col) ins(%a = %s : f32) outs(%o = %x[row, col] : memref<?x?xf32>) {
    %p = arith.mulf %o, %a : f32
    norm.yield %p : f32
  }
  return
}
