//===- uninitialized-shared.mlir - A read of shared memory that nothing wrote ===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Only the first warp stores, but all elements are read.

// RUN: sh -c 'norm-run %s --device=emulated --grid=2 --block=64 --arg 0=iota:2x64 >%t.out 2>%t.err; test $? -eq 2'
// RUN: FileCheck %s --input-file=%t.err --implicit-check-not=error:

gpu.module @kernels {
  gpu.func @k(%x: memref<2x64xf32>, %y: memref<2x64xf32>)
      workgroup(%s: memref<64xf32, #gpu.address_space<workgroup>>) kernel {
    %t = gpu.thread_id x
    %b = gpu.block_id x
    %c32 = arith.constant 32 : index
    %isFirst = arith.cmpi ult, %t, %c32 : index
    %v = memref.load %x[%b, %t] : memref<2x64xf32>
    scf.if %isFirst {
      memref.store %v, %s[%t] : memref<64xf32, #gpu.address_space<workgroup>>
    }
    gpu.barrier
    // CHECK: uninitialized-shared.mlir:[[#@LINE+1]]:10: error: uninitialized-shared in kernel 'k', CTA 0, thread {{[3-6][0-9]}}: reads 4 bytes at byte [[BYTE:[0-9]+]] of static shared memory, where nothing was written to byte [[BYTE]] of static shared memory by 'memref.load' (seen 64 times)
    %w = memref.load %s[%t] : memref<64xf32, #gpu.address_space<workgroup>>
    memref.store %w, %y[%b, %t] : memref<2x64xf32>
    gpu.return
  }
}
