//===- generalize-dropout.mlir - Dropout as a program ------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-opt %s --norm-generalize --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @dropout
// CHECK-SAME: (%[[X:.*]]: tensor<?x1000xbf16>, %[[S:.*]]: i64, %[[T:.*]]: i64)
// CHECK: norm.generic (row, col)
// CHECK-NEXT: ins(%[[A:.*]] = %[[X]][row, col] : tensor<?x1000xbf16>, %[[SEED:.*]] = %[[S]] : i64, %[[OFFSET:.*]] = %[[T]] : i64)
// CHECK-NEXT: name = "dropout"
// CHECK: %[[F:.*]] = arith.extf %[[A]] : bf16 to f32
// CHECK: %[[SCALE:.*]] = arith.constant 1.11111116 : f32
// CHECK: %[[Y:.*]] = arith.mulf %[[F]], %[[SCALE]] : f32
// CHECK: %[[U:.*]] = norm.random %[[SEED]], %[[OFFSET]] at [row, col] : i32
// CHECK: %[[LEAST:.*]] = arith.constant 429496730 : i32
// CHECK: %[[KEPT:.*]] = arith.cmpi uge, %[[U]], %[[LEAST]] : i32
// CHECK: %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// CHECK: %[[R:.*]] = arith.select %[[KEPT]], %[[Y]], %[[ZERO]] : f32
// CHECK: arith.truncf %[[R]] : f32 to bf16
func.func @dropout(%x: tensor<?x1000xbf16>, %seed: i64, %offset: i64) -> tensor<?x1000xbf16> {
  %y = norm.dropout %x seed(%seed) offset(%offset) p = 0.1
      : tensor<?x1000xbf16>, i64, i64 -> tensor<?x1000xbf16>
  return %y : tensor<?x1000xbf16>
}

// -----

// All axes are positions; a constant seed is one of the body. The scale is
// 1 / 0.7 rounded once.
// CHECK-LABEL: func.func @axes
// CHECK: norm.generic (row, row1, col)
// CHECK: %[[SEED:.*]] = arith.constant 5 : i64
// CHECK: arith.constant 1.4285714285714286 : f64
// CHECK: norm.random %[[SEED]], %{{.*}} at [row, row1, col] : i32
// CHECK: arith.constant 1288490189 : i32
func.func @axes(%x: tensor<2x?x8xf64>, %offset: i64) -> tensor<2x?x8xf64> {
  %seed = arith.constant 5 : i64
  %y = norm.dropout %x seed(%seed) offset(%offset) p = 0.3
      : tensor<2x?x8xf64>, i64, i64 -> tensor<2x?x8xf64>
  return %y : tensor<2x?x8xf64>
}

// -----

// Nothing is dropped, and nothing is drawn.
// CHECK-LABEL: func.func @none
// CHECK: norm.generic (col)
// CHECK-NEXT: ins(%[[A:.*]] = %{{.*}}[col] : tensor<8xf32>)
// CHECK-NOT: norm.random
// CHECK: norm.yield %[[A]] : f32
func.func @none(%x: tensor<8xf32>, %seed: i64) -> tensor<8xf32> {
  %y = norm.dropout %x seed(%seed) offset(%seed) p = 0.0 : tensor<8xf32>, i64, i64 -> tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

// The threshold is a number of 32 bits: 2^32 - 1, as an i32.
// CHECK-LABEL: func.func @nearly_all
// CHECK: arith.constant -1 : i32
// CHECK: arith.cmpi uge
func.func @nearly_all(%x: tensor<8xf32>, %seed: i64) -> tensor<8xf32> {
  %y = norm.dropout %x seed(%seed) offset(%seed) p = 0.99999999999 : tensor<8xf32>, i64, i64 -> tensor<8xf32>
  return %y : tensor<8xf32>
}
