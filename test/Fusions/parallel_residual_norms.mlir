//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two LayerNorms of one sum, for the attention and the feed-forward of a
// parallel block.
//
// Group: Residual and norm
// One kernel: flash-attention dropout_add_layer_norm_parallel_residual, and
//   layer_norm_fn with weight1
// Several kernels: Falcon in Transformers
// Data: --arg 0=random:37x4096
//
//===----------------------------------------------------------------------===//

func.func @parallel_residual_norms(%x: tensor<?x4096xbf16>,
                                   %residual: tensor<?x4096xbf16>,
                                   %w0: tensor<4096xbf16>,
                                   %b0: tensor<4096xbf16>,
                                   %w1: tensor<4096xbf16>,
                                   %b1: tensor<4096xbf16>)
    -> (tensor<?x4096xbf16>, tensor<?x4096xbf16>, tensor<?x4096xbf16>) {
  %sum = arith.addf %x, %residual : tensor<?x4096xbf16>
  %y0 = norm.layer_norm %sum scale(%w0) bias(%b0) axes = [1] eps = 1.0e-5
      : tensor<?x4096xbf16>, tensor<4096xbf16>, tensor<4096xbf16>
        -> tensor<?x4096xbf16>
  %y1 = norm.layer_norm %sum scale(%w1) bias(%b1) axes = [1] eps = 1.0e-5
      : tensor<?x4096xbf16>, tensor<4096xbf16>, tensor<4096xbf16>
        -> tensor<?x4096xbf16>
  return %y0, %y1, %sum
      : tensor<?x4096xbf16>, tensor<?x4096xbf16>, tensor<?x4096xbf16>
}
