//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LayerNorm and exact GELU.
//
// Group: Norm and activation
// Several kernels: TransformerEngine nvte_layernorm_fwd and nvte_gelu; wav2vec
//   2.0 feature encoder
// Data: --arg 0=random:37x4096
//
//===----------------------------------------------------------------------===//

func.func @layer_norm_gelu(%x: tensor<?x4096xbf16>, %w: tensor<4096xbf16>,
                           %b: tensor<4096xbf16>)
    -> tensor<?x4096xbf16> {
  %n = norm.layer_norm %x scale(%w) bias(%b) axes = [1] eps = 1.0e-5
      : tensor<?x4096xbf16>, tensor<4096xbf16>, tensor<4096xbf16>
        -> tensor<?x4096xbf16>
  %y = norm.gelu %n : tensor<?x4096xbf16>
  return %y : tensor<?x4096xbf16>
}
