//===- bufferize.mlir - Programs on buffers -------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-opt %s --split-input-file --norm-bufferize | FileCheck %s

// The program writes right into the destination.
// CHECK-LABEL: func.func @destination(
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<?x64xf32, strided<[?, 1]>>, %[[W:[a-z0-9]+]]: memref<64xbf16>, %[[D:[a-z0-9]+]]: memref<?x64xf32, strided<[?, 1]>>) {
// CHECK-NOT: alloc
// CHECK-NOT: copy
// CHECK: norm.generic (row, col)
// CHECK-NEXT: ins(%{{.*}} = %[[X]][row, col] : memref<?x64xf32, strided<[?, 1]>>, %{{.*}} = %[[W]][col] : memref<64xbf16>)
// CHECK-NEXT: outs(%{{.*}} = %[[D]][row, col] : memref<?x64xf32, strided<[?, 1]>>)
// CHECK-NOT: copy
// CHECK: return
func.func @destination(%x: tensor<?x64xf32>, %w: tensor<64xbf16>, %d: memref<?x64xf32, strided<[?, 1]>>) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x64xf32>
  %e = tensor.empty(%n) : tensor<?x64xf32>
  %r = norm.generic (row, col)
      ins(%a = %x[row, col] : tensor<?x64xf32>, %g = %w[col] : tensor<64xbf16>)
      outs(%b = %e[row, col] : tensor<?x64xf32>) {
    %f = arith.extf %g : bf16 to f32
    %0 = arith.mulf %a, %f : f32
    norm.yield %0 : f32
  }
  bufferization.materialize_in_destination %r in restrict writable %d : (tensor<?x64xf32>, memref<?x64xf32, strided<[?, 1]>>) -> ()
  return
}

// -----

// A value between two programs is a temporary; one that is also a result is
// read back from its destination.
// CHECK-LABEL: func.func @chain(
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<?x?x8xf32>, %[[D:[a-z0-9]+]]: memref<?x?x8xf32>, %[[E:[a-z0-9]+]]: memref<?x?x8xf32>)
// CHECK: %[[T:.*]] = memref.alloc(%{{.*}}, %{{.*}}) {{.*}}: memref<?x?x8xf32>
// CHECK: norm.generic
// CHECK-NEXT: ins(
// CHECK-NEXT: outs(%{{.*}} = %[[T]][
// CHECK: norm.generic
// CHECK-NEXT: ins(%{{.*}} = %[[T]][
// CHECK-NEXT: outs(%{{.*}} = %[[D]][
// CHECK: norm.generic
// CHECK-NEXT: ins(%{{.*}} = %[[D]][
// CHECK-NEXT: outs(%{{.*}} = %[[E]][
// CHECK-NOT: memref.dealloc
func.func @chain(%x: tensor<?x?x8xf32>, %d: memref<?x?x8xf32>, %e: memref<?x?x8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = tensor.dim %x, %c0 : tensor<?x?x8xf32>
  %m = tensor.dim %x, %c1 : tensor<?x?x8xf32>
  %0 = tensor.empty(%n, %m) : tensor<?x?x8xf32>
  %1 = tensor.empty(%n, %m) : tensor<?x?x8xf32>
  %2 = tensor.empty(%n, %m) : tensor<?x?x8xf32>
  %r = norm.generic (row, row1, col) ins(%a = %x[row, row1, col] : tensor<?x?x8xf32>)
      outs(%b = %0[row, row1, col] : tensor<?x?x8xf32>) {
    norm.yield %a : f32
  }
  %s = norm.generic (row, row1, col) ins(%a = %r[row, row1, col] : tensor<?x?x8xf32>)
      outs(%b = %1[row, row1, col] : tensor<?x?x8xf32>) {
    norm.yield %a : f32
  }
  %t = norm.generic (row, row1, col) ins(%a = %s[row, row1, col] : tensor<?x?x8xf32>)
      outs(%b = %2[row, row1, col] : tensor<?x?x8xf32>) {
    norm.yield %a : f32
  }
  bufferization.materialize_in_destination %s in restrict writable %d : (tensor<?x?x8xf32>, memref<?x?x8xf32>) -> ()
  bufferization.materialize_in_destination %t in restrict writable %e : (tensor<?x?x8xf32>, memref<?x?x8xf32>) -> ()
  return
}
