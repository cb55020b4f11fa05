//===- tile.mlir - Programs as tiled kernels ------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-opt %s --norm-schedule="target=sm_90 schedule=prefetch=true" --norm-tile --split-input-file | FileCheck %s

// The input is held packed, the scale is loaded while the sum is exchanged.

// CHECK-LABEL: norm_tile.kernel @rms_norm_0(
// CHECK-SAME:      %[[X:.*]]: memref<?x4096xbf16, strided<[?, 1]>>, %[[W:.*]]: memref<4096xbf16>,
// CHECK-SAME:      %[[Y:.*]]: memref<?x4096xbf16, strided<[?, 1]>>, %[[R:.*]]: memref<?xf32>)
// CHECK-SAME:      space = #norm_tile.space<rows = [-1], columns = [4096], axes = {{\[\[}}0, 1], [_, 0], [0, 1], [0, _]]>
// CHECK-NEXT: norm_tile.work (%[[ROW:.*]]) {
// CHECK-NEXT:   %[[P:.*]] = norm_tile.phase reduce [add] (%[[C:.*]]) {
// CHECK-NEXT:     %[[A:.*]] = norm_tile.load %[[X]][%[[ROW]], %[[C]]]
// CHECK-NEXT:     %[[F:.*]] = arith.extf %[[A]] : vector<8xbf16> to vector<8xf32>
// CHECK-NEXT:     %[[Q:.*]] = arith.mulf %[[F]], %[[F]]
// CHECK-NEXT:     norm_tile.hold %[[A]] in 0 : vector<8xbf16>
// CHECK-NEXT:     norm_tile.yield %[[Q]]
// CHECK-NEXT:   } : !norm_tile.partial<add, f32>
// CHECK-NEXT:   %[[T:.*]] = norm_tile.exchange_start %[[P]]
// CHECK-NEXT:   norm_tile.phase (%[[C:.*]]) {
// CHECK-NEXT:     %[[G:.*]] = norm_tile.load %[[W]][%[[C]]]
// CHECK-NEXT:     norm_tile.hold %[[G]] in 1
// CHECK-NEXT:     norm_tile.yield
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[S:.*]] = norm_tile.exchange_wait %[[T]] : f32
// CHECK-NEXT:   norm_tile.store_row %[[S]], %[[R]][%[[ROW]]]
// CHECK-NEXT:   norm_tile.phase (%[[C:.*]]) {
// CHECK-NEXT:     norm_tile.held 0
// CHECK:          norm_tile.held 1
// CHECK:          norm_tile.store %{{.*}}, %[[Y]][%[[ROW]], %[[C]]]
// CHECK-LABEL: func.func @rms_norm(
// CHECK:         norm_tile.launch @rms_norm_0(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}})
// CHECK-SAME:      num_outputs = 2
func.func @rms_norm(%x: memref<?x4096xbf16, strided<[?, 1]>>, %w: memref<4096xbf16>,
                    %y: memref<?x4096xbf16, strided<[?, 1]>>, %r: memref<?xf32>) {
  norm.generic (row, col)
      ins(%a = %x[row, col] : memref<?x4096xbf16, strided<[?, 1]>>, %g = %w[col] : memref<4096xbf16>)
      outs(%o = %y[row, col] : memref<?x4096xbf16, strided<[?, 1]>>, %o1 = %r[row] : memref<?xf32>) {
    %f = arith.extf %a : bf16 to f32
    %sq = arith.mulf %f, %f : f32
    %ss = norm.reduce add %sq over [col] : f32
    %p = arith.mulf %f, %ss : f32
    %gf = arith.extf %g : bf16 to f32
    %yy = arith.mulf %p, %gf : f32
    %yt = arith.truncf %yy : f32 to bf16
    norm.yield %yt, %ss : bf16, f32
  }
  return
}

// -----

// What is streamed is loaded again; a column extent known at launch is read.

// CHECK-LABEL: norm_tile.kernel @stream_0(
// CHECK-SAME:      %[[X:.*]]: memref<?x?xf32, strided<[?, 1]>>
// CHECK-SAME:      space = #norm_tile.space<rows = [-1], columns = [-1], axes = {{\[\[}}0, 1]]>
// CHECK:         norm_tile.phase reduce [add]
// CHECK:           norm_tile.load %[[X]]
// CHECK-NOT:       norm_tile.hold
// CHECK:         norm_tile.exchange_wait
// CHECK:         norm_tile.columns
// CHECK:         norm_tile.phase
// CHECK:           norm_tile.load %[[X]]
func.func @stream(%x: memref<?x?xf32, strided<[?, 1]>>) {
  norm.generic (row, col) outs(%o = %x[row, col] : memref<?x?xf32, strided<[?, 1]>>) {
    %s = norm.reduce add %o over [col] : f32
    %n = norm.extent col : f32
    %m = arith.divf %s, %n : f32
    %d = arith.subf %o, %m : f32
    norm.yield %d : f32
  }
  return
}

// -----

// The residual sum is held, which is less than its two terms.

// CHECK-LABEL: norm_tile.kernel @residual_0(
// CHECK:         %[[SUM:.*]] = arith.addf %{{.*}} : vector<8xbf16>
// CHECK:         norm_tile.hold %[[SUM]] in 0 : vector<8xbf16>
// CHECK-NOT:     norm_tile.hold
func.func @residual(%x: memref<?x4096xbf16>, %z: memref<?x4096xbf16>, %y: memref<?x4096xbf16>) {
  norm.generic (row, col)
      ins(%a = %x[row, col] : memref<?x4096xbf16>, %b = %z[row, col] : memref<?x4096xbf16>)
      outs(%o = %y[row, col] : memref<?x4096xbf16>) {
    %h = arith.addf %a, %b : bf16
    %f = arith.extf %h : bf16 to f32
    %m = norm.reduce max %f over [col] : f32
    %d = arith.subf %f, %m : f32
    %t = arith.truncf %d : f32 to bf16
    norm.yield %t : bf16
  }
  return
}

// -----

// Row dims and column dims that lie in memory like one are one.

// CHECK-LABEL: norm_tile.kernel @dims_0(%{{.*}}: memref<?x2x4x8xf32>, %{{.*}}: memref<?x2xf32>)
// CHECK-SAME:      space = #norm_tile.space<rows = [-1], columns = [32], axes = {{\[\[}}1, 3], [1, _]]>
// CHECK-LABEL: func.func @dims(
// CHECK-NOT:     memref.collapse_shape
// CHECK:         norm_tile.launch @dims_0
// CHECK-SAME:      space = #norm_tile.space<rows = [-1], columns = [32], axes = {{\[\[}}1, 3], [1, _]]>
func.func @dims(%x: memref<?x2x4x8xf32>, %r: memref<?x2xf32>) {
  norm.generic (a, b, c, d)
      ins(%v = %x[a, b, c, d] : memref<?x2x4x8xf32>) outs(%o = %r[a, b] : memref<?x2xf32>) {
    %s = norm.reduce max %v over [c, d] : f32
    norm.yield %s : f32
  }
  return
}

// -----

// All dims are columns: one row, at any offset.

// CHECK-LABEL: norm_tile.kernel @one_row_0(%{{.*}}: memref<64xf32, strided<[1], offset: ?>>, %{{.*}}: memref<f32>)
// CHECK-SAME:      space = #norm_tile.space<rows = [], columns = [64], axes = {{\[\[}}0], [_]]>
func.func @one_row(%x: memref<64xf32, strided<[1], offset: ?>>, %r: memref<f32>) {
  norm.generic (col) ins(%v = %x[col] : memref<64xf32, strided<[1], offset: ?>>) outs(%o = %r[] : memref<f32>) {
    %s = norm.reduce max %v over [col] : f32
    norm.yield %s : f32
  }
  return
}

// -----

// Each result of an op is used where the program uses it.

// CHECK-LABEL: norm_tile.kernel @two_results_0(
// CHECK:         %[[LOW:.*]], %[[HIGH:.*]] = arith.mulsi_extended
// CHECK:         norm_tile.yield %[[HIGH]]
func.func @two_results(%x: memref<?x64xi32>, %r: memref<?xi32>) {
  norm.generic (row, col) ins(%v = %x[row, col] : memref<?x64xi32>) outs(%o = %r[row] : memref<?xi32>) {
    %low, %high = arith.mulsi_extended %v, %v : i32
    %s = norm.reduce max %high over [col] : i32
    norm.yield %s : i32
  }
  return
}

// -----

// Positions: of the column as a vector, of the row as a scalar.

// CHECK-LABEL: norm_tile.kernel @index_0(
// CHECK:       norm_tile.work (%[[ROW:.*]]) {
// CHECK:         arith.index_cast %[[ROW]] : index to i32
// CHECK:         norm_tile.phase (%[[C:.*]]) {
// CHECK:           %[[AT:.*]] = norm_tile.index 1 : vector<4xindex>
// CHECK:           arith.index_cast %[[AT]] : vector<4xindex> to vector<4xi32>
func.func @index(%x: memref<?x64xi32>) {
  norm.generic (row, col) outs(%o = %x[row, col] : memref<?x64xi32>) {
    %i = norm.index row : i32
    %j = norm.index col : i32
    %s = arith.addi %i, %j : i32
    norm.yield %s : i32
  }
  return
}

// -----

// Each program is a kernel.

// CHECK-DAG: norm_tile.kernel @two_0(
// CHECK-DAG: norm_tile.kernel @two_0_0(
// CHECK:     func.func @two(
// CHECK:       norm_tile.launch @two_0(
// CHECK:       norm_tile.launch @two_0_0(
func.func @two(%x: memref<?x64xf32>) {
  norm.generic (row, col) outs(%o = %x[row, col] : memref<?x64xf32>) {
    %n = arith.negf %o : f32
    norm.yield %n : f32
  }
  norm.generic (row, col) outs(%o = %x[row, col] : memref<?x64xf32>) {
    %n = math.absf %o : f32
    norm.yield %n : f32
  }
  return
}

// -----

// The launch says which inputs only tell an extent.

// CHECK:       norm_tile.launch @extent_0(
// CHECK-SAME:    unread = array<i64: 0>
func.func @extent(%x: memref<?x64xf32>, %w: memref<64xf32>, %r: memref<?xf32>) {
  norm.generic (row, col) ins(%a = %x[row, col] : memref<?x64xf32>, %b = %w[col] : memref<64xf32>)
      outs(%o = %r[row] : memref<?xf32>) {
    %s = norm.reduce add %b over [col] : f32
    %n = norm.extent row : f32
    %q = arith.divf %s, %n : f32
    norm.yield %q : f32
  }
  return
}
