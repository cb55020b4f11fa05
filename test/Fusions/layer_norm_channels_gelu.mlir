//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LayerNorm over the channels of NCHW, and GELU.
//
// Group: Channels
// Several kernels: SAM LayerNorm2d and GELU
// Data: --arg 0=random:2x96x27x29
//
//===----------------------------------------------------------------------===//

func.func @layer_norm_channels_gelu(%x: tensor<2x96x27x29xf16>,
                                    %w: tensor<96x1x1xf16>,
                                    %b: tensor<96x1x1xf16>)
    -> tensor<2x96x27x29xf16> {
  %n = norm.layer_norm %x scale(%w) bias(%b) axes = [1] eps = 1.0e-5
      : tensor<2x96x27x29xf16>, tensor<96x1x1xf16>, tensor<96x1x1xf16>
        -> tensor<2x96x27x29xf16>
  %y = norm.gelu %n : tensor<2x96x27x29xf16>
  return %y : tensor<2x96x27x29xf16>
}
