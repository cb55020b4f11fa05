//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LayerNorm with the scale 1 + w, fp8 codes with a given scale for the tensor,
// and the largest magnitude of each row, of which delayed scaling takes the
// largest.
//
// Group: Quantized results
// One kernel: TransformerEngine nvte_layernorm_fwd with an fp8 result, amax (of
//   the tensor) and zero_centered_gamma
// Data: --arg 0=random:37x4096 --arg 3=full:scalar:value=0.01
//
//===----------------------------------------------------------------------===//

func.func @layer_norm_static_fp8_amax(%x: tensor<?x4096xbf16>,
                                      %w: tensor<4096xbf16>,
                                      %b: tensor<4096xbf16>,
                                      %scale: tensor<f32>)
    -> (tensor<?x4096xf8E4M3FN>, tensor<?x1xf32>) {
  %y = norm.layer_norm %x scale(%w, offset = 1.0) bias(%b)
      axes = [1] eps = 1.0e-5
      : tensor<?x4096xbf16>, tensor<4096xbf16>, tensor<4096xbf16>
        -> tensor<?x4096xf32>
  %c0 = arith.constant 0 : index
  %d0 = tensor.dim %x, %c0 : tensor<?x4096xbf16>
  %e = tensor.empty(%d0) : tensor<?x1xf32>
  %s = linalg.broadcast ins(%scale : tensor<f32>)
      outs(%e : tensor<?x1xf32>) dimensions = [0, 1]
  %q, %amax = norm.quantize %y scale(%s) stats(amax) group = [1, -1]
      : tensor<?x4096xf32>, tensor<?x1xf32>
        -> tensor<?x4096xf8E4M3FN>, tensor<?x1xf32>
  return %q, %amax : tensor<?x4096xf8E4M3FN>, tensor<?x1xf32>
}
