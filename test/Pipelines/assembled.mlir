//===- assembled.mlir - What the assembler says ---------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// REQUIRES: ptxas
//
// RUN: norm-compile %s --entry=rms_norm --target=sm_80 --emit=cubin -o %t.cubin --manifest %t.json
// RUN: FileCheck %s < %t.json
// RUN: norm-compile %s --entry=rms_norm --target=sm_90 --emit=cubin -o %t.cubin --manifest %t.json
// RUN: FileCheck %s < %t.json
// RUN: norm-compile %s --entry=rms_norm --target=sm_100 --emit=cubin -o %t.cubin --manifest %t.json
// RUN: FileCheck %s < %t.json
// RUN: norm-compile %s --entry=layer_norm --target=sm_80 --emit=cubin -o %t.cubin --manifest %t.json
// RUN: FileCheck %s < %t.json
// RUN: norm-compile %s --entry=layer_norm --target=sm_90 --emit=cubin -o %t.cubin --manifest %t.json
// RUN: FileCheck %s < %t.json
// RUN: norm-compile %s --entry=layer_norm --target=sm_100 --emit=cubin -o %t.cubin --manifest %t.json
// RUN: FileCheck %s < %t.json
// RUN: norm-compile %s --entry=softmax --target=sm_80 --emit=cubin -o %t.cubin --manifest %t.json
// RUN: FileCheck %s < %t.json
// RUN: norm-compile %s --entry=softmax --target=sm_90 --emit=cubin -o %t.cubin --manifest %t.json
// RUN: FileCheck %s < %t.json
// RUN: norm-compile %s --entry=softmax --target=sm_100 --emit=cubin -o %t.cubin --manifest %t.json
// RUN: FileCheck %s < %t.json

// The form for rows of any length at any address may spill a few words around
// the call of a slow path.

// CHECK: "registers": {{[1-9]}}
// CHECK-NOT: "spill_bytes": {{[1-9]}}
// CHECK: "spill_bytes": 0
// CHECK-NOT: "spill_bytes": {{[1-9][0-9][0-9]}}
func.func @rms_norm(%x: tensor<?x4096xbf16>, %w: tensor<4096xbf16>) -> tensor<?x4096xbf16> {
  %y = norm.rms_norm %x scale(%w) axes = [1] eps = 1.0e-6
      : tensor<?x4096xbf16>, tensor<4096xbf16> -> tensor<?x4096xbf16>
  return %y : tensor<?x4096xbf16>
}
func.func @layer_norm(%x: tensor<?x1001xf32>, %g: tensor<1001xf32>, %b: tensor<1001xf32>) -> tensor<?x1001xf32> {
  %y = norm.layer_norm %x scale(%g) bias(%b) axes = [1] eps = 1.0e-5
      : tensor<?x1001xf32>, tensor<1001xf32>, tensor<1001xf32> -> tensor<?x1001xf32>
  return %y : tensor<?x1001xf32>
}
func.func @softmax(%x: tensor<?x?xf16>) -> tensor<?x?xf16> {
  %y = norm.softmax %x axes = [1] : tensor<?x?xf16> -> tensor<?x?xf16>
  return %y : tensor<?x?xf16>
}
