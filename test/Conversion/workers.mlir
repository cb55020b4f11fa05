//===- workers.mlir - Kernels that sum rows -------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-opt %s --norm-schedule=target=sm_90 --norm-tile | FileCheck %s --check-prefix=TILE
// RUN: norm-opt %s --norm-schedule="target=sm_90 schedule=stages=4" --norm-tile --convert-norm-tile-to-gpu | FileCheck %s --check-prefix=GPU
// RUN: norm-opt %s --norm-schedule="target=sm_90 schedule=stages=0" --norm-tile --convert-norm-tile-to-gpu | FileCheck %s --check-prefix=DIRECT
// RUN: norm-opt %s --norm-schedule="target=sm_90 schedule=stages=0" --norm-tile --convert-norm-tile-to-gpu | FileCheck %s --check-prefix=WRITTEN
// RUN: norm-opt %s --norm-schedule --norm-tile --convert-norm-tile-to-host | FileCheck %s --check-prefix=HOST

// The space says who shares the rows; the body adds its chunk.
// TILE-LABEL: norm_tile.kernel @sums_0
// TILE: space = #norm_tile.space<rows = [-1], columns = [2048], axes = {{\[\[0, 1\], \[_, 0\], \[0, 1\], \[_, 1\]\]}}, workers = 264, strands = 2>
// TILE: norm_tile.phase reduce [add]
// TILE: norm_tile.phase
// TILE: norm_tile.sum_rows %{{.*}}, %{{.*}}[%{{.*}}] : vector<8xf32>, memref<264x2048xf32>

// What rows are summed into is written: LLVM drops stores to what is only read.
// WRITTEN: gpu.func @sums_0(
// WRITTEN-SAME: %arg2: !llvm.ptr<1> {llvm.noalias, llvm.readonly}, %arg3: !llvm.ptr<1> {llvm.noalias}, %arg4: i64, %arg5: !llvm.ptr<1> {llvm.noalias}, %arg6: i64)

// Two groups of 128 threads, each of which takes every 528th row. Rows are copied
// ahead by each thread for itself; what they have in common is loaded before.
// GPU-LABEL: gpu.func @sums_0(
// GPU-SAME: known_block_size = array<i32: 256, 1, 1>
// GPU-SAME: nvvm.maxnreg = 128 : i32
// GPU: %[[ROW:.*]] = arith.addi
// GPU: arith.ceildivui
// GPU-COUNT-4: nvvm.cp.async.commit.group
// GPU-COUNT-2: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<8xbf16>
// GPU: scf.for {{.*}} iter_args({{.*}}) -> (vector<8xf32>, vector<8xf32>, i64)
// GPU: nvvm.cp.async.wait.group 3
// GPU: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<8xbf16>
// GPU: gpu.barrier
// GPU: gpu.shuffle
// GPU-COUNT-2: arith.select {{.*}} : vector<8xf32>
// GPU-COUNT-2: nvvm.cp.async.shared.global {{.*}} 16, cache = cg
// GPU: nvvm.cp.async.commit.group
// GPU: scf.yield
// The groups' sums meet in shared memory, and the first group stores the CTA's.
// GPU: nvvm.cp.async.wait.group 0
// GPU-COUNT-2: gpu.barrier
// GPU: arith.addf {{.*}} : vector<8xf32>
// GPU: llvm.store {{.*}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<1>
// A CTA for each worker.
// GPU: variants = [#norm_tile.variant<symbol = "sums_0", alignment = 16, block = 256, rows_per_cta = 1,

// DIRECT-LABEL: gpu.func @sums_0(
// DIRECT-NOT: nvvm.cp.async
// DIRECT: scf.for {{.*}} iter_args({{.*}}) -> (vector<8xf32>, vector<8xf32>, i64)
// DIRECT: llvm.load %{{.*}} : !llvm.ptr<1> -> vector<8xbf16>

// Worker, strand, row; the strands' sums are in memory of the function.
// HOST-LABEL: func.func @sums_0(
// HOST: %[[SUMS:.*]] = memref.alloca() {{.*}} : memref<4096xf32>
// HOST: scf.for
// HOST: dense<-0.000000e+00>
// HOST: scf.for
// HOST: scf.for %{{.*}} = %{{.*}} to %{{.*}} step %{{.*}} {
// HOST: vector.load %[[SUMS]]
// HOST: arith.addf
// HOST: vector.store %{{.*}}, %[[SUMS]]
// HOST: variants = [#norm_tile.variant<symbol = "sums_0", alignment = 1, block = 1, rows_per_cta = 1, shared = 0>]
func.func @sums(%x: memref<?x2048xbf16, strided<[?, 1]>>, %w: memref<2048xbf16>,
                %y: memref<?x2048xbf16, strided<[?, 1]>>, %p: memref<264x2048xf32>) {
  norm.generic (row, col, worker)
      ins(%a = %x[row, col] : memref<?x2048xbf16, strided<[?, 1]>>, %g = %w[col] : memref<2048xbf16>)
      outs(%o = %y[row, col] : memref<?x2048xbf16, strided<[?, 1]>>, %q = %p[worker, col] : memref<264x2048xf32>) {
    %f = arith.extf %a : bf16 to f32
    %h = arith.extf %g : bf16 to f32
    %s = norm.reduce add %f over [col] : f32
    %d = arith.subf %f, %s : f32
    %m = arith.mulf %d, %h : f32
    %t = arith.truncf %m : f32 to bf16
    %r = norm.accumulate %d over [row] by worker strands 2 : f32
    norm.yield %t, %r : bf16, f32
  }
  return
}
