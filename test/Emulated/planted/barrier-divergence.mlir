//===- barrier-divergence.mlir - A barrier that some threads never reach ---===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// 40 of 64 threads wait; the others have exited.

// RUN: sh -c 'norm-run %s --device=emulated --grid=1 --block=64 --arg 0=iota:64 >%t.out 2>%t.err; test $? -eq 2'
// RUN: FileCheck %s --input-file=%t.err --implicit-check-not=error:

gpu.module @kernels {
  gpu.func @k(%x: memref<64xf32>, %y: memref<64xf32>) kernel {
    %t = gpu.thread_id x
    %c40 = arith.constant 40 : index
    %isLow = arith.cmpi ult, %t, %c40 : index
    %v = memref.load %x[%t] : memref<64xf32>
    memref.store %v, %y[%t] : memref<64xf32>
    scf.if %isLow {
      // CHECK: barrier-divergence.mlir:[[#@LINE+1]]:7: error: barrier-divergence in kernel 'k', CTA 0: not all threads meet: threads 0-39 wait in 'gpu.barrier' at {{.*}}barrier-divergence.mlir:[[#@LINE+1]]:7; threads 40-63 have exited by 'gpu.barrier'
      gpu.barrier
    }
    gpu.return
  }
}
