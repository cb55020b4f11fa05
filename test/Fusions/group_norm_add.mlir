//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// GroupNorm and a residual sum behind it, NCHW.
//
// Group: Channels
// Several kernels: diffusers attention blocks
// Data: --arg 0=random:2x320x30x31
//
//===----------------------------------------------------------------------===//

func.func @group_norm_add(%x: tensor<?x320x30x31xf16>,
                          %residual: tensor<?x320x30x31xf16>,
                          %w: tensor<320xf16>, %b: tensor<320xf16>)
    -> tensor<?x320x30x31xf16> {
  %n = norm.group_norm %x scale(%w) bias(%b) groups = 32 channel_axis = 1
      eps = 1.0e-5
      : tensor<?x320x30x31xf16>, tensor<320xf16>, tensor<320xf16>
        -> tensor<?x320x30x31xf16>
  %y = arith.addf %n, %residual : tensor<?x320x30x31xf16>
  return %y : tensor<?x320x30x31xf16>
}
