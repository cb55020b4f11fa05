//===- shared-tail.mlir - Rows that end within an iteration, held ---------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Threads keep what there is of the last iteration over the lanes, and no place
// is used that isn't theirs.

// RUN: norm-run %s --device=emulated --schedule=residency=shared --arg 0=random:3x4097 --check --bits=host | FileCheck %s
// RUN: norm-run %s --device=emulated --schedule=residency=shared,threads=32,rows_per_cta=2 --arg 0=random:3x4097 --check --bits=host | FileCheck %s
// RUN: norm-run %s --device=emulated --schedule=residency=shared,threads=1024,rows_per_cta=1 --arg 0=random:3x4097 --check --bits=host | FileCheck %s
// CHECK: ok    result 0 reference
// CHECK: ok    result 0 bits: {{.*}}: 0 of 12291 elements differ from the host's
// CHECK-NOT: WRONG

func.func @main(%x: tensor<?x4097xf32>) -> tensor<?x4097xf32> {
  %y = norm.rms_norm %x axes = [1] eps = 1.0e-5 : tensor<?x4097xf32> -> tensor<?x4097xf32>
  return %y : tensor<?x4097xf32>
}
