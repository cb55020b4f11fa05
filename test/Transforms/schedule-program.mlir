//===- schedule-program.mlir - Fields for one of several programs ---------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// A remark has the program's name for itself, before which fields are for it alone.

// RUN: norm-opt %s --norm-schedule="target=sm_90 explain" -o /dev/null 2>&1 | FileCheck %s --check-prefix=NAMES
// RUN: norm-opt %s --norm-schedule="target=sm_90 explain" -o /dev/null 2>&1 | sed -n 's/.*program \([0-9a-f]*\),.*/\1/p' | head -1 > %t.first
// RUN: sh -c 'norm-opt "$0" --norm-schedule="target=sm_90 schedule=threads=64;$(cat $1):threads=32"' %s %t.first | FileCheck %s
// NAMES-COUNT-2: remark: program {{[0-9a-f]+}}, schedule by the model
// CHECK-LABEL: func.func @two(
// CHECK: schedule = #norm.schedule<threads = 32
// CHECK: schedule = #norm.schedule<threads = 64
func.func @two(%x: memref<?x1024xf32>, %y: memref<?x1024xf32>) {
  norm.generic (row, col) outs(%o = %x[row, col] : memref<?x1024xf32>) {
    %s = norm.reduce add %o over [col] : f32
    %n = arith.subf %o, %s : f32
    norm.yield %n : f32
  }
  norm.generic (row, col) outs(%o = %y[row, col] : memref<?x1024xf32>) {
    %s = norm.reduce maxnum %o over [col] : f32
    %n = arith.subf %o, %s : f32
    norm.yield %n : f32
  }
  return
}
