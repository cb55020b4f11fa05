//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// BatchNorm in inference, residual sum and ReLU, NHWC.
//
// Group: Channels
// One kernel: Apex contrib groupbn BatchNorm2d_NHWC bn_addrelu
// Data: --arg 0=random:2x28x28x64 --arg 5=random:64:dist=uniform:low=0.5:high=2
//
//===----------------------------------------------------------------------===//

func.func @batch_norm_add_relu(%x: tensor<2x28x28x64xf16>,
                               %residual: tensor<2x28x28x64xf16>,
                               %w: tensor<64xf32>, %b: tensor<64xf32>,
                               %mean: tensor<64xf32>, %var: tensor<64xf32>)
    -> tensor<2x28x28x64xf16> {
  %n = norm.batch_norm %x scale(%w) bias(%b) running(%mean, %var)
      channel_axis = 3 eps = 1.0e-5
      : tensor<2x28x28x64xf16>, tensor<64xf32>, tensor<64xf32>,
        tensor<64xf32>, tensor<64xf32>
        -> tensor<2x28x28x64xf16>
  %sum = arith.addf %n, %residual : tensor<2x28x28x64xf16>
  %e = tensor.empty() : tensor<2x28x28x64xf16>
  %y = linalg.generic {
      indexing_maps = [
         affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>,
         affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%sum : tensor<2x28x28x64xf16>)
      outs(%e : tensor<2x28x28x64xf16>) {
  ^bb0(%a: f16, %_: f16):
    %zero = arith.constant 0.0 : f16
    %r = arith.maximumf %a, %zero : f16
    linalg.yield %r : f16
  } -> tensor<2x28x28x64xf16>
  return %y : tensor<2x28x28x64xf16>
}
