//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// RMSNorm that keeps 1 / rms of each row for the backward.
//
// Group: Residual and norm
// One kernel: QuACK rmsnorm with store_rstd; Apex FusedRMSNorm;
//   TransformerEngine nvte_rmsnorm_fwd; Liger-Kernel LigerRMSNorm
// Data: --arg 0=random:37x4096
//
//===----------------------------------------------------------------------===//

func.func @rms_norm_rstd(%x: tensor<?x4096xbf16>, %w: tensor<4096xbf16>)
    -> (tensor<?x4096xbf16>, tensor<?xf32>) {
  %y, %rstd = norm.rms_norm %x scale(%w) stats(rstd) axes = [1] eps = 1.0e-6
      : tensor<?x4096xbf16>, tensor<4096xbf16>
        -> tensor<?x4096xbf16>, tensor<?xf32>
  return %y, %rstd : tensor<?x4096xbf16>, tensor<?xf32>
}
