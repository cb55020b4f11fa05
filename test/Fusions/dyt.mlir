//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Dynamic tanh, tanh(alpha * x) * w + b, in place of a norm.
//
// Group: Norm and activation
// One kernel: Liger-Kernel LigerDyT
// Data: --arg 0=random:37x4096
//
//===----------------------------------------------------------------------===//

func.func @dyt(%x: tensor<?x4096xbf16>, %alpha: tensor<1xbf16>,
               %w: tensor<4096xbf16>, %b: tensor<4096xbf16>)
    -> tensor<?x4096xbf16> {
  %c0 = arith.constant 0 : index
  %d0 = tensor.dim %x, %c0 : tensor<?x4096xbf16>
  %e = tensor.empty(%d0) : tensor<?x4096xbf16>
  %y = linalg.generic {
      indexing_maps = [
         affine_map<(d0, d1) -> (d0, d1)>,
         affine_map<(d0, d1) -> (0)>,
         affine_map<(d0, d1) -> (d1)>,
         affine_map<(d0, d1) -> (d1)>,
         affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%x, %alpha, %w, %b
          : tensor<?x4096xbf16>, tensor<1xbf16>, tensor<4096xbf16>,
            tensor<4096xbf16>)
      outs(%e : tensor<?x4096xbf16>) {
  ^bb0(%a: bf16, %s: bf16, %g: bf16, %h: bf16, %_: bf16):
    %0 = arith.extf %a : bf16 to f32
    %1 = arith.extf %s : bf16 to f32
    %2 = arith.extf %g : bf16 to f32
    %3 = arith.extf %h : bf16 to f32
    %4 = arith.mulf %0, %1 : f32
    %5 = math.tanh %4 : f32
    %6 = arith.mulf %5, %2 : f32
    %7 = arith.addf %6, %3 : f32
    %8 = arith.truncf %7 : f32 to bf16
    linalg.yield %8 : bf16
  } -> tensor<?x4096xbf16>
  return %y : tensor<?x4096xbf16>
}
