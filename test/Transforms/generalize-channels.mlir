//===- generalize-channels.mlir - Norms over channels as programs ---------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-opt %s --norm-generalize | FileCheck %s

// No layout is changed: groups are a reshape, axes a map.

// CHECK-LABEL: func.func @group_norm_first
// CHECK-SAME: (%[[X:.*]]: tensor<?x64x8x?xf16>, %[[G:.*]]: tensor<64xf32>, %[[B:.*]]: tensor<64xbf16>)
func.func @group_norm_first(%x: tensor<?x64x8x?xf16>, %g: tensor<64xf32>,
                            %b: tensor<64xbf16>)
    -> (tensor<?x64x8x?xf16>, tensor<?x16xf32>) {
  // CHECK: %[[X2:.*]] = tensor.expand_shape %[[X]] {{\[\[}}0], [1, 2], [3], [4]] output_shape [%{{.*}}, 16, 4, 8, %{{.*}}] : tensor<?x64x8x?xf16> into tensor<?x16x4x8x?xf16>
  // CHECK: %[[G2:.*]] = tensor.expand_shape %[[G]] {{\[\[}}0, 1]] output_shape [16, 4] : tensor<64xf32> into tensor<16x4xf32>
  // CHECK: %[[B2:.*]] = tensor.expand_shape %[[B]] {{\[\[}}0, 1]] output_shape [16, 4] : tensor<64xbf16> into tensor<16x4xbf16>
  // CHECK: %[[R:.*]]:2 = norm.generic (row, row1, col, col1, col2)
  // CHECK-NEXT: ins(%{{.*}} = %[[X2]][row, row1, col, col1, col2] : tensor<?x16x4x8x?xf16>, %[[S:.*]] = %[[G2]][row1, col] : tensor<16x4xf32>, %[[T:.*]] = %[[B2]][row1, col] : tensor<16x4xbf16>)
  // CHECK-NEXT: outs(%{{.*}} = %{{.*}}[row, row1, col, col1, col2] : tensor<?x16x4x8x?xf16>, %{{.*}} = %{{.*}}[row, row1] : tensor<?x16xf32>) attributes {name = "group_norm"}
  // CHECK: norm.reduce add %{{.*}} over [col, col1, col2] : f32
  // CHECK: %[[S1:.*]] = arith.addf %[[S]], %{{.*}} : f32
  // CHECK: %[[TF:.*]] = arith.extf %[[T]] : bf16 to f32
  // CHECK: math.fma %{{.*}}, %[[S1]], %[[TF]] : f32
  // CHECK: %[[Y:.*]] = tensor.collapse_shape %[[R]]#0 {{\[\[}}0], [1, 2], [3], [4]] : tensor<?x16x4x8x?xf16> into tensor<?x64x8x?xf16>
  // CHECK: return %[[Y]], %[[R]]#1
  %y, %m = norm.group_norm %x scale(%g, offset = 1.0) bias(%b) stats(mean)
      groups = 16 channel_axis = 1 eps = 1.0e-5
      : tensor<?x64x8x?xf16>, tensor<64xf32>, tensor<64xbf16>
        -> tensor<?x64x8x?xf16>, tensor<?x16xf32>
  return %y, %m : tensor<?x64x8x?xf16>, tensor<?x16xf32>
}

// Channels last.
// CHECK-LABEL: func.func @group_norm_last
func.func @group_norm_last(%x: tensor<?x8x8x64xf16>, %g: tensor<64xf32>)
    -> tensor<?x8x8x64xf32> {
  // CHECK: tensor.expand_shape %{{.*}} {{\[\[}}0], [1], [2], [3, 4]] output_shape [%{{.*}}, 8, 8, 16, 4]
  // CHECK: norm.generic (row, col, col1, row1, col2)
  // CHECK-NEXT: ins(%{{.*}} = %{{.*}}[row, col, col1, row1, col2] : tensor<?x8x8x16x4xf16>, %{{.*}} = %{{.*}}[row1, col2] : tensor<16x4xf32>)
  // CHECK: norm.reduce add %{{.*}} over [col, col1, col2] : f32
  // CHECK: tensor.collapse_shape %{{.*}} {{\[\[}}0], [1], [2], [3, 4]] : tensor<?x8x8x16x4xf32> into tensor<?x8x8x64xf32>
  %y = norm.group_norm %x scale(%g) groups = 16 channel_axis = 3 eps = 1.0e-5
      : tensor<?x8x8x64xf16>, tensor<64xf32> -> tensor<?x8x8x64xf32>
  return %y : tensor<?x8x8x64xf32>
}

// A constant stays one that programs read as a scalar.
// CHECK-LABEL: func.func @constant_scale
func.func @constant_scale(%x: tensor<2x64x8xf16>) -> tensor<2x64x8xf16> {
  %one = arith.constant dense<1.0> : tensor<64xf32>
  // CHECK: norm.generic
  // CHECK-NEXT: ins(%{{.*}} = %{{.*}}[row, row1, col, col1] : tensor<2x16x4x8xf16>)
  %y = norm.group_norm %x scale(%one) groups = 16 channel_axis = 1 eps = 1.0e-5
      : tensor<2x64x8xf16>, tensor<64xf32> -> tensor<2x64x8xf16>
  return %y : tensor<2x64x8xf16>
}

// Channels that are known at run time only.
// CHECK-LABEL: func.func @dynamic_channels
func.func @dynamic_channels(%x: tensor<2x?x8xf16>) -> tensor<2x?x8xf16> {
  // CHECK: %[[C:.*]] = tensor.dim
  // CHECK: %[[FOUR:.*]] = arith.constant 4 : index
  // CHECK: %[[PART:.*]] = arith.divui %[[C]], %[[FOUR]] : index
  // CHECK: tensor.expand_shape %{{.*}} {{\[\[}}0], [1, 2], [3]] output_shape [2, 4, %[[PART]], 8] : tensor<2x?x8xf16> into tensor<2x4x?x8xf16>
  // CHECK: tensor.empty(%[[PART]]) : tensor<2x4x?x8xf16>
  %y = norm.group_norm %x groups = 4 channel_axis = 1 eps = 1.0e-5
      : tensor<2x?x8xf16> -> tensor<2x?x8xf16>
  return %y : tensor<2x?x8xf16>
}

// CHECK-LABEL: func.func @instance_norm
func.func @instance_norm(%x: tensor<?x8x8x64xf16>, %b: tensor<64xf32>)
    -> (tensor<?x8x8x64xf16>, tensor<?x64xf32>) {
  // CHECK: norm.generic (row, col, col1, row1)
  // CHECK-NEXT: ins(%{{.*}} = %{{.*}}[row, col, col1, row1] : tensor<?x8x8x64xf16>, %{{.*}} = %{{.*}}[row1] : tensor<64xf32>)
  // CHECK-NEXT: outs(%{{.*}} = %{{.*}}[row, col, col1, row1] : tensor<?x8x8x64xf16>, %{{.*}} = %{{.*}}[row, row1] : tensor<?x64xf32>) attributes {name = "instance_norm"}
  // CHECK: norm.reduce add %{{.*}} over [col, col1] : f32
  %y, %r = norm.instance_norm %x bias(%b) stats(rstd) channel_axis = 3
      eps = 1.0e-5 : tensor<?x8x8x64xf16>, tensor<64xf32>
      -> tensor<?x8x8x64xf16>, tensor<?x64xf32>
  return %y, %r : tensor<?x8x8x64xf16>, tensor<?x64xf32>
}

// No reduction: everything is known.
// CHECK-LABEL: func.func @batch_norm_inference
func.func @batch_norm_inference(%x: tensor<?x8x4xf16>, %g: tensor<8xf32>,
                                %b: tensor<8xf32>, %m: tensor<8xf32>,
                                %v: tensor<8xf32>) -> tensor<?x8x4xf16> {
  // CHECK: norm.generic (col, row, col1)
  // CHECK-NEXT: ins(%[[X:.*]] = %{{.*}}[col, row, col1] : tensor<?x8x4xf16>, %[[G:.*]] = %{{.*}}[row] : tensor<8xf32>, %[[B:.*]] = %{{.*}}[row] : tensor<8xf32>, %[[M:.*]] = %{{.*}}[row] : tensor<8xf32>, %[[V:.*]] = %{{.*}}[row] : tensor<8xf32>)
  // CHECK-NOT: norm.reduce
  // CHECK: %[[XF:.*]] = arith.extf %[[X]] : f16 to f32
  // CHECK: %[[CENTRED:.*]] = arith.subf %[[XF]], %[[M]] : f32
  // CHECK: %[[VAREPS:.*]] = arith.addf %[[V]], %{{.*}} : f32
  // CHECK: %[[RSTD:.*]] = math.rsqrt %[[VAREPS]] : f32
  // CHECK: %[[NORMED:.*]] = arith.mulf %[[CENTRED]], %[[RSTD]] : f32
  // CHECK: math.fma %[[NORMED]], %[[G]], %[[B]] : f32
  %y = norm.batch_norm %x scale(%g) bias(%b) running(%m, %v) channel_axis = 1
      eps = 1.0e-5 : tensor<?x8x4xf16>, tensor<8xf32>, tensor<8xf32>,
        tensor<8xf32>, tensor<8xf32> -> tensor<?x8x4xf16>
  return %y : tensor<?x8x4xf16>
}

// CHECK-LABEL: func.func @batch_norm_training
func.func @batch_norm_training(%x: tensor<?x8x4xf16>, %m: tensor<8xf32>,
                               %v: tensor<8xf16>)
    -> (tensor<?x8x4xf16>, tensor<8xf32>, tensor<8xf16>, tensor<8xf32>) {
  // CHECK: norm.generic (col, row, col1)
  // CHECK-NEXT: ins(%{{.*}}, %[[M:.*]] = %{{.*}}[row] : tensor<8xf32>, %[[V:.*]] = %{{.*}}[row] : tensor<8xf16>)
  // CHECK-NEXT: outs(%{{.*}} = %{{.*}}[col, row, col1] : tensor<?x8x4xf16>, %{{.*}} = %{{.*}}[row] : tensor<8xf32>, %{{.*}} = %{{.*}}[row] : tensor<8xf16>, %{{.*}} = %{{.*}}[row] : tensor<8xf32>) attributes {name = "batch_norm"}
  // CHECK: %[[SUM:.*]] = norm.reduce add %{{.*}} over [col, col1] : f32
  // CHECK: %[[MEAN:.*]] = arith.divf %[[SUM]], %{{.*}} : f32
  // CHECK: %[[SQUARES:.*]] = norm.reduce add %{{.*}} over [col, col1] : f32
  // CHECK: %[[RSTD:.*]] = math.rsqrt
  // CHECK: %[[N:.*]] = arith.muli
  // CHECK: %[[EMPTY:.*]] = arith.cmpi eq, %[[N]], %{{.*}} : i64
  // CHECK: %[[LESS:.*]] = arith.subi %[[N]], %{{.*}} : i64
  // CHECK: %[[FREE:.*]] = arith.maxsi %[[LESS]], %{{.*}} : i64
  // CHECK: %[[FREEF:.*]] = arith.sitofp %[[FREE]] : i64 to f32
  // CHECK: %[[VAR:.*]] = arith.divf %[[SQUARES]], %[[FREEF]] : f32
  // CHECK: %[[KEPT:.*]] = arith.mulf %[[M]], %{{.*}} : f32
  // CHECK: %[[NEW:.*]] = math.fma %{{.*}}, %[[MEAN]], %[[KEPT]] : f32
  // CHECK: %[[M1:.*]] = arith.select %[[EMPTY]], %[[M]], %[[NEW]] : f32
  // CHECK: %[[VF:.*]] = arith.extf %[[V]] : f16 to f32
  // CHECK: math.fma %{{.*}}, %[[VAR]], %{{.*}} : f32
  // CHECK: %[[V1:.*]] = arith.select %[[EMPTY]], %[[VF]], %{{.*}} : f32
  // CHECK: %[[V1E:.*]] = arith.truncf %[[V1]] : f32 to f16
  // CHECK: norm.yield %{{.*}}, %[[M1]], %[[V1E]], %{{.*}} : f16, f32, f16, f32
  %y, %m1, %v1, %r = norm.batch_norm %x running(%m, %v) stats(rstd)
      channel_axis = 1 eps = 1.0e-5 training momentum = 0.1
      : tensor<?x8x4xf16>, tensor<8xf32>, tensor<8xf16>
        -> tensor<?x8x4xf16>, tensor<8xf32>, tensor<8xf16>, tensor<8xf32>
  return %y, %m1, %v1, %r
      : tensor<?x8x4xf16>, tensor<8xf32>, tensor<8xf16>, tensor<8xf32>
}

// A batch that is known to have elements needs no choice, nor does a sum in f64
// of f32.
// CHECK-LABEL: func.func @batch_norm_static
func.func @batch_norm_static(%x: tensor<2x8xf32>, %m: tensor<8xf32>)
    -> (tensor<2x8xf32>, tensor<8xf32>, tensor<8xf32>) {
  // CHECK: norm.generic (col, row)
  // CHECK-NOT: arith.select
  // CHECK: %[[WIDE:.*]] = arith.extf %{{.*}} : f32 to f64
  // CHECK-NEXT: %[[SUM:.*]] = norm.reduce add %[[WIDE]] over [col] : f64
  // CHECK: %[[MEAN:.*]] = arith.divf %[[SUM]], %{{.*}} : f64
  // CHECK-NEXT: arith.truncf %[[MEAN]] : f64 to f32
  // CHECK-NOT: arith.select
  // CHECK: return
  %y, %m1, %v1 = norm.batch_norm %x running(%m, %m) channel_axis = 1
      eps = 1.0e-5 training momentum = 0.1 : tensor<2x8xf32>, tensor<8xf32>,
        tensor<8xf32> -> tensor<2x8xf32>, tensor<8xf32>, tensor<8xf32>
  return %y, %m1, %v1 : tensor<2x8xf32>, tensor<8xf32>, tensor<8xf32>
}

// The upper halves of the significands, and the rest.
// CHECK-LABEL: func.func @batch_norm_f64
func.func @batch_norm_f64(%x: tensor<2x8xf64>, %m: tensor<8xf64>)
    -> (tensor<2x8xf64>, tensor<8xf64>, tensor<8xf64>) {
  // CHECK: %[[BITS:.*]] = arith.bitcast %[[X:.*]] : f64 to i64
  // CHECK: %[[CUT:.*]] = arith.andi %[[BITS]], %{{.*}} : i64
  // CHECK: %[[UPPER:.*]] = arith.bitcast %[[CUT]] : i64 to f64
  // CHECK: %[[LOWER:.*]] = arith.subf %[[X]], %[[UPPER]] : f64
  // CHECK-DAG: %[[SUM:.*]] = norm.reduce add %[[UPPER]] over [col] : f64
  // CHECK-DAG: %[[REST:.*]] = norm.reduce add %[[LOWER]] over [col] : f64
  // CHECK: %[[BOTH:.*]] = arith.addf %[[SUM]], %[[REST]] : f64
  // CHECK: %[[MEAN:.*]] = arith.divf %[[BOTH]], %{{.*}} : f64
  // CHECK: %[[OFF:.*]] = arith.subf %[[MEAN]], %[[MEAN]] : f64
  // CHECK: %[[FINITE:.*]] = arith.cmpf ord, %[[OFF]], %[[OFF]] : f64
  // CHECK: arith.select %[[FINITE]], %[[MEAN]], %{{.*}} : f64
  %y, %m1, %v1 = norm.batch_norm %x running(%m, %m) channel_axis = 1
      eps = 1.0e-5 training momentum = 0.1 : tensor<2x8xf64>, tensor<8xf64>,
        tensor<8xf64> -> tensor<2x8xf64>, tensor<8xf64>, tensor<8xf64>
  return %y, %m1, %v1 : tensor<2x8xf64>, tensor<8xf64>, tensor<8xf64>
}
