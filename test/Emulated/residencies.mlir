//===- residencies.mlir - All ways to hold a row, same bits --------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// The GPU's kernel in each of its forms gives the host's bits, without a
// finding: residencies, rows per CTA, buffers that are misaligned or pitched,
// and several orders of the threads.

// RUN: norm-run %s --device=emulated --target=sm_90 --arg 0=random:9x1000 --check --bits=host | FileCheck %s
// RUN: norm-run %s --device=emulated:2 --schedule=residency=registers --arg 0=random:9x1000:pitch=1016 --check --bits=host | FileCheck %s
// RUN: norm-run %s --device=emulated:3 --schedule=residency=shared --arg 0=random:9x1000:offset=1 --place out0:offset=3 --check --bits=host | FileCheck %s
// RUN: norm-run %s --device=emulated:4 --schedule=residency=shared,rows_per_cta=2 --arg 0=random:9x1000:pitch=1001 --place out0:pitch=1003 --check --bits=host | FileCheck %s
// RUN: norm-run %s --device=emulated:5 --schedule=residency=stream --arg 0=random:9x1000 --check --bits=host | FileCheck %s
// RUN: norm-run %s --device=emulated:6 --schedule=residency=stream,rows_per_cta=4 --arg 0=random:9x1000:offset=7 --check --bits=host | FileCheck %s
// RUN: norm-run %s --device=emulated:7 --target=sm_120 --schedule=threads=32,rows_per_cta=4 --arg 0=random:9x1000 --check --bits=host | FileCheck %s

// CHECK: device emulated: a GPU's threads on
// CHECK: traffic layer_norm, argument 0 'x': 18000 of 18000 bytes read, {{[0-9]+}} in all
// CHECK: traffic layer_norm, argument 1 'g': 2000 of 2000 bytes read, {{(18000|20000|24000|30000|36000)}} in all
// CHECK: traffic layer_norm, argument 3 'result0': 18000 of 18000 bytes written, 18000 in all
// CHECK: traffic layer_norm, argument 5 'result2': 36 of 36 bytes written, 36 in all
// CHECK: ok    result 0 reference
// CHECK: ok    result 0 bits: {{.*}}: 0 of 9000 elements differ from the host's
// CHECK: ok    result 1 bits: {{.*}}: 0 of 9 elements differ from the host's
// CHECK: ok    result 2 bits: {{.*}}: 0 of 9 elements differ from the host's
// CHECK-NOT: WRONG

func.func @main(%x: tensor<?x1000xbf16>, %g: tensor<1000xbf16>, %b: tensor<1000xbf16>) -> (tensor<?x1000xbf16>, tensor<?xf32>, tensor<?xf32>) {
  %y, %m, %r = norm.layer_norm %x scale(%g) bias(%b) stats(mean, rstd) axes = [1] eps = 1.0e-5
    : tensor<?x1000xbf16>, tensor<1000xbf16>, tensor<1000xbf16> -> tensor<?x1000xbf16>, tensor<?xf32>, tensor<?xf32>
  return %y, %m, %r : tensor<?x1000xbf16>, tensor<?xf32>, tensor<?xf32>
}
