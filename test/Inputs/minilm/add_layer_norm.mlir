//===- add_layer_norm.mlir - Residual add and LayerNorm of MiniLM ---------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The end of an attention block (layer0_attention_*.npy) and of a feed-forward
// block (layer5_output_*.npy): y = LayerNorm(x + residual), one row per token.
// NOTE.md tells where the data comes from.
//
//===----------------------------------------------------------------------===//

func.func @add_layer_norm(%x: tensor<?x384xf32>, %residual: tensor<?x384xf32>,
                          %scale: tensor<384xf32>, %bias: tensor<384xf32>)
    -> tensor<?x384xf32> {
  %sum = arith.addf %x, %residual : tensor<?x384xf32>
  %y = norm.layer_norm %sum scale(%scale) bias(%bias) axes = [1] eps = 1.0e-12
         : tensor<?x384xf32>, tensor<384xf32>, tensor<384xf32>
         -> tensor<?x384xf32>
  return %y : tensor<?x384xf32>
}
