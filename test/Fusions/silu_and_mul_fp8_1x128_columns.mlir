//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// SwiGLU, and fp8 codes with a scale for 128 neighbouring columns, the scales
// column by column.
//
// Group: Quantized results
// One kernel: vLLM silu_mul_per_token_group_quant_fp8_colmajor
// Data: --arg 0=random:37x11008:pitch=22016 --arg
//   1=random:37x11008:pitch=22016:offset=11008
//
//===----------------------------------------------------------------------===//

func.func @silu_and_mul_fp8_1x128_columns(
    %gate: tensor<?x11008xbf16> {norm.layout = strided<[22016, 1]>},
    %up: tensor<?x11008xbf16> {norm.layout = strided<[22016, 1]>})
    -> (tensor<?x11008xf8E4M3FN>, tensor<86x?xf32>) {
  %s = norm.silu %gate : tensor<?x11008xbf16>
  %y = arith.mulf %s, %up : tensor<?x11008xbf16>
  %q, %c = norm.quantize %y group = [1, 128]
      scale_layout = column_major
      : tensor<?x11008xbf16>
        -> tensor<?x11008xf8E4M3FN>, tensor<86x?xf32>
  return %q, %c : tensor<?x11008xf8E4M3FN>, tensor<86x?xf32>
}
