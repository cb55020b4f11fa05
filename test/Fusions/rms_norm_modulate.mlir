//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// RMSNorm with weight, scaled by 1 + scale and shifted, per batch item.
//
// Group: Adaptive norms of diffusion models
// One kernel: SGLang RMSNormScaleShift
// Data: --arg 0=random:2x37x1152
//
//===----------------------------------------------------------------------===//

func.func @rms_norm_modulate(%x: tensor<?x?x1152xbf16>, %w: tensor<1152xbf16>,
                             %scale: tensor<?x1152xbf16>,
                             %shift: tensor<?x1152xbf16>)
    -> tensor<?x?x1152xbf16> {
  %n = norm.rms_norm %x scale(%w) axes = [2] eps = 1.0e-6
      : tensor<?x?x1152xbf16>, tensor<1152xbf16> -> tensor<?x?x1152xf32>
  %c0 = arith.constant 0 : index
  %d0 = tensor.dim %x, %c0 : tensor<?x?x1152xbf16>
  %c1 = arith.constant 1 : index
  %d1 = tensor.dim %x, %c1 : tensor<?x?x1152xbf16>
  %e = tensor.empty(%d0, %d1) : tensor<?x?x1152xbf16>
  %y = linalg.generic {
      indexing_maps = [
         affine_map<(d0, d1, d2) -> (d0, d1, d2)>,
         affine_map<(d0, d1, d2) -> (d0, d2)>,
         affine_map<(d0, d1, d2) -> (d0, d2)>,
         affine_map<(d0, d1, d2) -> (d0, d1, d2)>],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%n, %scale, %shift
          : tensor<?x?x1152xf32>, tensor<?x1152xbf16>, tensor<?x1152xbf16>)
      outs(%e : tensor<?x?x1152xbf16>) {
  ^bb0(%a: f32, %s: bf16, %h: bf16, %_: bf16):
    %one = arith.constant 1.0 : f32
    %0 = arith.extf %s : bf16 to f32
    %1 = arith.extf %h : bf16 to f32
    %2 = arith.addf %0, %one : f32
    %3 = arith.mulf %a, %2 : f32
    %4 = arith.addf %3, %1 : f32
    %5 = arith.truncf %4 : f32 to bf16
    linalg.yield %5 : bf16
  } -> tensor<?x?x1152xbf16>
  return %y : tensor<?x?x1152xbf16>
}
