//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The sum of a residual stream and the output of a layer, and its LayerNorm;
// both are returned.
//
// Group: Residual and norm
// One kernel: flash-attention dropout_add_layer_norm with prenorm;
//   FasterTransformer invokeGeneralAddBiasResidualPreLayerNorm
// Data: --arg 0=random:37x4096
//
//===----------------------------------------------------------------------===//

func.func @add_layer_norm(%x: tensor<?x4096xbf16>,
                          %residual: tensor<?x4096xbf16>,
                          %w: tensor<4096xbf16>, %b: tensor<4096xbf16>)
    -> (tensor<?x4096xbf16>, tensor<?x4096xbf16>) {
  %sum = arith.addf %x, %residual : tensor<?x4096xbf16>
  %y = norm.layer_norm %sum scale(%w) bias(%b) axes = [1] eps = 1.0e-5
      : tensor<?x4096xbf16>, tensor<4096xbf16>, tensor<4096xbf16>
        -> tensor<?x4096xbf16>
  return %y, %sum : tensor<?x4096xbf16>, tensor<?x4096xbf16>
}
