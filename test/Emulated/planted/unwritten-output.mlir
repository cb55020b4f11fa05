//===- unwritten-output.mlir - A read of an output before it was written ---===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// The kernel adds to what it finds.

// RUN: sh -c 'norm-run %s --device=emulated --grid=2 --block=64 --arg 0=iota:2x64 >%t.out 2>%t.err; test $? -eq 2'
// RUN: FileCheck %s --input-file=%t.err --implicit-check-not=error:

gpu.module @kernels {
  gpu.func @k(%x: memref<2x64xf32>, %y: memref<2x64xf32>) kernel {
    %t = gpu.thread_id x
    %b = gpu.block_id x
    %v = memref.load %x[%b, %t] : memref<2x64xf32>
    // CHECK: unwritten-output.mlir:[[#@LINE+1]]:10: error: unwritten-output in kernel 'k', CTA 0, thread {{[0-9]+}}: reads 4 bytes at 0x{{[0-9a-f]+}}, byte {{[0-9]+}} of argument 1 'y', which nothing was written to by 'llvm.load' (seen 128 times)
    %w = memref.load %y[%b, %t] : memref<2x64xf32>
    %sum = arith.addf %v, %w : f32
    memref.store %sum, %y[%b, %t] : memref<2x64xf32>
    gpu.return
  }
}
