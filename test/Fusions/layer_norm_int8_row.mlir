//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LayerNorm, and int8 codes with a scale for each row.
//
// Group: Quantized results
// One kernel: TensorRT-LLM layernormQuantization plugin (SmoothQuant)
// Data: --arg 0=random:37x4096
//
//===----------------------------------------------------------------------===//

func.func @layer_norm_int8_row(%x: tensor<?x4096xbf16>, %w: tensor<4096xbf16>,
                               %b: tensor<4096xbf16>)
    -> (tensor<?x4096xi8>, tensor<?x1xf32>) {
  %y = norm.layer_norm %x scale(%w) bias(%b) axes = [1] eps = 1.0e-5
      : tensor<?x4096xbf16>, tensor<4096xbf16>, tensor<4096xbf16>
        -> tensor<?x4096xbf16>
  %q, %s = norm.quantize %y group = [1, -1]
      : tensor<?x4096xbf16>
        -> tensor<?x4096xi8>, tensor<?x1xf32>
  return %q, %s : tensor<?x4096xi8>, tensor<?x1xf32>
}
