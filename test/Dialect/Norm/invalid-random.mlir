//===- invalid-random.mlir - Random numbers and dropout refused -----------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-opt %s --split-input-file --verify-diagnostics

func.func @no_dim(%x: tensor<4xi32>, %seed: i64) {
  %0 = norm.generic (col) ins(%s = %seed : i64) outs(%o = %x[col] : tensor<4xi32>) {
    // expected-error@+1 {{'norm.random' op expects at least one dim but got none}}
    %r = norm.random %s, %s at [] : i32
    norm.yield %r : i32
  }
  return
}

// -----

func.func @other_dim(%x: tensor<4xi32>, %seed: i64) {
  %0 = norm.generic (col) ins(%s = %seed : i64) outs(%o = %x[col] : tensor<4xi32>) {
    // expected-error@+1 {{'norm.random' op expects a dim of the space but got 'row'}}
    %r = norm.random %s, %s at [row, col] : i32
    norm.yield %r : i32
  }
  return
}

// -----

func.func @dim_twice(%x: tensor<4xi32>, %seed: i64) {
  %0 = norm.generic (col) ins(%s = %seed : i64) outs(%o = %x[col] : tensor<4xi32>) {
    // expected-error@+1 {{'norm.random' op expects distinct dims but got 'col' twice}}
    %r = norm.random %s, %s at [col, (col)] : i32
    norm.yield %r : i32
  }
  return
}

// -----

func.func @more_inner_dims(%x: tensor<4xi32>, %seed: i64) {
  %0 = norm.generic (col) ins(%s = %seed : i64) outs(%o = %x[col] : tensor<4xi32>) {
    // expected-error@+1 {{'norm.random' op expects 'inner' from 1 to 1, the number of its dims, but got 2}}
    %r = "norm.random"(%s, %s) <{dims = ["col"], inner = 2 : i64}> : (i64, i64) -> i32
    norm.yield %r : i32
  }
  return
}

// -----

func.func @no_inner_dim(%x: tensor<4xi32>, %seed: i64) {
  %0 = norm.generic (col) ins(%s = %seed : i64) outs(%o = %x[col] : tensor<4xi32>) {
    // expected-error@+1 {{'norm.random' op expects 'inner' from 1 to 1, the number of its dims, but got 0}}
    %r = "norm.random"(%s, %s) <{dims = ["col"], inner = 0 : i64}> : (i64, i64) -> i32
    norm.yield %r : i32
  }
  return
}

// -----

func.func @after_the_group(%x: tensor<4x4xi32>, %seed: i64) {
  %0 = norm.generic (row, col) ins(%s = %seed : i64) outs(%o = %x[row, col] : tensor<4x4xi32>) {
    // expected-error@+1 {{expected ']'}}
    %r = norm.random %s, %s at [(row), col] : i32
    norm.yield %r : i32
  }
  return
}

// -----

// A number varies on its dims.
func.func @support(%x: tensor<4xi32>, %y: tensor<4x8xf32>, %seed: i64) {
  %0 = norm.generic (row, col) ins(%a = %y[row, col] : tensor<4x8xf32>, %s = %seed : i64)
      outs(%o = %x[row] : tensor<4xi32>) {
    %r = norm.random %s, %s at [row, col] : i32
    // expected-error@+1 {{'norm.yield' op expects value #0 to vary on dims of its output only but it varies on 'col'}}
    norm.yield %r : i32
  }
  return
}

// -----

// [DROP-C1]
func.func @scalar(%x: tensor<f32>, %seed: i64) {
  // expected-error@+1 {{'norm.dropout' op expects 'x' of rank 1 or more but got 'tensor<f32>'}}
  %0 = norm.dropout %x seed(%seed) offset(%seed) p = 0.5 : tensor<f32>, i64, i64 -> tensor<f32>
  return
}

// -----

// [DROP-C2]
func.func @all(%x: tensor<4x8xf32>, %seed: i64) {
  // expected-error@+1 {{'norm.dropout' op expects 'p' from 0 to less than 1 but got 1}}
  %0 = norm.dropout %x seed(%seed) offset(%seed) p = 1.0 : tensor<4x8xf32>, i64, i64 -> tensor<4x8xf32>
  return
}

// -----

// [DROP-C2]
func.func @no_number(%x: tensor<4x8xf32>, %seed: i64) {
  // expected-error@+1 {{'norm.dropout' op expects 'p' from 0 to less than 1 but got NaN}}
  %0 = norm.dropout %x seed(%seed) offset(%seed) p = 0x7FF8000000000000 : tensor<4x8xf32>, i64, i64 -> tensor<4x8xf32>
  return
}

// -----

// [DROP-C3]
func.func @seed_type(%x: tensor<4x8xf32>, %seed: i32, %offset: i64) {
  // expected-error@+1 {{'norm.dropout' op operand #1 must be 64-bit signless integer, but got 'i32'}}
  %0 = norm.dropout %x seed(%seed) offset(%offset) p = 0.5 : tensor<4x8xf32>, i32, i64 -> tensor<4x8xf32>
  return
}

// -----

func.func @no_offset(%x: tensor<4x8xf32>, %seed: i64) {
  // expected-error@+1 {{expects 'seed(..)' and 'offset(..)'}}
  %0 = norm.dropout %x seed(%seed) p = 0.5 : tensor<4x8xf32>, i64 -> tensor<4x8xf32>
  return
}

// -----

// [SHAPE-C1]
func.func @shape(%x: tensor<4x8xf32>, %seed: i64) {
  // expected-error@+1 {{'norm.dropout' op expects 'y' of shape 'tensor<4x8xf32>' but got 'tensor<4x9xf32>'}}
  %0 = norm.dropout %x seed(%seed) offset(%seed) p = 0.5 : tensor<4x8xf32>, i64, i64 -> tensor<4x9xf32>
  return
}
