//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Softmax and the logarithm of its sum, for a cross entropy with z-loss.
//
// Group: Softmax
// One kernel: QuACK cross_entropy (softmax and lse of its forward)
// Data: --arg 0=random:7x32000
//
//===----------------------------------------------------------------------===//

func.func @softmax_logsumexp(%x: tensor<?x32000xbf16>)
    -> (tensor<?x32000xbf16>, tensor<?xf32>) {
  %y, %l = norm.softmax %x stats(logsumexp) axes = [1]
      : tensor<?x32000xbf16> -> tensor<?x32000xbf16>, tensor<?xf32>
  return %y, %l : tensor<?x32000xbf16>, tensor<?xf32>
}
