//===- tile-across.mlir - Rows across memory ------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-opt %s --norm-schedule=target=sm_90 --norm-tile --split-input-file | FileCheck %s
// RUN: norm-opt %s --norm-schedule=target=host --norm-tile --split-input-file | FileCheck %s --check-prefix=HOST

// Softmax over axis 0: all columns are apart. A chunk holds neighbouring rows.

// CHECK-LABEL: norm_tile.kernel @softmax_0(
// CHECK-SAME:      %[[X:.*]]: memref<64x256xf32>, %[[Y:.*]]: memref<64x256xf32>)
// CHECK-SAME:      order = #norm.order<leaf = 4, lanes = 32, inner = 1>
// CHECK-SAME:      schedule = #norm.schedule<
// CHECK-SAME:      vector = 4
// CHECK-SAME:      space = #norm_tile.space<rows = [256], columns = [64], axes = {{\[\[}}1, 0], [1, 0]]>
// CHECK:         norm_tile.work (%[[ROW:.*]]) {
// CHECK-NEXT:      %[[P:.*]] = norm_tile.phase reduce [max_expsum] (%[[C:.*]]) {
// CHECK-NEXT:        %[[A:.*]] = norm_tile.load %[[X]][%[[ROW]], %[[C]]] : memref<64x256xf32> -> vector<4xf32>
// CHECK:             norm_tile.yield %[[A]]
// CHECK:           %[[T:.*]] = norm_tile.exchange_start %[[P]]
// CHECK:           %[[E:.*]]:2 = norm_tile.exchange_wait %[[T]] : vector<4xf32>, vector<4xf32>
// CHECK:           norm_tile.phase
// CHECK:             arith.subf %{{.*}}, %[[E]]#0 {{.*}}: vector<4xf32>
// CHECK:             norm_tile.store %{{.*}}, %[[Y]]

// HOST-LABEL: norm_tile.kernel @softmax_0(
// HOST-SAME:      order = #norm.order<leaf = 4, lanes = 32, inner = 1>
// HOST-SAME:      schedule = #norm.schedule<threads = 1, rows_per_cta = 16, residency = stream, prefetch = false, vector = 16>
// HOST:             norm_tile.load %{{.*}} -> vector<16xf32>
func.func @softmax(%x: memref<64x256xf32>, %y: memref<64x256xf32>) {
  norm.generic (col, row)
      ins(%a = %x[col, row] : memref<64x256xf32>) outs(%o = %y[col, row] : memref<64x256xf32>) {
    %m, %s = norm.reduce max_expsum %a over [col] : f32
    %d = arith.subf %a, %m : f32
    %e = math.exp %d : f32
    %q = arith.divf %e, %s : f32
    norm.yield %q : f32
  }
  return
}

// -----

// Group norm, channels last: the ten channels of a group are the inner columns.
// Scale varies on rows and these, and so is a row's; the statistics as well.

// CHECK-LABEL: norm_tile.kernel @group_norm_0(
// CHECK-SAME:      order = #norm.order<leaf = 4, lanes = 32, inner = 10>
// CHECK-SAME:      vector = 8
// CHECK-SAME:      space = #norm_tile.space<rows = [2, 4], columns = [64, 10], axes = {{\[\[}}0, 3, 2, 4], [_, 0, _, 1], [0, 3, 2, 4], [0, 1, _, _]]>
// CHECK:         norm_tile.phase reduce [welford]
// CHECK:         %[[E:.*]]:2 = norm_tile.exchange_wait %{{.*}} : vector<8xf32>, vector<8xf32>
// CHECK:         norm_tile.store_row %[[E]]#0, %{{.*}} : vector<8xf32>, memref<2x4xf32>
// CHECK:         norm_tile.load_row %{{.*}} : memref<4x10xf32> -> vector<8xf32>
// CHECK:         norm_tile.phase
// CHECK-NOT:       memref<4x10xf32>
// CHECK:         func.func @group_norm

// Whole groups are a vector.
// HOST-LABEL: norm_tile.kernel @group_norm_0(
// HOST-SAME:      rows_per_cta = 10
// HOST-SAME:      vector = 10
func.func @group_norm(%x: memref<2x8x8x4x10xf16>, %w: memref<4x10xf32>, %y: memref<2x8x8x4x10xf16>, %m: memref<2x4xf32>) {
  norm.generic (n, h, w, g, c)
      ins(%a = %x[n, h, w, g, c] : memref<2x8x8x4x10xf16>, %s = %w[g, c] : memref<4x10xf32>)
      outs(%o = %y[n, h, w, g, c] : memref<2x8x8x4x10xf16>, %om = %m[n, g] : memref<2x4xf32>) {
    %f = arith.extf %a : f16 to f32
    %mean, %m2 = norm.reduce welford %f over [h, w, c] : f32
    %d = arith.subf %f, %mean : f32
    %p = arith.mulf %d, %s : f32
    %t = arith.truncf %p : f32 to f16
    norm.yield %t, %mean : f16, f32
  }
  return
}

// -----

// Rows whose number is known at launch only: a chunk is one of them, of which
// any number can be a multiple.

// CHECK-LABEL: norm_tile.kernel @dynamic_0(
// CHECK-SAME:      schedule = #norm.schedule<
// CHECK-NOT:       vector
// CHECK-SAME:      space = #norm_tile.space<rows = [-1], columns = [-1], axes = {{\[\[}}1, 0]]>
func.func @dynamic(%x: memref<?x?xf32>) {
  norm.generic (col, row) outs(%o = %x[col, row] : memref<?x?xf32>) {
    %s = norm.reduce max %o over [col] : f32
    %d = arith.subf %o, %s : f32
    norm.yield %d : f32
  }
  return
}

// -----

// A static row dim stays apart from a dynamic one before it: chunks divide it.

// CHECK-LABEL: norm_tile.kernel @static_behind_dynamic_0(
// CHECK-SAME:      vector = 4
// CHECK-SAME:      space = #norm_tile.space<rows = [-1, -1, 12], columns = [64], axes = {{\[\[}}0, 2, 3, 1]]>
func.func @static_behind_dynamic(%x: memref<?x64x?x12xf32>) {
  norm.generic (n, col, h, w) outs(%o = %x[n, col, h, w] : memref<?x64x?x12xf32>) {
    %s = norm.reduce max %o over [col] : f32
    %d = arith.subf %o, %s : f32
    norm.yield %d : f32
  }
  return
}

// -----

// Positions of rows and of columns. Where an index is a row's, it is a vector
// there too.

// CHECK-LABEL: norm_tile.kernel @index_0(
// CHECK-SAME:      space = #norm_tile.space<rows = [256], columns = [64], axes = {{\[\[}}1, 0]]>
// CHECK:         norm_tile.index 0 : vector<4xindex>
// CHECK:         norm_tile.phase
// CHECK:           norm_tile.index 1 : vector<4xindex>
func.func @index(%x: memref<64x256xi32>) {
  norm.generic (col, row) outs(%o = %x[col, row] : memref<64x256xi32>) {
    %m = norm.reduce max %o over [col] : i32
    %i = norm.index row : i32
    %j = norm.index col : i32
    %k = arith.addi %i, %m : i32
    %l = arith.muli %j, %k : i32
    norm.yield %l : i32
  }
  return
}
