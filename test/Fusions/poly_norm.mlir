//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The sum of the RMSNorms of x^3, x^2 and x, each with a factor, and a bias;
// three norms over the same rows.
//
// Group: Residual and norm
// One kernel: Liger-Kernel LigerPolyNorm; vLLM poly_norm
// Data: --arg 0=random:37x4096
//
//===----------------------------------------------------------------------===//

func.func @poly_norm(%x: tensor<?x4096xbf16>, %w3: tensor<1xf32>,
                     %w2: tensor<1xf32>, %w1: tensor<1xf32>,
                     %bias: tensor<1xf32>)
    -> tensor<?x4096xbf16> {
  %f = arith.extf %x : tensor<?x4096xbf16> to tensor<?x4096xf32>
  %square = arith.mulf %f, %f : tensor<?x4096xf32>
  %cube = arith.mulf %square, %f : tensor<?x4096xf32>
  %n3 = norm.rms_norm %cube axes = [1] eps = 1.0e-6
      : tensor<?x4096xf32> -> tensor<?x4096xf32>
  %n2 = norm.rms_norm %square axes = [1] eps = 1.0e-6
      : tensor<?x4096xf32> -> tensor<?x4096xf32>
  %n1 = norm.rms_norm %f axes = [1] eps = 1.0e-6
      : tensor<?x4096xf32> -> tensor<?x4096xf32>
  %c0 = arith.constant 0 : index
  %d0 = tensor.dim %x, %c0 : tensor<?x4096xbf16>
  %e = tensor.empty(%d0) : tensor<?x4096xbf16>
  %y = linalg.generic {
      indexing_maps = [
         affine_map<(d0, d1) -> (d0, d1)>,
         affine_map<(d0, d1) -> (d0, d1)>,
         affine_map<(d0, d1) -> (d0, d1)>,
         affine_map<(d0, d1) -> (0)>,
         affine_map<(d0, d1) -> (0)>,
         affine_map<(d0, d1) -> (0)>,
         affine_map<(d0, d1) -> (0)>,
         affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%n3, %n2, %n1, %w3, %w2, %w1, %bias
          : tensor<?x4096xf32>, tensor<?x4096xf32>, tensor<?x4096xf32>,
            tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>)
      outs(%e : tensor<?x4096xbf16>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %f3: f32, %f2: f32, %f1: f32, %h: f32,
    %_: bf16):
    %0 = arith.mulf %a, %f3 : f32
    %1 = arith.mulf %b, %f2 : f32
    %2 = arith.mulf %c, %f1 : f32
    %3 = arith.addf %0, %1 : f32
    %4 = arith.addf %3, %2 : f32
    %5 = arith.addf %4, %h : f32
    %6 = arith.truncf %5 : f32 to bf16
    linalg.yield %6 : bf16
  } -> tensor<?x4096xbf16>
  return %y : tensor<?x4096xbf16>
}
