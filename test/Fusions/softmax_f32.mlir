//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Softmax of bf16 logits, in f32.
//
// Group: Softmax
// One kernel: QuACK softmax; Liger-Kernel LigerSoftmax
// Data: --arg 0=random:7x32000
//
//===----------------------------------------------------------------------===//

func.func @softmax_f32(%x: tensor<?x32000xbf16>)
    -> tensor<?x32000xf32> {
  %y = norm.softmax %x axes = [1] : tensor<?x32000xbf16> -> tensor<?x32000xf32>
  return %y : tensor<?x32000xf32>
}
