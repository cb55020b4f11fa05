//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Causal softmax of scores with a scale.
//
// Group: Softmax
// One kernel: Apex and Megatron-LM scaled_upper_triang_masked_softmax;
//   TransformerEngine scaled_upper_triang_masked_softmax_forward
// Data: --arg 0=random:3x511x511
//
//===----------------------------------------------------------------------===//

func.func @scaled_causal_softmax(%x: tensor<?x511x511xbf16>)
    -> tensor<?x511x511xbf16> {
  %y = norm.softmax %x axes = [2] scale = 0.125 causal
      : tensor<?x511x511xbf16> -> tensor<?x511x511xbf16>
  return %y : tensor<?x511x511xbf16>
}
