//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The outputs of two parallel layers, residual sum and RMSNorm.
//
// Group: Residual and norm
// One kernel: flash-attention layer_norm_fn with x1
// Several kernels: GPT-NeoX in Transformers
// Data: --arg 0=random:37x4096
//
//===----------------------------------------------------------------------===//

func.func @add_two_rms_norm(%x0: tensor<?x4096xbf16>,
                            %x1: tensor<?x4096xbf16>,
                            %residual: tensor<?x4096xbf16>,
                            %w: tensor<4096xbf16>)
    -> (tensor<?x4096xbf16>, tensor<?x4096xbf16>) {
  %both = arith.addf %x0, %x1 : tensor<?x4096xbf16>
  %sum = arith.addf %both, %residual : tensor<?x4096xbf16>
  %y = norm.rms_norm %sum scale(%w) axes = [1] eps = 1.0e-6
      : tensor<?x4096xbf16>, tensor<4096xbf16> -> tensor<?x4096xbf16>
  return %y, %sum : tensor<?x4096xbf16>, tensor<?x4096xbf16>
}
