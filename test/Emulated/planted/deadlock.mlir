//===- deadlock.mlir - Threads that wait for each other --------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// A part of the second warp waits in a barrier, the rest of it in a shuffle that
// needs all of the warp.

// RUN: sh -c 'norm-run %s --device=emulated --grid=1 --block=64 --arg 0=iota:64 >%t.out 2>%t.err; test $? -eq 2'
// RUN: FileCheck %s --input-file=%t.err --implicit-check-not=error:

gpu.module @kernels {
  gpu.func @k(%x: memref<64xf32>, %y: memref<64xf32>) kernel {
    %t = gpu.thread_id x
    %c40 = arith.constant 40 : index
    %isLow = arith.cmpi ult, %t, %c40 : index
    %v = memref.load %x[%t] : memref<64xf32>
    %one = arith.constant 1 : i32
    %width = arith.constant 32 : i32
    memref.store %v, %y[%t] : memref<64xf32>
    scf.if %isLow {
      // CHECK: deadlock.mlir:[[#@LINE+1]]:7: error: deadlock in kernel 'k', CTA 0: no thread can go on: threads 0-39 wait in 'gpu.barrier' at {{.*}}deadlock.mlir:[[#@LINE+1]]:7; threads 40-63 wait in 'gpu.shuffle' at {{.*}}deadlock.mlir:[[#@LINE+3]]:22 by 'gpu.barrier'
      gpu.barrier
    } else {
      %w, %isValid = gpu.shuffle xor %v, %one, %width : f32
      memref.store %w, %y[%t] : memref<64xf32>
    }
    gpu.return
  }
}
