//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A scale by channel (LayerScale), residual sum and LayerNorm.
//
// Group: Residual and norm
// One kernel: flash-attention dropout_add_layer_norm with layerscale
// Data: --arg 0=random:37x1024
//
//===----------------------------------------------------------------------===//

func.func @layer_scale_add_layer_norm(%x: tensor<?x1024xf16>,
                                      %gamma: tensor<1024xf16>,
                                      %residual: tensor<?x1024xf16>,
                                      %w: tensor<1024xf16>,
                                      %b: tensor<1024xf16>)
    -> (tensor<?x1024xf16>, tensor<?x1024xf16>) {
  %c0 = arith.constant 0 : index
  %d0 = tensor.dim %x, %c0 : tensor<?x1024xf16>
  %e = tensor.empty(%d0) : tensor<?x1024xf16>
  %gs = linalg.broadcast ins(%gamma : tensor<1024xf16>)
      outs(%e : tensor<?x1024xf16>) dimensions = [0]
  %scaled = arith.mulf %x, %gs : tensor<?x1024xf16>
  %sum = arith.addf %scaled, %residual : tensor<?x1024xf16>
  %y = norm.layer_norm %sum scale(%w) bias(%b) axes = [1] eps = 1.0e-5
      : tensor<?x1024xf16>, tensor<1024xf16>, tensor<1024xf16>
        -> tensor<?x1024xf16>
  return %y, %sum : tensor<?x1024xf16>, tensor<?x1024xf16>
}
