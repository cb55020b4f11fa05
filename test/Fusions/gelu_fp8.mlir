//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// GELU in its tanh form, and fp8 codes with a given scale for the tensor.
//
// Group: Quantized results
// One kernel: TransformerEngine nvte_gelu with an fp8 result
// Data: --arg 0=random:37x16384 --arg 1=full:scalar:value=0.01
//
//===----------------------------------------------------------------------===//

func.func @gelu_fp8(%x: tensor<?x16384xbf16>, %scale: tensor<f32>)
    -> tensor<?x16384xf8E4M3FN> {
  %y = norm.gelu %x approximate = tanh : tensor<?x16384xbf16>
  %q = norm.quantize %y scale(%scale) group = [-1, -1]
      : tensor<?x16384xbf16>, tensor<f32>
        -> tensor<?x16384xf8E4M3FN>
  return %q : tensor<?x16384xf8E4M3FN>
}
