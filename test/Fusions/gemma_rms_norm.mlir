//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// RMSNorm with the zero-centred scale 1 + w.
//
// Group: Residual and norm
// One kernel: FlashInfer gemma_rmsnorm; Liger-Kernel LigerRMSNorm with offset 1
//   and casting_mode gemma; TransformerEngine nvte_rmsnorm_fwd with
//   zero_centered_gamma
// Data: --arg 0=random:37x4096
//
//===----------------------------------------------------------------------===//

func.func @gemma_rms_norm(%x: tensor<?x4096xbf16>, %w: tensor<4096xbf16>)
    -> tensor<?x4096xbf16> {
  %y = norm.rms_norm %x scale(%w, offset = 1.0) axes = [1] eps = 1.0e-6
      : tensor<?x4096xbf16>, tensor<4096xbf16> -> tensor<?x4096xbf16>
  return %y : tensor<?x4096xbf16>
}
