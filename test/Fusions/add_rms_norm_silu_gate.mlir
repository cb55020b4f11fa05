//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Residual sum, and its RMSNorm times SiLU of a gate; the sum is returned.
//
// Group: Gating
// One kernel: flash-linear-attention FusedRMSNormGated with residual and
//   prenorm
// Data: --arg 0=random:37x4096
//
//===----------------------------------------------------------------------===//

func.func @add_rms_norm_silu_gate(%x: tensor<?x4096xbf16>,
                                  %residual: tensor<?x4096xbf16>,
                                  %gate: tensor<?x4096xbf16>,
                                  %w: tensor<4096xbf16>)
    -> (tensor<?x4096xbf16>, tensor<?x4096xbf16>) {
  %sum = arith.addf %x, %residual : tensor<?x4096xbf16>
  %n = norm.rms_norm %sum scale(%w) axes = [1] eps = 1.0e-6
      : tensor<?x4096xbf16>, tensor<4096xbf16> -> tensor<?x4096xbf16>
  %s = norm.silu %gate : tensor<?x4096xbf16>
  %y = arith.mulf %n, %s : tensor<?x4096xbf16>
  return %y, %sum : tensor<?x4096xbf16>, tensor<?x4096xbf16>
}
