//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// max(x, 0)^2, of Primer and Nemotron.
//
// Group: Norm and activation
// One kernel: TransformerEngine nvte_srelu; Megatron-LM squared_relu
// Data: --arg 0=random:37x16384
//
//===----------------------------------------------------------------------===//

func.func @squared_relu(%x: tensor<?x16384xbf16>)
    -> tensor<?x16384xbf16> {
  %c0 = arith.constant 0 : index
  %d0 = tensor.dim %x, %c0 : tensor<?x16384xbf16>
  %e = tensor.empty(%d0) : tensor<?x16384xbf16>
  %y = linalg.generic {
      indexing_maps = [
         affine_map<(d0, d1) -> (d0, d1)>,
         affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<?x16384xbf16>)
      outs(%e : tensor<?x16384xbf16>) {
  ^bb0(%a: bf16, %_: bf16):
    %zero = arith.constant 0.0 : bf16
    %r = arith.maximumf %a, %zero : bf16
    %s = arith.mulf %r, %r : bf16
    linalg.yield %s : bf16
  } -> tensor<?x16384xbf16>
  return %y : tensor<?x16384xbf16>
}
