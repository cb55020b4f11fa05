//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Softmax of scores over the keys that each batch item has.
//
// Group: Softmax
// One kernel: ByteTransformer softmax with sequence lengths
// Data: --arg 0=random:2x3x37x511 --arg 1=full:2:value=301
//
//===----------------------------------------------------------------------===//

func.func @padded_softmax(%x: tensor<?x?x?x511xbf16>, %lengths: tensor<?xi32>)
    -> tensor<?x?x?x511xbf16> {
  %y = norm.softmax %x lengths(%lengths) axes = [3] scale = 0.125
      : tensor<?x?x?x511xbf16>, tensor<?xi32>
        -> tensor<?x?x?x511xbf16>
  return %y : tensor<?x?x?x511xbf16>
}
