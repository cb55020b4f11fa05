//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Queries or keys of each head divided by their Euclidean norm.
//
// Group: Queries and keys
// One kernel: flash-linear-attention l2norm; TransformerEngine L2Normalization
// Data: --arg 0=random:37x16x128
//
//===----------------------------------------------------------------------===//

func.func @qk_l2_norm(%x: tensor<?x16x128xbf16>)
    -> tensor<?x16x128xbf16> {
  %y = norm.l2_normalize %x axes = [2] eps = 1.0e-6 : tensor<?x16x128xbf16>
        -> tensor<?x16x128xbf16>
  return %y : tensor<?x16x128xbf16>
}
