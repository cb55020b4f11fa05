//===- outline.mlir - Kernels of a function that does other work ----------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-compile %s -o %t.ptx --manifest %t.json 2>%t.txt
// RUN: FileCheck %s --check-prefix=LEFT < %t.txt
// RUN: FileCheck %s --check-prefix=PTX < %t.ptx
// RUN: FileCheck %s --check-prefix=MANIFEST < %t.json
// RUN: norm-compile %s --target=host -o %t.o --manifest %t.host.json 2>&1 | FileCheck %s --check-prefix=LEFT
// RUN: FileCheck %s --check-prefix=MANIFEST < %t.host.json
// RUN: norm-compile %s --emit=program --explain 2>&1 | FileCheck %s --check-prefix=PROGRAM
// RUN: not norm-run %s --device=host 2>&1 | FileCheck %s --check-prefix=ERROR
// RUN: not norm-run %s --entry=callee_too --device=host 2>&1 | FileCheck %s --check-prefix=CALL

// LEFT: outline.mlir:[[@LINE+23]]:8: remark: left 'linalg.matmul' to the caller
// LEFT-NEXT: outline.mlir:[[@LINE+23]]:8: remark: left 'other.op' to the caller
// LEFT-NOT: remark

// PTX-DAG: .entry main_add_rms_norm_0(
// PTX-DAG: .entry main_softmax_0(

// MANIFEST: "functions": [
// MANIFEST: "entry": "main_add_rms_norm"
// MANIFEST: "program": "add_rms_norm"
// MANIFEST: "entry": "main_softmax"
// MANIFEST: "program": "softmax"

// PROGRAM: outline.mlir:[[@LINE+9]]:8: remark: fused with producer 'add': saves 64x32 f32 twice
// PROGRAM: func.func @main
// PROGRAM: call @main_add_rms_norm

// ERROR: outline.mlir:[[@LINE+6]]:8: error: expects named, elementwise and reshaping ops on tensors but got 'linalg.matmul'
// CALL: error: expects no calls of functions here but got 'func.call'
func.func @main(%x: tensor<64x32xf32>, %r: tensor<64x32xf32>, %w: tensor<32x32xf32>, %i: tensor<64x32xf32>)
    -> tensor<64x32xf32> {
  %s = arith.addf %x, %r : tensor<64x32xf32>
  %a = norm.rms_norm %s axes = [1] eps = 1.0e-6 : tensor<64x32xf32> -> tensor<64x32xf32>
  %m = linalg.matmul ins(%a, %w : tensor<64x32xf32>, tensor<32x32xf32>) outs(%i : tensor<64x32xf32>) -> tensor<64x32xf32>
  %u = "other.op"(%m) : (tensor<64x32xf32>) -> tensor<64x32xf32>
  %b = norm.softmax %u axes = [1] : tensor<64x32xf32> -> tensor<64x32xf32>
  return %b : tensor<64x32xf32>
}

func.func @callee_too(%x: tensor<64x32xf32>) -> tensor<64x32xf32> {
  %a = call @single(%x) : (tensor<64x32xf32>) -> tensor<64x32xf32>
  return %a : tensor<64x32xf32>
}

func.func private @single(%x: tensor<64x32xf32>) -> tensor<64x32xf32> {
  %a = norm.softmax %x axes = [1] : tensor<64x32xf32> -> tensor<64x32xf32>
  return %a : tensor<64x32xf32>
}
