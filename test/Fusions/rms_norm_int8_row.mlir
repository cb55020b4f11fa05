//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// RMSNorm, and int8 codes with a scale for each row.
//
// Group: Quantized results
// One kernel: vLLM rms_norm_dynamic_per_token_quant to int8; TensorRT-LLM
//   rmsnormQuantization plugin (SmoothQuant)
// Data: --arg 0=random:37x4096
//
//===----------------------------------------------------------------------===//

func.func @rms_norm_int8_row(%x: tensor<?x4096xbf16>, %w: tensor<4096xbf16>)
    -> (tensor<?x4096xi8>, tensor<?x1xf32>) {
  %y = norm.rms_norm %x scale(%w) axes = [1] eps = 1.0e-6
      : tensor<?x4096xbf16>, tensor<4096xbf16> -> tensor<?x4096xbf16>
  %q, %s = norm.quantize %y group = [1, -1]
      : tensor<?x4096xbf16>
        -> tensor<?x4096xi8>, tensor<?x1xf32>
  return %q, %s : tensor<?x4096xi8>, tensor<?x1xf32>
}
