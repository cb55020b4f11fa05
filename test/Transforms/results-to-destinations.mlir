//===- results-to-destinations.mlir - Results become arguments ------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-opt %s --split-input-file --norm-results-to-destinations | FileCheck %s

// Rows of a rank-2 result may lie apart; the order of results is kept.
// CHECK-LABEL: func.func @two(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x64xf32>, %[[Y:[a-z0-9]+]]: memref<?x64xf32, strided<[?, 1]>>, %[[S:[a-z0-9]+]]: memref<?xf32>) {
// CHECK: %[[R:.*]]:2 = norm.generic
// CHECK: bufferization.materialize_in_destination %[[R]]#0 in restrict writable %[[Y]]
// CHECK: bufferization.materialize_in_destination %[[R]]#1 in restrict writable %[[S]]
// CHECK-NEXT: return{{$}}
func.func @two(%x: tensor<?x64xf32>) -> (tensor<?x64xf32>, tensor<?xf32> {some.attribute}) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x64xf32>
  %e = tensor.empty(%n) : tensor<?x64xf32>
  %s = tensor.empty(%n) : tensor<?xf32>
  %r:2 = norm.generic (row, col)
      ins(%a = %x[row, col] : tensor<?x64xf32>)
      outs(%b = %e[row, col] : tensor<?x64xf32>, %c = %s[row] : tensor<?xf32>) {
    %0 = norm.reduce add %a over [col] : f32
    norm.yield %a, %0 : f32, f32
  }
  return %r#0, %r#1 : tensor<?x64xf32>, tensor<?xf32>
}

// -----

// What no program owns is copied, each time.
// CHECK-LABEL: func.func @argument(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x?x8xf16>, %[[A:[a-z0-9]+]]: memref<2x?x8xf16>, %[[B:[a-z0-9]+]]: memref<2x?x8xf16>)
// CHECK: %[[N:.*]] = tensor.dim %[[X]], %{{.*}} : tensor<2x?x8xf16>
// CHECK: %[[E:.*]] = tensor.empty(%[[N]]) : tensor<2x?x8xf16>
// CHECK: %[[C:.*]] = norm.generic (row, row1, col)
// CHECK-NEXT: ins(%[[V:.*]] = %[[X]][row, row1, col] : tensor<2x?x8xf16>)
// CHECK-NEXT: outs(%{{.*}} = %[[E]][row, row1, col] : tensor<2x?x8xf16>)
// CHECK: norm.yield %[[V]] : f16
// CHECK: materialize_in_destination %[[C]] in restrict writable %[[A]]
// CHECK: %[[D:.*]] = norm.generic
// CHECK-NEXT: ins(%{{.*}} = %[[X]]
// CHECK: materialize_in_destination %[[D]] in restrict writable %[[B]]
func.func @argument(%x: tensor<2x?x8xf16>) -> (tensor<2x?x8xf16>, tensor<2x?x8xf16>) {
  return %x, %x : tensor<2x?x8xf16>, tensor<2x?x8xf16>
}

// -----

// An argument isn't written: where its content counts it's copied.
// CHECK-LABEL: func.func @accumulate(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x8xf32>, %[[G:[a-z0-9]+]]: tensor<4x8xf32>
// CHECK: %[[C:.*]] = norm.generic
// CHECK-NEXT: ins(%{{.*}} = %[[G]][row, col]
// CHECK: norm.generic
// CHECK-NEXT: ins(
// CHECK-NEXT: outs(%{{.*}} = %[[C]][row, col]
func.func @accumulate(%x: tensor<4x8xf32>, %g: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %r = norm.generic (row, col)
      ins(%a = %x[row, col] : tensor<4x8xf32>)
      outs(%b = %g[row, col] : tensor<4x8xf32>) {
    %0 = arith.addf %a, %b : f32
    norm.yield %0 : f32
  }
  return %r : tensor<4x8xf32>
}

// -----

// CHECK-LABEL: func.func @overwrite(
// CHECK: %[[E:.*]] = tensor.empty() : tensor<4x8xf32>
// CHECK: norm.generic
// CHECK-NEXT: ins(
// CHECK-NEXT: outs(%{{.*}} = %[[E]][row, col]
func.func @overwrite(%x: tensor<4x8xf32>, %g: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %r = norm.generic (row, col)
      ins(%a = %x[row, col] : tensor<4x8xf32>)
      outs(%b = %g[row, col] : tensor<4x8xf32>) {
    norm.yield %a : f32
  }
  return %r : tensor<4x8xf32>
}

// -----

// A result that is split into more dims is computed right in its destination.
// CHECK-LABEL: func.func @split(
// CHECK-SAME: %[[D:[a-z0-9]+]]: memref<8x4x32xf32>)
// CHECK: %[[C:.*]] = memref.collapse_shape %[[D]] {{\[}}[0], [1, 2]{{\]}} : memref<8x4x32xf32> into memref<8x128xf32>
// CHECK: %[[R:.*]] = norm.generic
// CHECK-NOT: tensor.expand_shape
// CHECK: materialize_in_destination %[[R]] in restrict writable %[[C]]
func.func @split(%x: tensor<8x128xf32>) -> tensor<8x4x32xf32> {
  %e = tensor.empty() : tensor<8x128xf32>
  %r = norm.generic (row, col)
      ins(%a = %x[row, col] : tensor<8x128xf32>)
      outs(%b = %e[row, col] : tensor<8x128xf32>) {
    norm.yield %a : f32
  }
  %s = tensor.expand_shape %r [[0], [1, 2]] output_shape [8, 4, 32] : tensor<8x128xf32> into tensor<8x4x32xf32>
  return %s : tensor<8x4x32xf32>
}

// -----

// So is one whose dims are merged at the end, whatever is dynamic.
// CHECK-LABEL: func.func @merged(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x4x16x?xf32>, %[[D:[a-z0-9]+]]: memref<?x64x?xf32>)
// CHECK-DAG: %[[N:.*]] = tensor.dim %[[X]], %c0
// CHECK-DAG: %[[W:.*]] = tensor.dim %[[X]], %c3
// CHECK: %[[E:.*]] = memref.expand_shape %[[D]] {{\[}}[0], [1, 2], [3]{{\]}} output_shape [%[[N]], 4, 16, %[[W]]] : memref<?x64x?xf32> into memref<?x4x16x?xf32>
// CHECK: tensor.empty
// CHECK: %[[R:.*]] = norm.generic
// CHECK: materialize_in_destination %[[R]] in restrict writable %[[E]]
func.func @merged(%x: tensor<?x4x16x?xf32>) -> tensor<?x64x?xf32> {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %n = tensor.dim %x, %c0 : tensor<?x4x16x?xf32>
  %w = tensor.dim %x, %c3 : tensor<?x4x16x?xf32>
  %e = tensor.empty(%n, %w) : tensor<?x4x16x?xf32>
  %r = norm.generic (row, row1, col, col1)
      ins(%a = %x[row, row1, col, col1] : tensor<?x4x16x?xf32>)
      outs(%b = %e[row, row1, col, col1] : tensor<?x4x16x?xf32>) {
    norm.yield %a : f32
  }
  %s = tensor.collapse_shape %r [[0], [1, 2], [3]] : tensor<?x4x16x?xf32> into tensor<?x64x?xf32>
  return %s : tensor<?x64x?xf32>
}

// -----

// A declared layout is that of the destination.
// CHECK-LABEL: func.func @declared(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x8x64xf32> {norm.layout = strided<[?, ?, 1]>}, %[[Y:[a-z0-9]+]]: memref<2x8x64xf32, strided<[?, 128, 1]>>, %[[Z:[a-z0-9]+]]: memref<2x512xf32, strided<[?, 1]>>) {
// CHECK: %[[E:.*]] = memref.expand_shape %[[Z]] {{.*}} into memref<2x8x64xf32, strided<[?, 64, 1]>>
// CHECK: %[[R:.*]]:2 = norm.generic
// CHECK-DAG: materialize_in_destination %[[R]]#0 in restrict writable %[[Y]]
// CHECK-DAG: materialize_in_destination %[[R]]#1 in restrict writable %[[E]]
func.func @declared(%x: tensor<2x8x64xf32> {norm.layout = strided<[?, ?, 1]>})
    -> (tensor<2x8x64xf32> {norm.layout = strided<[?, 128, 1]>},
        tensor<2x512xf32> {norm.layout = strided<[?, 1]>}) {
  %e = tensor.empty() : tensor<2x8x64xf32>
  %f = tensor.empty() : tensor<2x8x64xf32>
  %r:2 = norm.generic (row, row1, col)
      ins(%a = %x[row, row1, col] : tensor<2x8x64xf32>)
      outs(%b = %e[row, row1, col] : tensor<2x8x64xf32>,
           %c = %f[row, row1, col] : tensor<2x8x64xf32>) {
    norm.yield %a, %a : f32, f32
  }
  %s = tensor.collapse_shape %r#1 [[0], [1, 2]] : tensor<2x8x64xf32> into tensor<2x512xf32>
  return %r#0, %s : tensor<2x8x64xf32>, tensor<2x512xf32>
}
