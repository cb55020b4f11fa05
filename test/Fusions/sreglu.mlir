//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Squared ReLU of the gate times the other half.
//
// Group: Gating
// One kernel: TransformerEngine nvte_sreglu
// Data: --arg 0=random:37x11008:pitch=22016 --arg
//   1=random:37x11008:pitch=22016:offset=11008
//
//===----------------------------------------------------------------------===//

func.func @sreglu(%gate: tensor<?x11008xbf16>, %up: tensor<?x11008xbf16>)
    -> tensor<?x11008xbf16> {
  %c0 = arith.constant 0 : index
  %d0 = tensor.dim %gate, %c0 : tensor<?x11008xbf16>
  %e = tensor.empty(%d0) : tensor<?x11008xbf16>
  %s = linalg.generic {
      indexing_maps = [
         affine_map<(d0, d1) -> (d0, d1)>,
         affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%gate : tensor<?x11008xbf16>)
      outs(%e : tensor<?x11008xbf16>) {
  ^bb0(%a: bf16, %_: bf16):
    %zero = arith.constant 0.0 : bf16
    %r = arith.maximumf %a, %zero : bf16
    %s = arith.mulf %r, %r : bf16
    linalg.yield %s : bf16
  } -> tensor<?x11008xbf16>
  %y = arith.mulf %s, %up : tensor<?x11008xbf16>
  return %y : tensor<?x11008xbf16>
}
