//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Integer sums of a product, with a scale for the tensor, plus a residual in
// f32, LayerNorm, and int8 codes of scale 1; the sum is returned.
//
// Group: Quantized inputs
// One kernel: torch-int (SmoothQuant) dq_add_layernorm_q
// Data: --arg 0=random:37x4096:mean=0:std=1000 --arg 2=full:4096:value=20 --arg
//   4=full:scalar:value=0.001 --arg 5=full:scalar:value=1
//
//===----------------------------------------------------------------------===//

func.func @dq_add_layer_norm_q(%acc: tensor<?x4096xi32>,
                               %residual: tensor<?x4096xf32>,
                               %w: tensor<4096xf32>, %b: tensor<4096xf32>,
                               %in_scale: tensor<f32>,
                               %out_scale: tensor<f32>)
    -> (tensor<?x4096xi8>, tensor<?x4096xf32>) {
  %c0 = arith.constant 0 : index
  %d0 = tensor.dim %acc, %c0 : tensor<?x4096xi32>
  %e = tensor.empty(%d0) : tensor<?x4096xf32>
  %f = arith.sitofp %acc : tensor<?x4096xi32> to tensor<?x4096xf32>
  %cs = linalg.broadcast ins(%in_scale : tensor<f32>)
      outs(%e : tensor<?x4096xf32>) dimensions = [0, 1]
  %v = arith.mulf %f, %cs : tensor<?x4096xf32>
  %sum = arith.addf %v, %residual : tensor<?x4096xf32>
  %y = norm.layer_norm %sum scale(%w) bias(%b) axes = [1] eps = 1.0e-5
      : tensor<?x4096xf32>, tensor<4096xf32>, tensor<4096xf32>
        -> tensor<?x4096xf32>
  %q = norm.quantize %y scale(%out_scale) group = [-1, -1]
      : tensor<?x4096xf32>, tensor<f32>
        -> tensor<?x4096xi8>
  return %q, %sum : tensor<?x4096xi8>, tensor<?x4096xf32>
}
