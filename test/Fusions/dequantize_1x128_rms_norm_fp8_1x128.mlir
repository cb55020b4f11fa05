//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// fp8 codes with a scale for 128 columns, residual sum, RMSNorm, and codes of
// the same kind.
//
// Group: Quantized inputs
// Data: --arg 0=random:37x4096 --arg
//   1=random:37x32:dist=uniform:low=0.01:high=0.02
//
//===----------------------------------------------------------------------===//

func.func @dequantize_1x128_rms_norm_fp8_1x128(%q: tensor<?x4096xf8E4M3FN>,
                                               %scale: tensor<?x32xf32>,
                                               %residual: tensor<?x4096xbf16>,
                                               %w: tensor<4096xbf16>)
    -> (tensor<?x4096xf8E4M3FN>, tensor<?x32xf32>, tensor<?x4096xbf16>) {
  %x = norm.dequantize %q scale(%scale) group = [1, 128]
      : tensor<?x4096xf8E4M3FN>, tensor<?x32xf32> -> tensor<?x4096xbf16>
  %sum = arith.addf %x, %residual : tensor<?x4096xbf16>
  %y = norm.rms_norm %sum scale(%w) axes = [1] eps = 1.0e-6
      : tensor<?x4096xbf16>, tensor<4096xbf16> -> tensor<?x4096xbf16>
  %c, %s = norm.quantize %y group = [1, 128]
      : tensor<?x4096xbf16>
        -> tensor<?x4096xf8E4M3FN>, tensor<?x32xf32>
  return %c, %s, %sum
      : tensor<?x4096xf8E4M3FN>, tensor<?x32xf32>, tensor<?x4096xbf16>
}
