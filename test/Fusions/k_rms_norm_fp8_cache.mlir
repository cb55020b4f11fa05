//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// RMSNorm of keys, quantized with the static scale of a cache.
//
// Group: Queries and keys
// Several kernels: vLLM rms_norm and reshape_and_cache with fp8
// Data: --arg 0=random:37x8x128:strides=6144x128x1 --arg
//   2=full:scalar:value=0.01
//
//===----------------------------------------------------------------------===//

func.func @k_rms_norm_fp8_cache(
    %k: tensor<?x8x128xbf16> {norm.layout = strided<[6144, 128, 1]>},
    %w: tensor<128xbf16>, %scale: tensor<f32>)
    -> tensor<?x8x128xf8E4M3FN> {
  %n = norm.rms_norm %k scale(%w) axes = [2] eps = 1.0e-6
      : tensor<?x8x128xbf16>, tensor<128xbf16> -> tensor<?x8x128xbf16>
  %q = norm.quantize %n scale(%scale) group = [-1, -1, -1]
      : tensor<?x8x128xbf16>, tensor<f32> -> tensor<?x8x128xf8E4M3FN>
  return %q : tensor<?x8x128xf8E4M3FN>
}
