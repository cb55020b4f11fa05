//===- layer_norm.mlir - LayerNorm of MiniLM's embeddings -----------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The LayerNorm that follows the embedding lookup (embeddings_*.npy), one row
// per token. NOTE.md tells where the data comes from.
//
//===----------------------------------------------------------------------===//

func.func @layer_norm(%x: tensor<?x384xf32>, %scale: tensor<384xf32>,
                      %bias: tensor<384xf32>) -> tensor<?x384xf32> {
  %y = norm.layer_norm %x scale(%scale) bias(%bias) axes = [1] eps = 1.0e-12
         : tensor<?x384xf32>, tensor<384xf32>, tensor<384xf32>
         -> tensor<?x384xf32>
  return %y : tensor<?x384xf32>
}
