//===- to-ptx.mlir - From tensors to PTX ----------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-opt %s --norm-to-ptx-pipeline=target=sm_80 | FileCheck %s --check-prefixes=CHECK,SM80
// RUN: norm-opt %s --norm-to-ptx-pipeline=target=sm_90 | FileCheck %s --check-prefixes=CHECK,SM90
// RUN: norm-opt %s --norm-to-ptx-pipeline=target=sm_100 | FileCheck %s --check-prefixes=CHECK,SM100

// CHECK: gpu.binary @kernels [#gpu.object<#nvvm.target<chip =
// SM80: .version 8.0
// SM80: .target sm_80
// SM90: .version 8.1
// SM90: .target sm_90
// SM100: .version 8.6
// SM100: .target sm_100
// CHECK: .visible .entry main_0(
// CHECK: sqrt.rn.f32
// CHECK: .visible .entry main_0_unaligned(
// CHECK-NOT: gpu.module
// CHECK: norm_tile.launch @main_0
func.func @main(%x: tensor<?x4096xbf16>, %r: tensor<?x4096xbf16>, %g: tensor<4096xf32>, %b: tensor<4096xf32>)
    -> (tensor<?x4096xbf16>, tensor<?x4096xbf16>) {
  %h = arith.addf %x, %r : tensor<?x4096xbf16>
  %y = norm.layer_norm %h scale(%g) bias(%b) axes = [1] eps = 1.0e-5
      : tensor<?x4096xbf16>, tensor<4096xf32>, tensor<4096xf32> -> tensor<?x4096xbf16>
  return %y, %h : tensor<?x4096xbf16>, tensor<?x4096xbf16>
}
