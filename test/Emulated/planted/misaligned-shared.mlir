//===- misaligned-shared.mlir - A vector at an odd element of shared memory ===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Dynamic shared memory, of as many bytes as the command line says.

// RUN: sh -c 'norm-run %s --device=emulated --grid=1 --block=32 --shared=256 --arg 0=iota:32 >%t.out 2>%t.err; test $? -eq 2'
// RUN: FileCheck %s --input-file=%t.err --implicit-check-not=error:

gpu.module @kernels {
  llvm.mlir.global external @norm_shared() {addr_space = 3 : i32, alignment = 128 : i64} : !llvm.array<0 x i8>
  gpu.func @k(%x: memref<32xf32>, %y: memref<32xf32>) kernel {
    %t = gpu.thread_id x
    %i = arith.index_cast %t : index to i64
    %v = memref.load %x[%t] : memref<32xf32>
    %base = llvm.mlir.addressof @norm_shared : !llvm.ptr<3>
    %p = llvm.getelementptr %base[%i] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, f32
    llvm.store %v, %p : f32, !llvm.ptr<3>
    gpu.barrier
    // CHECK: misaligned-shared.mlir:[[#@LINE+1]]:12: error: misaligned in kernel 'k', CTA 0, thread {{[0-9]+}}: reads 8 bytes at byte {{[0-9]+}} of dynamic shared memory, but needs alignment 8 by 'llvm.load' (seen 16 times)
    %two = llvm.load %p {alignment = 8 : i64} : !llvm.ptr<3> -> vector<2xf32>
    %first = vector.extract %two[0] : f32 from vector<2xf32>
    memref.store %first, %y[%t] : memref<32xf32>
    gpu.return
  }
}
