//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// RMSNorm, and NVFP4 codes with an e4m3 scale for 16 neighbouring columns below
// one for the tensor.
//
// Group: Quantized results
// One kernel: FlashInfer rmsnorm_fp4quant
// Data: --arg 0=random:37x4096 --arg 2=full:scalar:value=0.002
//
//===----------------------------------------------------------------------===//

func.func @rms_norm_nvfp4(%x: tensor<?x4096xbf16>, %w: tensor<4096xbf16>,
                          %tensor_scale: tensor<f32>)
    -> (tensor<?x4096xf4E2M1FN>, tensor<?x256xf8E4M3FN>) {
  %y = norm.rms_norm %x scale(%w) axes = [1] eps = 1.0e-6
      : tensor<?x4096xbf16>, tensor<4096xbf16> -> tensor<?x4096xbf16>
  %q, %s = norm.quantize %y tensor_scale(%tensor_scale) group = [1, 16]
      : tensor<?x4096xbf16>, tensor<f32>
        -> tensor<?x4096xf4E2M1FN>, tensor<?x256xf8E4M3FN>
  return %q, %s : tensor<?x4096xf4E2M1FN>, tensor<?x256xf8E4M3FN>
}
