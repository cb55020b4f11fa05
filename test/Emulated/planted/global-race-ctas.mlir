//===- global-race-ctas.mlir - Two CTAs that write one element -------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Every CTA writes the same row.

// RUN: sh -c 'norm-run %s --device=emulated --grid=3 --block=64 --arg 0=iota:3x64 >%t.out 2>%t.err; test $? -eq 2'
// RUN: FileCheck %s --input-file=%t.err --implicit-check-not=error:

gpu.module @kernels {
  gpu.func @k(%x: memref<3x64xf32>, %y: memref<64xf32>) kernel {
    %t = gpu.thread_id x
    %b = gpu.block_id x
    %v = memref.load %x[%b, %t] : memref<3x64xf32>
    // CHECK: global-race-ctas.mlir:[[#@LINE+1]]:5: error: global-race in kernel 'k', CTA 1, thread 0: writes 0x{{[0-9a-f]+}}, byte 0 of argument 1 'y', but CTA 0, thread 0 wrote it in 'llvm.store' at {{.*}}global-race-ctas.mlir:[[#@LINE+1]]:5 with no order between CTAs by 'llvm.store' (seen 2 times)
    memref.store %v, %y[%t] : memref<64xf32>
    gpu.return
  }
}
