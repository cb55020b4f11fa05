//===- invalid-named.mlir - Named ops refused -----------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-opt %s --split-input-file --verify-diagnostics

// The labels are those of docs/Dialects/NormSpec.md. What all named ops or many
// share is here; see also invalid-softmax.mlir and invalid-channels.mlir.

// [STAT-C1]
func.func @unknown_stat(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{expects 'mean' or 'rstd' of this op but got 'variance'}}
  %0:2 = norm.layer_norm %x stats(variance) axes = [1] eps = 1.0e-5 : tensor<4x8xf32> -> tensor<4x8xf32>, tensor<4xf32>
  return
}

// -----

// [STAT-C1]
func.func @stat_of_other_op(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{expects 'rstd' of this op but got 'mean'}}
  %0:2 = norm.rms_norm %x stats(mean) axes = [1] eps = 1.0e-5 : tensor<4x8xf32> -> tensor<4x8xf32>, tensor<4xf32>
  return
}

// -----

// [STAT-C2]
func.func @stats_order(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{expects 'mean' before 'rstd', each once}}
  %0:3 = norm.layer_norm %x stats(rstd, mean) axes = [1] eps = 1.0e-5 : tensor<4x8xf32> -> tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>
  return
}

// -----

// [STAT-C2]
func.func @stats_twice(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{expects 'mean' before 'rstd', each once}}
  %0:3 = norm.layer_norm %x stats(rstd, rstd) axes = [1] eps = 1.0e-5 : tensor<4x8xf32> -> tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>
  return
}

// -----

// [STAT-C5]
func.func @result_types(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{expects 2 result types but got 1}}
  %0 = norm.rms_norm %x stats(rstd) axes = [1] eps = 1.0e-5 : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

// [AXES-C1]
func.func @no_axis(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{'norm.softmax' op expects at least one axis but got none}}
  %0 = norm.softmax %x axes = [] : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

// [AXES-C2]
func.func @axis_out_of_range(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{'norm.softmax' op expects axes from 0 to 1 but got 2}}
  %0 = norm.softmax %x axes = [2] : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

// [AXES-C2]
func.func @axis_negative(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{'norm.rms_norm' op expects axes from 0 to 1 but got -1}}
  %0 = norm.rms_norm %x axes = [-1] eps = 1.0e-5 : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

// [AXES-C3]
func.func @axes_order(%x: tensor<2x4x8xf32>) {
  // expected-error@+1 {{'norm.layer_norm' op expects axes in rising order, each once, but got 1 after 2}}
  %0 = norm.layer_norm %x axes = [2, 1] eps = 1.0e-5 : tensor<2x4x8xf32> -> tensor<2x4x8xf32>
  return
}

// -----

// [AXES-C3]
func.func @axis_twice(%x: tensor<2x4x8xf32>) {
  // expected-error@+1 {{'norm.l2_normalize' op expects axes in rising order, each once, but got 1 after 1}}
  %0 = norm.l2_normalize %x axes = [1, 1] eps = 1.0e-5 : tensor<2x4x8xf32> -> tensor<2x4x8xf32>
  return
}

// -----

// [SHAPE-C1]
func.func @y_shape(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{'norm.softmax' op expects 'y' of shape 'tensor<4x8xf32>' but got 'tensor<8x4xf32>'}}
  %0 = norm.softmax %x axes = [1] : tensor<4x8xf32> -> tensor<8x4xf32>
  return
}

// -----

// [SHAPE-C1]
func.func @y_rank(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{'norm.log_softmax' op expects 'y' of shape 'tensor<4x8xf32>' but got 'tensor<4xf32>'}}
  %0 = norm.log_softmax %x axes = [1] : tensor<4x8xf32> -> tensor<4xf32>
  return
}

// -----

// [BC-C1]
func.func @scale_rank(%x: tensor<4x8xf32>, %w: tensor<1x1x8xf16>) {
  // expected-error@+1 {{'norm.rms_norm' op expects 'scale' of at most 2 axes but got 'tensor<1x1x8xf16>'}}
  %0 = norm.rms_norm %x scale(%w) axes = [1] eps = 1.0e-5 : tensor<4x8xf32>, tensor<1x1x8xf16> -> tensor<4x8xf32>
  return
}

// -----

// [BC-C2]
func.func @scale_shape(%x: tensor<4x8xf32>, %w: tensor<4xf16>) {
  // expected-error@+1 {{'norm.rms_norm' op expects 'scale' that broadcasts to 'tensor<8xf16>' but got 'tensor<4xf16>'}}
  %0 = norm.rms_norm %x scale(%w) axes = [1] eps = 1.0e-5 : tensor<4x8xf32>, tensor<4xf16> -> tensor<4x8xf32>
  return
}

// -----

// The last axis of a bias goes with the last normalized axis.
// [BC-C2]
func.func @bias_alignment(%x: tensor<2x4x8xf32>, %b: tensor<8xf32>) {
  // expected-error@+1 {{'norm.layer_norm' op expects 'bias' that broadcasts to 'tensor<4xf32>' but got 'tensor<8xf32>'}}
  %0 = norm.layer_norm %x bias(%b) axes = [0, 1] eps = 1.0e-5 : tensor<2x4x8xf32>, tensor<8xf32> -> tensor<2x4x8xf32>
  return
}

// -----

// One of more axes than are normalized goes with the last axes of x.
// [BC-C2]
func.func @scale_alignment(%x: tensor<2x4x8x16xf32>, %w: tensor<4x16xf32>) {
  // expected-error@+1 {{'norm.rms_norm' op expects 'scale' that broadcasts to 'tensor<8x16xf32>' but got 'tensor<4x16xf32>'}}
  %0 = norm.rms_norm %x scale(%w) axes = [3] eps = 1.0e-5 : tensor<2x4x8x16xf32>, tensor<4x16xf32> -> tensor<2x4x8x16xf32>
  return
}

// -----

// [STAT-C4]
func.func @mean_shape(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{'norm.layer_norm' op expects 'mean' of shape 'tensor<4xf32>' but got 'tensor<8xf32>'}}
  %0:2 = norm.layer_norm %x stats(mean) axes = [1] eps = 1.0e-5 : tensor<4x8xf32> -> tensor<4x8xf32>, tensor<8xf32>
  return
}

// -----

// [STAT-C4]
func.func @mean_shape_middle(%x: tensor<2x4x8xf32>) {
  // expected-error@+1 {{'norm.layer_norm' op expects 'mean' of shape 'tensor<2x8xf32>' but got 'tensor<2x4xf32>'}}
  %0:2 = norm.layer_norm %x stats(mean) axes = [1] eps = 1.0e-5 : tensor<2x4x8xf32> -> tensor<2x4x8xf32>, tensor<2x4xf32>
  return
}

// -----

// [STAT-C3]
func.func @rstd_type(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{'norm.rms_norm' op expects 'rstd' in the type of the arithmetic, f32, but got 'f64'}}
  %0:2 = norm.rms_norm %x stats(rstd) axes = [1] eps = 1.0e-5 : tensor<4x8xf32> -> tensor<4x8xf32>, tensor<4xf64>
  return
}

// -----

// [STAT-C3]
func.func @rstd_type_wide(%x: tensor<4x8xf32>, %g: tensor<8xf64>) {
  // expected-error@+1 {{'norm.layer_norm' op expects 'rstd' in the type of the arithmetic, f64, but got 'f32'}}
  %0:2 = norm.layer_norm %x scale(%g) stats(rstd) axes = [1] eps = 1.0e-5 : tensor<4x8xf32>, tensor<8xf64> -> tensor<4x8xf32>, tensor<4xf32>
  return
}

// -----

// [EPS-C1]
func.func @eps_negative(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{'norm.rms_norm' op expects 'eps' to be finite and not negative but got -0.5}}
  %0 = norm.rms_norm %x axes = [1] eps = -0.5 : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

// [EPS-C1]
func.func @eps_nan(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{'norm.layer_norm' op expects 'eps' to be finite and not negative but got NaN}}
  %0 = norm.layer_norm %x axes = [1] eps = 0x7FF8000000000000 : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

// [OFF-C1]
func.func @offset_infinite(%x: tensor<4x8xf32>, %w: tensor<8xf32>) {
  // expected-error@+1 {{'norm.rms_norm' op expects a finite 'offset' of the scale but got +Inf}}
  %0 = norm.rms_norm %x scale(%w, offset = 0x7FF0000000000000) axes = [1] eps = 1.0e-5 : tensor<4x8xf32>, tensor<8xf32> -> tensor<4x8xf32>
  return
}

// -----

// [OFF-C2]
func.func @offset_alone(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{'norm.rms_norm' op expects 'offset' only beside a scale but got 1}}
  %0 = "norm.rms_norm"(%x) {axes = array<i64: 1>, eps = 1.0e-5, offset = 1.0} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

// [L2-C1]
func.func @l2_eps(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{'norm.l2_normalize' op expects 'eps' to be a normal number of the arithmetic, from 1.17549435E-38, but got 0}}
  %0 = norm.l2_normalize %x axes = [1] eps = 0.0 : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

// An eps that f64 has and f32 hasn't.
// [L2-C1]
func.func @l2_eps_f32(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{'norm.l2_normalize' op expects 'eps' to be a normal number of the arithmetic, from 1.17549435E-38, but got 1.0E-300}}
  %0 = norm.l2_normalize %x axes = [1] eps = 1.0e-300 : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

// [TYPE-C1]
func.func @integers(%x: tensor<4x8xi32>) {
  // expected-error@+1 {{'norm.softmax' op operand #0 must be ranked tensor of f8E4M3FN type or f8E5M2 type or 16-bit float or bfloat16 type or 32-bit float or 64-bit float values, but got 'tensor<4x8xi32>'}}
  %0 = norm.softmax %x axes = [1] : tensor<4x8xi32> -> tensor<4x8xf32>
  return
}

// -----

// [TYPE-C2]
func.func @narrow_stat(%x: tensor<4x8xf16>) {
  // expected-error@+1 {{'norm.rms_norm' op result #1 must be ranked tensor of 32-bit float or 64-bit float values, but got 'tensor<4xf16>'}}
  %0:2 = norm.rms_norm %x stats(rstd) axes = [1] eps = 1.0e-5 : tensor<4x8xf16> -> tensor<4x8xf16>, tensor<4xf16>
  return
}
