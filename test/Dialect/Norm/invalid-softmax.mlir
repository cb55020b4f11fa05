//===- invalid-softmax.mlir - Softmax and its kin refused -----------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-opt %s --split-input-file --verify-diagnostics

// [SM-C1]
func.func @two_scales(%x: tensor<2x4x8xf32>, %s: f32) {
  // expected-error@+1 {{'norm.softmax' op expects a scale as an operand or as an attribute but got both}}
  %0 = norm.softmax %x scale(%s) axes = [2] scale = 0.5 : tensor<2x4x8xf32>, f32 -> tensor<2x4x8xf32>
  return
}

// -----

// [SM-C2]
func.func @infinite_scale(%x: tensor<2x4x8xf32>) {
  // expected-error@+1 {{'norm.softmax' op expects a finite 'scale' but got +Inf}}
  %0 = norm.softmax %x axes = [2] scale = 0x7FF0000000000000 : tensor<2x4x8xf32> -> tensor<2x4x8xf32>
  return
}

// -----

// [TYPE-C1]
func.func @integer_scale(%x: tensor<2x4x8xf32>, %s: i32) {
  // expected-error@+1 {{'norm.softmax' op operand #1 must be a float of at most 64 bits, but got 'i32'}}
  %0 = norm.softmax %x scale(%s) axes = [2] : tensor<2x4x8xf32>, i32 -> tensor<2x4x8xf32>
  return
}

// -----

// [BC-C1]
func.func @mask_rank(%x: tensor<2x4x8xf32>, %m: tensor<1x2x4x8xf32>) {
  // expected-error@+1 {{'norm.softmax' op expects 'mask' of at most 3 axes but got 'tensor<1x2x4x8xf32>'}}
  %0 = norm.softmax %x mask(%m) axes = [2] : tensor<2x4x8xf32>, tensor<1x2x4x8xf32> -> tensor<2x4x8xf32>
  return
}

// -----

// [BC-C2]
func.func @mask_shape(%x: tensor<2x4x8xf32>, %m: tensor<2x8xf32>) {
  // expected-error@+1 {{'norm.softmax' op expects 'mask' that broadcasts to 'tensor<4x8xf32>' but got 'tensor<2x8xf32>'}}
  %0 = norm.softmax %x mask(%m) axes = [2] : tensor<2x4x8xf32>, tensor<2x8xf32> -> tensor<2x4x8xf32>
  return
}

// -----

// [CAUSAL-C1]
func.func @corner(%x: tensor<2x4x8xf32>) {
  // expected-error@+1 {{expects 'upper_left' or 'lower_right' but got 'centre'}}
  %0 = norm.softmax %x axes = [2] causal = centre : tensor<2x4x8xf32> -> tensor<2x4x8xf32>
  return
}

// -----

// [CAUSAL-C2]
func.func @causal_axes(%x: tensor<2x4x8xf32>) {
  // expected-error@+1 {{'norm.softmax' op expects one normalized axis after an axis of queries for 'causal' but got axes = [1, 2]}}
  %0 = norm.softmax %x axes = [1, 2] causal : tensor<2x4x8xf32> -> tensor<2x4x8xf32>
  return
}

// -----

// [CAUSAL-C2]
func.func @causal_without_queries(%x: tensor<2x4x8xf32>) {
  // expected-error@+1 {{'norm.softmax' op expects one normalized axis after an axis of queries for 'causal' but got axes = [0]}}
  %0 = norm.softmax %x axes = [0] causal : tensor<2x4x8xf32> -> tensor<2x4x8xf32>
  return
}

// -----

// [CAUSAL-C3]
func.func @far_diagonal(%x: tensor<2x4x8xf32>) {
  // expected-error@+1 {{'norm.softmax' op expects 'diagonal' from -1099511627776 to 1099511627776 but got 1099511627777}}
  %0 = norm.softmax %x axes = [2] causal diagonal = 1099511627777 : tensor<2x4x8xf32> -> tensor<2x4x8xf32>
  return
}

// -----

// [CAUSAL-C4]
func.func @diagonal_alone(%x: tensor<2x4x8xf32>) {
  // expected-error@+1 {{'norm.softmax' op expects 'diagonal' only beside 'causal' but got 1}}
  %0 = norm.softmax %x axes = [2] diagonal = 1 : tensor<2x4x8xf32> -> tensor<2x4x8xf32>
  return
}

// -----

// [LEN-C1]
func.func @lengths_axes(%x: tensor<2x4x8xf32>, %n: tensor<2xi32>) {
  // expected-error@+1 {{'norm.softmax' op expects one normalized axis for 'lengths' but got axes = [1, 2]}}
  %0 = norm.softmax %x lengths(%n) axes = [1, 2] : tensor<2x4x8xf32>, tensor<2xi32> -> tensor<2x4x8xf32>
  return
}

// -----

// [LEN-C2]
func.func @lengths_rank(%x: tensor<2x4x8xf32>, %n: tensor<2x4x8xi32>) {
  // expected-error@+1 {{'norm.softmax' op expects 'lengths' of 1 to 2 axes, those before the normalized one, but got 'tensor<2x4x8xi32>'}}
  %0 = norm.softmax %x lengths(%n) axes = [2] : tensor<2x4x8xf32>, tensor<2x4x8xi32> -> tensor<2x4x8xf32>
  return
}

// -----

// [LEN-C2]
func.func @lengths_scalar(%x: tensor<2x4x8xf32>, %n: tensor<i32>) {
  // expected-error@+1 {{'norm.softmax' op expects 'lengths' of 1 to 1 axes, those before the normalized one, but got 'tensor<i32>'}}
  %0 = norm.softmax %x lengths(%n) axes = [1] : tensor<2x4x8xf32>, tensor<i32> -> tensor<2x4x8xf32>
  return
}

// -----

// [LEN-C3]
func.func @lengths_shape(%x: tensor<2x4x8xf32>, %n: tensor<4xi64>) {
  // expected-error@+1 {{'norm.softmax' op expects 'lengths' of shape 'tensor<2xi64>' but got 'tensor<4xi64>'}}
  %0 = norm.softmax %x lengths(%n) axes = [2] : tensor<2x4x8xf32>, tensor<4xi64> -> tensor<2x4x8xf32>
  return
}

// -----

// [TYPE-C3]
func.func @lengths_type(%x: tensor<2x4x8xf32>, %n: tensor<2xf32>) {
  // expected-error@+1 {{'norm.softmax' op operand #1 must be ranked tensor of 32-bit signless integer or 64-bit signless integer values, but got 'tensor<2xf32>'}}
  %0 = norm.softmax %x lengths(%n) axes = [2] : tensor<2x4x8xf32>, tensor<2xf32> -> tensor<2x4x8xf32>
  return
}

// -----

// [STAT-C1]
func.func @softmax_stat(%x: tensor<2x4x8xf32>) {
  // expected-error@+1 {{expects 'logsumexp' of this op but got 'rstd'}}
  %0:2 = norm.softmax %x stats(rstd) axes = [2] : tensor<2x4x8xf32> -> tensor<2x4x8xf32>, tensor<2x4xf32>
  return
}

// -----

// [STAT-C4]
func.func @logsumexp_shape(%x: tensor<2x4x8xf32>) {
  // expected-error@+1 {{'norm.softmax' op expects 'logsumexp' of shape 'tensor<2x4xf32>' but got 'tensor<2x8xf32>'}}
  %0:2 = norm.softmax %x stats(logsumexp) axes = [2] : tensor<2x4x8xf32> -> tensor<2x4x8xf32>, tensor<2x8xf32>
  return
}

// -----

// [LSE-C1]
func.func @reduced_shape(%x: tensor<2x4x8xf32>) {
  // expected-error@+1 {{'norm.logsumexp' op expects 'y' of shape 'tensor<2x8xf32>' but got 'tensor<2x1x8xf32>'}}
  %0 = norm.logsumexp %x axes = [1] : tensor<2x4x8xf32> -> tensor<2x1x8xf32>
  return
}
