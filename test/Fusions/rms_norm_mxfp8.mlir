//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// RMSNorm, and MXFP8 codes with an e8m0 scale for 32 neighbouring columns.
//
// Group: Quantized results
// One kernel: TransformerEngine nvte_rmsnorm_fwd with an MXFP8 result
// Data: --arg 0=random:37x4096
//
//===----------------------------------------------------------------------===//

func.func @rms_norm_mxfp8(%x: tensor<?x4096xbf16>, %w: tensor<4096xbf16>)
    -> (tensor<?x4096xf8E4M3FN>, tensor<?x128xf8E8M0FNU>) {
  %y = norm.rms_norm %x scale(%w) axes = [1] eps = 1.0e-6
      : tensor<?x4096xbf16>, tensor<4096xbf16> -> tensor<?x4096xbf16>
  %q, %s = norm.quantize %y group = [1, 32]
      scale_rounding = ceil
      : tensor<?x4096xbf16>
        -> tensor<?x4096xf8E4M3FN>, tensor<?x128xf8E8M0FNU>
  return %q, %s : tensor<?x4096xf8E4M3FN>, tensor<?x128xf8E8M0FNU>
}
