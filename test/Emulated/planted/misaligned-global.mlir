//===- misaligned-global.mlir - A vector at an odd element -----------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// An address as the compiler's kernels take it, with its shape from the command
// line; 16 bytes are read at each fourth byte.

// RUN: sh -c 'norm-run %s --device=emulated --grid=1 --block=32 --arg 0=iota:64 --arg 1=empty:32 >%t.out 2>%t.err; test $? -eq 2'
// RUN: FileCheck %s --input-file=%t.err --implicit-check-not=error:

gpu.module @kernels {
  gpu.func @k(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>) kernel {
    %t = gpu.thread_id x
    %i = arith.index_cast %t : index to i64
    %p = llvm.getelementptr %x[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
    // CHECK: misaligned-global.mlir:[[#@LINE+1]]:10: error: misaligned in kernel 'k', CTA 0, thread {{[0-9]+}}: reads 16 bytes at 0x{{[0-9a-f]+}}, byte {{[0-9]+}} of argument 0 'x', but needs alignment 16 by 'llvm.load' (seen 24 times)
    %v = llvm.load %p {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
    %first = vector.extract %v[0] : f32 from vector<4xf32>
    %q = llvm.getelementptr %y[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
    llvm.store %first, %q : f32, !llvm.ptr<1>
    gpu.return
  }
}
