//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// SwiGLU, and fp8 codes with a given scale for the tensor.
//
// Group: Quantized results
// One kernel: vLLM silu_and_mul_quant
// Data: --arg 0=random:37x11008:pitch=22016 --arg
//   1=random:37x11008:pitch=22016:offset=11008 --arg 2=full:scalar:value=0.01
//
//===----------------------------------------------------------------------===//

func.func @silu_and_mul_static_fp8(%gate: tensor<?x11008xbf16>,
                                   %up: tensor<?x11008xbf16>,
                                   %scale: tensor<f32>)
    -> tensor<?x11008xf8E4M3FN> {
  %s = norm.silu %gate : tensor<?x11008xbf16>
  %y = arith.mulf %s, %up : tensor<?x11008xbf16>
  %q = norm.quantize %y scale(%scale) group = [-1, -1]
      : tensor<?x11008xbf16>, tensor<f32>
        -> tensor<?x11008xf8E4M3FN>
  return %q : tensor<?x11008xf8E4M3FN>
}
