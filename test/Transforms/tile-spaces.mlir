//===- tile-spaces.mlir - Where operands have rows and columns ------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-opt %s --norm-schedule=target=sm_90 --norm-tile --split-input-file | FileCheck %s

// Columns that lie apart are dims of their own.

// CHECK-LABEL: norm_tile.kernel @columns_apart_0(
// CHECK-SAME:      order = #norm.order<leaf = 4, lanes = 1024>
// CHECK-SAME:      space = #norm_tile.space<rows = [-1], columns = [4, 8], axes = {{\[\[}}0, 1, 2], [0, _, _]]>
func.func @columns_apart(%x: memref<?x4x8xf32, strided<[?, 16, 1]>>, %r: memref<?xf32>) {
  norm.generic (row, a, b)
      ins(%v = %x[row, a, b] : memref<?x4x8xf32, strided<[?, 16, 1]>>)
      outs(%o = %r[row] : memref<?xf32>) {
    %s = norm.reduce add %v over [a, b] : f32
    norm.yield %s : f32
  }
  return
}

// -----

// CHECK-LABEL: norm_tile.kernel @stride_0(%{{.*}}: memref<?x16xf32, strided<[?, 2]>>)
// CHECK-SAME:      space = #norm_tile.space<rows = [-1], columns = [16], axes = {{\[\[}}0, 1]]>
func.func @stride(%x: memref<?x16xf32, strided<[?, 2]>>) {
  norm.generic (row, col)
      outs(%o = %x[row, col] : memref<?x16xf32, strided<[?, 2]>>) {
    norm.yield %o : f32
  }
  return
}

// -----

// A dim whose extent or index is asked for isn't collapsed with others.

// CHECK-LABEL: norm_tile.kernel @extent_of_one_0(
// CHECK-SAME:      space = #norm_tile.space<rows = [-1, -1], columns = [8], axes = {{\[\[}}0, 1, 2]]>
// CHECK:         norm_tile.extent 0
func.func @extent_of_one(%x: memref<?x?x8xf32>) {
  norm.generic (a, b, col) outs(%o = %x[a, b, col] : memref<?x?x8xf32>) {
    %n = norm.extent a : f32
    %s = arith.mulf %o, %n : f32
    norm.yield %s : f32
  }
  return
}

// -----

// CHECK-LABEL: norm_tile.kernel @index_of_one_0(
// CHECK-SAME:      space = #norm_tile.space<rows = [-1, -1], columns = [8], axes = {{\[\[}}0, 1, 2]]>
// CHECK:         norm_tile.work
// CHECK-NEXT:      norm_tile.index 1 : index
// CHECK:           norm_tile.phase
func.func @index_of_one(%x: memref<?x?x8xf32>) {
  norm.generic (a, b, col) outs(%o = %x[a, b, col] : memref<?x?x8xf32>) {
    %n = norm.index b : i32
    %f = arith.sitofp %n : i32 to f32
    norm.yield %f : f32
  }
  return
}

// -----

// An axis of size 1 has no dim, nor does a dim of one element.

// CHECK-LABEL: norm_tile.kernel @size_one_0(
// CHECK-SAME:      space = #norm_tile.space<rows = [8], columns = [16], axes = {{\[\[}}0, 2], [0, _]]>
func.func @size_one(%x: memref<8x1x16xf32>, %r: memref<8x1xf32>) {
  norm.generic (row, one, col)
      ins(%v = %x[row, one, col] : memref<8x1x16xf32>)
      outs(%o = %r[row, one] : memref<8x1xf32>) {
    %s = norm.reduce add %v over [col] : f32
    norm.yield %s : f32
  }
  return
}

// -----

// CHECK-LABEL: norm_tile.kernel @no_dim_0(
// CHECK-SAME:      space = #norm_tile.space<rows = [8], columns = [16], axes = {{\[\[}}0, 1], [0, _]]>
func.func @no_dim(%x: memref<8x16xf32>, %r: memref<8x1xf32>) {
  norm.generic (row, col)
      ins(%v = %x[row, col] : memref<8x16xf32>)
      outs(%o = %r[row, 0] : memref<8x1xf32>) {
    %s = norm.reduce add %v over [col] : f32
    norm.yield %s : f32
  }
  return
}

// -----

// An operand may have some of the columns.

// CHECK-LABEL: norm_tile.kernel @some_dims_0(
// CHECK-SAME:      space = #norm_tile.space<rows = [-1], columns = [4, 8], axes = {{\[\[}}_, 0, _], [0, 1, 2]]>
// CHECK:         norm_tile.load %{{.*}}[%{{[^,]*}}] : memref<4xf32>
func.func @some_dims(%x: memref<?x4x8xf32>, %w: memref<4xf32>) {
  norm.generic (row, a, b)
      ins(%g = %w[a] : memref<4xf32>)
      outs(%o = %x[row, a, b] : memref<?x4x8xf32>) {
    %s = norm.reduce add %o over [a, b] : f32
    %p = arith.mulf %s, %g : f32
    norm.yield %p : f32
  }
  return
}

// -----

// What has some rows and some columns is loaded at both.

// CHECK-LABEL: norm_tile.kernel @some_of_both_0(
// CHECK-SAME:      space = #norm_tile.space<rows = [2, 3], columns = [4, 8], axes = {{\[\[}}0, 1, 2, 3], [1, _, 0, _], [0, 1, 2, 3]]>
// CHECK:         norm_tile.load %{{.*}}[%{{.*}}, %{{.*}}] : memref<4x2xf32>
func.func @some_of_both(%x: memref<2x3x4x8xf32>, %w: memref<4x2xf32>, %y: memref<2x3x4x8xf32>) {
  norm.generic (n, m, a, b)
      ins(%v = %x[n, m, a, b] : memref<2x3x4x8xf32>, %g = %w[a, n] : memref<4x2xf32>)
      outs(%o = %y[n, m, a, b] : memref<2x3x4x8xf32>) {
    %s = norm.reduce add %v over [a, b] : f32
    %p = arith.mulf %s, %g : f32
    norm.yield %p : f32
  }
  return
}

// -----

// CHECK-LABEL: norm_tile.kernel @transposed_0(
// CHECK-SAME:      space = #norm_tile.space<rows = [8], columns = [16], axes = {{\[\[}}0, 1], [1, 0]]>
func.func @transposed(%x: memref<8x16xf32>, %y: memref<16x8xf32>) {
  norm.generic (row, col)
      ins(%v = %x[row, col] : memref<8x16xf32>)
      outs(%o = %y[col, row] : memref<16x8xf32>) {
    %s = norm.reduce max %v over [col] : f32
    %d = arith.subf %v, %s : f32
    norm.yield %d : f32
  }
  return
}

// -----

// Rows between columns: the columns are two dims.

// CHECK-LABEL: norm_tile.kernel @channels_first_0(
// CHECK-SAME:      order = #norm.order<leaf = 4, lanes = 1024>
// CHECK-SAME:      space = #norm_tile.space<rows = [6], columns = [4, 35], axes = {{\[\[}}1, 0, 3], [0, _, _]]>
func.func @channels_first(%x: memref<4x6x5x7xf32>, %r: memref<6xf32>) {
  norm.generic (n, c, h, w)
      ins(%v = %x[n, c, h, w] : memref<4x6x5x7xf32>)
      outs(%o = %r[c] : memref<6xf32>) {
    %s = norm.reduce add %v over [n, h, w] : f32
    norm.yield %s : f32
  }
  return
}

// -----

// No columns, whatever an extent is that is known at launch only.

// CHECK-LABEL: norm_tile.kernel @none_0(
// CHECK-SAME:      space = #norm_tile.space<rows = [], columns = [0], axes = {{\[\[}}1], [1]]>
func.func @none(%x: memref<?x0xf32>, %y: memref<?x0xf32>) {
  norm.generic (a, b) ins(%v = %x[a, b] : memref<?x0xf32>)
      outs(%o = %y[a, b] : memref<?x0xf32>) {
    %s = norm.reduce add %v over [a, b] : f32
    norm.yield %s : f32
  }
  return
}
