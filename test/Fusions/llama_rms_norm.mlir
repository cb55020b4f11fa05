//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// RMSNorm rounded to bf16 before the scale is multiplied in bf16, as in Llama.
//
// Group: Residual and norm
// One kernel: Liger-Kernel LigerRMSNorm with casting_mode llama; vLLM rms_norm
// Data: --arg 0=random:37x4096
//
//===----------------------------------------------------------------------===//

func.func @llama_rms_norm(%x: tensor<?x4096xbf16>, %w: tensor<4096xbf16>)
    -> tensor<?x4096xbf16> {
  %n = norm.rms_norm %x axes = [1] eps = 1.0e-6
      : tensor<?x4096xbf16> -> tensor<?x4096xbf16>
  %c0 = arith.constant 0 : index
  %d0 = tensor.dim %x, %c0 : tensor<?x4096xbf16>
  %e = tensor.empty(%d0) : tensor<?x4096xbf16>
  %ws = linalg.broadcast ins(%w : tensor<4096xbf16>)
      outs(%e : tensor<?x4096xbf16>) dimensions = [0]
  %y = arith.mulf %n, %ws : tensor<?x4096xbf16>
  return %y : tensor<?x4096xbf16>
}
