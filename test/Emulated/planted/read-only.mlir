//===- read-only.mlir - A write into an input ------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// What is read is to be scaled in place, which nothing declares.

// RUN: sh -c 'norm-run %s --device=emulated --grid=2 --block=64 --arg 0=iota:2x64 >%t.out 2>%t.err; test $? -eq 2'
// RUN: FileCheck %s --input-file=%t.err --implicit-check-not=error:

gpu.module @kernels {
  gpu.func @k(%x: memref<2x64xf32>, %y: memref<2x64xf32>) kernel {
    %t = gpu.thread_id x
    %b = gpu.block_id x
    %v = memref.load %x[%b, %t] : memref<2x64xf32>
    %w = arith.addf %v, %v : f32
    // CHECK: read-only.mlir:[[#@LINE+1]]:5: error: read-only in kernel 'k', CTA 0, thread {{[0-9]+}}: writes 4 bytes at 0x{{[0-9a-f]+}}, byte {{[0-9]+}} of argument 0 'x', which is no output by 'llvm.store' (seen 128 times)
    memref.store %w, %x[%b, %t] : memref<2x64xf32>
    memref.store %w, %y[%b, %t] : memref<2x64xf32>
    gpu.return
  }
}
