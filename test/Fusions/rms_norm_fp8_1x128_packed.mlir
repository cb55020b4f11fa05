//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// RMSNorm, and fp8 codes with an e8m0 scale for 128 neighbouring columns, four
// scales of a row side by side and then row by row.
//
// Group: Quantized results
// Several kernels: vLLM rms_norm and
//   per_token_group_quant_fp8_packed_for_deepgemm
// Data: --arg 0=random:37x4096
//
//===----------------------------------------------------------------------===//

func.func @rms_norm_fp8_1x128_packed(%x: tensor<?x4096xbf16>,
                                     %w: tensor<4096xbf16>)
    -> (tensor<?x4096xf8E4M3FN>, tensor<8x?x4xf8E8M0FNU>) {
  %y = norm.rms_norm %x scale(%w) axes = [1] eps = 1.0e-6
      : tensor<?x4096xbf16>, tensor<4096xbf16> -> tensor<?x4096xbf16>
  %q, %s = norm.quantize %y group = [1, 128]
      scale_layout = packed scale_rounding = ceil
      : tensor<?x4096xbf16>
        -> tensor<?x4096xf8E4M3FN>, tensor<8x?x4xf8E8M0FNU>
  return %q, %s : tensor<?x4096xf8E4M3FN>, tensor<8x?x4xf8E8M0FNU>
}
