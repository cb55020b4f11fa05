//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// GEGLU with the tanh form of GELU.
//
// Group: Gating
// One kernel: vLLM gelu_tanh_and_mul; FlashInfer gelu_tanh_and_mul;
//   Liger-Kernel LigerGEGLUMLP; TransformerEngine nvte_geglu
// Data: --arg 0=random:37x11008:pitch=22016 --arg
//   1=random:37x11008:pitch=22016:offset=11008
//
//===----------------------------------------------------------------------===//

func.func @gelu_tanh_and_mul(%gate: tensor<?x11008xbf16>,
                             %up: tensor<?x11008xbf16>)
    -> tensor<?x11008xbf16> {
  %s = norm.gelu %gate approximate = tanh : tensor<?x11008xbf16>
  %y = arith.mulf %s, %up : tensor<?x11008xbf16>
  return %y : tensor<?x11008xbf16>
}
