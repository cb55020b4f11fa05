//===- norm-run-data.mlir - Data, layouts and results of norm-run ---------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Arguments without data are random; the extents of the given ones carry over.
// RUN: norm-run %s --device=host --arg 1=random:37x100 --check | FileCheck %s
// CHECK:      device host: {{.*}}
// CHECK-NEXT: kernel{{ +}}shape{{ +}}schedule{{ +}}bytes{{ +}}error
// CHECK-NEXT: 37x100 f32{{.*}}kB{{ .*}}ulp
// CHECK-NEXT: ok    result 0 reference: f32 37x100: largest error {{.*}} within the bound
// CHECK-NOT:  WRONG

// The same data in any layout gives the same bits.
// RUN: norm-run %s --device=host --arg 0=random:37x100:seed=3 --arg 1=random:37x100:seed=4 --out 0=%t.plain.npy
// RUN: norm-run %s --device=host --arg 0=random:37x100:seed=3:pitch=103:offset=1 \
// RUN:   --arg 1=random:37x100:seed=4:offset=3 --place out0:pitch=101:offset=2 \
// RUN:   --check --expect 0=%t.plain.npy:atol=0 | FileCheck %s --check-prefix=LAYOUT
// LAYOUT: ok    result 0 reference: f32 37x100
// LAYOUT: ok    result 0 file: f32 37x100: against {{.*}}: largest difference 0.000E+00, 0.000 ulp, 0.000E+00 allowed

// Another seed, another result: a check fails, with status 2.
// RUN: sh -c 'norm-run %s --device=host --arg 0=random:37x100:seed=5 --expect 0=%t.plain.npy:ulp=4 >%t.out 2>%t.err; test $? -eq 2'
// RUN: FileCheck %s --check-prefix=FAILED --input-file=%t.out
// RUN: FileCheck %s --check-prefix=FAILED-ERR --input-file=%t.err
// FAILED: WRONG result 0 file: f32 37x100: against {{.*}}: largest difference {{.*}} at [{{[0-9]+, [0-9]+}}], {{.*}} ulp, 4.{{0*}} ulp allowed
// FAILED-ERR: norm-run: error: a check failed
// FAILED-ERR-NOT: {{.}}

// Without a limit, a difference is only told.
// RUN: norm-run %s --device=host --arg 0=random:37x100:seed=5 --expect 0=%t.plain.npy | FileCheck %s --check-prefix=TOLD
// TOLD: ok    result 0 file: {{.*}}largest difference

// Nothing to do is no error.
// RUN: norm-run %s --device=host --arg 0=zeros:0x100 --check --time --out 0=%t.empty.npy | FileCheck %s --check-prefix=EMPTY
// EMPTY: 0x100 f32
// EMPTY: ok    result 0 reference: f32 0x100: largest error 0.000 ulp

// The report for programs.
// RUN: norm-run %s --device=host --arg 0=iota:2x100 --check --time --repeat=3 --warmup=0 --json %t.json
// RUN: FileCheck %s --check-prefix=JSON --input-file=%t.json
// JSON: "kind": "reference"
// JSON: "passed": true
// JSON: "columns": 100
// JSON: "launches": 3
// JSON: "rows": 2
// JSON: "target": "host"

// Host against host.
// RUN: norm-run %s --device=host --arg 0=random:37x100 --bits=host | FileCheck %s --check-prefix=BITS
// BITS: ok    result 0 bits: f32 37x100: 0 of 3700 elements differ from the host's

// What was decided.
// RUN: norm-run %s --device=host --arg 0=random:37x100 --explain | FileCheck %s --check-prefix=EXPLAIN
// EXPLAIN: kernel {{.*}}: {{.*}}, variant {{[0-9]+}} of
// EXPLAIN-NEXT: order
// EXPLAIN-NEXT: schedule

func.func @f(%x: tensor<?x100xf32>, %r: tensor<?x100xf32>, %w: tensor<100xf32>)
    -> tensor<?x100xf32> {
  %s = arith.addf %x, %r : tensor<?x100xf32>
  %y = norm.rms_norm %s scale(%w) axes = [1] eps = 1.0e-6
         : tensor<?x100xf32>, tensor<100xf32> -> tensor<?x100xf32>
  return %y : tensor<?x100xf32>
}
