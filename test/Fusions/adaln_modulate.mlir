//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LayerNorm without parameters, scaled by 1 + scale and shifted, per batch
// item.
//
// Group: Adaptive norms of diffusion models
// One kernel: SGLang LayerNormScaleShift
// Several kernels: DiT modulate; diffusers AdaLayerNormZero
// Data: --arg 0=random:2x37x1152 --arg 1=random:2x1x1152 --arg
//   2=random:2x1x1152
//
//===----------------------------------------------------------------------===//

func.func @adaln_modulate(%x: tensor<?x?x1152xbf16>,
                          %scale: tensor<?x1x1152xbf16>,
                          %shift: tensor<?x1x1152xbf16>)
    -> tensor<?x?x1152xbf16> {
  %y = norm.layer_norm %x scale(%scale, offset = 1.0) bias(%shift) axes = [2]
      eps = 1.0e-6
      : tensor<?x?x1152xbf16>, tensor<?x1x1152xbf16>, tensor<?x1x1152xbf16>
        -> tensor<?x?x1152xbf16>
  return %y : tensor<?x?x1152xbf16>
}
