//===- global-race-read.mlir - A CTA that reads what another one wrote -----===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// The second row is the first one plus one, which another CTA computes. Whether
// it is there already isn't known, so that the read may also find nothing.

// RUN: sh -c 'norm-run %s --device=emulated --grid=2 --block=64 --arg 0=iota:64 >%t.out 2>%t.err; test $? -eq 2'
// RUN: FileCheck %s --input-file=%t.err

gpu.module @kernels {
  gpu.func @k(%x: memref<64xf32>, %y: memref<2x64xf32>) kernel {
    %t = gpu.thread_id x
    %b = gpu.block_id x
    %c0 = arith.constant 0 : index
    %isFirst = arith.cmpi eq, %b, %c0 : index
    scf.if %isFirst {
      %v = memref.load %x[%t] : memref<64xf32>
      memref.store %v, %y[%b, %t] : memref<2x64xf32>
    } else {
      // CHECK: global-race-read.mlir:[[#@LINE+1]]:12: error: global-race in kernel 'k', CTA 1, thread 0: reads 0x{{[0-9a-f]+}}, byte 0 of argument 1 'y', but CTA 0, thread 0 wrote it in 'llvm.store' at {{.*}}global-race-read.mlir:[[#@LINE-2]]:7 with no order between CTAs by 'llvm.load'
      %v = memref.load %y[%c0, %t] : memref<2x64xf32>
      memref.store %v, %y[%b, %t] : memref<2x64xf32>
    }
    gpu.return
  }
}
