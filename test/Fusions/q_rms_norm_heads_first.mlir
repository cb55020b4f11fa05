//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// RMSNorm by head of a slice of a fused projection, written with the heads
// first, as attention kernels take them.
//
// Group: Queries and keys
// Several kernels: Flux in diffusers, norm_q and the transposition
// Data: --arg 0=random:2x37x24x128:strides=340992x9216x128x1
//
//===----------------------------------------------------------------------===//

func.func @q_rms_norm_heads_first(
    %q: tensor<?x?x24x128xbf16> {norm.layout = strided<[?, 9216, 128, 1]>},
    %w: tensor<128xbf16>)
    -> tensor<?x24x?x128xbf16> {
  %n = norm.rms_norm %q scale(%w) axes = [3] eps = 1.0e-6
      : tensor<?x?x24x128xbf16>, tensor<128xbf16> -> tensor<?x?x24x128xbf16>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %batch = tensor.dim %q, %c0 : tensor<?x?x24x128xbf16>
  %rows = tensor.dim %q, %c1 : tensor<?x?x24x128xbf16>
  %e = tensor.empty(%batch, %rows) : tensor<?x24x?x128xbf16>
  %y = linalg.transpose ins(%n : tensor<?x?x24x128xbf16>)
      outs(%e : tensor<?x24x?x128xbf16>) permutation = [0, 2, 1, 3]
  return %y : tensor<?x24x?x128xbf16>
}
