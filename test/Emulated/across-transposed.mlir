//===- across-transposed.mlir - A fused operand in another layout --------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// The order has 8 inner columns, as the values lie that were normalized before
// programs were fused; the first operand lies otherwise. Neighbours are taken as
// the other operands have them.

// RUN: norm-run %s --device=host --check | FileCheck %s
// RUN: norm-run %s --device=emulated --check --bits=host | FileCheck %s

// CHECK: ok    result 0 reference: f32 5x7x9x8

func.func @f(%t: tensor<7x8x5x9xbf16>, %x: tensor<5x7x9x8xf32>) -> tensor<5x7x9x8xf32> {
  %e = tensor.empty() : tensor<5x7x9x8xbf16>
  %b = linalg.transpose ins(%t : tensor<7x8x5x9xbf16>) outs(%e : tensor<5x7x9x8xbf16>) permutation = [2, 0, 3, 1]
  %w = arith.extf %b : tensor<5x7x9x8xbf16> to tensor<5x7x9x8xf32>
  %v = arith.addf %w, %w : tensor<5x7x9x8xf32>
  %n = norm.rms_norm %v axes = [1, 3] eps = 1.0e-6 : tensor<5x7x9x8xf32> -> tensor<5x7x9x8xf32>
  %y = arith.subf %x, %n : tensor<5x7x9x8xf32>
  %z = norm.l2_normalize %y axes = [1, 3] eps = 1.0e-3 : tensor<5x7x9x8xf32> -> tensor<5x7x9x8xf32>
  return %z : tensor<5x7x9x8xf32>
}
