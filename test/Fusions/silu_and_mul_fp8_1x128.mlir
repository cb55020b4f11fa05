//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// SwiGLU, and fp8 codes with a scale for 128 neighbouring columns.
//
// Group: Quantized results
// One kernel: vLLM silu_and_mul_per_block_quant; SGLang
//   silu_and_mul_masked_post_quant_fwd
// Data: --arg 0=random:37x11008:pitch=22016 --arg
//   1=random:37x11008:pitch=22016:offset=11008
//
//===----------------------------------------------------------------------===//

func.func @silu_and_mul_fp8_1x128(
    %gate: tensor<?x11008xbf16> {norm.layout = strided<[22016, 1]>},
    %up: tensor<?x11008xbf16> {norm.layout = strided<[22016, 1]>})
    -> (tensor<?x11008xf8E4M3FN>, tensor<?x86xf32>) {
  %s = norm.silu %gate : tensor<?x11008xbf16>
  %y = arith.mulf %s, %up : tensor<?x11008xbf16>
  %q, %c = norm.quantize %y group = [1, 128]
      : tensor<?x11008xbf16>
        -> tensor<?x11008xf8E4M3FN>, tensor<?x86xf32>
  return %q, %c : tensor<?x11008xf8E4M3FN>, tensor<?x86xf32>
}
