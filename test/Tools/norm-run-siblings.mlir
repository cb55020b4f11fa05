//===- norm-run-siblings.mlir - Several norms in one kernel ---------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-run %s --entry=siblings --device=host --arg 0=random:37x264:seed=3 --check --explain | FileCheck %s --check-prefixes=SIBLINGS,EXPLAIN
// RUN: norm-run %s --entry=siblings --device=emulated --arg 0=random:37x264:seed=3 --check --bits=host | FileCheck %s --check-prefixes=SIBLINGS,TRAFFIC
// RUN: norm-run %s --entry=post_pre --device=host --arg 0=random:37x264:seed=3 --check | FileCheck %s --check-prefix=POSTPRE
// RUN: norm-run %s --entry=post_pre --device=emulated --arg 0=random:37x264:seed=3 --check --bits=host | FileCheck %s --check-prefix=POSTPRE

// EXPLAIN: remark: fused with sibling 'rms_norm': saves ?x264 bf16 once
// EXPLAIN: remark: fused with sibling 'rms_norm_layer_norm': saves ?x264 bf16 once
// SIBLINGS: rms_norm_layer_norm_softmax 37x264
// TRAFFIC: traffic rms_norm_layer_norm_softmax, argument 0 'x': 19536 of 19536 bytes read
// SIBLINGS-COUNT-3: ok {{.*}} reference
func.func @siblings(%x: tensor<?x264xbf16>, %w: tensor<264xbf16>)
    -> (tensor<?x264xbf16>, tensor<?x264xbf16>, tensor<?x264xbf16>) {
  %a = norm.rms_norm %x scale(%w) axes = [1] eps = 1.0e-6
      : tensor<?x264xbf16>, tensor<264xbf16> -> tensor<?x264xbf16>
  %b = norm.layer_norm %x scale(%w) axes = [1] eps = 1.0e-5
      : tensor<?x264xbf16>, tensor<264xbf16> -> tensor<?x264xbf16>
  %c = norm.softmax %x axes = [1] : tensor<?x264xbf16> -> tensor<?x264xbf16>
  return %a, %b, %c : tensor<?x264xbf16>, tensor<?x264xbf16>, tensor<?x264xbf16>
}

// POSTPRE: rms_norm_add_layer_norm 37x264
// POSTPRE-NOT: 37x264 bf16
// POSTPRE-COUNT-2: ok {{.*}} reference
func.func @post_pre(%x: tensor<?x264xbf16>, %res: tensor<?x264xbf16>, %w: tensor<264xbf16>)
    -> (tensor<?x264xbf16>, tensor<?x264xbf16>) {
  %post = norm.rms_norm %x scale(%w) axes = [1] eps = 1.0e-6
      : tensor<?x264xbf16>, tensor<264xbf16> -> tensor<?x264xbf16>
  %sum = arith.addf %res, %post : tensor<?x264xbf16>
  %pre = norm.layer_norm %sum axes = [1] eps = 1.0e-5 : tensor<?x264xbf16> -> tensor<?x264xbf16>
  return %sum, %pre : tensor<?x264xbf16>, tensor<?x264xbf16>
}
