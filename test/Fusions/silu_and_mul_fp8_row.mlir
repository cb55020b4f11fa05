//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// SwiGLU, and fp8 codes with a scale for each row.
//
// Group: Quantized results
// Several kernels: vLLM silu_and_mul and dynamic_per_token_scaled_fp8_quant
// Data: --arg 0=random:37x11008:pitch=22016 --arg
//   1=random:37x11008:pitch=22016:offset=11008
//
//===----------------------------------------------------------------------===//

func.func @silu_and_mul_fp8_row(%gate: tensor<?x11008xbf16>,
                                %up: tensor<?x11008xbf16>)
    -> (tensor<?x11008xf8E4M3FN>, tensor<?x1xf32>) {
  %s = norm.silu %gate : tensor<?x11008xbf16>
  %y = arith.mulf %s, %up : tensor<?x11008xbf16>
  %q, %c = norm.quantize %y group = [1, -1]
      : tensor<?x11008xbf16>
        -> tensor<?x11008xf8E4M3FN>, tensor<?x1xf32>
  return %q, %c : tensor<?x11008xf8E4M3FN>, tensor<?x1xf32>
}
