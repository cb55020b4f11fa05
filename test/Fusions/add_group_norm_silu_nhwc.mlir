//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A residual sum that is returned, GroupNorm and SiLU, NHWC.
//
// Group: Channels
// One kernel: ONNX Runtime SkipGroupNorm with activation
// Data: --arg 0=random:2x16x16x640
//
//===----------------------------------------------------------------------===//

func.func @add_group_norm_silu_nhwc(%x: tensor<2x16x16x640xf16>,
                                    %residual: tensor<2x16x16x640xf16>,
                                    %w: tensor<640xf16>, %b: tensor<640xf16>)
    -> (tensor<2x16x16x640xf16>, tensor<2x16x16x640xf16>) {
  %sum = arith.addf %x, %residual : tensor<2x16x16x640xf16>
  %n = norm.group_norm %sum scale(%w) bias(%b) groups = 32 channel_axis = 3
      eps = 1.0e-5
      : tensor<2x16x16x640xf16>, tensor<640xf16>, tensor<640xf16>
        -> tensor<2x16x16x640xf16>
  %y = norm.silu %n : tensor<2x16x16x640xf16>
  return %y, %sum : tensor<2x16x16x640xf16>, tensor<2x16x16x640xf16>
}
