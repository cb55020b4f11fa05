//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// RMSNorm times the sigmoid of a gate, by head.
//
// Group: Gating
// One kernel: flash-linear-attention FusedRMSNormGated with activation sigmoid
// Data: --arg 0=random:5x32x128
//
//===----------------------------------------------------------------------===//

func.func @rms_norm_sigmoid_gate(%x: tensor<?x32x128xbf16>,
                                 %gate: tensor<?x32x128xbf16>,
                                 %w: tensor<128xbf16>)
    -> tensor<?x32x128xbf16> {
  %n = norm.rms_norm %x scale(%w) axes = [2] eps = 1.0e-6
      : tensor<?x32x128xbf16>, tensor<128xbf16> -> tensor<?x32x128xbf16>
  %s = norm.sigmoid %gate : tensor<?x32x128xbf16>
  %y = arith.mulf %n, %s : tensor<?x32x128xbf16>
  return %y : tensor<?x32x128xbf16>
}
