//===- fuse-layouts.mlir - Programs on memory with gaps -------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-opt %s --norm-generalize --norm-fuse --split-input-file | FileCheck %s

// Heads that lie apart aren't one row: the row is read in two dims, and so is
// what else has its columns.
// CHECK-LABEL: func.func @read
// CHECK-SAME: (%[[X:.*]]: tensor<4x3x8x64xbf16> {norm.layout = strided<[?, ?, ?, 1]>}, %[[W:.*]]: tensor<512xbf16>)
// CHECK: %[[WE:.*]] = tensor.expand_shape %[[W]] {{\[}}[0, 1]] output_shape [8, 64]
// CHECK: %[[Y:.*]] = norm.generic (row, row1, col, col1)
// CHECK-NEXT: ins(%{{.*}} = %[[X]][row, row1, col, col1] : tensor<4x3x8x64xbf16>, %{{.*}} = %[[WE]][col, col1] : tensor<8x64xbf16>)
// CHECK: norm.reduce add %{{.*}} over [col, col1] : f32
// CHECK: %[[C:.*]] = tensor.collapse_shape %[[Y]] {{\[}}[0, 1], [2, 3]]
// CHECK: return %[[C]]
func.func @read(%x: tensor<4x3x8x64xbf16> {norm.layout = strided<[?, ?, ?, 1]>},
                %w: tensor<512xbf16>) -> tensor<12x512xbf16> {
  %c = tensor.collapse_shape %x [[0, 1], [2, 3]] : tensor<4x3x8x64xbf16> into tensor<12x512xbf16>
  %y = norm.rms_norm %c scale(%w) axes = [1] eps = 1.0e-6
      : tensor<12x512xbf16>, tensor<512xbf16> -> tensor<12x512xbf16>
  return %y : tensor<12x512xbf16>
}

// -----

// Heads that lie side by side are.
// CHECK-LABEL: func.func @adjacent
// CHECK: %[[C:.*]] = tensor.collapse_shape
// CHECK: norm.generic (row, row1, col)
// CHECK-NEXT: ins(%{{.*}} = %[[C]][row, row1, col] : tensor<4x3x512xbf16>)
func.func @adjacent(%x: tensor<4x3x8x64xbf16> {norm.layout = strided<[?, ?, 64, 1]>})
    -> tensor<4x3x512xbf16> {
  %c = tensor.collapse_shape %x [[0], [1], [2, 3]] : tensor<4x3x8x64xbf16> into tensor<4x3x512xbf16>
  %y = norm.softmax %c axes = [2] : tensor<4x3x512xbf16> -> tensor<4x3x512xbf16>
  return %y : tensor<4x3x512xbf16>
}

// -----

// The same for what is written.
// CHECK-LABEL: func.func @write
// CHECK-SAME: (%[[X:.*]]: tensor<12x512xbf16>)
// CHECK: %[[XE:.*]] = tensor.expand_shape %[[X]] {{\[}}[0], [1, 2]] output_shape [12, 8, 64]
// CHECK: %[[Y:.*]]:2 = norm.generic (row, col, col1)
// CHECK-NEXT: ins(%{{.*}} = %[[XE]][row, col, col1] : tensor<12x8x64xbf16>)
// CHECK: %[[C:.*]] = tensor.collapse_shape %[[Y]]#1
// CHECK: return %[[Y]]#0, %[[C]]
func.func @write(%x: tensor<12x512xbf16>)
    -> (tensor<12x8x64xbf16> {norm.layout = strided<[?, ?, 1]>}, tensor<12x512xbf16>) {
  %e = tensor.empty() : tensor<12x512xbf16>
  %d = tensor.empty() : tensor<12x512xbf16>
  %y:2 = norm.generic (row, col) ins(%a = %x[row, col] : tensor<12x512xbf16>)
      outs(%o = %e[row, col] : tensor<12x512xbf16>, %p = %d[row, col] : tensor<12x512xbf16>) {
    %n = arith.negf %a : bf16
    %f = arith.extf %a : bf16 to f32
    %m = norm.reduce max %f over [col] : f32
    %t = arith.truncf %m : f32 to bf16
    norm.yield %n, %t : bf16, bf16
  }
  %s = tensor.expand_shape %y#0 [[0], [1, 2]] output_shape [12, 8, 64] : tensor<12x512xbf16> into tensor<12x8x64xbf16>
  return %s, %y#1 : tensor<12x8x64xbf16>, tensor<12x512xbf16>
}

// -----

// Groups that are put together in another way are no matter of splitting dims.
// CHECK-LABEL: func.func @regrouped
// CHECK: tensor.collapse_shape
// CHECK: tensor.expand_shape
// CHECK: norm.generic (row, row1, col)
// CHECK-NEXT: ins(%{{.*}} : tensor<2x6x64xbf16>)
func.func @regrouped(%x: tensor<4x3x64xbf16> {norm.layout = strided<[?, ?, 1]>})
    -> tensor<2x6x64xbf16> {
  %c = tensor.collapse_shape %x [[0, 1], [2]] : tensor<4x3x64xbf16> into tensor<12x64xbf16>
  %s = tensor.expand_shape %c [[0, 1], [2]] output_shape [2, 6, 64] : tensor<12x64xbf16> into tensor<2x6x64xbf16>
  %y = norm.softmax %s axes = [2] : tensor<2x6x64xbf16> -> tensor<2x6x64xbf16>
  return %y : tensor<2x6x64xbf16>
}
