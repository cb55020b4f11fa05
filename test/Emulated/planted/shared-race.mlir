//===- shared-race.mlir - No barrier between a write and a read ------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Neighbours exchange their elements. The order of the threads decides which of
// the two accesses comes second: it is found from either side.

// RUN: sh -c 'norm-run %s --device=emulated --grid=1 --block=64 --arg 0=iota:64 >%t.out 2>%t.err; test $? -eq 2'
// RUN: FileCheck %s --input-file=%t.err --implicit-check-not=error:

gpu.module @kernels {
  gpu.func @k(%x: memref<64xf32>, %y: memref<64xf32>)
      workgroup(%s: memref<64xf32, #gpu.address_space<workgroup>>) kernel {
    %t = gpu.thread_id x
    %c1 = arith.constant 1 : index
    %other = arith.xori %t, %c1 : index
    %v = memref.load %x[%t] : memref<64xf32>
    memref.store %v, %s[%t] : memref<64xf32, #gpu.address_space<workgroup>>
    gpu.barrier
    %w = memref.load %s[%other] : memref<64xf32, #gpu.address_space<workgroup>>
    // A barrier is missing here.
    // CHECK-DAG: shared-race.mlir:[[#@LINE+1]]:5: error: shared-race in kernel 'k', CTA 0, thread {{[0-9]+}}: writes 4 bytes at byte [[BYTE:[0-9]+]] of static shared memory, but thread {{[0-9]+}} read byte [[BYTE]] of static shared memory in 'memref.load' at {{.*}}shared-race.mlir:[[#@LINE-2]]:10 with no barrier between by 'memref.store' (seen {{[0-9]+}} times)
    memref.store %w, %s[%t] : memref<64xf32, #gpu.address_space<workgroup>>
    // CHECK-DAG: shared-race.mlir:[[#@LINE-4]]:10: error: shared-race in kernel 'k', CTA 0, thread {{[0-9]+}}: reads 4 bytes at byte [[BYTE2:[0-9]+]] of static shared memory, but thread {{[0-9]+}} wrote byte [[BYTE2]] of static shared memory in 'memref.store' at {{.*}}shared-race.mlir:[[#@LINE-1]]:5 with no barrier between by 'memref.load' (seen {{[0-9]+}} times)
    gpu.barrier
    %z = memref.load %s[%other] : memref<64xf32, #gpu.address_space<workgroup>>
    memref.store %z, %y[%t] : memref<64xf32>
    gpu.return
  }
}
