//===- read-whole.mlir - A result with open strides that is read too ------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// The norm writes its result split into groups, in a view of the place with open
// strides that it has; the next program reads that place whole.

// RUN: norm-run %s --device=host --arg 0=random:2x6x4x5:seed=1 --place out1:strides=500x50x7x1 --check | FileCheck %s
// RUN: norm-run %s --device=emulated --arg 0=random:2x6x4x5:seed=1 --place out1:strides=500x50x7x1 --check --bits=host | FileCheck %s

// CHECK: ok    result 0 reference
// CHECK: ok    result 1 reference
// CHECK-NOT: WRONG

func.func @main(%x: tensor<2x6x4x5xf32>)
    -> (tensor<2x6x4x5xbf16>, tensor<2x6x4x5xf32> {norm.layout = strided<[?, ?, ?, 1]>}) {
  %y = norm.group_norm %x groups = 3 channel_axis = 1 eps = 1.0e-5 : tensor<2x6x4x5xf32> -> tensor<2x6x4x5xf32>
  %z = norm.softmax %y axes = [2] : tensor<2x6x4x5xf32> -> tensor<2x6x4x5xbf16>
  return %z, %y : tensor<2x6x4x5xbf16>, tensor<2x6x4x5xf32>
}
