//===- uniform-groups.mlir - Groups of a row that is one value ------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// What is quantized is a number for each row: all groups of a row are the same.

// RUN: norm-run %s --device=host --arg 0=random:3x64:seed=1 --check | FileCheck %s
// RUN: norm-run %s --device=emulated --arg 0=random:3x64:seed=1 --check --bits=host | FileCheck %s
// RUN: norm-run %s --entry=of_places --device=host --arg 0=random:16:seed=1 --arg 1=random:3x64:seed=2 --check | FileCheck %s
// RUN: norm-run %s --entry=of_places --device=emulated --arg 0=random:16:seed=1 --arg 1=random:3x64:seed=2 --check --bits=host | FileCheck %s

// CHECK: ok    result 0 reference
// CHECK: ok    result 1 reference
// CHECK-NOT: WRONG

func.func @main(%x: tensor<3x64xf32>) -> (tensor<3x64xf8E5M2>, tensor<3x4xf32>) {
  %e = tensor.empty() : tensor<3x64xf32>
  %s = norm.generic (row, col) ins(%a = %x[row, col] : tensor<3x64xf32>)
      outs(%o = %e[row, col] : tensor<3x64xf32>) {
    %t = norm.reduce add %a over [col] : f32
    norm.yield %t : f32
  }
  %q, %scale = norm.quantize %s group = [1, 16] : tensor<3x64xf32> -> tensor<3x64xf8E5M2>, tensor<3x4xf32>
  return %q, %scale : tensor<3x64xf8E5M2>, tensor<3x4xf32>
}

// The sums of groups are the same, since what is summed depends on the place in
// a group only.
func.func @of_places(%w: tensor<16xf32>, %x: tensor<3x64xf32>) -> (tensor<3x4x16xf32>, tensor<3x4xf32>) {
  %split = tensor.expand_shape %x [[0], [1, 2]] output_shape [3, 4, 16] : tensor<3x64xf32> into tensor<3x4x16xf32>
  %e = tensor.empty() : tensor<3x4x16xf32>
  %f = tensor.empty() : tensor<3x4xf32>
  %y, %m = norm.generic (row, col, col1)
      ins(%a = %split[row, col, col1] : tensor<3x4x16xf32>, %b = %w[col1] : tensor<16xf32>)
      outs(%o = %e[row, col, col1] : tensor<3x4x16xf32>, %p = %f[row, col] : tensor<3x4xf32>) {
    %s = norm.reduce add %a over [col, col1] : f32
    %g = norm.reduce max %b over [col1] : f32
    %t = arith.addf %s, %g : f32
    %u = arith.mulf %a, %t : f32
    norm.yield %u, %t : f32, f32
  }
  return %y, %m : tensor<3x4x16xf32>, tensor<3x4xf32>
}
