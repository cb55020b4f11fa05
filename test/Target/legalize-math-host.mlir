//===- legalize-math-host.mlir - Math on the host -------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-opt %s --norm-legalize-math | FileCheck %s

// CHECK-LABEL: @fma(
func.func @fma(%x: vector<8xf32>) -> vector<8xf32> {
  // CHECK: math.fma %{{.*}}, %{{.*}}, %{{.*}} : vector<8xf32>
  %0 = vector.fma %x, %x, %x : vector<8xf32>
  // CHECK: math.sqrt %{{.*}} : vector<8xf32>
  %1 = math.sqrt %0 : vector<8xf32>
  return %1 : vector<8xf32>
}

// CHECK-LABEL: @load_brain(
// CHECK-SAME: %[[X:[a-z0-9]+]]: vector<8xbf16>
func.func @load_brain(%x: vector<8xbf16>) -> vector<8xf32> {
  // CHECK: %[[B:.*]] = arith.bitcast %[[X]] : vector<8xbf16> to vector<8xi16>
  // CHECK: %[[W:.*]] = arith.extui %[[B]] : vector<8xi16> to vector<8xi32>
  // CHECK: %[[S:.*]] = arith.shli %[[W]], %{{.*}} : vector<8xi32>
  // CHECK: arith.bitcast %[[S]] : vector<8xi32> to vector<8xf32>
  %0 = arith.extf %x : vector<8xbf16> to vector<8xf32>
  return %0 : vector<8xf32>
}

// CHECK-LABEL: @round_to_brain(
// CHECK-NOT: truncf
// CHECK: arith.constant 32767 : i32
// CHECK: arith.cmpf uno
// CHECK: arith.trunci %{{.*}} : i32 to i16
// CHECK: arith.bitcast %{{.*}} : i16 to bf16
func.func @round_to_brain(%x: f32) -> bf16 {
  %0 = arith.truncf %x : f32 to bf16
  return %0 : bf16
}

// Each addition rounds to bf16.
// CHECK-LABEL: @brain_arithmetic(
// CHECK-NOT: addf {{.*}} : vector<8xbf16>
// CHECK: arith.addf %{{.*}}, %{{.*}} : vector<8xf32>
// CHECK: arith.trunci %{{.*}} : vector<8xi32> to vector<8xi16>
// CHECK: arith.mulf %{{.*}}, %{{.*}} : vector<8xf32>
// CHECK: arith.trunci %{{.*}} : vector<8xi32> to vector<8xi16>
func.func @brain_arithmetic(%x: vector<8xbf16>, %y: vector<8xbf16>) -> vector<8xbf16> {
  %0 = arith.addf %x, %y : vector<8xbf16>
  %1 = arith.mulf %0, %y : vector<8xbf16>
  return %1 : vector<8xbf16>
}

// One rounding: the one to f32 keeps the side of a tie.
// CHECK-LABEL: @double_to_half(
// CHECK: arith.truncf %{{.*}} : vector<4xf64> to vector<4xf32>
// CHECK: %[[ODD:.*]] = arith.ori %{{.*}}, %{{.*}} : vector<4xi32>
// CHECK: %[[F:.*]] = arith.bitcast %[[ODD]] : vector<4xi32> to vector<4xf32>
// CHECK: arith.truncf %[[F]] : vector<4xf32> to vector<4xf16>
func.func @double_to_half(%x: vector<4xf64>) -> vector<4xf16> {
  %0 = arith.truncf %x : vector<4xf64> to vector<4xf16>
  return %0 : vector<4xf16>
}

// f16 has conversions in hardware.
// CHECK-LABEL: @half(
// CHECK: arith.extf %{{.*}} : vector<8xf16> to vector<8xf32>
// CHECK: math.sqrt %{{.*}} : vector<8xf32>
// CHECK: arith.truncf %{{.*}} : vector<8xf32> to vector<8xf16>
func.func @half(%x: vector<8xf16>) -> vector<8xf16> {
  %0 = math.sqrt %x : vector<8xf16>
  return %0 : vector<8xf16>
}
