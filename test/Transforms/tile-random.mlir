//===- tile-random.mlir - Random numbers in kernels --------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-opt %s --norm-generalize --norm-fuse --norm-schedule=target=sm_90 --norm-tile --split-input-file | FileCheck %s

// Keys and the words of the row are computed once per row; a chunk of four
// neighbours takes one evaluation of 10 rounds, of the first one's position.
// CHECK-LABEL: norm_tile.kernel @along
// CHECK-SAME: %[[SEED:arg1]]: i64, %[[OFFSET:arg2]]: i64,
// CHECK: norm_tile.work (%[[ROW:.*]]) {
// CHECK: %[[I:.*]] = arith.index_cast %[[ROW]] : index to i64
// CHECK: arith.shrui %[[SEED]]
// CHECK: %[[HIGH:.*]] = arith.xori
// CHECK: %[[LOW:.*]] = arith.trunci %[[SEED]]
// CHECK-COUNT-18: arith.addi
// CHECK: arith.trunci %[[I]] : i64 to i32
// CHECK: arith.trunci %[[OFFSET]] : i64 to i32
// CHECK-NOT: arith.mului_extended
// CHECK: norm_tile.phase
// CHECK: %[[AT:.*]] = norm_tile.index 1 : vector<4xindex>
// CHECK: %[[FIRST:.*]] = vector.extract %[[AT]][0]
// CHECK: %[[J:.*]] = arith.index_cast %[[FIRST]]
// CHECK: %[[BLOCK:.*]] = arith.shrui %[[J]]
// CHECK: arith.trunci %[[BLOCK]]
// CHECK-COUNT-20: arith.mului_extended %{{.*}} : i32
// CHECK-NOT: arith.mului_extended
// CHECK: vector.from_elements %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : vector<4xi32>
// CHECK: norm_tile.store
func.func @along(%x: tensor<?x1000xf32>, %seed: i64, %offset: i64) -> tensor<?x1000xf32> {
  %y = norm.dropout %x seed(%seed) offset(%offset) p = 0.1
      : tensor<?x1000xf32>, i64, i64 -> tensor<?x1000xf32>
  return %y : tensor<?x1000xf32>
}

// -----

// A chunk of eight takes two.
// CHECK-LABEL: norm_tile.kernel @two_blocks
// CHECK: norm_tile.phase
// CHECK: vector.extract %{{.*}}[0] : index from vector<8xindex>
// CHECK-COUNT-20: arith.mului_extended %{{.*}} : i32
// CHECK: vector.extract %{{.*}}[4] : index from vector<8xindex>
// CHECK-COUNT-20: arith.mului_extended %{{.*}} : i32
// CHECK-NOT: arith.mului_extended
func.func @two_blocks(%x: tensor<?x1000xbf16>, %seed: i64, %offset: i64) -> tensor<?x1000xbf16> {
  %y = norm.dropout %x seed(%seed) offset(%offset) p = 0.1
      : tensor<?x1000xbf16>, i64, i64 -> tensor<?x1000xbf16>
  return %y : tensor<?x1000xbf16>
}

// -----

// Dims that follow each other among the positions are one dim of the kernel, as
// they are in memory.
// CHECK-LABEL: norm_tile.kernel @merged
// CHECK-SAME: rows = [-1], columns = [64]
func.func @merged(%x: tensor<?x?x64xf32>, %seed: i64, %offset: i64) -> tensor<?x?x64xf32> {
  %y = norm.dropout %x seed(%seed) offset(%offset) p = 0.1
      : tensor<?x?x64xf32>, i64, i64 -> tensor<?x?x64xf32>
  return %y : tensor<?x?x64xf32>
}

// -----

// Those that don't stay apart.
// CHECK-LABEL: norm_tile.kernel @apart
// CHECK-SAME: rows = [-1, 3], columns = [64]
// CHECK: norm_tile.index 1 : index
// CHECK: arith.constant 3 : index
// CHECK: norm_tile.index 0 : index
func.func @apart(%x: tensor<?x3x64xf32>, %y: tensor<?x3x64xi32>, %seed: i64, %offset: i64) -> tensor<?x3x64xi32> {
  %0 = norm.generic (a, b, c)
      ins(%v = %x[a, b, c] : tensor<?x3x64xf32>, %s = %seed : i64, %t = %offset : i64)
      outs(%o = %y[a, b, c] : tensor<?x3x64xi32>) {
    %u = norm.random %s, %t at [b, a, c] : i32
    norm.yield %u : i32
  }
  return %0 : tensor<?x3x64xi32>
}

// -----

// Neighbours across rows of the numbers don't share an evaluation: each takes
// its own. Which word of it is theirs is the row's to say.
// CHECK-LABEL: norm_tile.kernel @each
// CHECK: arith.andi %{{.*}} : i32
// CHECK: norm_tile.phase
// CHECK-COUNT-20: arith.mului_extended
// CHECK-COUNT-3: arith.select %{{.*}} : vector<4xi32>
func.func @each(%x: tensor<?x1000xf32>, %y: tensor<?x1000xi32>, %seed: i64, %offset: i64) -> tensor<?x1000xi32> {
  %0 = norm.generic (a, b)
      ins(%v = %x[a, b] : tensor<?x1000xf32>, %s = %seed : i64, %t = %offset : i64)
      outs(%o = %y[a, b] : tensor<?x1000xi32>) {
    %u = norm.random %s, %t at [b, a] : i32
    norm.yield %u : i32
  }
  return %0 : tensor<?x1000xi32>
}

// -----

// What the last dim's parts make up isn't in blocks of the last one's.
// CHECK-LABEL: norm_tile.kernel @odd_parts
// CHECK: arith.constant 7 : index
// CHECK: arith.select %{{.*}} : vector<{{.*}}xi1>
func.func @odd_parts(%x: tensor<?x5x7xf32>, %y: tensor<?x5x7xi32>, %seed: i64, %offset: i64) -> tensor<?x5x7xi32> {
  %0 = norm.generic (a, b, c)
      ins(%v = %x[a, b, c] : tensor<?x5x7xf32>, %s = %seed : i64, %t = %offset : i64)
      outs(%o = %y[a, b, c] : tensor<?x5x7xi32>) {
    %u = norm.random %s, %t at [a, (b, c)] : i32
    norm.yield %u : i32
  }
  return %0 : tensor<?x5x7xi32>
}

// -----

// A number of the row is one number.
// CHECK-LABEL: norm_tile.kernel @of_rows
// CHECK: norm_tile.work
// CHECK-COUNT-20: arith.mului_extended %{{.*}} : i32
// CHECK: arith.select
// CHECK: norm_tile.phase
// CHECK-NOT: arith.mului_extended
func.func @of_rows(%x: tensor<?x1000xf32>, %seed: i64, %offset: i64) -> tensor<?x1000xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x1000xf32>
  %e = tensor.empty(%n) : tensor<?x1000xf32>
  %0 = norm.generic (row, col)
      ins(%v = %x[row, col] : tensor<?x1000xf32>, %s = %seed : i64, %t = %offset : i64)
      outs(%o = %e[row, col] : tensor<?x1000xf32>) {
    %u = norm.random %s, %t at [row] : i32
    %half = arith.constant 0 : i32
    %k = arith.cmpi slt, %u, %half : i32
    %z = arith.constant 0.0 : f32
    %r = arith.select %k, %v, %z : f32
    norm.yield %r : f32
  }
  return %0 : tensor<?x1000xf32>
}

// -----

// Two phases compute from what was dropped, which is held: numbers are drawn in
// the first.
// CHECK-LABEL: norm_tile.kernel @held
// CHECK: norm_tile.phase
// CHECK-COUNT-20: arith.mului_extended
// CHECK: norm_tile.hold
// CHECK: norm_tile.phase
// CHECK-NOT: arith.mului_extended
func.func @held(%x: tensor<?x1000xf32>, %seed: i64, %offset: i64) -> tensor<?x1000xf32> {
  %d = norm.dropout %x seed(%seed) offset(%offset) p = 0.1
      : tensor<?x1000xf32>, i64, i64 -> tensor<?x1000xf32>
  %y = norm.rms_norm %d axes = [1] eps = 1.0e-6 : tensor<?x1000xf32> -> tensor<?x1000xf32>
  return %y : tensor<?x1000xf32>
}
