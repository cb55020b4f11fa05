//===- global-race-threads.mlir - Two threads of a CTA that write one element ===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Both halves of the CTA write the same elements.

// RUN: sh -c 'norm-run %s --device=emulated --grid=2 --block=64 --arg 0=iota:2x64 >%t.out 2>%t.err; test $? -eq 2'
// RUN: FileCheck %s --input-file=%t.err --implicit-check-not=error:

gpu.module @kernels {
  gpu.func @k(%x: memref<2x64xf32>, %y: memref<2x32xf32>) kernel {
    %t = gpu.thread_id x
    %b = gpu.block_id x
    %c32 = arith.constant 32 : index
    %half = arith.remui %t, %c32 : index
    %v = memref.load %x[%b, %t] : memref<2x64xf32>
    // CHECK: global-race-threads.mlir:[[#@LINE+1]]:5: error: global-race in kernel 'k', CTA 0, thread {{[0-9]+}}: writes 4 bytes at 0x{{[0-9a-f]+}}, byte [[BYTE:[0-9]+]] of argument 1 'y', but thread {{[0-9]+}} wrote byte [[BYTE]] of argument 1 'y' in 'llvm.store' at {{.*}}global-race-threads.mlir:[[#@LINE+1]]:5 with no barrier between by 'llvm.store' (seen 64 times)
    memref.store %v, %y[%b, %half] : memref<2x32xf32>
    gpu.return
  }
}
