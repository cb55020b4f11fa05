//===- diagnostics.mlir - One diagnostic for a wrong input ----------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: rm -f %t.ptx %t.json
// RUN: not norm-compile %s -o %t.ptx --manifest %t.json 2>&1 | FileCheck %s
// RUN: not ls %t.ptx %t.json
// RUN: not norm-compile %s 2>&1 | count 1
// RUN: not norm-compile - < %s 2>&1 | FileCheck %s --check-prefix=STDIN
// RUN: echo "func.func @main(" | not norm-compile - 2>&1 | FileCheck %s --check-prefix=SYNTAX
// RUN: echo "func.func @main(%%x: tensor<4xf32>) { %%0 = foo.bar %%x : f32 }" | not norm-compile - 2>&1 | FileCheck %s --check-prefix=DIALECT

// CHECK: {{^}}{{.*}}diagnostics.mlir:[[#@LINE+5]]:8: error: 'norm.softmax' op expects axes from 0 to 1 but got 7{{$}}
// STDIN: {{^}}<stdin>:[[#@LINE+4]]:8: error: 'norm.softmax' op expects
// SYNTAX: {{^}}<stdin>:1:{{[0-9]+}}: error:
// DIALECT: {{^}}<stdin>:1:{{[0-9]+}}: error:
func.func @main(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %y = norm.softmax %x axes = [7] : tensor<?x64xf32> -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}
