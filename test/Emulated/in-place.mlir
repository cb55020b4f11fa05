//===- in-place.mlir - Kernels that overwrite what they read -------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// The second kernel works in place on the copy that the first one made. A CTA
// has 16 groups for the 5 rows: those without a row must not read the last one
// while it is written.

// RUN: norm-run %s --device=emulated --arg 0=random:5x64 --check --bits=host | FileCheck %s
// RUN: norm-run %s --device=emulated:7 --arg 0=random:5x64:offset=1 --place out0:offset=1 --check --bits=host | FileCheck %s

// CHECK: traffic generic, argument 1 'result': 1280 of 0 bytes read, 1280 in all; 1280 of 1280 bytes written, 1280 in all
// CHECK: ok    result 0 bits: f32 5x64: 0 of 320 elements differ

func.func @f(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %y = norm.generic (row, col) outs(%a = %x[row, col] : tensor<?x64xf32>) {
    %s = norm.reduce add %a over [col] : f32
    %r = arith.addf %a, %s : f32
    norm.yield %r : f32
  }
  return %y : tensor<?x64xf32>
}
