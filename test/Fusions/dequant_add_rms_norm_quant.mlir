//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Integer sums of a product with scales by row and by column, residual sum,
// RMSNorm, and int8 codes with a scale for each row.
//
// Group: Quantized inputs
// Several kernels: vLLM fused_add_rms_norm and dynamic_scaled_int8_quant,
//   scales in the product
// Data: --arg 0=random:37x4096:std=1000 --arg 1=full:37:value=0.01 --arg
//   2=random:4096:dist=uniform:low=0.05:high=0.1
//
//===----------------------------------------------------------------------===//

func.func @dequant_add_rms_norm_quant(%acc: tensor<?x4096xi32>,
                                      %row_scale: tensor<?xf32>,
                                      %col_scale: tensor<4096xf32>,
                                      %residual: tensor<?x4096xbf16>,
                                      %w: tensor<4096xbf16>)
    -> (tensor<?x4096xi8>, tensor<?x1xf32>, tensor<?x4096xbf16>) {
  %c0 = arith.constant 0 : index
  %d0 = tensor.dim %acc, %c0 : tensor<?x4096xi32>
  %e = tensor.empty(%d0) : tensor<?x4096xf32>
  %f = arith.sitofp %acc : tensor<?x4096xi32> to tensor<?x4096xf32>
  %rs = linalg.broadcast ins(%row_scale : tensor<?xf32>)
      outs(%e : tensor<?x4096xf32>) dimensions = [1]
  %cs = linalg.broadcast ins(%col_scale : tensor<4096xf32>)
      outs(%e : tensor<?x4096xf32>) dimensions = [0]
  %v0 = arith.mulf %f, %rs : tensor<?x4096xf32>
  %v = arith.mulf %v0, %cs : tensor<?x4096xf32>
  %g = arith.extf %residual : tensor<?x4096xbf16> to tensor<?x4096xf32>
  %sumf = arith.addf %v, %g : tensor<?x4096xf32>
  %sum = arith.truncf %sumf : tensor<?x4096xf32> to tensor<?x4096xbf16>
  %y = norm.rms_norm %sum scale(%w) axes = [1] eps = 1.0e-6
      : tensor<?x4096xbf16>, tensor<4096xbf16> -> tensor<?x4096xbf16>
  %q, %s = norm.quantize %y group = [1, -1]
      : tensor<?x4096xbf16>
        -> tensor<?x4096xi8>, tensor<?x1xf32>
  return %q, %s, %sum
      : tensor<?x4096xi8>, tensor<?x1xf32>, tensor<?x4096xbf16>
}
