//===- tile-invalid.mlir - Programs that are not tiled --------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-opt %s --norm-tile --split-input-file --verify-diagnostics

func.func @no_schedule(%x: memref<?x16xf32>) {
  // expected-error@+1 {{'norm.generic' op expects an order and a schedule; run norm-schedule}}
  norm.generic (row, col)
      outs(%o = %x[row, col] : memref<?x16xf32>) {
    norm.yield %o : f32
  }
  return
}

// -----

func.func @columns_apart(%x: memref<?x4x8xf32, strided<[?, 16, 1]>>, %r: memref<?xf32>) {
  // expected-error@+1 {{expects an operand whose dims can be collapsed to rows and columns but got 'memref<?x4x8xf32, strided<[?, 16, 1]>>'}}
  norm.generic (row, a, b)
      ins(%v = %x[row, a, b] : memref<?x4x8xf32, strided<[?, 16, 1]>>)
      outs(%o = %r[row] : memref<?xf32>)
      attributes {order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 32>} {
    %s = norm.reduce add %v over [a, b] : f32
    norm.yield %s : f32
  }
  return
}

// -----

func.func @stride(%x: memref<?x16xf32, strided<[?, 2]>>) {
  // expected-error@+1 {{expects an operand with stride 1 along its last dim but got 'memref<?x16xf32, strided<[?, 2]>>'}}
  norm.generic (row, col)
      outs(%o = %x[row, col] : memref<?x16xf32, strided<[?, 2]>>)
      attributes {order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 32>} {
    norm.yield %o : f32
  }
  return
}

// -----

func.func @extent_of_collapsed(%x: memref<?x?x8xf32>) {
  norm.generic (a, b, col)
      outs(%o = %x[a, b, col] : memref<?x?x8xf32>)
      attributes {order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 32>} {
    // expected-error@+1 {{'norm.extent' op expects a static extent of dim 'a', which is collapsed with others}}
    %n = norm.extent a : f32
    %s = arith.mulf %o, %n : f32
    norm.yield %s : f32
  }
  return
}

// -----

func.func @index_of_collapsed(%x: memref<?x?x8xf32>) {
  norm.generic (a, b, col)
      outs(%o = %x[a, b, col] : memref<?x?x8xf32>)
      attributes {order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 32>} {
    // expected-error@+1 {{'norm.index' op expects dim 'b' not to be collapsed with others in a kernel}}
    %n = norm.index b : i32
    %f = arith.sitofp %n : i32 to f32
    norm.yield %f : f32
  }
  return
}
