//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// RMSNorm of x * silu(gate) by groups of neighbouring columns.
//
// Group: Gating
// One kernel: Mamba 2 RMSNormGated with group_size; vLLM Mixer2RMSNormGated
//   with n_groups
// Data: --arg 0=random:19x8x512
//
//===----------------------------------------------------------------------===//

func.func @mamba2_gated_group_rms_norm(%x: tensor<?x8x512xbf16>,
                                       %gate: tensor<?x8x512xbf16>,
                                       %w: tensor<8x512xf32>)
    -> tensor<?x8x512xbf16> {
  %f = arith.extf %x : tensor<?x8x512xbf16> to tensor<?x8x512xf32>
  %g = arith.extf %gate : tensor<?x8x512xbf16> to tensor<?x8x512xf32>
  %s = norm.silu %g : tensor<?x8x512xf32>
  %p = arith.mulf %f, %s : tensor<?x8x512xf32>
  %y = norm.rms_norm %p scale(%w) axes = [2] eps = 1.0e-6
      : tensor<?x8x512xf32>, tensor<8x512xf32> -> tensor<?x8x512xbf16>
  return %y : tensor<?x8x512xbf16>
}
