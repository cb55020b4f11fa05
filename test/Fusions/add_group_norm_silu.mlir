//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The embedding of the time step added by channel, GroupNorm and SiLU, NCHW.
//
// Group: Channels
// Several kernels: diffusers ResnetBlock2D
// Data: --arg 0=random:2x320x30x31
//
//===----------------------------------------------------------------------===//

func.func @add_group_norm_silu(%x: tensor<?x320x30x31xf16>,
                               %temb: tensor<?x320xf16>, %w: tensor<320xf16>,
                               %b: tensor<320xf16>)
    -> tensor<?x320x30x31xf16> {
  %c0 = arith.constant 0 : index
  %d0 = tensor.dim %x, %c0 : tensor<?x320x30x31xf16>
  %e = tensor.empty(%d0) : tensor<?x320x30x31xf16>
  %ts = linalg.broadcast ins(%temb : tensor<?x320xf16>)
      outs(%e : tensor<?x320x30x31xf16>) dimensions = [2, 3]
  %sum = arith.addf %x, %ts : tensor<?x320x30x31xf16>
  %n = norm.group_norm %sum scale(%w) bias(%b) groups = 32 channel_axis = 1
      eps = 1.0e-5
      : tensor<?x320x30x31xf16>, tensor<320xf16>, tensor<320xf16>
        -> tensor<?x320x30x31xf16>
  %y = norm.silu %n : tensor<?x320x30x31xf16>
  return %y : tensor<?x320x30x31xf16>
}
