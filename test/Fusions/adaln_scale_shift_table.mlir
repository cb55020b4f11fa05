//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Modulation by the sum of a learned table and an embedding per batch item.
//
// Group: Adaptive norms of diffusion models
// Several kernels: PixArt and Sana in diffusers, scale_shift_table
// Data: --arg 0=random:2x37x1152
//
//===----------------------------------------------------------------------===//

func.func @adaln_scale_shift_table(%x: tensor<?x?x1152xbf16>,
                                   %table_scale: tensor<1152xbf16>,
                                   %table_shift: tensor<1152xbf16>,
                                   %scale: tensor<?x1152xbf16>,
                                   %shift: tensor<?x1152xbf16>)
    -> tensor<?x?x1152xbf16> {
  %n = norm.layer_norm %x axes = [2] eps = 1.0e-6
      : tensor<?x?x1152xbf16> -> tensor<?x?x1152xf32>
  %c0 = arith.constant 0 : index
  %d0 = tensor.dim %x, %c0 : tensor<?x?x1152xbf16>
  %c1 = arith.constant 1 : index
  %d1 = tensor.dim %x, %c1 : tensor<?x?x1152xbf16>
  %e = tensor.empty(%d0, %d1) : tensor<?x?x1152xbf16>
  %y = linalg.generic {
      indexing_maps = [
         affine_map<(d0, d1, d2) -> (d0, d1, d2)>,
         affine_map<(d0, d1, d2) -> (d2)>,
         affine_map<(d0, d1, d2) -> (d2)>,
         affine_map<(d0, d1, d2) -> (d0, d2)>,
         affine_map<(d0, d1, d2) -> (d0, d2)>,
         affine_map<(d0, d1, d2) -> (d0, d1, d2)>],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%n, %table_scale, %table_shift, %scale, %shift
          : tensor<?x?x1152xf32>, tensor<1152xbf16>, tensor<1152xbf16>,
            tensor<?x1152xbf16>, tensor<?x1152xbf16>)
      outs(%e : tensor<?x?x1152xbf16>) {
  ^bb0(%a: f32, %ts: bf16, %th: bf16, %s: bf16, %h: bf16, %_: bf16):
    %one = arith.constant 1.0 : f32
    %0 = arith.addf %ts, %s : bf16
    %1 = arith.addf %th, %h : bf16
    %2 = arith.extf %0 : bf16 to f32
    %3 = arith.extf %1 : bf16 to f32
    %4 = arith.addf %2, %one : f32
    %5 = arith.mulf %a, %4 : f32
    %6 = arith.addf %5, %3 : f32
    %7 = arith.truncf %6 : f32 to bf16
    linalg.yield %7 : bf16
  } -> tensor<?x?x1152xbf16>
  return %y : tensor<?x?x1152xbf16>
}
