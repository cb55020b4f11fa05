//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// f16 in, with parameters and result in f32.
//
// Group: Residual and norm
// One kernel: Apex MixedFusedLayerNorm
// Data: --arg 0=random:37x4096
//
//===----------------------------------------------------------------------===//

func.func @mixed_layer_norm(%x: tensor<?x4096xf16>, %w: tensor<4096xf32>,
                            %b: tensor<4096xf32>)
    -> tensor<?x4096xf32> {
  %y = norm.layer_norm %x scale(%w) bias(%b) axes = [1] eps = 1.0e-5
      : tensor<?x4096xf16>, tensor<4096xf32>, tensor<4096xf32>
        -> tensor<?x4096xf32>
  return %y : tensor<?x4096xf32>
}
