//===- inactive-lane.mlir - A shuffle that reads from a lane that has exited ===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Lanes 8 to 31 of the second warp leave before the others exchange.

// RUN: sh -c 'norm-run %s --device=emulated --grid=1 --block=64 --arg 0=iota:64 >%t.out 2>%t.err; test $? -eq 2'
// RUN: FileCheck %s --input-file=%t.err --implicit-check-not=error:

gpu.module @kernels {
  gpu.func @k(%x: memref<64xf32>, %y: memref<64xf32>) kernel {
    %t = gpu.thread_id x
    %c40 = arith.constant 40 : index
    %isLow = arith.cmpi ult, %t, %c40 : index
    %v = memref.load %x[%t] : memref<64xf32>
    %eight = arith.constant 8 : i32
    %width = arith.constant 32 : i32
    memref.store %v, %y[%t] : memref<64xf32>
    scf.if %isLow {
      // CHECK: inactive-lane.mlir:[[#@LINE+1]]:22: error: inactive-lane in kernel 'k', CTA 0, thread {{3[2-9]}}: reads from lane {{8|9|1[0-5]}}, which has exited by 'gpu.shuffle' (seen 8 times)
      %w, %isValid = gpu.shuffle xor %v, %eight, %width : f32
      memref.store %w, %y[%t] : memref<64xf32>
    }
    gpu.return
  }
}
