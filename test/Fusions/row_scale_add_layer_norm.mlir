//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A factor for each row (stochastic depth), residual sum and LayerNorm.
//
// Group: Residual and norm
// One kernel: flash-attention dropout_add_layer_norm and layer_norm_fn with
//   rowscale
// Data: --arg 0=random:37x1024
//
//===----------------------------------------------------------------------===//

func.func @row_scale_add_layer_norm(%x: tensor<?x1024xf16>,
                                    %rowscale: tensor<?xf32>,
                                    %residual: tensor<?x1024xf16>,
                                    %w: tensor<1024xf16>,
                                    %b: tensor<1024xf16>)
    -> (tensor<?x1024xf16>, tensor<?x1024xf16>) {
  %c0 = arith.constant 0 : index
  %d0 = tensor.dim %x, %c0 : tensor<?x1024xf16>
  %e = tensor.empty(%d0) : tensor<?x1024xf32>
  %rs = linalg.broadcast ins(%rowscale : tensor<?xf32>)
      outs(%e : tensor<?x1024xf32>) dimensions = [1]
  %f = arith.extf %x : tensor<?x1024xf16> to tensor<?x1024xf32>
  %g = arith.extf %residual : tensor<?x1024xf16> to tensor<?x1024xf32>
  %scaled = arith.mulf %f, %rs : tensor<?x1024xf32>
  %sumf = arith.addf %scaled, %g : tensor<?x1024xf32>
  %sum = arith.truncf %sumf : tensor<?x1024xf32> to tensor<?x1024xf16>
  %y = norm.layer_norm %sum scale(%w) bias(%b) axes = [1] eps = 1.0e-5
      : tensor<?x1024xf16>, tensor<1024xf16>, tensor<1024xf16>
        -> tensor<?x1024xf16>
  return %y, %sum : tensor<?x1024xf16>, tensor<?x1024xf16>
}
