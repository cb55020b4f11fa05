//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// GroupNorm, scaled by 1 + scale and shifted per batch item and channel, and
// SiLU, NCHW.
//
// Group: Channels
// Several kernels: ResnetBlock2D of diffusers with scale_shift
// Data: --arg 0=random:2x320x30x31
//
//===----------------------------------------------------------------------===//

func.func @group_norm_scale_shift_silu(%x: tensor<?x320x30x31xf16>,
                                       %scale: tensor<?x320xf16>,
                                       %shift: tensor<?x320xf16>,
                                       %w: tensor<320xf16>,
                                       %b: tensor<320xf16>)
    -> tensor<?x320x30x31xf16> {
  %n = norm.group_norm %x scale(%w) bias(%b) groups = 32 channel_axis = 1
      eps = 1.0e-5
      : tensor<?x320x30x31xf16>, tensor<320xf16>, tensor<320xf16>
        -> tensor<?x320x30x31xf32>
  %c0 = arith.constant 0 : index
  %d0 = tensor.dim %x, %c0 : tensor<?x320x30x31xf16>
  %e = tensor.empty(%d0) : tensor<?x320x30x31xf32>
  %m = linalg.generic {
      indexing_maps = [
         affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>,
         affine_map<(d0, d1, d2, d3) -> (d0, d1)>,
         affine_map<(d0, d1, d2, d3) -> (d0, d1)>,
         affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%n, %scale, %shift
          : tensor<?x320x30x31xf32>, tensor<?x320xf16>, tensor<?x320xf16>)
      outs(%e : tensor<?x320x30x31xf32>) {
  ^bb0(%a: f32, %s: f16, %h: f16, %_: f32):
    %one = arith.constant 1.0 : f32
    %0 = arith.extf %s : f16 to f32
    %1 = arith.extf %h : f16 to f32
    %2 = arith.addf %0, %one : f32
    %3 = arith.mulf %a, %2 : f32
    %4 = arith.addf %3, %1 : f32
    linalg.yield %4 : f32
  } -> tensor<?x320x30x31xf32>
  %s = norm.silu %m : tensor<?x320x30x31xf32>
  %y = arith.truncf %s : tensor<?x320x30x31xf32> to tensor<?x320x30x31xf16>
  return %y : tensor<?x320x30x31xf16>
}
