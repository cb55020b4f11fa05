//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// RMSNorm times SiLU of a gate.
//
// Group: Gating
// One kernel: flash-linear-attention FusedRMSNormGated; Mamba 2 RMSNormGated
//   with norm_before_gate; vLLM RMSNormGated
// Data: --arg 0=random:37x4096
//
//===----------------------------------------------------------------------===//

func.func @rms_norm_silu_gate(%x: tensor<?x4096xbf16>,
                              %gate: tensor<?x4096xbf16>,
                              %w: tensor<4096xbf16>)
    -> tensor<?x4096xbf16> {
  %n = norm.rms_norm %x scale(%w) axes = [1] eps = 1.0e-6
      : tensor<?x4096xbf16>, tensor<4096xbf16> -> tensor<?x4096xbf16>
  %s = norm.silu %gate : tensor<?x4096xbf16>
  %y = arith.mulf %n, %s : tensor<?x4096xbf16>
  return %y : tensor<?x4096xbf16>
}
