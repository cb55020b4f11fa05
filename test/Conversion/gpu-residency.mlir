//===- gpu-residency.mlir - Where a GPU keeps a row -----------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-opt %s --norm-schedule="target=sm_90 schedule=threads=512,residency=shared" --norm-tile --convert-norm-tile-to-gpu | FileCheck %s --check-prefix=SHARED
// RUN: norm-opt %s --norm-schedule="target=sm_90 schedule=threads=512,residency=stream" --norm-tile --convert-norm-tile-to-gpu | FileCheck %s --check-prefix=STREAM
// RUN: norm-opt %s --norm-schedule="target=sm_90 schedule=threads=512,residency=registers" --norm-tile --convert-norm-tile-to-gpu | FileCheck %s --check-prefix=REGISTERS

// What is kept in shared memory is read from there; no global load follows the
// barrier.

// SHARED:        llvm.mlir.global external @norm_shared() {addr_space = 3 : i32, alignment = 128 : i64}
// SHARED-LABEL:  gpu.func @sum_0(
// SHARED:          llvm.load %{{.*}} {alignment = 16 : i64, nontemporal} : !llvm.ptr<1> -> vector<8xbf16>
// SHARED:          llvm.store %{{.*}} {alignment = 16 : i64} : vector<8xbf16>, !llvm.ptr<3>
// SHARED:          gpu.barrier
// SHARED-NOT:      !llvm.ptr<1> -> vector
// SHARED:          llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<8xbf16>
// SHARED-NOT:      !llvm.ptr<1> -> vector
// SHARED:          gpu.return
// SHARED:          variants = [#norm_tile.variant<symbol = "sum_0", alignment = 16, block = 512, rows_per_cta = 1, shared = 32768>,

// What is streamed is loaded again after it, and buffers make no claim that
// would let the loads be merged.

// STREAM-LABEL:  gpu.func @sum_0(
// STREAM-NOT:      llvm.noalias
// STREAM:          llvm.load %{{.*}} {alignment = 16 : i64, nontemporal} : !llvm.ptr<1> -> vector<8xbf16>
// STREAM:          gpu.barrier
// STREAM:          llvm.load %{{.*}} {alignment = 16 : i64, nontemporal} : !llvm.ptr<1> -> vector<8xbf16>
// STREAM:          gpu.return

// REGISTERS-LABEL: gpu.func @sum_0(
// REGISTERS:         llvm.load %{{.*}} {alignment = 16 : i64, nontemporal} : !llvm.ptr<1> -> vector<8xbf16>
// REGISTERS:         gpu.barrier
// REGISTERS-NOT:     llvm.load
// REGISTERS:         gpu.return
func.func @sum(%x: memref<?x16384xbf16, strided<[?, 1]>>, %y: memref<?x16384xbf16, strided<[?, 1]>>) {
  norm.generic (row, col)
      ins(%a = %x[row, col] : memref<?x16384xbf16, strided<[?, 1]>>)
      outs(%o = %y[row, col] : memref<?x16384xbf16, strided<[?, 1]>>) {
    %f = arith.extf %a : bf16 to f32
    %s = norm.reduce add %f over [col] : f32
    %d = arith.subf %f, %s : f32
    %t = arith.truncf %d : f32 to bf16
    norm.yield %t : bf16
  }
  return
}
