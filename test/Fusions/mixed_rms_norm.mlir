//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// f16 in, with parameters and result in f32.
//
// Group: Residual and norm
// One kernel: Apex MixedFusedRMSNorm
// Data: --arg 0=random:37x4096
//
//===----------------------------------------------------------------------===//

func.func @mixed_rms_norm(%x: tensor<?x4096xf16>, %w: tensor<4096xf32>)
    -> (tensor<?x4096xf32>, tensor<?xf32>) {
  %y, %rstd = norm.rms_norm %x scale(%w) stats(rstd) axes = [1] eps = 1.0e-5
      : tensor<?x4096xf16>, tensor<4096xf32>
        -> tensor<?x4096xf32>, tensor<?xf32>
  return %y, %rstd : tensor<?x4096xf32>, tensor<?xf32>
}
