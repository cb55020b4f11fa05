//===- out-of-bounds-global.mlir - A read beyond a buffer ------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Each thread reads the element after its own; the last one has none.

// RUN: sh -c 'norm-run %s --device=emulated --grid=2 --block=64 --arg 0=iota:2x64 >%t.out 2>%t.err; test $? -eq 2'
// RUN: FileCheck %s --input-file=%t.err --implicit-check-not=error:

gpu.module @kernels {
  gpu.func @k(%x: memref<2x64xf32>, %y: memref<2x64xf32>) kernel {
    %t = gpu.thread_id x
    %b = gpu.block_id x
    %c1 = arith.constant 1 : index
    %next = arith.addi %t, %c1 : index
    // CHECK: out-of-bounds-global.mlir:[[#@LINE+1]]:10: error: out-of-bounds in kernel 'k', CTA 1, thread 63: reads 4 bytes at 0x{{[0-9a-f]+}}, byte 512 of argument 0 'x', which spans 512 bytes from 0x{{[0-9a-f]+}} by 'llvm.load'
    %v = memref.load %x[%b, %next] : memref<2x64xf32>
    memref.store %v, %y[%b, %t] : memref<2x64xf32>
    gpu.return
  }
}
