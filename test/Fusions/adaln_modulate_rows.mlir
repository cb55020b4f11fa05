//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LayerNorm without parameters, scaled by 1 + scale and shifted, with both for
// each row.
//
// Group: Adaptive norms of diffusion models
// One kernel: SGLang LayerNormScaleShift
// Several kernels: Wan 2.2 modulation by token
// Data: --arg 0=random:2x37x1152
//
//===----------------------------------------------------------------------===//

func.func @adaln_modulate_rows(%x: tensor<?x?x1152xbf16>,
                               %scale: tensor<?x?x1152xbf16>,
                               %shift: tensor<?x?x1152xbf16>)
    -> tensor<?x?x1152xbf16> {
  %y = norm.layer_norm %x scale(%scale, offset = 1.0) bias(%shift) axes = [2]
      eps = 1.0e-6
      : tensor<?x?x1152xbf16>, tensor<?x?x1152xbf16>, tensor<?x?x1152xbf16>
        -> tensor<?x?x1152xbf16>
  return %y : tensor<?x?x1152xbf16>
}
