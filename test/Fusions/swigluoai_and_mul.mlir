//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The clamped SwiGLU of gpt-oss: (up + 1) * gate * sigmoid(1.702 * gate).
//
// Group: Gating
// One kernel: vLLM swigluoai_and_mul; TransformerEngine nvte_clamped_swiglu
// Data: --arg 0=random:37x2880:std=4 --arg 1=random:37x2880:std=4:seed=9
//
//===----------------------------------------------------------------------===//

func.func @swigluoai_and_mul(%gate: tensor<?x2880xbf16>,
                             %up: tensor<?x2880xbf16>)
    -> tensor<?x2880xbf16> {
  %c0 = arith.constant 0 : index
  %d0 = tensor.dim %gate, %c0 : tensor<?x2880xbf16>
  %e = tensor.empty(%d0) : tensor<?x2880xbf16>
  %y = linalg.generic {
      indexing_maps = [
         affine_map<(d0, d1) -> (d0, d1)>,
         affine_map<(d0, d1) -> (d0, d1)>,
         affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%gate, %up : tensor<?x2880xbf16>, tensor<?x2880xbf16>)
      outs(%e : tensor<?x2880xbf16>) {
  ^bb0(%a: bf16, %b: bf16, %_: bf16):
    %limit = arith.constant 7.0 : f32
    %least = arith.constant -7.0 : f32
    %alpha = arith.constant 1.702 : f32
    %one = arith.constant 1.0 : f32
    %0 = arith.extf %a : bf16 to f32
    %1 = arith.extf %b : bf16 to f32
    %g = arith.minimumf %0, %limit : f32
    %2 = arith.minimumf %1, %limit : f32
    %u = arith.maximumf %2, %least : f32
    %3 = arith.mulf %g, %alpha : f32
    %4 = norm.sigmoid %3 : f32
    %5 = arith.mulf %g, %4 : f32
    %6 = arith.addf %u, %one : f32
    %7 = arith.mulf %5, %6 : f32
    %8 = arith.truncf %7 : f32 to bf16
    linalg.yield %8 : bf16
  } -> tensor<?x2880xbf16>
  return %y : tensor<?x2880xbf16>
}
