//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// int8 codes with a scale for the tensor, and LayerNorm.
//
// Group: Quantized inputs
// One kernel: FasterTransformer int8 LayerNorm with int8 input
// Data: --arg 0=random:37x4096 --arg 1=full:scalar:value=0.05
//
//===----------------------------------------------------------------------===//

func.func @dequantize_int8_layer_norm(%q: tensor<?x4096xi8>,
                                      %scale: tensor<f32>,
                                      %w: tensor<4096xbf16>,
                                      %b: tensor<4096xbf16>)
    -> tensor<?x4096xbf16> {
  %x = norm.dequantize %q scale(%scale) group = [-1, -1]
      : tensor<?x4096xi8>, tensor<f32> -> tensor<?x4096xbf16>
  %y = norm.layer_norm %x scale(%w) bias(%b) axes = [1] eps = 1.0e-5
      : tensor<?x4096xbf16>, tensor<4096xbf16>, tensor<4096xbf16>
        -> tensor<?x4096xbf16>
  return %y : tensor<?x4096xbf16>
}
