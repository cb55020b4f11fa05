//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// RMSNorm times SiLU of a gate, and fp8 codes with a scale for 128 neighbouring
// columns.
//
// Group: Quantized results
// Several kernels: Qwen3-Next in vLLM, RMSNormGated and
//   per_token_group_quant_fp8
// Data: --arg 0=random:37x4096
//
//===----------------------------------------------------------------------===//

func.func @rms_norm_silu_gate_fp8_1x128(%x: tensor<?x4096xbf16>,
                                        %gate: tensor<?x4096xbf16>,
                                        %w: tensor<4096xbf16>)
    -> (tensor<?x4096xf8E4M3FN>, tensor<?x32xf32>) {
  %n = norm.rms_norm %x scale(%w) axes = [1] eps = 1.0e-6
      : tensor<?x4096xbf16>, tensor<4096xbf16> -> tensor<?x4096xbf16>
  %s = norm.silu %gate : tensor<?x4096xbf16>
  %y = arith.mulf %n, %s : tensor<?x4096xbf16>
  %q, %c = norm.quantize %y group = [1, 128]
      : tensor<?x4096xbf16>
        -> tensor<?x4096xf8E4M3FN>, tensor<?x32xf32>
  return %q, %c : tensor<?x4096xf8E4M3FN>, tensor<?x32xf32>
}
