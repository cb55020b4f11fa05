//===- out-of-bounds-shared.mlir - A write beyond shared memory ------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// The bytes beyond are those of another buffer, which the hardware would spoil.

// RUN: sh -c 'norm-run %s --device=emulated --grid=1 --block=64 --arg 0=iota:64 >%t.out 2>%t.err; test $? -eq 2'
// RUN: FileCheck %s --input-file=%t.err --implicit-check-not=error:

gpu.module @kernels {
  gpu.func @k(%x: memref<64xf32>, %y: memref<64xf32>)
      workgroup(%s: memref<64xf32, #gpu.address_space<workgroup>>,
                %other: memref<64xf32, #gpu.address_space<workgroup>>) kernel {
    %t = gpu.thread_id x
    %c1 = arith.constant 1 : index
    %next = arith.addi %t, %c1 : index
    %v = memref.load %x[%t] : memref<64xf32>
    // CHECK: out-of-bounds-shared.mlir:[[#@LINE+1]]:5: error: out-of-bounds in kernel 'k', CTA 0, thread 63: writes 4 bytes at byte 256 of a shared buffer, which has 256 bytes by 'memref.store'
    memref.store %v, %s[%next] : memref<64xf32, #gpu.address_space<workgroup>>
    memref.store %v, %y[%t] : memref<64xf32>
    gpu.return
  }
}
