//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// SiLU and division by the Euclidean norm.
//
// Group: Queries and keys
// Several kernels: Gated DeltaNet, SiLU of the short convolution and l2norm
// Data: --arg 0=random:37x16x128
//
//===----------------------------------------------------------------------===//

func.func @silu_qk_l2_norm(%x: tensor<?x16x128xbf16>)
    -> tensor<?x16x128xbf16> {
  %s = norm.silu %x : tensor<?x16x128xbf16>
  %y = norm.l2_normalize %s axes = [2] eps = 1.0e-6 : tensor<?x16x128xbf16>
        -> tensor<?x16x128xbf16>
  return %y : tensor<?x16x128xbf16>
}
