//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The bias of the projection before, residual sum and RMSNorm.
//
// Group: Residual and norm
// One kernel: TensorRT-LLM RESIDUAL_RMS_NORM with a bias
// Data: --arg 0=random:37x4096
//
//===----------------------------------------------------------------------===//

func.func @bias_add_rms_norm(%x: tensor<?x4096xbf16>,
                             %bias: tensor<4096xbf16>,
                             %residual: tensor<?x4096xbf16>,
                             %w: tensor<4096xbf16>)
    -> (tensor<?x4096xbf16>, tensor<?x4096xbf16>) {
  %c0 = arith.constant 0 : index
  %d0 = tensor.dim %x, %c0 : tensor<?x4096xbf16>
  %e = tensor.empty(%d0) : tensor<?x4096xbf16>
  %bs = linalg.broadcast ins(%bias : tensor<4096xbf16>)
      outs(%e : tensor<?x4096xbf16>) dimensions = [0]
  %biased = arith.addf %x, %bs : tensor<?x4096xbf16>
  %sum = arith.addf %biased, %residual : tensor<?x4096xbf16>
  %y = norm.rms_norm %sum scale(%w) axes = [1] eps = 1.0e-6
      : tensor<?x4096xbf16>, tensor<4096xbf16> -> tensor<?x4096xbf16>
  return %y, %sum : tensor<?x4096xbf16>, tensor<?x4096xbf16>
}
