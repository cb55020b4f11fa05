//===- no-assembler.mlir - A cubin without an assembler -------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// The one that is looked for last can't be hidden from a test.
// UNSUPPORTED: ptxas
// RUN: rm -f %t.cubin
// RUN: not norm-compile %s --emit=cubin -o %t.cubin 2>&1 | FileCheck %s
// RUN: not ls %t.cubin

// CHECK: {{^}}error: expects ptxas to make a cubin but found none in PATH, CUDA_HOME or /usr/local/cuda/bin
func.func @main(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %y = norm.softmax %x axes = [1] : tensor<?x64xf32> -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}
