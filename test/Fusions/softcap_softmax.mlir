//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Logits capped by c * tanh(x / c) before a causal softmax.
//
// Group: Softmax
// Several kernels: Gemma 2 eager attention in Transformers
// Data: --arg 0=random:3x511x511:std=20
//
//===----------------------------------------------------------------------===//

func.func @softcap_softmax(%x: tensor<?x511x511xbf16>)
    -> tensor<?x511x511xbf16> {
  %c0 = arith.constant 0 : index
  %d0 = tensor.dim %x, %c0 : tensor<?x511x511xbf16>
  %e = tensor.empty(%d0) : tensor<?x511x511xf32>
  %v = linalg.generic {
      indexing_maps = [
         affine_map<(d0, d1, d2) -> (d0, d1, d2)>,
         affine_map<(d0, d1, d2) -> (d0, d1, d2)>],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x : tensor<?x511x511xbf16>)
      outs(%e : tensor<?x511x511xf32>) {
  ^bb0(%a: bf16, %_: f32):
    %cap = arith.constant 32.0 : f32
    %inverse = arith.constant 0.03125 : f32
    %0 = arith.extf %a : bf16 to f32
    %1 = arith.mulf %0, %inverse : f32
    %2 = math.tanh %1 : f32
    %3 = arith.mulf %2, %cap : f32
    linalg.yield %3 : f32
  } -> tensor<?x511x511xf32>
  %y = norm.softmax %v axes = [2] causal
      : tensor<?x511x511xf32> -> tensor<?x511x511xbf16>
  return %y : tensor<?x511x511xbf16>
}
