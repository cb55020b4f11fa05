//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// SwiGLU, and NVFP4 codes.
//
// Group: Quantized results
// One kernel: vLLM silu_and_mul_nvfp4_quant; FlashInfer
//   silu_and_mul_nvfp4_quantize
// Data: --arg 0=random:37x11008:pitch=22016 --arg
//   1=random:37x11008:pitch=22016:offset=11008 --arg 2=full:scalar:value=0.002
//
//===----------------------------------------------------------------------===//

func.func @silu_and_mul_nvfp4(
    %gate: tensor<?x11008xbf16> {norm.layout = strided<[22016, 1]>},
    %up: tensor<?x11008xbf16> {norm.layout = strided<[22016, 1]>},
    %tensor_scale: tensor<f32>)
    -> (tensor<?x11008xf4E2M1FN>, tensor<?x688xf8E4M3FN>) {
  %s = norm.silu %gate : tensor<?x11008xbf16>
  %y = arith.mulf %s, %up : tensor<?x11008xbf16>
  %q, %c = norm.quantize %y tensor_scale(%tensor_scale) group = [1, 16]
      : tensor<?x11008xbf16>, tensor<f32>
        -> tensor<?x11008xf4E2M1FN>, tensor<?x688xf8E4M3FN>
  return %q, %c : tensor<?x11008xf4E2M1FN>, tensor<?x688xf8E4M3FN>
}
