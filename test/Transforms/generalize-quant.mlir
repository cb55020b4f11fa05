//===- generalize-quant.mlir - Quantization as programs -------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-opt %s --norm-generalize | FileCheck %s

// A column is a dim over which nothing but the largest magnitude is taken.
// CHECK-LABEL: func.func @rows
// CHECK-NOT: expand_shape
// CHECK: norm.generic (row, col)
// CHECK: name = "quantize"
// CHECK: norm.reduce maxnum %{{.*}} over [col] : f32
func.func @rows(%x: tensor<?x96xbf16>) -> (tensor<?x96xi8>, tensor<?x1xf32>) {
  %q, %s = norm.quantize %x group = [1, -1] : tensor<?x96xbf16> -> tensor<?x96xi8>, tensor<?x1xf32>
  return %q, %s : tensor<?x96xi8>, tensor<?x1xf32>
}

// A layout is a map of the dims of groups; amax is row-major beside it.
// CHECK-LABEL: func.func @packed
// CHECK: tensor.expand_shape %{{.*}} {{\[\[}}0], [1, 2, 3]] {{.*}} into tensor<?x2x4x32xbf16>
// CHECK: norm.generic (row, row1, row2, col)
// CHECK: outs({{.*}}[row, row1, row2, col] : tensor<?x2x4x32xf8E4M3FN>, {{.*}}[row1, row, row2] : tensor<2x?x4xf8E8M0FNU>, {{.*}}[row, row1, row2] : tensor<?x2x4xf32>)
// CHECK: tensor.collapse_shape %{{.*}} {{\[\[}}0], [1, 2]] : tensor<?x2x4xf32> into tensor<?x8xf32>
func.func @packed(%x: tensor<?x256xbf16>) -> (tensor<?x256xf8E4M3FN>, tensor<2x?x4xf8E8M0FNU>, tensor<?x8xf32>) {
  %q, %s, %a = norm.quantize %x stats(amax) group = [1, 32] scale_layout = packed : tensor<?x256xbf16> -> tensor<?x256xf8E4M3FN>, tensor<2x?x4xf8E8M0FNU>, tensor<?x8xf32>
  return %q, %s, %a : tensor<?x256xf8E4M3FN>, tensor<2x?x4xf8E8M0FNU>, tensor<?x8xf32>
}

// CHECK-LABEL: func.func @swizzled
// CHECK: norm.generic (row, row1, row2, row3, row4, col)
// CHECK: outs({{.*}}, {{.*}}[row, row3, row2, row1, row4] : tensor<2x2x32x4x4xf8E8M0FNU>)
func.func @swizzled(%x: tensor<256x256xbf16>) -> (tensor<256x256xf8E4M3FN>, tensor<2x2x32x4x4xf8E8M0FNU>) {
  %q, %s = norm.quantize %x group = [1, 32] scale_layout = swizzle_128x4 : tensor<256x256xbf16> -> tensor<256x256xf8E4M3FN>, tensor<2x2x32x4x4xf8E8M0FNU>
  return %q, %s : tensor<256x256xf8E4M3FN>, tensor<2x2x32x4x4xf8E8M0FNU>
}

// 128 rows and 4 groups have one tile: there is no dim for it.
// CHECK-LABEL: func.func @one_tile
// CHECK: norm.generic (row, row1, row2, col)
// CHECK: outs({{.*}}[row, row1, row2, col] : {{.*}}, {{.*}}[0, 0, row1, row, row2] : tensor<1x1x32x4x4xf8E8M0FNU>)
func.func @one_tile(%x: tensor<128x128xbf16>) -> (tensor<128x128xf8E4M3FN>, tensor<1x1x32x4x4xf8E8M0FNU>) {
  %q, %s = norm.quantize %x group = [1, 32] scale_layout = swizzle_128x4 : tensor<128x128xbf16> -> tensor<128x128xf8E4M3FN>, tensor<1x1x32x4x4xf8E8M0FNU>
  return %q, %s : tensor<128x128xf8E4M3FN>, tensor<1x1x32x4x4xf8E8M0FNU>
}

// The largest magnitude of a matrix is that of its rows'.
// CHECK-LABEL: func.func @matrix
// CHECK: norm.generic (row, col)
// CHECK: name = "amax"
// CHECK: norm.generic (col, col1)
// CHECK: name = "scales"
// CHECK: norm.generic (row, col)
// CHECK: name = "quantize"
// CHECK-NOT: norm.reduce
func.func @matrix(%x: tensor<?x256xbf16>) -> (tensor<?x256xf8E4M3FN>, tensor<1x1xf32>) {
  %q, %s = norm.quantize %x group = [-1, -1] : tensor<?x256xbf16> -> tensor<?x256xf8E4M3FN>, tensor<1x1xf32>
  return %q, %s : tensor<?x256xf8E4M3FN>, tensor<1x1xf32>
}

// A group of a few rows is one row.
// CHECK-LABEL: func.func @few_rows
// CHECK: norm.reduce maxnum %{{.*}} over [col, col1] : f32
// CHECK-NOT: norm.generic
func.func @few_rows(%x: tensor<?x4x256xbf16>) -> (tensor<?x4x256xf8E4M3FN>, tensor<?x1x1xf32>) {
  %q, %s = norm.quantize %x group = [1, -1, -1] : tensor<?x4x256xbf16> -> tensor<?x4x256xf8E4M3FN>, tensor<?x1x1xf32>
  return %q, %s : tensor<?x4x256xf8E4M3FN>, tensor<?x1x1xf32>
}

// Nothing is clamped but the inverse of a scale that is given.
// CHECK-LABEL: func.func @unsaturated
// CHECK: %[[INVERSE:.*]] = arith.divf
// CHECK-NEXT: %[[LARGEST:.*]] = arith.constant 3.40282347E+38 : f32
// CHECK-NEXT: %[[BOUND:.*]] = arith.minimumf %[[INVERSE]], %[[LARGEST]] : f32
// CHECK-NEXT: %[[SCALED:.*]] = arith.mulf %{{.*}}, %[[BOUND]] : f32
// CHECK-NEXT: arith.truncf %[[SCALED]] : f32 to f8E5M2
func.func @unsaturated(%x: tensor<?x256xbf16>, %s: tensor<f32>) -> tensor<?x256xf8E5M2> {
  %q = norm.quantize %x scale(%s) group = [-1, -1] saturate = false : tensor<?x256xbf16>, tensor<f32> -> tensor<?x256xf8E5M2>
  return %q : tensor<?x256xf8E5M2>
}

// CHECK-LABEL: func.func @nan_of_group
// CHECK: norm.reduce max %{{.*}} over [col] : f32
// CHECK-NOT: maxnumf
// CHECK-NOT: minnumf
// CHECK: arith.select
// CHECK: norm.yield
func.func @nan_of_group(%x: tensor<?x32xbf16>) -> (tensor<?x32xf8E4M3FN>, tensor<?x1xf8E8M0FNU>) {
  %q, %s = norm.quantize %x group = [1, 32] nan = group : tensor<?x32xbf16> -> tensor<?x32xf8E4M3FN>, tensor<?x1xf8E8M0FNU>
  return %q, %s : tensor<?x32xf8E4M3FN>, tensor<?x1xf8E8M0FNU>
}
