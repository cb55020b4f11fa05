//===- norm-run-planned.mlir - Several kernels and the memory between -----===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-run %s --device=host --arg 0=random:64x96 --check | FileCheck %s
// RUN: norm-run %s --device=emulated --arg 0=random:64x96 --check --bits=host | FileCheck %s
// RUN: norm-run %s --device=emulated:3 --arg 0=random:1x96 --check --bits=host | FileCheck %s --check-prefix=ONE
// RUN: norm-compile %s -o %t.ptx --manifest %t.json
// RUN: FileCheck %s --check-prefix=MANIFEST --input-file=%t.json

// Five kernels: what the first writes is no longer needed when the third does.
// CHECK: rms_norm 64x96
// CHECK-COUNT-4: f32
// CHECK: ok {{ *}}result 0 reference
// ONE: ok {{ *}}result 0 reference

// MANIFEST: "temporaries": [
// MANIFEST-COUNT-4: "slot": {{[01]}}
// MANIFEST-NOT: "slot": {{[^01]}}
func.func @chain(%x: tensor<?x96xf32>) -> tensor<?x96xf32> {
  %a = norm.rms_norm %x axes = [1] eps = 1.0e-6 : tensor<?x96xf32> -> tensor<?x96xf32>
  %b = norm.softmax %a axes = [0] : tensor<?x96xf32> -> tensor<?x96xf32>
  %c = norm.rms_norm %b axes = [1] eps = 1.0e-6 : tensor<?x96xf32> -> tensor<?x96xf32>
  %d = norm.softmax %c axes = [0] : tensor<?x96xf32> -> tensor<?x96xf32>
  %e = norm.rms_norm %d axes = [1] eps = 1.0e-6 : tensor<?x96xf32> -> tensor<?x96xf32>
  return %e : tensor<?x96xf32>
}
