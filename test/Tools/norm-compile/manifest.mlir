//===- manifest.mlir - What launchers are told ----------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-compile %s --target=sm_90 -o %t.ptx --manifest %t.json
// RUN: FileCheck %s < %t.json
// RUN: norm-compile %s --emit=object -o %t.o --manifest %t.host.json
// RUN: FileCheck %s --check-prefix=HOST < %t.host.json
// RUN: llvm-nm --defined-only %t.o | FileCheck %s --check-prefix=SYMBOLS

// The argument's names are those in the text; the second one's rows, and the
// result's, are as many as the first one's.
// CHECK: "arguments": [
// CHECK: "dtype": "bf16",
// CHECK: "name": "input",
// CHECK-NEXT: "role": "input",
// CHECK: "equals": [
// CHECK-NEXT: {
// CHECK-NEXT: "buffer": 0,
// CHECK-NEXT: "dim": 0
// CHECK-NEXT: },
// CHECK-NEXT: null
// CHECK: "name": "residual",
// CHECK: "dtype": "f32",
// CHECK-NEXT: "name": "scale",
// CHECK: "dtype": "f32",
// CHECK-NEXT: "name": "factor",
// CHECK-NEXT: "role": "scalar",
// CHECK: "equals": [
// CHECK-NEXT: {
// CHECK-NEXT: "buffer": 0,
// CHECK-NEXT: "dim": 0
// CHECK: "name": "result0",
// CHECK-NEXT: "role": "output",
// CHECK: "name": "result1",
// CHECK: "shape": [
// CHECK-NEXT: null
// CHECK-NEXT: ],
// CHECK: "entry": "main",
// CHECK: "columns": {
// CHECK-NEXT: "buffer": 0,
// CHECK-NEXT: "dims": [],
// CHECK-NEXT: "factor": 4096
// CHECK: "kind": "pointer"
// CHECK: "kind": "stride"
// CHECK: "argument": 3,
// CHECK-NEXT: "kind": "scalar"
// CHECK: "kind": "extent"
// CHECK: "program":
// CHECK: "requires": [
// CHECK: "alignment": 16,
// CHECK: "symbol": "main_0"
// CHECK: "symbol": "main_0_unaligned"
// CHECK: "min_driver": 12010,
// CHECK: "ptx": "8.1",
// CHECK-NEXT: "target": "sm_90",

// HOST: "requires": [],
// HOST: "symbol": "main_0"
// HOST: "target": "host",
// SYMBOLS: T main_0
func.func @main(%input: tensor<?x4096xbf16>, %residual: tensor<?x4096xbf16>,
                %scale: tensor<4096xf32>, %factor: f32)
    -> (tensor<?x4096xbf16>, tensor<?xf32>) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %input, %c0 : tensor<?x4096xbf16>
  %f = tensor.splat %factor[%n] : tensor<?x4096xf32>
  %h = arith.addf %input, %residual : tensor<?x4096xbf16>
  %w = arith.extf %h : tensor<?x4096xbf16> to tensor<?x4096xf32>
  %s = arith.mulf %w, %f : tensor<?x4096xf32>
  %y, %r = norm.rms_norm %s scale(%scale) stats(rstd) axes = [1] eps = 1.0e-6
      : tensor<?x4096xf32>, tensor<4096xf32> -> tensor<?x4096xbf16>, tensor<?xf32>
  return %y, %r : tensor<?x4096xbf16>, tensor<?xf32>
}
