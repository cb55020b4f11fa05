//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LayerNorm, and int8 codes with a given scale for the tensor.
//
// Group: Quantized results
// One kernel: TensorRT-LLM layernormQuantization plugin (static)
// Data: --arg 0=random:37x4096 --arg 3=full:scalar:value=0.03
//
//===----------------------------------------------------------------------===//

func.func @layer_norm_static_int8(%x: tensor<?x4096xbf16>,
                                  %w: tensor<4096xbf16>,
                                  %b: tensor<4096xbf16>, %scale: tensor<f32>)
    -> tensor<?x4096xi8> {
  %y = norm.layer_norm %x scale(%w) bias(%b) axes = [1] eps = 1.0e-5
      : tensor<?x4096xbf16>, tensor<4096xbf16>, tensor<4096xbf16>
        -> tensor<?x4096xbf16>
  %q = norm.quantize %y scale(%scale) group = [-1, -1]
      : tensor<?x4096xbf16>, tensor<f32>
        -> tensor<?x4096xi8>
  return %q : tensor<?x4096xi8>
}
