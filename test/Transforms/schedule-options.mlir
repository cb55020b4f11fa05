//===- schedule-options.mlir - Options that are refused -------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: not norm-opt %s --norm-schedule=target=sm_999 2>&1 | FileCheck %s --check-prefix=TARGET
// RUN: not norm-opt %s --norm-schedule="target=sm_90 schedule=warps=4" 2>&1 | FileCheck %s --check-prefix=FIELD
// RUN: not norm-opt %s --norm-schedule="target=sm_90 schedule=threads=48" 2>&1 | FileCheck %s --check-prefix=THREADS
// RUN: not norm-opt %s --norm-schedule="target=host schedule=residency=registers" 2>&1 | FileCheck %s --check-prefix=HOST

// TARGET: error: unknown target 'sm_999', expects host or one of sm_80, {{.*}}sm_121
// FIELD: error: expects a field of the schedule (threads, rows_per_cta, residency, prefetch, vector, max_registers, split, pdl, stages, cluster) but got 'warps'
// THREADS: error: expects 'threads' to be a power of two from 1 to 1024 but got 48
// HOST: error: expects 'residency' to be stream on the host but got registers
func.func @negate(%x: memref<?x16xf32>) {
  norm.generic (row, col) outs(%o = %x[row, col] : memref<?x16xf32>) {
    %n = arith.negf %o : f32
    norm.yield %n : f32
  }
  return
}
