//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The residual stream is kept in f32.
//
// Group: Residual and norm
// One kernel: QuACK rmsnorm with residual_dtype float32; flash-attention
//   layer_norm_fn with residual_in_fp32
// Data: --arg 0=random:37x4096
//
//===----------------------------------------------------------------------===//

func.func @add_rms_norm_f32_residual(%x: tensor<?x4096xbf16>,
                                     %residual: tensor<?x4096xf32>,
                                     %w: tensor<4096xbf16>)
    -> (tensor<?x4096xbf16>, tensor<?x4096xf32>) {
  %f = arith.extf %x : tensor<?x4096xbf16> to tensor<?x4096xf32>
  %sum = arith.addf %f, %residual : tensor<?x4096xf32>
  %y = norm.rms_norm %sum scale(%w) axes = [1] eps = 1.0e-6
      : tensor<?x4096xf32>, tensor<4096xbf16> -> tensor<?x4096xbf16>
  return %y, %sum : tensor<?x4096xbf16>, tensor<?x4096xf32>
}
