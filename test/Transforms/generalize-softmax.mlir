//===- generalize-softmax.mlir - Softmax and its kin as programs ----------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-opt %s --norm-generalize | FileCheck %s

// Scale and mask meet in one fused multiply-add; a mask is broadcast by its
// map; what is left without an element is 0.
// CHECK-LABEL: func.func @scale_mask
func.func @scale_mask(%x: tensor<?x8x?x?xf16>, %s: f32, %m: tensor<8x1x?xbf16>)
    -> tensor<?x8x?x?xf16> {
  // CHECK: norm.generic (row, row1, row2, col)
  // CHECK-NEXT: ins(%[[X:.*]] = %{{.*}}[row, row1, row2, col] : tensor<?x8x?x?xf16>, %[[S:.*]] = %{{.*}} : f32, %[[M:.*]] = %{{.*}}[row1, 0, col] : tensor<8x1x?xbf16>)
  // CHECK: %[[XF:.*]] = arith.extf %[[X]] : f16 to f32
  // CHECK: %[[MF:.*]] = arith.extf %[[M]] : bf16 to f32
  // CHECK: %[[V:.*]] = math.fma %[[XF]], %[[S]], %[[MF]] : f32
  // CHECK: %[[MAX:.*]] = norm.reduce max %[[V]] over [col] : f32
  // CHECK: %[[BELOW:.*]] = arith.subf %[[V]], %[[MAX]] : f32
  // CHECK: %[[E:.*]] = math.exp %[[BELOW]] : f32
  // CHECK: %[[SUM:.*]] = norm.reduce add %[[E]] over [col] : f32
  // CHECK: %[[INVERSE:.*]] = arith.divf %{{.*}}, %[[SUM]] : f32
  // CHECK: %[[Y:.*]] = arith.mulf %[[E]], %[[INVERSE]] : f32
  // CHECK: %[[NOTHING:.*]] = arith.constant 0xFF800000 : f32
  // CHECK: %[[EMPTY:.*]] = arith.cmpf oeq, %[[MAX]], %[[NOTHING]] : f32
  // CHECK: %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
  // CHECK: arith.select %[[EMPTY]], %[[ZERO]], %[[Y]] : f32
  %y = norm.softmax %x scale(%s) mask(%m) axes = [3]
      : tensor<?x8x?x?xf16>, f32, tensor<8x1x?xbf16> -> tensor<?x8x?x?xf16>
  return %y : tensor<?x8x?x?xf16>
}

// A scale alone is a product, and leaves no row empty.
// CHECK-LABEL: func.func @scale_only
func.func @scale_only(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // CHECK: %[[S:.*]] = arith.constant 1.250000e-01 : f32
  // CHECK: %[[V:.*]] = arith.mulf %{{.*}}, %[[S]] : f32
  // CHECK: norm.reduce max %[[V]] over [col] : f32
  // CHECK-NOT: arith.select
  // CHECK: return
  %y = norm.softmax %x axes = [1] scale = 0.125
      : tensor<4x8xf32> -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @mask_only
func.func @mask_only(%x: tensor<4x8xf32>, %m: tensor<8xf32>)
    -> tensor<4x8xf32> {
  // CHECK: %[[V:.*]] = arith.addf %{{.*}}, %{{.*}} : f32
  // CHECK: norm.reduce max %[[V]] over [col] : f32
  %y = norm.softmax %x mask(%m) axes = [1]
      : tensor<4x8xf32>, tensor<8xf32> -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// Key k of query q is kept where k <= q.
// CHECK-LABEL: func.func @causal
func.func @causal(%x: tensor<?x8x?x?xf16>) -> tensor<?x8x?x?xf16> {
  // CHECK: %[[XF:.*]] = arith.extf
  // CHECK: %[[Q:.*]] = norm.index row2 : i64
  // CHECK: %[[K:.*]] = norm.index col : i64
  // CHECK: %[[KEEP:.*]] = arith.cmpi sle, %[[K]], %[[Q]] : i64
  // CHECK: %[[NOTHING:.*]] = arith.constant 0xFF800000 : f32
  // CHECK: %[[V:.*]] = arith.select %[[KEEP]], %[[XF]], %[[NOTHING]] : f32
  // CHECK: norm.reduce max %[[V]] over [col] : f32
  %y = norm.softmax %x axes = [3] causal
      : tensor<?x8x?x?xf16> -> tensor<?x8x?x?xf16>
  return %y : tensor<?x8x?x?xf16>
}

// The last query takes all keys: k <= q + (S - Q) + diagonal.
// CHECK-LABEL: func.func @causal_lower_right
func.func @causal_lower_right(%x: tensor<?x?xf32>) -> tensor<?x?xf32> {
  // CHECK: %[[I:.*]] = norm.index row : i64
  // CHECK: %[[S:.*]] = norm.extent col : i64
  // CHECK: %[[L:.*]] = norm.extent row : i64
  // CHECK: %[[MORE:.*]] = arith.subi %[[S]], %[[L]] : i64
  // CHECK: %[[J:.*]] = arith.addi %[[I]], %[[MORE]] : i64
  // CHECK: %[[D:.*]] = arith.constant -1 : i64
  // CHECK: %[[LIMIT:.*]] = arith.addi %[[J]], %[[D]] : i64
  // CHECK: arith.cmpi sle, %{{.*}}, %[[LIMIT]] : i64
  %y = norm.softmax %x axes = [1] causal = lower_right diagonal = -1
      : tensor<?x?xf32> -> tensor<?x?xf32>
  return %y : tensor<?x?xf32>
}

// Lengths by leading axes, in their own type.
// CHECK-LABEL: func.func @lengths
func.func @lengths(%x: tensor<?x8x?x?xf16>, %n: tensor<?x8xi32>)
    -> tensor<?x8x?x?xf16> {
  // CHECK: %[[N:[^ ,]+]] = %{{[^ ,]+}}[row, row1] : tensor<?x8xi32>
  // CHECK: %[[Q:.*]] = norm.index row2 : i64
  // CHECK: %[[CAUSAL:.*]] = arith.cmpi sle
  // CHECK: %[[K:.*]] = norm.index col : i32
  // CHECK: %[[WITHIN:.*]] = arith.cmpi slt, %[[K]], %[[N]] : i32
  // CHECK: %[[KEEP:.*]] = arith.andi %[[CAUSAL]], %[[WITHIN]] : i1
  // CHECK: arith.select %[[KEEP]]
  %y = norm.softmax %x lengths(%n) axes = [3] causal
      : tensor<?x8x?x?xf16>, tensor<?x8xi32> -> tensor<?x8x?x?xf16>
  return %y : tensor<?x8x?x?xf16>
}

// CHECK-LABEL: func.func @logsumexp_stat
func.func @logsumexp_stat(%x: tensor<4x8xf16>)
    -> (tensor<4x8xf16>, tensor<4xf32>) {
  // CHECK: %[[MAX:.*]] = norm.reduce max
  // CHECK: %[[SUM:.*]] = norm.reduce add
  // CHECK: %[[LOG:.*]] = math.log %[[SUM]] : f32
  // CHECK: %[[FINITE:.*]] = arith.addf %[[MAX]], %[[LOG]] : f32
  // CHECK: %[[MAGNITUDE:.*]] = math.absf %[[MAX]] : f32
  // CHECK: %[[INF:.*]] = arith.constant 0x7F800000 : f32
  // CHECK: %[[IS:.*]] = arith.cmpf oeq, %[[MAGNITUDE]], %[[INF]] : f32
  // CHECK: %[[L:.*]] = arith.select %[[IS]], %[[MAX]], %[[FINITE]] : f32
  // CHECK: norm.yield %{{.*}}, %[[L]] : f16, f32
  %y, %l = norm.softmax %x stats(logsumexp) axes = [1]
      : tensor<4x8xf16> -> tensor<4x8xf16>, tensor<4xf32>
  return %y, %l : tensor<4x8xf16>, tensor<4xf32>
}

// Over an axis in the middle.
// CHECK-LABEL: func.func @log_softmax
func.func @log_softmax(%x: tensor<?x4x8xbf16>) -> tensor<?x4x8xf32> {
  // CHECK: norm.generic (row, col, row1)
  // CHECK: attributes {name = "log_softmax"}
  // CHECK: %[[MAX:.*]] = norm.reduce max %[[X:.*]] over [col] : f32
  // CHECK: %[[BELOW:.*]] = arith.subf %[[X]], %[[MAX]] : f32
  // CHECK: %[[E:.*]] = math.exp %[[BELOW]] : f32
  // CHECK: %[[SUM:.*]] = norm.reduce add %[[E]] over [col] : f32
  // CHECK: %[[LOG:.*]] = math.log %[[SUM]] : f32
  // CHECK: %[[Y:.*]] = arith.subf %[[BELOW]], %[[LOG]] : f32
  // CHECK: norm.yield %[[Y]] : f32
  %y = norm.log_softmax %x axes = [1] : tensor<?x4x8xbf16> -> tensor<?x4x8xf32>
  return %y : tensor<?x4x8xf32>
}

// CHECK-LABEL: func.func @logsumexp
// CHECK-SAME: (%[[X:.*]]: tensor<?x4x8xf32>
func.func @logsumexp(%x: tensor<?x4x8xf32>) -> tensor<?x4xf16> {
  // CHECK: norm.generic (row, row1, col)
  // CHECK: outs(%{{.*}} = %{{.*}}[row, row1] : tensor<?x4xf16>) attributes {name = "logsumexp"}
  // CHECK: %[[L:.*]] = arith.select
  // CHECK: %[[R:.*]] = arith.truncf %[[L]] : f32 to f16
  // CHECK: norm.yield %[[R]] : f16
  %y = norm.logsumexp %x axes = [2] : tensor<?x4x8xf32> -> tensor<?x4xf16>
  return %y : tensor<?x4xf16>
}
