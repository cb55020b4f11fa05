//===- schedule-cluster.mlir - Where rows take a cluster ------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-opt %s --norm-schedule=target=sm_90 | FileCheck %s --check-prefix=SM90
// RUN: norm-opt %s --norm-schedule=target=sm_100 | FileCheck %s --check-prefix=SM90
// RUN: norm-opt %s --norm-schedule=target=sm_80 | FileCheck %s --check-prefix=NONE
// RUN: norm-opt %s --norm-schedule=target=host | FileCheck %s --check-prefix=NONE
// RUN: norm-opt %s --norm-schedule="target=sm_90 schedule=cluster=4" | FileCheck %s --check-prefix=GIVEN
// RUN: not norm-opt %s --norm-schedule="target=sm_80 schedule=cluster=8" 2>&1 | FileCheck %s --check-prefix=OLD
// RUN: not norm-opt %s --norm-schedule="target=sm_120 schedule=cluster=16" 2>&1 | FileCheck %s --check-prefix=SMALL
// RUN: not norm-opt %s --norm-schedule="target=host schedule=cluster=8" 2>&1 | FileCheck %s --check-prefix=HOST
// RUN: not norm-opt %s --norm-schedule="target=sm_90 schedule=cluster=3" 2>&1 | FileCheck %s --check-prefix=POWER
// RUN: not norm-opt %s --norm-schedule="target=sm_90 schedule=cluster=8,threads=512" 2>&1 | FileCheck %s --check-prefix=THREADS
// RUN: not norm-opt %s --norm-schedule="target=sm_90 schedule=cluster=8,residency=registers" 2>&1 | FileCheck %s --check-prefix=RESIDENCY
// RUN: not norm-opt %s --norm-schedule="target=sm_120 schedule=cluster=2" 2>&1 | FileCheck %s --check-prefix=SHARED

// NONE-NOT: cluster

// 256 KB are 32 KB for each of 8 CTAs.
// SM90-LABEL: func.func @long(
// SM90: schedule = #norm.schedule<threads = 1024, residency = stream, prefetch = false, cluster = 8>
// SM90-LABEL: func.func @short(
// SM90-NOT: cluster
// GIVEN-LABEL: func.func @long(
// GIVEN: threads = 1024, residency = stream, {{.*}}cluster = 4>

// OLD: error: schedule needs clusters of 8 CTAs but sm_80 allows 1
// SMALL: error: schedule needs clusters of 16 CTAs but sm_120 allows 8
// HOST: error: expects 'cluster' to be 1 on the host but got 8
// POWER: error: expects 'cluster' to be a power of two from 1 to 16 but got 3
// THREADS: error: expects a thread for each of the 1024 lanes of one row in a cluster but got 512 threads, 'vector' 1 and 'rows_per_cta' 1
// RESIDENCY: error: expects residency stream in a cluster, where what is read again is in shared memory, but got registers
// SHARED: error: schedule needs {{[0-9]+}} bytes of shared memory per CTA but sm_120 allows 101376
func.func @long(%x: memref<?x131072xbf16>, %y: memref<?x131072xbf16>) {
  norm.generic (row, col)
      ins(%a = %x[row, col] : memref<?x131072xbf16>)
      outs(%b = %y[row, col] : memref<?x131072xbf16>) {
    %f = arith.extf %a : bf16 to f32
    %s = norm.reduce add %f over [col] : f32
    %d = arith.subf %f, %s : f32
    %t = arith.truncf %d : f32 to bf16
    norm.yield %t : bf16
  }
  return
}

func.func @short(%x: memref<?x32768xbf16>, %y: memref<?x32768xbf16>) {
  norm.generic (row, col)
      ins(%a = %x[row, col] : memref<?x32768xbf16>)
      outs(%b = %y[row, col] : memref<?x32768xbf16>) {
    %f = arith.extf %a : bf16 to f32
    %s = norm.reduce add %f over [col] : f32
    %d = arith.subf %f, %s : f32
    %t = arith.truncf %d : f32 to bf16
    norm.yield %t : bf16
  }
  return
}
