//===- fuse-random.mlir - Random numbers in programs that become one ---------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-opt %s --norm-generalize --norm-fuse --split-input-file | FileCheck %s

// A transformer's residual connection: dropout, sum and norm are one program,
// in which the sum is a result as well.
// CHECK-LABEL: func.func @post_norm
// CHECK: norm.generic (row, col)
// CHECK: name = "dropout_add_layer_norm"
// CHECK: norm.random %{{.*}}, %{{.*}} at [row, col] : i32
// CHECK-NOT: norm.random
// CHECK: norm.reduce add
// CHECK-NOT: norm.generic
func.func @post_norm(%x: tensor<?x64xbf16>, %r: tensor<?x64xbf16>, %seed: i64, %offset: i64)
    -> (tensor<?x64xbf16>, tensor<?x64xbf16>) {
  %d = norm.dropout %x seed(%seed) offset(%offset) p = 0.1
      : tensor<?x64xbf16>, i64, i64 -> tensor<?x64xbf16>
  %s = arith.addf %d, %r : tensor<?x64xbf16>
  %y = norm.layer_norm %s axes = [1] eps = 1.0e-5 : tensor<?x64xbf16> -> tensor<?x64xbf16>
  return %y, %s : tensor<?x64xbf16>, tensor<?x64xbf16>
}

// -----

// Dims go by the names of the norm; their order among the positions stays.
// CHECK-LABEL: func.func @leading
// CHECK: norm.generic (col, row)
// CHECK: norm.random %{{.*}}, %{{.*}} at [col, row] : i32
// CHECK: norm.reduce add %{{.*}} over [col] : f32
// CHECK-NOT: norm.generic
func.func @leading(%x: tensor<?x64xf32>, %seed: i64, %offset: i64) -> tensor<?x64xf32> {
  %d = norm.dropout %x seed(%seed) offset(%offset) p = 0.5 : tensor<?x64xf32>, i64, i64 -> tensor<?x64xf32>
  %y = norm.layer_norm %d axes = [0] eps = 1.0e-5 : tensor<?x64xf32> -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// -----

// Of dims that are split the positions are row-major on the parts, also of the
// last one.
// CHECK-LABEL: func.func @split
// CHECK: norm.generic (row, row1, col, col1)
// CHECK: norm.random %{{.*}}, %{{.*}} at [row, row1, (col, col1)] : i32
// CHECK-NOT: norm.generic
// CHECK-LABEL: func.func @split_last
// CHECK: norm.generic (row, row1, col)
// CHECK: norm.random %{{.*}}, %{{.*}} at [row, (row1, col)] : i32
// CHECK-NOT: norm.generic
func.func @split(%x: tensor<?x12x5x7xf32>, %seed: i64, %offset: i64) -> tensor<?x12x35xf32> {
  %n = norm.layer_norm %x axes = [2, 3] eps = 1.0e-5 : tensor<?x12x5x7xf32> -> tensor<?x12x5x7xf32>
  %c = tensor.collapse_shape %n [[0], [1], [2, 3]] : tensor<?x12x5x7xf32> into tensor<?x12x35xf32>
  %y = norm.dropout %c seed(%seed) offset(%offset) p = 0.5 : tensor<?x12x35xf32>, i64, i64 -> tensor<?x12x35xf32>
  return %y : tensor<?x12x35xf32>
}
func.func @split_last(%x: tensor<?x64xf32>, %seed: i64, %offset: i64) -> tensor<?x4x16xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x64xf32>
  %d = norm.dropout %x seed(%seed) offset(%offset) p = 0.5 : tensor<?x64xf32>, i64, i64 -> tensor<?x64xf32>
  %e = tensor.expand_shape %d [[0], [1, 2]] output_shape [%n, 4, 16] : tensor<?x64xf32> into tensor<?x4x16xf32>
  %y = norm.rms_norm %e axes = [2] eps = 1.0e-5 : tensor<?x4x16xf32> -> tensor<?x4x16xf32>
  return %y : tensor<?x4x16xf32>
}

// -----

// The same numbers twice are drawn once: a mask of two tensors.
// CHECK-LABEL: func.func @same
// CHECK: norm.random
// CHECK-NOT: norm.random
// CHECK: return
func.func @same(%x: tensor<?x64xf32>, %z: tensor<?x64xf32>, %seed: i64, %offset: i64) -> tensor<?x64xf32> {
  %d = norm.dropout %x seed(%seed) offset(%offset) p = 0.5 : tensor<?x64xf32>, i64, i64 -> tensor<?x64xf32>
  %e = arith.mulf %d, %z : tensor<?x64xf32>
  %y = norm.dropout %e seed(%seed) offset(%offset) p = 0.5 : tensor<?x64xf32>, i64, i64 -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}
