//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// RMSNorm of x * silu(gate), in f32.
//
// Group: Gating
// One kernel: Mamba 2 RMSNormGated; vLLM Mixer2RMSNormGated
// Data: --arg 0=random:37x4096
//
//===----------------------------------------------------------------------===//

func.func @mamba2_gated_rms_norm(%x: tensor<?x4096xbf16>,
                                 %gate: tensor<?x4096xbf16>,
                                 %w: tensor<4096xf32>)
    -> tensor<?x4096xbf16> {
  %f = arith.extf %x : tensor<?x4096xbf16> to tensor<?x4096xf32>
  %g = arith.extf %gate : tensor<?x4096xbf16> to tensor<?x4096xf32>
  %s = norm.silu %g : tensor<?x4096xf32>
  %p = arith.mulf %f, %s : tensor<?x4096xf32>
  %y = norm.rms_norm %p scale(%w) axes = [1] eps = 1.0e-6
      : tensor<?x4096xf32>, tensor<4096xf32> -> tensor<?x4096xbf16>
  return %y : tensor<?x4096xbf16>
}
