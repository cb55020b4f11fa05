//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Residual sum, RMSNorm, and NVFP4 codes with swizzled scales; the sum is
// returned.
//
// Group: Quantized results
// One kernel: FlashInfer add_rmsnorm_fp4quant; TensorRT-LLM
//   RESIDUAL_RMS_NORM_QUANT_NVFP4
// Data: --arg 0=random:256x4096 --arg 3=full:scalar:value=0.002
//
//===----------------------------------------------------------------------===//

func.func @add_rms_norm_nvfp4_swizzled(%x: tensor<256x4096xbf16>,
                                       %residual: tensor<256x4096xbf16>,
                                       %w: tensor<4096xbf16>,
                                       %tensor_scale: tensor<f32>)
    -> (tensor<256x4096xf4E2M1FN>,
        tensor<2x64x32x4x4xf8E4M3FN>,
        tensor<256x4096xbf16>) {
  %sum = arith.addf %x, %residual : tensor<256x4096xbf16>
  %y = norm.rms_norm %sum scale(%w) axes = [1] eps = 1.0e-6
      : tensor<256x4096xbf16>, tensor<4096xbf16> -> tensor<256x4096xbf16>
  %q, %s = norm.quantize %y tensor_scale(%tensor_scale) group = [1, 16]
      scale_layout = swizzle_128x4
      : tensor<256x4096xbf16>, tensor<f32>
        -> tensor<256x4096xf4E2M1FN>, tensor<2x64x32x4x4xf8E4M3FN>
  return %q, %s, %sum
      : tensor<256x4096xf4E2M1FN>, tensor<2x64x32x4x4xf8E4M3FN>,
        tensor<256x4096xbf16>
}
