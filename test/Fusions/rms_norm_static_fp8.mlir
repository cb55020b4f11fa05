//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// RMSNorm, and fp8 codes with a given scale for the tensor.
//
// Group: Quantized results
// One kernel: vLLM rms_norm_static_fp8_quant; FlashInfer rmsnorm_quant;
//   TensorRT-LLM rmsnormQuantization plugin (static)
// Data: --arg 0=random:37x4096 --arg 2=full:scalar:value=0.01
//
//===----------------------------------------------------------------------===//

func.func @rms_norm_static_fp8(%x: tensor<?x4096xbf16>, %w: tensor<4096xbf16>,
                               %scale: tensor<f32>)
    -> tensor<?x4096xf8E4M3FN> {
  %y = norm.rms_norm %x scale(%w) axes = [1] eps = 1.0e-6
      : tensor<?x4096xbf16>, tensor<4096xbf16> -> tensor<?x4096xf32>
  %q = norm.quantize %y scale(%scale) group = [-1, -1]
      : tensor<?x4096xf32>, tensor<f32>
        -> tensor<?x4096xf8E4M3FN>
  return %q : tensor<?x4096xf8E4M3FN>
}
