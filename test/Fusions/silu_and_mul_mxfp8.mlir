//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// SwiGLU, and MXFP8 codes.
//
// Group: Quantized results
// One kernel: TransformerEngine nvte_swiglu with an MXFP8 result
// Data: --arg 0=random:37x11008:pitch=22016 --arg
//   1=random:37x11008:pitch=22016:offset=11008
//
//===----------------------------------------------------------------------===//

func.func @silu_and_mul_mxfp8(
    %gate: tensor<?x11008xbf16> {norm.layout = strided<[22016, 1]>},
    %up: tensor<?x11008xbf16> {norm.layout = strided<[22016, 1]>})
    -> (tensor<?x11008xf8E4M3FN>, tensor<?x344xf8E8M0FNU>) {
  %s = norm.silu %gate : tensor<?x11008xbf16>
  %y = arith.mulf %s, %up : tensor<?x11008xbf16>
  %q, %c = norm.quantize %y group = [1, 32]
      scale_rounding = ceil
      : tensor<?x11008xbf16>
        -> tensor<?x11008xf8E4M3FN>, tensor<?x344xf8E8M0FNU>
  return %q, %c : tensor<?x11008xf8E4M3FN>, tensor<?x344xf8E8M0FNU>
}
