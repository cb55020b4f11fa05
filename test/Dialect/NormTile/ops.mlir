//===- ops.mlir - Assembly of the norm_tile dialect -----------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-opt %s | norm-opt | FileCheck %s
// RUN: norm-opt %s --mlir-print-op-generic | norm-opt | FileCheck %s
// RUN: norm-opt %s --emit-bytecode | norm-opt | FileCheck %s

// CHECK-LABEL: norm_tile.kernel @all_ops(
// CHECK-SAME:      %[[X:.*]]: memref<?x4096xbf16, strided<[?, 1]>>, %[[W:.*]]: memref<4096xbf16>,
// CHECK-SAME:      %[[Y:.*]]: memref<?x4096xbf16, strided<[?, 1]>>, %[[R:.*]]: memref<?xf32>, %[[S:.*]]: f32
// CHECK-SAME:      attributes {columns = 4096 : i64, columns_of = 0 : i64, order = #norm.order<leaf = 8, lanes = 1024>
// CHECK-SAME:      program = "rms_norm", rows_of = 0 : i64, schedule = #norm.schedule<threads = 128>}
norm_tile.kernel @all_ops(%x: memref<?x4096xbf16, strided<[?, 1]>>, %w: memref<4096xbf16>, %y: memref<?x4096xbf16, strided<[?, 1]>>, %r: memref<?xf32>, %s: f32)
    attributes {program = "rms_norm", space = #norm_tile.space<rows = [-1], columns = [4096], axes = [[0, 1], [_, 0], [0, 1], [0, _], []]>,
                order = #norm.order<leaf = 8, lanes = 1024>, schedule = #norm.schedule<threads = 128>} {
  // CHECK: norm_tile.work (%[[ROW:.*]]) {
  norm_tile.work (%row) {
    // CHECK: %[[OLD:.*]] = norm_tile.load_row %[[R]][%[[ROW]]] : memref<?xf32> -> f32
    %old = norm_tile.load_row %r[%row] : memref<?xf32> -> f32
    // CHECK: norm_tile.rows
    %rows = norm_tile.rows
    // CHECK: norm_tile.columns
    %columns = norm_tile.columns
    // CHECK: %[[P:.*]]:2 = norm_tile.phase reduce [welford, max] (%[[COLUMN:.*]]) {
    %p:2 = norm_tile.phase reduce [welford, max] (%column) {
      // CHECK: %[[A:.*]] = norm_tile.load %[[X]][%[[ROW]], %[[COLUMN]]] : memref<?x4096xbf16, strided<[?, 1]>> -> vector<8xbf16>
      %a = norm_tile.load %x[%row, %column] : memref<?x4096xbf16, strided<[?, 1]>> -> vector<8xbf16>
      %f = arith.extf %a : vector<8xbf16> to vector<8xf32>
      // CHECK: norm_tile.hold %[[A]] in 0 : vector<8xbf16>
      norm_tile.hold %a in 0 : vector<8xbf16>
      // CHECK: norm_tile.yield %{{.*}}, %{{.*}} : vector<8xf32>, vector<8xf32>
      norm_tile.yield %f, %f : vector<8xf32>, vector<8xf32>
    // CHECK: } : !norm_tile.partial<welford, f32>, !norm_tile.partial<max, f32>
    } : !norm_tile.partial<welford, f32>, !norm_tile.partial<max, f32>
    // CHECK: %[[T:.*]] = norm_tile.exchange_start %[[P]]#0, %[[P]]#1 : !norm_tile.partial<welford, f32>, !norm_tile.partial<max, f32>
    %t = norm_tile.exchange_start %p#0, %p#1 : !norm_tile.partial<welford, f32>, !norm_tile.partial<max, f32>
    // CHECK: %[[E:.*]]:3 = norm_tile.exchange_wait %[[T]] : f32, f32, f32
    %e:3 = norm_tile.exchange_wait %t : f32, f32, f32
    %sum = arith.addf %e#0, %old : f32
    // CHECK: norm_tile.store_row %{{.*}}, %[[R]][%[[ROW]]] : f32, memref<?xf32>
    norm_tile.store_row %sum, %r[%row] : f32, memref<?xf32>
    // CHECK: norm_tile.phase (%[[COLUMN:.*]]) {
    norm_tile.phase (%column) {
      // CHECK: %[[H:.*]] = norm_tile.held 0 : vector<8xbf16>
      %h = norm_tile.held 0 : vector<8xbf16>
      // CHECK: norm_tile.load %[[W]][%[[COLUMN]]] : memref<4096xbf16> -> vector<8xbf16>
      %g = norm_tile.load %w[%column] : memref<4096xbf16> -> vector<8xbf16>
      %v = arith.mulf %h, %g : vector<8xbf16>
      // CHECK: norm_tile.store %{{.*}}, %[[Y]][%[[ROW]], %[[COLUMN]]] : vector<8xbf16>, memref<?x4096xbf16, strided<[?, 1]>>
      norm_tile.store %v, %y[%row, %column] : vector<8xbf16>, memref<?x4096xbf16, strided<[?, 1]>>
      // CHECK: norm_tile.yield
      norm_tile.yield
    }
  }
}

// A phase ends in a yield of nothing if none is written.

// CHECK-LABEL: norm_tile.kernel @implicit_yield
norm_tile.kernel @implicit_yield(%x: memref<?x?xf32, strided<[?, 1]>>)
    attributes {program = "copy", space = #norm_tile.space<rows = [-1], columns = [-1], axes = [[0, 1]]>,
                order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 128, residency = stream>} {
  norm_tile.work (%row) {
    norm_tile.phase (%column) {
      // CHECK: norm_tile.load
      %a = norm_tile.load %x[%row, %column] : memref<?x?xf32, strided<[?, 1]>> -> vector<4xf32>
      // CHECK-NEXT: norm_tile.store
      norm_tile.store %a, %x[%row, %column] : vector<4xf32>, memref<?x?xf32, strided<[?, 1]>>
      // CHECK-NEXT: norm_tile.yield
      // CHECK-NEXT: }
    }
  }
}

// CHECK-LABEL: func.func @launch
func.func @launch(%x: memref<?x?xf32, strided<[?, 1]>>) {
  // CHECK: norm_tile.launch @implicit_yield(%{{.*}}) {
  // CHECK-SAME: columns = -1 : i64
  // CHECK-SAME: num_outputs = 1 : i64
  // CHECK-SAME: variants = [#norm_tile.variant<symbol = "implicit_yield", alignment = 16, block = 128, rows_per_cta = 1, shared = 0>]}
  // CHECK-SAME: : memref<?x?xf32, strided<[?, 1]>>
  norm_tile.launch @implicit_yield(%x) {
      program = "copy", space = #norm_tile.space<rows = [-1], columns = [-1], axes = [[0, 1]]>space = #norm_tile.space<rows = [-1], columns = [-1], axes = [[0, 1]]>, num_outputs = 1 : i64,
      order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 128, residency = stream>,
      variants = [#norm_tile.variant<symbol = "implicit_yield", alignment = 16, block = 128, rows_per_cta = 1, shared = 0>]}
      : memref<?x?xf32, strided<[?, 1]>>
  return
}
