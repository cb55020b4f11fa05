//===- in-place.mlir - Kernels that overwrite what they read -------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// The second kernel works in place on the copy that the first one made. A CTA
// has 16 groups for the 5 rows: those without a row must not read the last one
// while it is written.

// Without norm-generalize, which has the program read an input instead.

// RUN: norm-opt %s --norm-schedule=target=sm_90 --norm-results-to-destinations --norm-schedule=target=sm_90 --norm-bufferize --norm-tile --convert-norm-tile-to-gpu -o %t.mlir
// RUN: norm-run %s --device=host --arg 0=random:5x64 --out 0=%t.npy
// RUN: norm-run %t.mlir --device=emulated --target=sm_90 --arg 0=random:5x64 --arg 1=empty:5x64 --expect 0=%t.npy:ulp=0 | FileCheck %s
// RUN: norm-run %t.mlir --device=emulated:7 --target=sm_90 --arg 0=random:5x64:offset=1 --arg 1=empty:5x64:offset=1 --expect 0=%t.npy:ulp=0 | FileCheck %s

// CHECK: traffic generic, argument 1 'arg1': 1280 of 0 bytes read, 1280 in all; 1280 of 1280 bytes written, 1280 in all
// CHECK: ok    result 0 file: f32 5x64: {{.*}} 0.000 ulp

func.func @f(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %y = norm.generic (row, col) outs(%a = %x[row, col] : tensor<?x64xf32>) {
    %s = norm.reduce add %a over [col] : f32
    %r = arith.addf %a, %s : f32
    norm.yield %r : f32
  }
  return %y : tensor<?x64xf32>
}
