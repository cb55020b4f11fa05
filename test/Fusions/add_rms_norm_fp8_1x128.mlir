//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Residual sum, RMSNorm, and fp8 codes with a scale for 128 neighbouring
// columns, the scales column by column as matrix kernels take them.
//
// Group: Quantized results
// One kernel: vLLM rms_norm_per_block_quant with a residual and
//   is_scale_transposed
// Data: --arg 0=random:37x4096
//
//===----------------------------------------------------------------------===//

func.func @add_rms_norm_fp8_1x128(%x: tensor<?x4096xbf16>,
                                  %residual: tensor<?x4096xbf16>,
                                  %w: tensor<4096xbf16>)
    -> (tensor<?x4096xf8E4M3FN>, tensor<32x?xf32>, tensor<?x4096xbf16>) {
  %sum = arith.addf %x, %residual : tensor<?x4096xbf16>
  %y = norm.rms_norm %sum scale(%w) axes = [1] eps = 1.0e-6
      : tensor<?x4096xbf16>, tensor<4096xbf16> -> tensor<?x4096xbf16>
  %q, %s = norm.quantize %y group = [1, 128]
      scale_layout = column_major
      : tensor<?x4096xbf16>
        -> tensor<?x4096xf8E4M3FN>, tensor<32x?xf32>
  return %q, %s, %sum
      : tensor<?x4096xf8E4M3FN>, tensor<32x?xf32>, tensor<?x4096xbf16>
}
