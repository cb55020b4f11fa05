//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Modulated LayerNorm and fp8 codes with a scale for each row.
//
// Group: Adaptive norms of diffusion models
// Several kernels: SGLang LayerNormScaleShift and per_token_quant_fp8
// Data: --arg 0=random:2x37x1152 --arg 1=random:2x1x1152 --arg
//   2=random:2x1x1152
//
//===----------------------------------------------------------------------===//

func.func @adaln_modulate_fp8_row(%x: tensor<?x?x1152xbf16>,
                                  %scale: tensor<?x1x1152xbf16>,
                                  %shift: tensor<?x1x1152xbf16>)
    -> (tensor<?x?x1152xf8E4M3FN>, tensor<?x?x1xf32>) {
  %n = norm.layer_norm %x scale(%scale, offset = 1.0) bias(%shift) axes = [2]
      eps = 1.0e-6
      : tensor<?x?x1152xbf16>, tensor<?x1x1152xbf16>, tensor<?x1x1152xbf16>
        -> tensor<?x?x1152xbf16>
  %q, %s = norm.quantize %n group = [1, 1, -1]
      : tensor<?x?x1152xbf16> -> tensor<?x?x1152xf8E4M3FN>, tensor<?x?x1xf32>
  return %q, %s : tensor<?x?x1152xf8E4M3FN>, tensor<?x?x1xf32>
}
