//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Softmax of scores with a scale and a mask that the heads share.
//
// Group: Softmax
// One kernel: Apex and Megatron-LM scaled_masked_softmax; TransformerEngine
//   scaled_masked_softmax_forward
// Data: --arg 0=random:2x3x37x511 --arg 1=random:2x1x37x511
//
//===----------------------------------------------------------------------===//

func.func @scaled_masked_softmax(%x: tensor<?x?x?x511xbf16>,
                                 %mask: tensor<?x1x?x511xbf16>)
    -> tensor<?x?x?x511xbf16> {
  %y = norm.softmax %x mask(%mask) axes = [3] scale = 0.125
      : tensor<?x?x?x511xbf16>, tensor<?x1x?x511xbf16>
        -> tensor<?x?x?x511xbf16>
  return %y : tensor<?x?x?x511xbf16>
}
