//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Residual sum, and its RMSNorm with weight and bias; the sum is returned.
//
// Group: Residual and norm
// One kernel: QuACK rmsnorm with bias and residual; flash-attention
//   layer_norm_fn with is_rms_norm
// Data: --arg 0=random:37x4096
//
//===----------------------------------------------------------------------===//

func.func @add_rms_norm_bias(%x: tensor<?x4096xbf16>,
                             %residual: tensor<?x4096xbf16>,
                             %w: tensor<4096xbf16>, %bias: tensor<4096xbf16>)
    -> (tensor<?x4096xbf16>, tensor<?x4096xbf16>) {
  %sum = arith.addf %x, %residual : tensor<?x4096xbf16>
  %n = norm.rms_norm %sum scale(%w) axes = [1] eps = 1.0e-6
      : tensor<?x4096xbf16>, tensor<4096xbf16> -> tensor<?x4096xf32>
  %c0 = arith.constant 0 : index
  %d0 = tensor.dim %x, %c0 : tensor<?x4096xbf16>
  %e = tensor.empty(%d0) : tensor<?x4096xbf16>
  %y = linalg.generic {
      indexing_maps = [
         affine_map<(d0, d1) -> (d0, d1)>,
         affine_map<(d0, d1) -> (d1)>,
         affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%n, %bias : tensor<?x4096xf32>, tensor<4096xbf16>)
      outs(%e : tensor<?x4096xbf16>) {
  ^bb0(%a: f32, %h: bf16, %_: bf16):
    %0 = arith.extf %h : bf16 to f32
    %1 = arith.addf %a, %0 : f32
    %2 = arith.truncf %1 : f32 to bf16
    linalg.yield %2 : bf16
  } -> tensor<?x4096xbf16>
  return %y, %sum : tensor<?x4096xbf16>, tensor<?x4096xbf16>
}
