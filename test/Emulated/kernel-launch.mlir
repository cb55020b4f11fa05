//===- kernel-launch.mlir - What a kernel needs to be run ----------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Each line: the options, and the one diagnostic they give. All exit with 1.

// RUN: sh %inputs/expect-error.sh norm-run %s "error: kernel 'k': expects 1 to 2147483647 CTAs (grid) but got none" --entry=k --block=64 --arg 0=ones:64
// RUN: sh %inputs/expect-error.sh norm-run %s "error: kernel 'k': expects 1 to 2147483647 CTAs (grid) but got 0" --entry=k --grid=0 --block=64 --arg 0=ones:64
// RUN: sh %inputs/expect-error.sh norm-run %s "error: kernel 'k': expects 1 to 1024 threads of a CTA (block) but got none" --entry=k --grid=1 --arg 0=ones:64
// RUN: sh %inputs/expect-error.sh norm-run %s "error: kernel 'k': expects 1 to 1024 threads of a CTA (block) but got 2000" --entry=k --grid=1 --block=2000 --arg 0=ones:64
// RUN: sh %inputs/expect-error.sh norm-run %s "error: kernel 'fixed': expects 64 threads of a CTA, as known_block_size says, but got 32" --entry=fixed --grid=1 --block=32
// RUN: sh %inputs/expect-error.sh norm-run %s "error: kernel 'k' needs 300000 bytes of shared memory per CTA but sm_90 allows 232448" --entry=k --grid=1 --block=64 --shared=300000 --arg 0=ones:64

// RUN: sh %inputs/expect-error.sh norm-run %s "error: expects one kernel or a named entry but found k, fixed, address, double" --grid=1 --block=64
// RUN: sh %inputs/expect-error.sh norm-run %s "error: expects an entry named 'nothing' but found k, fixed, address, double" --entry=nothing --grid=1 --block=64

// RUN: sh %inputs/expect-error.sh norm-run %s "error: kernel 'k': expects an argument index below 2 but got 2" --entry=k --grid=1 --block=64 --arg 2=ones:64
// RUN: sh %inputs/expect-error.sh norm-run %s "error: argument 0 'x': expects f32 but got f16" --entry=k --grid=1 --block=64 --arg 0=ones:64:dtype=f16
// RUN: sh %inputs/expect-error.sh norm-run %s "error: --arg: 0=ones:64:dtype=f31: expects an element type for dtype but got 'f31'" --entry=k --grid=1 --block=64 --arg 0=ones:64:dtype=f31
// RUN: sh %inputs/expect-error.sh norm-run %s "error: argument 0 'x': expects shape 64 but got 32" --entry=k --grid=1 --block=64 --arg 0=ones:32
// RUN: sh %inputs/expect-error.sh norm-run %s "error: argument 0 'x': expects a tensor but got a number" --entry=k --grid=1 --block=64 --arg 0=3
// RUN: sh %inputs/expect-error.sh norm-run %s "error: argument 1 'n': expects a number but got a tensor" --entry=address --grid=1 --block=64 --arg 0=empty:64:dtype=f32 --arg 1=ones:64
// RUN: sh %inputs/expect-error.sh norm-run %s "error: argument 1 'n': expects a number (--arg 1=...) but got none" --entry=address --grid=1 --block=64 --arg 0=empty:64:dtype=f32
// RUN: sh %inputs/expect-error.sh norm-run %s "error: argument 0 'y': expects to be given a shape, which its type doesn't tell, but got none" --entry=address --grid=1 --block=64 --arg 1=3
// RUN: sh %inputs/expect-error.sh norm-run %s "error: argument 0 'y': expects to be given an element type, which its uses don't tell, but got none" --entry=address --grid=1 --block=64 --arg 0=empty:64 --arg 1=3

// RUN: sh %inputs/expect-error.sh norm-run %s "error: --check: expects a program to compare with but got kernels" --entry=k --grid=1 --block=64 --arg 0=ones:64 --check
// RUN: sh %inputs/expect-error.sh norm-run %s "error: --bits: expects a program to compare with but got kernels" --entry=k --grid=1 --block=64 --arg 0=ones:64 --bits=host
// RUN: sh %inputs/expect-error.sh norm-run %s "error: expects no schedule for kernels, which have one already, but got 'threads=64'" --entry=k --grid=1 --block=64 --arg 0=ones:64 --schedule=threads=64

// The host runs no threads.
// RUN: sh -c 'norm-run %s --device=host --entry=k --grid=1 --block=64 --arg 0=ones:64 2>%t.err >%t.out; test $? -eq 1'
// RUN: FileCheck %s --check-prefix=HOST --input-file=%t.err
// HOST: norm-run: error: expects a GPU target for the kernels of the text but got host

// RUN: sh -c 'norm-run %s --device=emulated --entry=double --grid=1 --block=64 2>%t.err >%t.out; test $? -eq 1'
// RUN: FileCheck %s --check-prefix=CAST --input-file=%t.err

gpu.module @kernels {
  gpu.func @k(%x: memref<64xf32>, %y: memref<64xf32>) kernel {
    %t = gpu.thread_id x
    %v = memref.load %x[%t] : memref<64xf32>
    memref.store %v, %y[%t] : memref<64xf32>
    gpu.return
  }

  gpu.func @fixed(%y: memref<64xf32>) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %t = gpu.thread_id x
    %v = arith.constant 1.0 : f32
    memref.store %v, %y[%t] : memref<64xf32>
    gpu.return
  }

  gpu.func @address(%y: !llvm.ptr<1>, %n: i64) kernel {
    gpu.return
  }

  // A view of the memory is more than is unpacked.
  gpu.func @double(%y: memref<64xf32>) kernel {
    %t = gpu.thread_id x
    %v = arith.constant 1.0 : f32
    // CAST: kernel-launch.mlir:[[#@LINE+1]]:10: error: expects loads, stores and memref.dim of a kernel's argument but got 'memref.cast'
    %z = memref.cast %y : memref<64xf32> to memref<?xf32>
    memref.store %v, %z[%t] : memref<?xf32>
    gpu.return
  }
}
