//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// RMSNorm of the heads of a fused projection, within the projection.
//
// Group: In place
// One kernel: SGLang fused_inplace_qknorm; TensorRT-LLM fused_qk_norm_rope (the
//   norm)
// Data: --arg 0=random:37x40x128:strides=6144x128x1
//
//===----------------------------------------------------------------------===//

func.func @qk_rms_norm_in_place(
    %qk: tensor<?x40x128xbf16>
        {norm.in_place = 0, norm.layout = strided<[6144, 128, 1]>},
    %w: tensor<40x128xbf16>)
    -> (tensor<?x40x128xbf16> {norm.layout = strided<[6144, 128, 1]>}) {
  %y = norm.rms_norm %qk scale(%w) axes = [2] eps = 1.0e-6
      : tensor<?x40x128xbf16>, tensor<40x128xbf16> -> tensor<?x40x128xbf16>
  return %y : tensor<?x40x128xbf16>
}
