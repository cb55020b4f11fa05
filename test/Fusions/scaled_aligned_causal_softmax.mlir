//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Causal softmax of the last queries over all keys.
//
// Group: Softmax
// One kernel: TransformerEngine scaled_aligned_causal_masked_softmax_forward
// Data: --arg 0=random:3x37x511
//
//===----------------------------------------------------------------------===//

func.func @scaled_aligned_causal_softmax(%x: tensor<?x?x511xbf16>)
    -> tensor<?x?x511xbf16> {
  %y = norm.softmax %x axes = [2] scale = 0.125 causal = lower_right
      : tensor<?x?x511xbf16> -> tensor<?x?x511xbf16>
  return %y : tensor<?x?x511xbf16>
}
