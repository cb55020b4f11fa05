//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// RMSNorm over the channels of NCTHW, and SiLU.
//
// Group: Channels
// One kernel: FlashInfer fused_rmsnorm_silu (channels last)
// Several kernels: Wan VAE RMS_norm and SiLU
// Data: --arg 0=random:2x96x5x13x17
//
//===----------------------------------------------------------------------===//

func.func @rms_norm_channels_silu(%x: tensor<2x96x5x13x17xbf16>,
                                  %w: tensor<96x1x1x1xbf16>)
    -> tensor<2x96x5x13x17xbf16> {
  %n = norm.rms_norm %x scale(%w) axes = [1] eps = 1.0e-6
      : tensor<2x96x5x13x17xbf16>, tensor<96x1x1x1xbf16>
            -> tensor<2x96x5x13x17xbf16>
  %y = norm.silu %n : tensor<2x96x5x13x17xbf16>
  return %y : tensor<2x96x5x13x17xbf16>
}
