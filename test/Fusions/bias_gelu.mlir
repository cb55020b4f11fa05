//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bias and GELU in its tanh form.
//
// Group: Norm and activation
// One kernel: Megatron-LM bias_gelu_impl
// Data: --arg 0=random:37x16384
//
//===----------------------------------------------------------------------===//

func.func @bias_gelu(%x: tensor<?x16384xbf16>, %bias: tensor<16384xbf16>)
    -> tensor<?x16384xbf16> {
  %c0 = arith.constant 0 : index
  %d0 = tensor.dim %x, %c0 : tensor<?x16384xbf16>
  %e = tensor.empty(%d0) : tensor<?x16384xbf16>
  %bs = linalg.broadcast ins(%bias : tensor<16384xbf16>)
      outs(%e : tensor<?x16384xbf16>) dimensions = [0]
  %biased = arith.addf %x, %bs : tensor<?x16384xbf16>
  %y = norm.gelu %biased approximate = tanh : tensor<?x16384xbf16>
  return %y : tensor<?x16384xbf16>
}
