//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// RMSNorm and SiLU.
//
// Group: Norm and activation
// One kernel: FlashInfer fused_rmsnorm_silu; cuDNN graph RMSNorm and SiLU
// Data: --arg 0=random:37x4096
//
//===----------------------------------------------------------------------===//

func.func @rms_norm_silu(%x: tensor<?x4096xbf16>, %w: tensor<4096xbf16>)
    -> tensor<?x4096xbf16> {
  %n = norm.rms_norm %x scale(%w) axes = [1] eps = 1.0e-6
      : tensor<?x4096xbf16>, tensor<4096xbf16> -> tensor<?x4096xbf16>
  %y = norm.silu %n : tensor<?x4096xbf16>
  return %y : tensor<?x4096xbf16>
}
