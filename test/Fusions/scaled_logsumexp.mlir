//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Scaled logits, reduced to the logarithm of their sum of exponentials.
//
// Group: Softmax
// Several kernels: PyTorch, scaled logits and logsumexp
// Data: --arg 0=random:7x32000
//
//===----------------------------------------------------------------------===//

func.func @scaled_logsumexp(%x: tensor<?x32000xbf16>)
    -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %d0 = tensor.dim %x, %c0 : tensor<?x32000xbf16>
  %e = tensor.empty(%d0) : tensor<?x32000xf32>
  %v = linalg.generic {
      indexing_maps = [
         affine_map<(d0, d1) -> (d0, d1)>,
         affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<?x32000xbf16>)
      outs(%e : tensor<?x32000xf32>) {
  ^bb0(%a: bf16, %_: f32):
    %scale = arith.constant 0.5 : f32
    %0 = arith.extf %a : bf16 to f32
    %1 = arith.mulf %0, %scale : f32
    linalg.yield %1 : f32
  } -> tensor<?x32000xf32>
  %y = norm.logsumexp %v axes = [1] : tensor<?x32000xf32> -> tensor<?xf32>
  return %y : tensor<?xf32>
}
