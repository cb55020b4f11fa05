//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Dropout, residual sum in f32 and RMSNorm.
//
// Group: Residual and norm
// One kernel: flash-attention dropout_add_rms_norm
// Data: --arg 0=random:37x2048 --arg 3=77 --arg 4=0
//
//===----------------------------------------------------------------------===//

func.func @dropout_add_rms_norm(%x: tensor<?x2048xbf16>,
                                %residual: tensor<?x2048xf32>,
                                %w: tensor<2048xf32>, %seed: i64,
                                %offset: i64)
    -> (tensor<?x2048xbf16>, tensor<?x2048xf32>) {
  %f = arith.extf %x : tensor<?x2048xbf16> to tensor<?x2048xf32>
  %kept = norm.dropout %f seed(%seed) offset(%offset) p = 0.25
      : tensor<?x2048xf32>, i64, i64 -> tensor<?x2048xf32>
  %sum = arith.addf %kept, %residual : tensor<?x2048xf32>
  %y = norm.rms_norm %sum scale(%w) axes = [1] eps = 1.0e-6
      : tensor<?x2048xf32>, tensor<2048xf32> -> tensor<?x2048xbf16>
  return %y, %sum : tensor<?x2048xbf16>, tensor<?x2048xf32>
}
