//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// InstanceNorm and ReLU, NCHW.
//
// Group: Channels
// Several kernels: nnU-Net blocks
// Data: --arg 0=random:2x64x27x29
//
//===----------------------------------------------------------------------===//

func.func @instance_norm_relu(%x: tensor<?x64x27x29xf16>, %w: tensor<64xf32>,
                              %b: tensor<64xf32>)
    -> tensor<?x64x27x29xf16> {
  %n = norm.instance_norm %x scale(%w) bias(%b) channel_axis = 1 eps = 1.0e-5
      : tensor<?x64x27x29xf16>, tensor<64xf32>, tensor<64xf32>
        -> tensor<?x64x27x29xf16>
  %c0 = arith.constant 0 : index
  %d0 = tensor.dim %x, %c0 : tensor<?x64x27x29xf16>
  %e = tensor.empty(%d0) : tensor<?x64x27x29xf16>
  %y = linalg.generic {
      indexing_maps = [
         affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>,
         affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%n : tensor<?x64x27x29xf16>)
      outs(%e : tensor<?x64x27x29xf16>) {
  ^bb0(%a: f16, %_: f16):
    %zero = arith.constant 0.0 : f16
    %r = arith.maximumf %a, %zero : f16
    linalg.yield %r : f16
  } -> tensor<?x64x27x29xf16>
  return %y : tensor<?x64x27x29xf16>
}
