//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// RMSNorm and squared ReLU.
//
// Group: Norm and activation
// Several kernels: TransformerEngine nvte_rmsnorm_fwd and nvte_srelu
// Data: --arg 0=random:37x4096
//
//===----------------------------------------------------------------------===//

func.func @rms_norm_squared_relu(%x: tensor<?x4096xbf16>,
                                 %w: tensor<4096xbf16>)
    -> tensor<?x4096xbf16> {
  %n = norm.rms_norm %x scale(%w) axes = [1] eps = 1.0e-6
      : tensor<?x4096xbf16>, tensor<4096xbf16> -> tensor<?x4096xbf16>
  %c0 = arith.constant 0 : index
  %d0 = tensor.dim %x, %c0 : tensor<?x4096xbf16>
  %e = tensor.empty(%d0) : tensor<?x4096xbf16>
  %y = linalg.generic {
      indexing_maps = [
         affine_map<(d0, d1) -> (d0, d1)>,
         affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%n : tensor<?x4096xbf16>)
      outs(%e : tensor<?x4096xbf16>) {
  ^bb0(%a: bf16, %_: bf16):
    %zero = arith.constant 0.0 : bf16
    %r = arith.maximumf %a, %zero : bf16
    %s = arith.mulf %r, %r : bf16
    linalg.yield %s : bf16
  } -> tensor<?x4096xbf16>
  return %y : tensor<?x4096xbf16>
}
