//===- fuse-casts.mlir - Conversions on both sides of a norm --------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-opt %s --norm-generalize --norm-fuse | FileCheck %s

// What is streamed in the end is narrower than what is reduced: the order is the
// reduction's own, and keeps nothing from being fused after it.
// CHECK-LABEL: @dequantize_norm_quantize(
func.func @dequantize_norm_quantize(%x: tensor<?x512xi8>, %s: tensor<512xf32>)
    -> tensor<?x512xf8E4M3FN> {
  // CHECK: norm.generic (row, col)
  // CHECK: tensor<?x512xi8>
  // CHECK: order = #norm.order<leaf = 4, lanes = 1024>
  // CHECK: arith.sitofp
  // CHECK: norm.reduce add
  // CHECK: arith.truncf
  // CHECK-NEXT: norm.yield %{{.*}} : f8E4M3FN
  // CHECK-NOT: norm.generic
  %v = arith.sitofp %x : tensor<?x512xi8> to tensor<?x512xf32>
  %n = norm.rms_norm %v scale(%s) axes = [1] eps = 1.0e-6
      : tensor<?x512xf32>, tensor<512xf32> -> tensor<?x512xf32>
  %q = arith.truncf %n : tensor<?x512xf32> to tensor<?x512xf8E4M3FN>
  return %q : tensor<?x512xf8E4M3FN>
}
