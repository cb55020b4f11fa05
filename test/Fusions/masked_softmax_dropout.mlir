//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Softmax with a mask, and dropout of the probabilities.
//
// Group: Softmax
// One kernel: Apex multihead_attn fast_mask_softmax_dropout; OneFlow
//   fused_scale_mask_softmax_dropout
// Data: --arg 0=random:2x3x37x511 --arg 1=random:2x1x37x511 --arg 2=5 --arg 3=0
//
//===----------------------------------------------------------------------===//

func.func @masked_softmax_dropout(%x: tensor<?x?x?x511xbf16>,
                                  %mask: tensor<?x1x?x511xbf16>, %seed: i64,
                                  %offset: i64)
    -> (tensor<?x?x?x511xbf16>, tensor<?x?x?x511xbf16>) {
  %y = norm.softmax %x mask(%mask) axes = [3] scale = 0.125
      : tensor<?x?x?x511xbf16>, tensor<?x1x?x511xbf16>
        -> tensor<?x?x?x511xbf16>
  %z = norm.dropout %y seed(%seed) offset(%offset) p = 0.1
      : tensor<?x?x?x511xbf16>, i64, i64 -> tensor<?x?x?x511xbf16>
  return %z, %y : tensor<?x?x?x511xbf16>, tensor<?x?x?x511xbf16>
}
