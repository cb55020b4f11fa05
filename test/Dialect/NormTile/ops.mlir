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
// CHECK-SAME:      attributes {order = #norm.order<leaf = 8, lanes = 1024>
// CHECK-SAME:      program = "rms_norm", schedule = #norm.schedule<threads = 128>
// CHECK-SAME:      space = #norm_tile.space<rows = [-1], columns = [4096], axes = {{\[\[}}0, 1], [_, 0], [0, 1], [0, _], []]>}
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

// Across memory a chunk holds neighbours; what varies on rows only is a vector
// too. The last column dim is the inner one.

// CHECK-LABEL: norm_tile.kernel @across(
// CHECK-SAME:      order = #norm.order<leaf = 4, lanes = 16, inner = 3>
// CHECK-SAME:      schedule = #norm.schedule<threads = 4, rows_per_cta = 48, residency = stream, vector = 2, split = 0>
// CHECK-SAME:      space = #norm_tile.space<rows = [-1, 4], columns = [-1, 3], axes = {{\[\[}}0, 2, 1, 3], [0, 1, _, _], [_, 0, _, 1]]>
norm_tile.kernel @across(%x: memref<?x?x4x3xf32>, %r: memref<?x4xf32>, %w: memref<4x3xf32>)
    attributes {program = "sums", space = #norm_tile.space<rows = [-1, 4], columns = [-1, 3], axes = [[0, 2, 1, 3], [0, 1, _, _], [_, 0, _, 1]]>,
                order = #norm.order<leaf = 4, lanes = 16, inner = 3>,
                schedule = #norm.schedule<threads = 4, rows_per_cta = 48, residency = stream, vector = 2, split = 0>} {
  norm_tile.work (%row) {
    // CHECK: norm_tile.extent 2
    %extent = norm_tile.extent 2
    // CHECK: norm_tile.index 1 : vector<2xindex>
    %group = norm_tile.index 1 : vector<2xindex>
    // CHECK: norm_tile.load_row %{{.*}}[%{{.*}}] : memref<4x3xf32> -> vector<2xf32>
    %g = norm_tile.load_row %w[%row] : memref<4x3xf32> -> vector<2xf32>
    %p = norm_tile.phase reduce [add] (%column) {
      // CHECK: norm_tile.index 2 : vector<2xindex>
      %at = norm_tile.index 2 : vector<2xindex>
      // CHECK: norm_tile.load %{{.*}}[%{{.*}}, %{{.*}}] : memref<?x?x4x3xf32> -> vector<2xf32>
      %a = norm_tile.load %x[%row, %column] : memref<?x?x4x3xf32> -> vector<2xf32>
      norm_tile.yield %a : vector<2xf32>
    } : !norm_tile.partial<add, f32>
    %t = norm_tile.exchange_start %p : !norm_tile.partial<add, f32>
    // CHECK: norm_tile.exchange_wait %{{.*}} : vector<2xf32>
    %s = norm_tile.exchange_wait %t : vector<2xf32>
    // CHECK: norm_tile.store_row %{{.*}}, %{{.*}}[%{{.*}}] : vector<2xf32>, memref<?x4xf32>
    norm_tile.store_row %s, %r[%row] : vector<2xf32>, memref<?x4xf32>
  }
}

// CHECK-LABEL: func.func @launch
func.func @launch(%x: memref<?x?xf32, strided<[?, 1]>>) {
  // CHECK: norm_tile.launch @implicit_yield(%{{.*}}) {
  // CHECK-SAME: num_outputs = 1 : i64
  // CHECK-SAME: space = #norm_tile.space<rows = [-1], columns = [-1], axes = {{\[\[}}0, 1]]>
  // CHECK-SAME: variants = [#norm_tile.variant<symbol = "implicit_yield", alignment = 16, block = 128, rows_per_cta = 1, shared = 0>,
  // CHECK-SAME:   #norm_tile.variant<symbol = "other", alignment = 4, block = 64, rows_per_cta = 48, shared = 0, split = 0, counters = 8, workspace = 256>]}
  // CHECK-SAME: : memref<?x?xf32, strided<[?, 1]>>
  norm_tile.launch @implicit_yield(%x) {
      program = "copy", space = #norm_tile.space<rows = [-1], columns = [-1], axes = [[0, 1]]>, num_outputs = 1 : i64,
      order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 128, residency = stream>,
      variants = [#norm_tile.variant<symbol = "implicit_yield", alignment = 16, block = 128, rows_per_cta = 1, shared = 0>,
                  #norm_tile.variant<symbol = "other", alignment = 4, block = 64, rows_per_cta = 48, shared = 0, split = 0, counters = 8, workspace = 256>]}
      : memref<?x?xf32, strided<[?, 1]>>
  return
}
