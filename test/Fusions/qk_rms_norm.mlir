//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// RMSNorm of each of 32 heads of queries and 8 of keys, side by side in a fused
// projection (of 48 heads), with the weights of their own.
//
// Group: Queries and keys
// One kernel: TensorRT-LLM fused_qk_norm_rope (the norm); vLLM
//   fused_qk_norm_rope (the norm); SGLang fused_inplace_qknorm
// Data: --arg 0=random:37x40x128:strides=6144x128x1
//
//===----------------------------------------------------------------------===//

func.func @qk_rms_norm(
    %qk: tensor<?x40x128xbf16> {norm.layout = strided<[6144, 128, 1]>},
    %w: tensor<40x128xbf16>)
    -> tensor<?x40x128xbf16> {
  %y = norm.rms_norm %qk scale(%w) axes = [2] eps = 1.0e-6
      : tensor<?x40x128xbf16>, tensor<40x128xbf16> -> tensor<?x40x128xbf16>
  return %y : tensor<?x40x128xbf16>
}
