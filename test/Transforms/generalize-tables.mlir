//===- generalize-tables.mlir - Constants of several values ---------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-opt %s --norm-generalize | FileCheck %s

// A few values are chosen from in the body, by position; equal neighbours are
// one choice.
// CHECK-LABEL: func.func @scale
// CHECK-SAME: (%[[X:.*]]: tensor<?x4xf32>)
func.func @scale(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  // CHECK-NOT: dense
  // CHECK: norm.generic (row, col)
  // CHECK-NEXT: ins(%{{.*}} = %[[X]][row, col] : tensor<?x4xf32>)
  // CHECK: %[[J:.*]] = norm.index col : index
  // CHECK: %[[ONE:.*]] = arith.constant 1.0{{.*}} : f32
  // CHECK: %[[TWO:.*]] = arith.constant 2.0{{.*}} : f32
  // CHECK: %[[IS1:.*]] = arith.cmpi ult, %[[J]], %c1{{.*}} : index
  // CHECK: %[[LOW:.*]] = arith.select %[[IS1]], %[[ONE]], %[[TWO]] : f32
  // CHECK: %[[FOUR:.*]] = arith.constant 4.0{{.*}} : f32
  // CHECK: %[[IS2:.*]] = arith.cmpi ult, %[[J]], %c2{{.*}} : index
  // CHECK: %[[W:.*]] = arith.select %[[IS2]], %[[LOW]], %[[FOUR]] : f32
  // CHECK-NOT: arith.select
  // CHECK: arith.mulf %{{.*}}, %[[W]] : f32
  %w = arith.constant dense<[1.0, 2.0, 4.0, 4.0]> : tensor<4xf32>
  %y = norm.rms_norm %x scale(%w) axes = [1] eps = 1.0e-5
      : tensor<?x4xf32>, tensor<4xf32> -> tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}

// Along two dims.
// CHECK-LABEL: func.func @matrix
func.func @matrix(%x: tensor<2x3xi32>) -> tensor<2x3xi32> {
  // CHECK: %[[I:.*]] = norm.index row : index
  // CHECK: %[[I3:.*]] = arith.muli %[[I]], %c3{{.*}} : index
  // CHECK: %[[J:.*]] = norm.index col : index
  // CHECK: %[[P:.*]] = arith.addi %[[I3]], %[[J]] : index
  // CHECK: arith.cmpi ult, %[[P]]
  %c = arith.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %y = arith.addi %x, %c : tensor<2x3xi32>
  return %y : tensor<2x3xi32>
}

// What more than a program reads, and more than a few values, is written by a
// program of its own.
// CHECK-LABEL: func.func @written
func.func @written(%x: tensor<4x20xf32>) -> (tensor<3xi64>, tensor<4x20xf32>) {
  // CHECK: %[[R:.*]] = norm.generic (col)
  // CHECK-NEXT: outs(%{{.*}} = %{{.*}}[col] : tensor<3xi64>) attributes {name = "table"}
  // CHECK: %[[T:.*]] = norm.generic (col)
  // CHECK-NEXT: outs(%{{.*}} = %{{.*}}[col] : tensor<20xf32>) attributes {name = "table"}
  // CHECK: %[[Y:.*]] = norm.generic (row, col)
  // CHECK-NEXT: ins({{.*}}, %{{.*}} = %[[T]][col] : tensor<20xf32>)
  // CHECK: return %[[R]], %[[Y]]
  %i = arith.constant dense<[7, 8, 9]> : tensor<3xi64>
  %v = arith.constant dense<[0., 1., 2., 3., 4., 5., 6., 7., 8., 9., 10., 11.,
                             12., 13., 14., 15., 16., 17., 18., 19.]> : tensor<20xf32>
  %y = norm.rms_norm %x scale(%v) axes = [1] eps = 1.0e-5
      : tensor<4x20xf32>, tensor<20xf32> -> tensor<4x20xf32>
  return %i, %y : tensor<3xi64>, tensor<4x20xf32>
}

// Left for a diagnostic: an 8-bit float can't be computed with everywhere.
// CHECK-LABEL: func.func @narrow
func.func @narrow(%x: tensor<2xf32>) -> tensor<2xf32> {
  // CHECK: %[[C:.*]] = arith.constant dense<[1.0{{.*}}, 2.0{{.*}}]> : tensor<2xf8E4M3FN>
  // CHECK: norm.generic
  // CHECK-NEXT: ins(%{{.*}} = %[[C]][col] : tensor<2xf8E4M3FN>)
  %c = arith.constant dense<[1.0, 2.0]> : tensor<2xf8E4M3FN>
  %w = arith.extf %c : tensor<2xf8E4M3FN> to tensor<2xf32>
  %y = arith.addf %x, %w : tensor<2xf32>
  return %y : tensor<2xf32>
}
