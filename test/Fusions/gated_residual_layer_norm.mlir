//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gated residual sum, and its LayerNorm with weight and bias (the norm before a
// cross attention).
//
// Group: Adaptive norms of diffusion models
// One kernel: SGLang ScaleResidualLayerNormScaleShift with weight and bias
// Several kernels: Wan block
// Data: --arg 0=random:2x37x1152
//
//===----------------------------------------------------------------------===//

func.func @gated_residual_layer_norm(%x: tensor<?x?x1152xbf16>,
                                     %gate: tensor<?x1152xbf16>,
                                     %residual: tensor<?x?x1152xbf16>,
                                     %w: tensor<1152xbf16>,
                                     %b: tensor<1152xbf16>)
    -> (tensor<?x?x1152xbf16>, tensor<?x?x1152xbf16>) {
  %c0 = arith.constant 0 : index
  %d0 = tensor.dim %x, %c0 : tensor<?x?x1152xbf16>
  %c1 = arith.constant 1 : index
  %d1 = tensor.dim %x, %c1 : tensor<?x?x1152xbf16>
  %e = tensor.empty(%d0, %d1) : tensor<?x?x1152xbf16>
  %sum = linalg.generic {
      indexing_maps = [
         affine_map<(d0, d1, d2) -> (d0, d1, d2)>,
         affine_map<(d0, d1, d2) -> (d0, d2)>,
         affine_map<(d0, d1, d2) -> (d0, d1, d2)>,
         affine_map<(d0, d1, d2) -> (d0, d1, d2)>],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %gate, %residual
          : tensor<?x?x1152xbf16>, tensor<?x1152xbf16>, tensor<?x?x1152xbf16>)
      outs(%e : tensor<?x?x1152xbf16>) {
  ^bb0(%a: bf16, %g: bf16, %r: bf16, %_: bf16):
    %0 = arith.extf %a : bf16 to f32
    %1 = arith.extf %g : bf16 to f32
    %2 = arith.extf %r : bf16 to f32
    %3 = arith.mulf %0, %1 : f32
    %4 = arith.addf %3, %2 : f32
    %5 = arith.truncf %4 : f32 to bf16
    linalg.yield %5 : bf16
  } -> tensor<?x?x1152xbf16>
  %y = norm.layer_norm %sum scale(%w) bias(%b) axes = [2] eps = 1.0e-5
      : tensor<?x?x1152xbf16>, tensor<1152xbf16>, tensor<1152xbf16>
        -> tensor<?x?x1152xbf16>
  return %y, %sum : tensor<?x?x1152xbf16>, tensor<?x?x1152xbf16>
}
