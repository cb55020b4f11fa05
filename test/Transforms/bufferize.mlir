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

// -----

// Layouts that arguments declare, also where others of the same type have none.
// CHECK-LABEL: func.func @layouts(
// CHECK-SAME: %[[Q:[a-z0-9]+]]: memref<?x?x8x64xbf16, strided<[?, ?, 64, 1]>>, %[[X:[a-z0-9]+]]: memref<?x?x8x64xbf16>, %[[D:[a-z0-9]+]]: memref<?x?x8x64xbf16, strided<[?, ?, ?, 1]>>) {
// CHECK: norm.generic
// CHECK-NEXT: ins(%{{.*}} = %[[Q]][row, row1, row2, col] : memref<?x?x8x64xbf16, strided<[?, ?, 64, 1]>>, %{{.*}} = %[[X]][row, row1, row2, col] : memref<?x?x8x64xbf16>)
// CHECK-NEXT: outs(%{{.*}} = %[[D]][row, row1, row2, col] : memref<?x?x8x64xbf16, strided<[?, ?, ?, 1]>>)
func.func @layouts(%q: tensor<?x?x8x64xbf16> {norm.layout = strided<[?, ?, 64, 1]>},
                   %x: tensor<?x?x8x64xbf16>,
                   %d: memref<?x?x8x64xbf16, strided<[?, ?, ?, 1]>>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = tensor.dim %x, %c0 : tensor<?x?x8x64xbf16>
  %m = tensor.dim %x, %c1 : tensor<?x?x8x64xbf16>
  %e = tensor.empty(%n, %m) : tensor<?x?x8x64xbf16>
  %r = norm.generic (row, row1, row2, col)
      ins(%a = %q[row, row1, row2, col] : tensor<?x?x8x64xbf16>,
          %b = %x[row, row1, row2, col] : tensor<?x?x8x64xbf16>)
      outs(%o = %e[row, row1, row2, col] : tensor<?x?x8x64xbf16>) {
    %0 = arith.addf %a, %b : bf16
    norm.yield %0 : bf16
  }
  bufferization.materialize_in_destination %r in restrict writable %d : (tensor<?x?x8x64xbf16>, memref<?x?x8x64xbf16, strided<[?, ?, ?, 1]>>) -> ()
  return
}

// -----

// Rows of a matrix that is taken as a whole lie close together; views of it
// and of a destination are no copies.
// CHECK-LABEL: func.func @views(
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<4x64xf32>, %[[D:[a-z0-9]+]]: memref<4x64xf32, strided<[?, 1]>>) {
// CHECK-DAG: %[[F:.*]] = memref.collapse_shape %[[X]] {{.*}} : memref<4x64xf32> into memref<256xf32>
// CHECK-DAG: %[[E:.*]] = memref.expand_shape %[[D]] {{.*}} : memref<4x64xf32, strided<[?, 1]>> into memref<4x8x8xf32, strided<[?, 8, 1]>>
// CHECK: norm.generic
// CHECK-NEXT: ins(%{{.*}} = %{{.*}}[row, row1, col] : memref<4x8x8xf32>)
// CHECK-NEXT: outs(%{{.*}} = %[[E]][row, row1, col] : memref<4x8x8xf32, strided<[?, 8, 1]>>)
// CHECK-NOT: copy
func.func @views(%x: tensor<4x64xf32>, %d: memref<4x64xf32, strided<[?, 1]>>) {
  %v = memref.expand_shape %d [[0], [1, 2]] output_shape [4, 8, 8] : memref<4x64xf32, strided<[?, 1]>> into memref<4x8x8xf32, strided<[?, 8, 1]>>
  %c = tensor.collapse_shape %x [[0, 1]] : tensor<4x64xf32> into tensor<256xf32>
  %s = tensor.expand_shape %c [[0, 1, 2]] output_shape [4, 8, 8] : tensor<256xf32> into tensor<4x8x8xf32>
  %e = tensor.empty() : tensor<4x8x8xf32>
  %r = norm.generic (row, row1, col)
      ins(%a = %s[row, row1, col] : tensor<4x8x8xf32>)
      outs(%o = %e[row, row1, col] : tensor<4x8x8xf32>) {
    norm.yield %a : f32
  }
  bufferization.materialize_in_destination %r in restrict writable %v : (tensor<4x8x8xf32>, memref<4x8x8xf32, strided<[?, 8, 1]>>) -> ()
  return
}
