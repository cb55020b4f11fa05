//===- invalid-channels.mlir - Norms over channels refused ----------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-opt %s --split-input-file --verify-diagnostics

// [CH-C1]
func.func @vector(%x: tensor<32xf32>) {
  // expected-error@+1 {{'norm.group_norm' op expects 'x' of at least 2 axes but got 'tensor<32xf32>'}}
  %0 = norm.group_norm %x groups = 4 channel_axis = 0 eps = 1.0e-5 : tensor<32xf32> -> tensor<32xf32>
  return
}

// -----

// [CH-C1]
func.func @no_space(%x: tensor<2x32xf32>) {
  // expected-error@+1 {{'norm.instance_norm' op expects 'x' of at least 3 axes but got 'tensor<2x32xf32>'}}
  %0 = norm.instance_norm %x channel_axis = 1 eps = 1.0e-5 : tensor<2x32xf32> -> tensor<2x32xf32>
  return
}

// -----

// [CH-C1]
func.func @no_batch(%x: tensor<32xf32>) {
  // expected-error@+1 {{'norm.batch_norm' op expects 'x' of at least 2 axes but got 'tensor<32xf32>'}}
  %0 = norm.batch_norm %x channel_axis = 0 eps = 1.0e-5 training : tensor<32xf32> -> tensor<32xf32>
  return
}

// -----

// [CH-C2]
func.func @channel_of_samples(%x: tensor<2x32x8x8xf32>) {
  // expected-error@+1 {{'norm.group_norm' op expects 'channel_axis' from 1 to 3 but got 0}}
  %0 = norm.group_norm %x groups = 2 channel_axis = 0 eps = 1.0e-5 : tensor<2x32x8x8xf32> -> tensor<2x32x8x8xf32>
  return
}

// -----

// [CH-C2]
func.func @channel_beyond(%x: tensor<2x32x8x8xf32>) {
  // expected-error@+1 {{'norm.batch_norm' op expects 'channel_axis' from 0 to 3 but got 4}}
  %0 = norm.batch_norm %x channel_axis = 4 eps = 1.0e-5 training : tensor<2x32x8x8xf32> -> tensor<2x32x8x8xf32>
  return
}

// -----

// [CH-C3]
func.func @scale_shape(%x: tensor<2x32x8x8xf32>, %g: tensor<8xf32>) {
  // expected-error@+1 {{'norm.group_norm' op expects 'scale' of shape 'tensor<32xf32>' but got 'tensor<8xf32>'}}
  %0 = norm.group_norm %x scale(%g) groups = 4 channel_axis = 1 eps = 1.0e-5 : tensor<2x32x8x8xf32>, tensor<8xf32> -> tensor<2x32x8x8xf32>
  return
}

// -----

// [CH-C3]
func.func @bias_shape(%x: tensor<2x32x8x8xf32>, %b: tensor<32xf32>) {
  // expected-error@+1 {{'norm.instance_norm' op expects 'bias' of shape 'tensor<8xf32>' but got 'tensor<32xf32>'}}
  %0 = norm.instance_norm %x bias(%b) channel_axis = 3 eps = 1.0e-5 : tensor<2x32x8x8xf32>, tensor<32xf32> -> tensor<2x32x8x8xf32>
  return
}

// -----

// [SHAPE-C1]
func.func @y_shape(%x: tensor<2x32x8x8xf32>) {
  // expected-error@+1 {{'norm.instance_norm' op expects 'y' of shape 'tensor<2x32x8x8xf32>' but got 'tensor<2x8x8x32xf32>'}}
  %0 = norm.instance_norm %x channel_axis = 1 eps = 1.0e-5 : tensor<2x32x8x8xf32> -> tensor<2x8x8x32xf32>
  return
}

// -----

// [GROUP-C1]
func.func @no_groups(%x: tensor<2x32x8x8xf32>) {
  // expected-error@+1 {{'norm.group_norm' op expects 'groups' to be at least 1 but got 0}}
  %0 = norm.group_norm %x groups = 0 channel_axis = 1 eps = 1.0e-5 : tensor<2x32x8x8xf32> -> tensor<2x32x8x8xf32>
  return
}

// -----

// [GROUP-C2]
func.func @odd_groups(%x: tensor<2x32x8x8xf32>) {
  // expected-error@+1 {{'norm.group_norm' op expects 'groups' to divide the 32 channels but got 5}}
  %0 = norm.group_norm %x groups = 5 channel_axis = 1 eps = 1.0e-5 : tensor<2x32x8x8xf32> -> tensor<2x32x8x8xf32>
  return
}

// -----

// [STAT-C4]
func.func @group_stat(%x: tensor<2x32x8x8xf32>) {
  // expected-error@+1 {{'norm.group_norm' op expects 'rstd' of shape 'tensor<2x4xf32>' but got 'tensor<2x32xf32>'}}
  %0:2 = norm.group_norm %x stats(rstd) groups = 4 channel_axis = 1 eps = 1.0e-5 : tensor<2x32x8x8xf32> -> tensor<2x32x8x8xf32>, tensor<2x32xf32>
  return
}

// -----

// [STAT-C3]
func.func @instance_stat(%x: tensor<2x32x8x8xf32>) {
  // expected-error@+1 {{'norm.instance_norm' op expects 'mean' in the type of the arithmetic, f32, but got 'f64'}}
  %0:2 = norm.instance_norm %x stats(mean) channel_axis = 1 eps = 1.0e-5 : tensor<2x32x8x8xf32> -> tensor<2x32x8x8xf32>, tensor<2x32xf64>
  return
}

// -----

// [OFF-C2]
func.func @offset_alone(%x: tensor<2x32x8x8xf32>) {
  // expected-error@+1 {{'norm.group_norm' op expects 'offset' only beside a scale but got 1}}
  %0 = "norm.group_norm"(%x) <{groups = 4 : i64, channel_axis = 1 : i64, eps = 1.0e-5, offset = 1.0, operandSegmentSizes = array<i32: 1, 0, 0>, resultSegmentSizes = array<i32: 1, 0, 0>}> : (tensor<2x32x8x8xf32>) -> tensor<2x32x8x8xf32>
  return
}

// -----

// [EPS-C1]
func.func @eps(%x: tensor<2x32x8x8xf32>) {
  // expected-error@+1 {{'norm.batch_norm' op expects 'eps' to be finite and not negative but got -1}}
  %0 = norm.batch_norm %x channel_axis = 1 eps = -1.0 training : tensor<2x32x8x8xf32> -> tensor<2x32x8x8xf32>
  return
}

// -----

// [BN-C1]
func.func @running_mean_only(%x: tensor<2x32x8x8xf32>, %m: tensor<32xf32>) {
  // expected-error@+1 {{'norm.batch_norm' op expects a running mean and a running variance but got the mean only}}
  %0 = "norm.batch_norm"(%x, %m) <{channel_axis = 1 : i64, eps = 1.0e-5, operandSegmentSizes = array<i32: 1, 0, 0, 1, 0>, resultSegmentSizes = array<i32: 1, 0, 0, 0, 0>}> : (tensor<2x32x8x8xf32>, tensor<32xf32>) -> tensor<2x32x8x8xf32>
  return
}

// -----

// [BN-C2]
func.func @no_statistics(%x: tensor<2x32x8x8xf32>) {
  // expected-error@+1 {{'norm.batch_norm' op expects running statistics or 'training' but got neither}}
  %0 = norm.batch_norm %x channel_axis = 1 eps = 1.0e-5 : tensor<2x32x8x8xf32> -> tensor<2x32x8x8xf32>
  return
}

// -----

// [BN-C3]
func.func @updated_results(%x: tensor<2x32x8x8xf32>, %m: tensor<32xf32>, %v: tensor<32xf32>) {
  // expected-error@+1 {{'norm.batch_norm' op expects both updated running statistics among the results but got 1}}
  %0:2 = "norm.batch_norm"(%x, %m, %v) <{channel_axis = 1 : i64, eps = 1.0e-5, training, momentum = 0.1, operandSegmentSizes = array<i32: 1, 0, 0, 1, 1>, resultSegmentSizes = array<i32: 1, 1, 0, 0, 0>}> : (tensor<2x32x8x8xf32>, tensor<32xf32>, tensor<32xf32>) -> (tensor<2x32x8x8xf32>, tensor<32xf32>)
  return
}

// -----

// [BN-C4]
func.func @momentum_missing(%x: tensor<2x32x8x8xf32>, %m: tensor<32xf32>, %v: tensor<32xf32>) {
  // expected-error@+1 {{'norm.batch_norm' op expects 'momentum' where running statistics are updated, and only there, but got none}}
  %0:3 = norm.batch_norm %x running(%m, %v) channel_axis = 1 eps = 1.0e-5 training : tensor<2x32x8x8xf32>, tensor<32xf32>, tensor<32xf32> -> tensor<2x32x8x8xf32>, tensor<32xf32>, tensor<32xf32>
  return
}

// -----

// [BN-C4]
func.func @momentum_in_inference(%x: tensor<2x32x8x8xf32>, %m: tensor<32xf32>, %v: tensor<32xf32>) {
  // expected-error@+1 {{'norm.batch_norm' op expects 'momentum' where running statistics are updated, and only there, but got one}}
  %0 = norm.batch_norm %x running(%m, %v) channel_axis = 1 eps = 1.0e-5 momentum = 0.1 : tensor<2x32x8x8xf32>, tensor<32xf32>, tensor<32xf32> -> tensor<2x32x8x8xf32>
  return
}

// -----

// [BN-C5]
func.func @stats_in_inference(%x: tensor<2x32x8x8xf32>, %m: tensor<32xf32>, %v: tensor<32xf32>) {
  // expected-error@+1 {{'norm.batch_norm' op expects 'stats' with 'training' only}}
  %0:2 = norm.batch_norm %x running(%m, %v) stats(mean) channel_axis = 1 eps = 1.0e-5 : tensor<2x32x8x8xf32>, tensor<32xf32>, tensor<32xf32> -> tensor<2x32x8x8xf32>, tensor<32xf32>
  return
}

// -----

// [BN-C6]
func.func @updated_type(%x: tensor<2x32x8x8xf32>, %m: tensor<32xf32>, %v: tensor<32xf32>) {
  // expected-error@+1 {{'norm.batch_norm' op expects an updated running statistic of type 'tensor<32xf32>' but got 'tensor<32xf16>'}}
  %0:3 = norm.batch_norm %x running(%m, %v) channel_axis = 1 eps = 1.0e-5 training momentum = 0.1 : tensor<2x32x8x8xf32>, tensor<32xf32>, tensor<32xf32> -> tensor<2x32x8x8xf32>, tensor<32xf32>, tensor<32xf16>
  return
}

// -----

// [BN-C7]
func.func @momentum_range(%x: tensor<2x32x8x8xf32>, %m: tensor<32xf32>, %v: tensor<32xf32>) {
  // expected-error@+1 {{'norm.batch_norm' op expects 'momentum' from 0 to 1 but got 1.5}}
  %0:3 = norm.batch_norm %x running(%m, %v) channel_axis = 1 eps = 1.0e-5 training momentum = 1.5 : tensor<2x32x8x8xf32>, tensor<32xf32>, tensor<32xf32> -> tensor<2x32x8x8xf32>, tensor<32xf32>, tensor<32xf32>
  return
}

// -----

// [CH-C3]
func.func @running_shape(%x: tensor<2x32x8x8xf32>, %m: tensor<8xf32>, %v: tensor<32xf32>) {
  // expected-error@+1 {{'norm.batch_norm' op expects 'running mean' of shape 'tensor<32xf32>' but got 'tensor<8xf32>'}}
  %0 = norm.batch_norm %x running(%m, %v) channel_axis = 1 eps = 1.0e-5 : tensor<2x32x8x8xf32>, tensor<8xf32>, tensor<32xf32> -> tensor<2x32x8x8xf32>
  return
}

// -----

// [STAT-C5]
func.func @result_count(%x: tensor<2x32x8x8xf32>, %m: tensor<32xf32>, %v: tensor<32xf32>) {
  // expected-error@+1 {{expects 3 result types but got 1}}
  %0 = norm.batch_norm %x running(%m, %v) channel_axis = 1 eps = 1.0e-5 training momentum = 0.1 : tensor<2x32x8x8xf32>, tensor<32xf32>, tensor<32xf32> -> tensor<2x32x8x8xf32>
  return
}
