//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// RMSNorm of a layer's output, residual sum, and the RMSNorm before the next
// layer; two norms over the same rows.
//
// Group: Residual and norm
// One kernel: TensorRT-LLM RESIDUAL_RMS_PREPOST_NORM
// Several kernels: Gemma 2 and 3 in Transformers
// Data: --arg 0=random:37x3584
//
//===----------------------------------------------------------------------===//

func.func @sandwich_norm(%x: tensor<?x3584xbf16>,
                         %residual: tensor<?x3584xbf16>,
                         %post: tensor<3584xbf16>, %pre: tensor<3584xbf16>)
    -> (tensor<?x3584xbf16>, tensor<?x3584xbf16>) {
  %n = norm.rms_norm %x scale(%post, offset = 1.0) axes = [1] eps = 1.0e-6
      : tensor<?x3584xbf16>, tensor<3584xbf16> -> tensor<?x3584xbf16>
  %sum = arith.addf %n, %residual : tensor<?x3584xbf16>
  %y = norm.rms_norm %sum scale(%pre, offset = 1.0) axes = [1] eps = 1.0e-6
      : tensor<?x3584xbf16>, tensor<3584xbf16> -> tensor<?x3584xbf16>
  return %y, %sum : tensor<?x3584xbf16>, tensor<?x3584xbf16>
}
