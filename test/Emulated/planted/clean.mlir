//===- clean.mlir - Kernels without a fault ------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// What the other files here plant faults into. Each kernel sums the rows of its
// input and subtracts the sum, so that the results are known: rows of the same
// number become -63 times the number.

// Memrefs with extents and strides from the data, and a block size of its own.
// RUN: norm-run %s --device=emulated --entry=memrefs --grid=3 --arg 0=full:3x64:value=2:pitch=72 --out 0=%t.npy --expect 0=%t.npy:atol=0 | FileCheck %s --check-prefix=MEMREFS
// MEMREFS: kernel   shape  schedule                   bytes
// MEMREFS-NEXT: memrefs  -      grid = 3, threads = 64
// MEMREFS-NEXT: traffic memrefs, argument 0 'x': 768 of 768 bytes read, 768 in all
// MEMREFS-NEXT: traffic memrefs, argument 1 'y': 768 of 768 bytes written, 768 in all
// RUN: %python -c "import numpy; y = numpy.load('%t.npy'); assert y.shape == (3, 64) and (y == -126).all(), y"

// Addresses, a stride, vectors of bf16, dynamic shared memory and shuffles.
// RUN: norm-run %s --device=emulated --entry=pointers --grid=5 --block=32 --shared=128 --arg 0=full:5x64:value=2:pitch=66 --arg 1=66 --arg 2=empty:5x64:dtype=f32 --out 0=%t.npy | FileCheck %s --check-prefix=POINTERS
// POINTERS: traffic pointers, argument 0 'x': 640 of 640 bytes read, 640 in all
// POINTERS-NEXT: traffic pointers, argument 2 'y': 1280 of 1280 bytes written, 1280 in all
// RUN: %python -c "import numpy; y = numpy.load('%t.npy'); assert y.shape == (5, 64) and y.dtype == 'float32' and (y == -126).all(), y"

// Each order of the threads gives the same.
// RUN: norm-run %s --device=emulated:2 --entry=pointers --grid=5 --block=32 --shared=128 --arg 0=full:5x64:value=2:pitch=66 --arg 1=66 --arg 2=empty:5x64 --expect 0=%t.npy:atol=0 --json=%t.json
// RUN: FileCheck %s --check-prefix=JSON --input-file=%t.json
// JSON: "grid": 5
// JSON: "distinct_read": 640

// The code is that of the GPU as well.
// RUN: norm-opt %s --pass-pipeline='builtin.module(gpu.module(norm-unpack-kernel-memrefs))' | FileCheck %s --check-prefix=UNPACKED
// UNPACKED: gpu.func @memrefs(%{{.*}}: !llvm.ptr<1>, %{{.*}}: i64, %{{.*}}: i64, %{{.*}}: !llvm.ptr<1>, %{{.*}}: i64)

!shared = memref<64xf32, #gpu.address_space<workgroup>>
gpu.module @kernels {
  llvm.mlir.global external @norm_shared() {addr_space = 3 : i32, alignment = 128 : i64} : !llvm.array<0 x i8>

  gpu.func @memrefs(%x: memref<?x64xf32, strided<[?, 1]>>, %y: memref<?x64xf32>)
      workgroup(%s: !shared) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %t = gpu.thread_id x
    %b = gpu.block_id x
    %zero = arith.constant 0.0 : f32
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %v = memref.load %x[%b, %t] : memref<?x64xf32, strided<[?, 1]>>
    memref.store %v, %s[%t] : !shared
    gpu.barrier
    %sum = scf.for %i = %c0 to %c64 step %c1 iter_args(%acc = %zero) -> f32 {
      %w = memref.load %s[%i] : !shared
      %next = arith.addf %acc, %w : f32
      scf.yield %next : f32
    }
    %d = arith.subf %v, %sum : f32
    memref.store %d, %y[%b, %t] : memref<?x64xf32>
    gpu.return
  }

  gpu.func @pointers(%x: !llvm.ptr<1>, %pitch: i64, %y: !llvm.ptr<1>) kernel {
    %t = gpu.thread_id x
    %b = gpu.block_id x
    %i = arith.index_cast %t : index to i64
    %row = arith.index_cast %b : index to i64
    %c2 = arith.constant 2 : i64
    %c64 = arith.constant 64 : i64
    %column = arith.muli %i, %c2 : i64
    %start = arith.muli %row, %pitch : i64
    %from = arith.addi %start, %column : i64
    %p = llvm.getelementptr %x[%from] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, bf16
    %two = llvm.load %p {alignment = 4 : i64} : !llvm.ptr<1> -> vector<2xbf16>
    %v = arith.extf %two : vector<2xbf16> to vector<2xf32>
    %mine = vector.reduction <add>, %v : vector<2xf32> into f32
    %base = llvm.mlir.addressof @norm_shared : !llvm.ptr<3>
    %cell = llvm.getelementptr %base[%i] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, f32
    llvm.store %mine, %cell : f32, !llvm.ptr<3>
    gpu.barrier
    %back = llvm.load %cell : !llvm.ptr<3> -> f32
    %width = arith.constant 32 : i32
    %c16 = arith.constant 16 : i32
    %c8 = arith.constant 8 : i32
    %c4 = arith.constant 4 : i32
    %c2i = arith.constant 2 : i32
    %c1 = arith.constant 1 : i32
    %a16, %ok16 = gpu.shuffle xor %back, %c16, %width : f32
    %s16 = arith.addf %back, %a16 : f32
    %a8, %ok8 = gpu.shuffle xor %s16, %c8, %width : f32
    %s8 = arith.addf %s16, %a8 : f32
    %a4, %ok4 = gpu.shuffle xor %s8, %c4, %width : f32
    %s4 = arith.addf %s8, %a4 : f32
    %a2, %ok2 = gpu.shuffle xor %s4, %c2i, %width : f32
    %s2 = arith.addf %s4, %a2 : f32
    %a1, %ok1 = gpu.shuffle xor %s2, %c1, %width : f32
    %sum = arith.addf %s2, %a1 : f32
    %all = vector.broadcast %sum : f32 to vector<2xf32>
    %d = arith.subf %v, %all : vector<2xf32>
    %first = arith.muli %row, %c64 : i64
    %to = arith.addi %first, %column : i64
    %q = llvm.getelementptr %y[%to] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
    llvm.store %d, %q {alignment = 8 : i64} : vector<2xf32>, !llvm.ptr<1>
    gpu.return
  }
}
