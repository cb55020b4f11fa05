//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Residual sum, RMSNorm, and fp8 codes with a given scale for the tensor; the
// sum and the bf16 result of the norm are returned too.
//
// Group: Quantized results
// One kernel: TensorRT-LLM RESIDUAL_RMS_NORM_OUT_QUANT_FP8
// Data: --arg 0=random:37x4096 --arg 3=full:scalar:value=0.01
//
//===----------------------------------------------------------------------===//

func.func @add_rms_norm_out_static_fp8(%x: tensor<?x4096xbf16>,
                                       %residual: tensor<?x4096xbf16>,
                                       %w: tensor<4096xbf16>,
                                       %scale: tensor<f32>)
    -> (tensor<?x4096xf8E4M3FN>, tensor<?x4096xbf16>, tensor<?x4096xbf16>) {
  %sum = arith.addf %x, %residual : tensor<?x4096xbf16>
  %y = norm.rms_norm %sum scale(%w) axes = [1] eps = 1.0e-6
      : tensor<?x4096xbf16>, tensor<4096xbf16> -> tensor<?x4096xbf16>
  %q = norm.quantize %y scale(%scale) group = [-1, -1]
      : tensor<?x4096xbf16>, tensor<f32>
        -> tensor<?x4096xf8E4M3FN>
  return %q, %y, %sum
      : tensor<?x4096xf8E4M3FN>, tensor<?x4096xbf16>, tensor<?x4096xbf16>
}
