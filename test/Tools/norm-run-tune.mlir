//===- norm-run-tune.mlir - Schedules that norm-run finds -----------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// What was found is used at once, checked, and added to the file. Whether there
// is a faster one is up to the machine: the emulated device's times are real.
// RUN: rm -f %t.json
// RUN: norm-run %s --device=emulated --arg 0=random:4x256 --tune --tune-limit=3 --tuning-out=%t.json --check --bits=host --explain \
// RUN:   | FileCheck %s
// RUN: norm-run %s --device=emulated --arg 0=random:4x256 --tuning=%t.json --check --bits=host | FileCheck %s --check-prefix=AGAIN
// CHECK: program {{[0-9a-f]+}}: bf16[?x256], bf16[256] -> bf16[?x256], {{[0-9]+}} ops
// CHECK-NEXT: model {{.*}}threads={{[0-9]+}},rows_per_cta={{[0-9]+}}
// CHECK-NEXT: tuned
// CHECK-NEXT: 4x256, 256: {{[0-9.]+}} {{[um]}}s
// CHECK-NEXT: {{[0-9]+}} schedules tried, 0 refused
// CHECK-NEXT: times are the emulated device's, and say nothing of a GPU's
// CHECK: remark: program {{[0-9a-f]+}}, schedule by the {{tuning file|model}}:
// CHECK: ok    result 0 reference
// CHECK: ok    result 0 bits
// AGAIN: ok    result 0 reference
// AGAIN: ok    result 0 bits

// RUN: FileCheck %s --check-prefix=FILE --input-file=%t.json
// FILE: {"format": "norm-tuning", "version": 1, "entries": [

// What can't be done is one diagnostic, before time is spent.
// RUN: not norm-run %s --device=host --arg 0=random:4x256 --tune 2>&1 | FileCheck %s --check-prefix=HOST
// HOST: norm-run: error: expects a GPU or the emulated device for tuning but got host, whose schedules have nothing to tune
// HOST-NOT: {{.}}
// RUN: not norm-run %s --device=emulated --arg 0=random:4x256 --tune --tuning-out=%t.none/t.json 2>&1 | FileCheck %s --check-prefix=FOLDER
// FOLDER: norm-run: error: {{.*}}.none/t.json: cannot write: No such file or directory
// FOLDER-NOT: {{.}}
// RUN: not norm-run %s --device=emulated --arg 0=random:4x256 --tune --tuning-out=%s 2>&1 | FileCheck %s --check-prefix=OTHER
// OTHER: norm-run: error: {{.*}}norm-run-tune.mlir: expects JSON but got
// OTHER-NOT: error:
// RUN: not norm-run %s --device=emulated --arg 0=random:4x256 --tuning-out=%t.json 2>&1 | FileCheck %s --check-prefix=ALONE
// ALONE: norm-run: error: --tuning-out: expects --tune
// ALONE-NOT: {{.}}
// RUN: not norm-run %s --device=emulated --arg 0=random:4x256 --tune --tune-limit=0 2>&1 | FileCheck %s --check-prefix=LIMIT
// LIMIT: norm-run: error: --tune-limit: expects 1 or more but got 0
// LIMIT-NOT: {{.}}
// RUN: norm-opt %s --norm-to-gpu-pipeline=target=sm_90 -o %t.gpu.mlir
// RUN: not norm-run %t.gpu.mlir --device=emulated --arg 0=random:4x256 --arg 2=empty:4x256 --tune 2>&1 | FileCheck %s --check-prefix=KERNELS
// KERNELS: norm-run: error: expects a program without a schedule for tuning but got none
// KERNELS-NOT: {{.}}
// RUN: not norm-run %s --device=emulated --arg 0=random:4x256 --tuning=%s 2>&1 | FileCheck %s --check-prefix=INPUT
// INPUT: norm-run: error: {{.*}}norm-run-tune.mlir: expects JSON but got
// INPUT-NOT: error:
// RUN: sh -c 'norm-run %s --device=cuda:99 --arg 0=random:4x256 --tune 2>%t; test $? -eq 3'
// RUN: not norm-run %s --device=emulated --arg 0=random:4x255 --tune 2>&1 | FileCheck %s --check-prefix=SHAPE
// SHAPE: norm-run: error: {{.*}}255
// SHAPE-NOT: {{.}}

func.func @rms_norm(%x: tensor<?x256xbf16>, %w: tensor<256xbf16>) -> tensor<?x256xbf16> {
  %y = norm.rms_norm %x scale(%w) axes = [1] eps = 1.0e-6 : tensor<?x256xbf16>, tensor<256xbf16> -> tensor<?x256xbf16>
  return %y : tensor<?x256xbf16>
}
