//===- incomplete-output.mlir - Elements that nothing writes ---------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// The grid leaves out the last row.

// RUN: sh -c 'norm-run %s --device=emulated --grid=2 --block=64 --arg 0=iota:3x64 >%t.out 2>%t.err; test $? -eq 2'
// RUN: FileCheck %s --input-file=%t.err --implicit-check-not=error:

gpu.module @kernels {
  gpu.func @k(%x: memref<?x64xf32>, %y: memref<?x64xf32>) kernel {
    %t = gpu.thread_id x
    %b = gpu.block_id x
    %v = memref.load %x[%b, %t] : memref<?x64xf32>
    memref.store %v, %y[%b, %t] : memref<?x64xf32>
    gpu.return
  }
}

// CHECK: emulated device: error: incomplete-output in kernel 'k': writes 512 of the 768 bytes of argument 1 'y', not byte 512
