//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// RMSNorm of a layer's output, added to the residual stream.
//
// Group: Residual and norm
// One kernel: TensorRT-LLM RESIDUAL_RMS_PREPOST_NORM (its first half)
// Several kernels: OLMo 2 in Transformers
// Data: --arg 0=random:37x3584
//
//===----------------------------------------------------------------------===//

func.func @post_norm_add(%x: tensor<?x3584xbf16>,
                         %residual: tensor<?x3584xbf16>,
                         %w: tensor<3584xbf16>)
    -> tensor<?x3584xbf16> {
  %n = norm.rms_norm %x scale(%w) axes = [1] eps = 1.0e-6
      : tensor<?x3584xbf16>, tensor<3584xbf16> -> tensor<?x3584xbf16>
  %sum = arith.addf %n, %residual : tensor<?x3584xbf16>
  return %sum : tensor<?x3584xbf16>
}
