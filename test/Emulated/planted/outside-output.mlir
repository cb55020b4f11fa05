//===- outside-output.mlir - Writes beside an output -----------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// The rows of the output lie 70 elements apart, and the kernel writes all 70: it
// also writes between the rows, and behind the last one.

// RUN: sh -c 'norm-run %s --device=emulated --grid=2 --block=70 --arg 0=iota:2x70 --arg 1=empty:2x64:pitch=70 >%t.out 2>%t.err; test $? -eq 2'
// RUN: FileCheck %s --input-file=%t.err --implicit-check-not=error:

gpu.module @kernels {
  gpu.func @k(%x: memref<2x70xf32>, %y: memref<2x64xf32, strided<[?, 1]>>) kernel {
    %t = gpu.thread_id x
    %b = gpu.block_id x
    %v = memref.load %x[%b, %t] : memref<2x70xf32>
    // CHECK: outside-output.mlir:[[#@LINE+1]]:5: error: out-of-bounds in kernel 'k', CTA 0, thread {{6[4-9]}}: writes 4 bytes at 0x{{[0-9a-f]+}}, byte {{[0-9]+}} of argument 1 'y', outside its rows by 'llvm.store' (seen 12 times)
    memref.store %v, %y[%b, %t] : memref<2x64xf32, strided<[?, 1]>>
    gpu.return
  }
}
