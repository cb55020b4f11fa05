//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LayerNorm by head.
//
// Group: Queries and keys
// One kernel: TransformerEngine MultiheadAttention with qk_norm_type LayerNorm
// Data: --arg 0=random:37x16x128
//
//===----------------------------------------------------------------------===//

func.func @q_layer_norm(%x: tensor<?x16x128xbf16>, %w: tensor<128xbf16>,
                        %b: tensor<128xbf16>)
    -> tensor<?x16x128xbf16> {
  %y = norm.layer_norm %x scale(%w) bias(%b) axes = [2] eps = 1.0e-5
      : tensor<?x16x128xbf16>, tensor<128xbf16>, tensor<128xbf16>
        -> tensor<?x16x128xbf16>
  return %y : tensor<?x16x128xbf16>
}
