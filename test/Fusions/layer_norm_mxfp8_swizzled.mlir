//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LayerNorm, and MXFP8 codes with the scales in the order of 128x4 blocks that
// tensor cores take.
//
// Group: Quantized results
// Several kernels: TransformerEngine nvte_layernorm_fwd to MXFP8 and
//   nvte_swizzle_scaling_factors
// Data: --arg 0=random:256x4096
//
//===----------------------------------------------------------------------===//

func.func @layer_norm_mxfp8_swizzled(%x: tensor<256x4096xbf16>,
                                     %w: tensor<4096xbf16>,
                                     %b: tensor<4096xbf16>)
    -> (tensor<256x4096xf8E4M3FN>, tensor<2x32x32x4x4xf8E8M0FNU>) {
  %y = norm.layer_norm %x scale(%w) bias(%b) axes = [1] eps = 1.0e-5
      : tensor<256x4096xbf16>, tensor<4096xbf16>, tensor<4096xbf16>
        -> tensor<256x4096xbf16>
  %q, %s = norm.quantize %y group = [1, 32]
      scale_layout = swizzle_128x4 scale_rounding = ceil
      : tensor<256x4096xbf16>
        -> tensor<256x4096xf8E4M3FN>, tensor<2x32x32x4x4xf8E8M0FNU>
  return %q, %s : tensor<256x4096xf8E4M3FN>, tensor<2x32x32x4x4xf8E8M0FNU>
}
