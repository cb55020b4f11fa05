//===- launches.mlir - Several kernels, and the report as JSON ------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// The second kernel reads the temporary that the first one writes. A CTA's
// groups without a row read the last one again.

// RUN: norm-run %s --device=emulated --arg 0=random:3x6x64 --check --bits=host --json=%t.json | FileCheck %s
// RUN: FileCheck %s --check-prefix=JSON --input-file=%t.json

// CHECK: traffic rms_norm, argument 0 'x': 4608 of 4608 bytes read, {{[0-9]+}} in all
// CHECK: traffic rms_norm, temporary 0: 4608 of 4608 bytes written, 4608 in all
// CHECK: traffic softmax, temporary 0: 4608 of 4608 bytes read,
// CHECK: traffic softmax, argument 2 'result': 4608 of 4608 bytes written, 4608 in all
// CHECK: ok    result 0 bits: f32 3x6x64: 0 of 1152 elements differ

// JSON: "device": "emulated"
// JSON: "traffic": {
// JSON-NEXT: "distinct_read": 4864,
// JSON-NEXT: "distinct_written": 4608,
// JSON-NEXT: "read": {{[0-9]+}},
// JSON-NEXT: "written": 4608
// JSON: "target": "sm_90"

func.func @main(%x: tensor<?x6x64xf32>, %w: tensor<64xf32>) -> tensor<?x6x64xf32> {
  %a = norm.rms_norm %x scale(%w) axes = [2] eps = 1.0e-6 : tensor<?x6x64xf32>, tensor<64xf32> -> tensor<?x6x64xf32>
  %y = norm.softmax %a axes = [1, 2] : tensor<?x6x64xf32> -> tensor<?x6x64xf32>
  return %y : tensor<?x6x64xf32>
}
