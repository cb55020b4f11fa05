//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bias, dropout, residual sum and LayerNorm, the end of a block of BERT or GPT;
// the sum is returned.
//
// Group: Residual and norm
// One kernel: flash-attention dropout_add_layer_norm
// Several kernels: Megatron-LM bias_dropout_add_fused_train and the norm
// Data: --arg 0=random:37x1024 --arg 5=1234 --arg 6=8
//
//===----------------------------------------------------------------------===//

func.func @bias_dropout_add_layer_norm(%x: tensor<?x1024xbf16>,
                                       %bias: tensor<1024xbf16>,
                                       %residual: tensor<?x1024xbf16>,
                                       %w: tensor<1024xbf16>,
                                       %b: tensor<1024xbf16>, %seed: i64,
                                       %offset: i64)
    -> (tensor<?x1024xbf16>, tensor<?x1024xbf16>) {
  %c0 = arith.constant 0 : index
  %d0 = tensor.dim %x, %c0 : tensor<?x1024xbf16>
  %e = tensor.empty(%d0) : tensor<?x1024xbf16>
  %bs = linalg.broadcast ins(%bias : tensor<1024xbf16>)
      outs(%e : tensor<?x1024xbf16>) dimensions = [0]
  %biased = arith.addf %x, %bs : tensor<?x1024xbf16>
  %kept = norm.dropout %biased seed(%seed) offset(%offset) p = 0.1
      : tensor<?x1024xbf16>, i64, i64 -> tensor<?x1024xbf16>
  %sum = arith.addf %kept, %residual : tensor<?x1024xbf16>
  %y = norm.layer_norm %sum scale(%w) bias(%b) axes = [1] eps = 1.0e-5
      : tensor<?x1024xbf16>, tensor<1024xbf16>, tensor<1024xbf16>
        -> tensor<?x1024xbf16>
  return %y, %sum : tensor<?x1024xbf16>, tensor<?x1024xbf16>
}
