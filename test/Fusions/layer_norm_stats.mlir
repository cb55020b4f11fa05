//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LayerNorm that keeps mean and 1 / deviation of each row for the backward.
//
// Group: Residual and norm
// One kernel: Apex FastLayerNorm; TransformerEngine nvte_layernorm_fwd; QuACK
//   layernorm with return_mean and return_rstd; Liger-Kernel LigerLayerNorm
// Data: --arg 0=random:37x4096
//
//===----------------------------------------------------------------------===//

func.func @layer_norm_stats(%x: tensor<?x4096xbf16>, %w: tensor<4096xbf16>,
                            %b: tensor<4096xbf16>)
    -> (tensor<?x4096xbf16>, tensor<?xf32>, tensor<?xf32>) {
  %y, %mean, %rstd = norm.layer_norm %x scale(%w) bias(%b) stats(mean, rstd)
      axes = [1] eps = 1.0e-5
      : tensor<?x4096xbf16>, tensor<4096xbf16>, tensor<4096xbf16>
        -> tensor<?x4096xbf16>, tensor<?xf32>, tensor<?xf32>
  return %y, %mean, %rstd : tensor<?x4096xbf16>, tensor<?xf32>, tensor<?xf32>
}
