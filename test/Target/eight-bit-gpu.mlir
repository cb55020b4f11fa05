//===- eight-bit-gpu.mlir - 8-bit floats on a GPU -------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-opt %s --norm-legalize-math=target=sm_89 | FileCheck %s

// A pair of bytes becomes a pair of f16, the first in the lower half.
// CHECK-LABEL: @extend(
// CHECK-SAME: %[[X:.*]]: vector<4xi8>
func.func @extend(%x: vector<4xi8>) -> vector<4xf32> {
  // CHECK-NOT: f8E4M3FN
  // CHECK: %[[PAIRS:.*]] = vector.bitcast %[[X]] : vector<4xi8> to vector<2xi16>
  // CHECK: %[[P0:.*]] = vector.extract %[[PAIRS]][0]
  // CHECK: %[[P1:.*]] = vector.extract %[[PAIRS]][1]
  // CHECK: llvm.call_intrinsic "llvm.nvvm.e4m3x2.to.f16x2.rn"(%[[P0]]) : (i16) -> vector<2xf16>
  // CHECK: llvm.call_intrinsic "llvm.nvvm.e4m3x2.to.f16x2.rn"(%[[P1]]) : (i16) -> vector<2xf16>
  // CHECK: %[[HALVES:.*]] = vector.from_elements {{.*}} : vector<4xf16>
  // CHECK: %[[R:.*]] = arith.extf %[[HALVES]] : vector<4xf16> to vector<4xf32>
  // CHECK: return %[[R]]
  %0 = arith.bitcast %x : vector<4xi8> to vector<4xf8E4M3FN>
  %1 = arith.extf %0 : vector<4xf8E4M3FN> to vector<4xf32>
  return %1 : vector<4xf32>
}

// The instruction saturates: what would overflow is a NaN before.
// CHECK-LABEL: @round(
// CHECK-SAME: %[[X:.*]]: vector<2xf32>
func.func @round(%x: vector<2xf32>) -> vector<2xi8> {
  // CHECK: %[[ABS:.*]] = llvm.call_intrinsic "llvm.fabs"(%[[X]])
  // CHECK: %[[LIMIT:.*]] = arith.constant dense<4.640000e+02> : vector<2xf32>
  // CHECK: %[[WITHIN:.*]] = arith.cmpf ole, %[[ABS]], %[[LIMIT]]
  // CHECK: %[[V:.*]] = arith.select %[[WITHIN]], %[[X]],
  // CHECK: %[[LOW:.*]] = vector.extract %[[V]][0]
  // CHECK: %[[HIGH:.*]] = vector.extract %[[V]][1]
  // CHECK: %[[PAIR:.*]] = llvm.call_intrinsic "llvm.nvvm.ff.to.e4m3x2.rn"(%[[HIGH]], %[[LOW]]) : (f32, f32) -> i16
  // CHECK: %[[PACKED:.*]] = vector.from_elements %[[PAIR]] : vector<1xi16>
  // CHECK: %[[R:.*]] = vector.bitcast %[[PACKED]] : vector<1xi16> to vector<2xi8>
  // CHECK: return %[[R]]
  %0 = arith.truncf %x : vector<2xf32> to vector<2xf8E4M3FN>
  %1 = arith.bitcast %0 : vector<2xf8E4M3FN> to vector<2xi8>
  return %1 : vector<2xi8>
}

// Nothing to take care of where the value is clamped.
// CHECK-LABEL: @round_clamped(
func.func @round_clamped(%x: vector<2xf32>) -> vector<2xi8> {
  // CHECK-NOT: llvm.fabs
  // CHECK: "llvm.nvvm.ff.to.e4m3x2.rn"
  %high = arith.constant dense<448.0> : vector<2xf32>
  %low = arith.constant dense<-448.0> : vector<2xf32>
  %below = arith.minimumf %x, %high : vector<2xf32>
  %clamped = arith.maxnumf %below, %low : vector<2xf32>
  %0 = arith.truncf %clamped : vector<2xf32> to vector<2xf8E4M3FN>
  %1 = arith.bitcast %0 : vector<2xf8E4M3FN> to vector<2xi8>
  return %1 : vector<2xi8>
}

// One that is clamped on one side, or to too much, or may get past by a NaN of
// the clamped side.
// CHECK-LABEL: @round_half_clamped(
func.func @round_half_clamped(%x: f32, %y: f32) -> (i8, i8, i8) {
  %high = arith.constant 448.0 : f32
  %low = arith.constant -448.0 : f32
  %far = arith.constant -466.0 : f32
  // CHECK: llvm.fabs
  // CHECK: "llvm.nvvm.ff.to.e4m3x2.rn"
  %a = arith.minimumf %x, %high : f32
  %0 = arith.truncf %a : f32 to f8E4M3FN
  // CHECK: llvm.fabs
  // CHECK: "llvm.nvvm.ff.to.e4m3x2.rn"
  %b = arith.maximumf %a, %far : f32
  %1 = arith.truncf %b : f32 to f8E4M3FN
  // CHECK: llvm.fabs
  // CHECK: "llvm.nvvm.ff.to.e4m3x2.rn"
  %c = arith.maximumf %a, %low : f32
  %d = arith.minnumf %c, %y : f32
  %e = arith.maxnumf %d, %low : f32
  %2 = arith.truncf %e : f32 to f8E4M3FN
  %3 = arith.bitcast %0 : f8E4M3FN to i8
  %4 = arith.bitcast %1 : f8E4M3FN to i8
  %5 = arith.bitcast %2 : f8E4M3FN to i8
  return %3, %4, %5 : i8, i8, i8
}

// f8E5M2 has infinities: the code after the largest number.
// CHECK-LABEL: @round_to_infinity(
// CHECK-SAME: %[[X:.*]]: f32
func.func @round_to_infinity(%x: f32) -> i8 {
  // CHECK: %[[ABS:.*]] = llvm.call_intrinsic "llvm.fabs"(%[[X]])
  // CHECK: %[[LIMIT:.*]] = arith.constant 6.144000e+04 : f32
  // CHECK: %[[BEYOND:.*]] = arith.cmpf oge, %[[ABS]], %[[LIMIT]]
  // CHECK: %[[PAIR:.*]] = llvm.call_intrinsic "llvm.nvvm.ff.to.e5m2x2.rn"(%{{.*}}, %[[X]])
  // CHECK: %[[STEP:.*]] = arith.select %[[BEYOND]], %c1_i16, %c0_i16
  // CHECK: arith.addi %[[PAIR]], %[[STEP]] : i16
  %0 = arith.truncf %x : f32 to f8E5M2
  %1 = arith.bitcast %0 : f8E5M2 to i8
  return %1 : i8
}

// Three elements are two pairs.
// CHECK-LABEL: @odd(
func.func @odd(%x: vector<3xi8>) -> vector<3xi8> {
  // CHECK-COUNT-2: "llvm.nvvm.e5m2x2.to.f16x2.rn"
  // CHECK-COUNT-2: "llvm.nvvm.ff.to.e4m3x2.rn"
  // CHECK: vector.from_elements {{.*}} : vector<3xi8>
  %0 = arith.bitcast %x : vector<3xi8> to vector<3xf8E5M2>
  %1 = arith.extf %0 : vector<3xf8E5M2> to vector<3xf32>
  %2 = arith.truncf %1 : vector<3xf32> to vector<3xf8E4M3FN>
  %3 = arith.bitcast %2 : vector<3xf8E4M3FN> to vector<3xi8>
  return %3 : vector<3xi8>
}

// A rounding from f64 is one rounding, by way of f32 to odd.
// CHECK-LABEL: @from_double(
func.func @from_double(%x: f64) -> i8 {
  // CHECK: arith.truncf %{{.*}} : f64 to f32
  // CHECK: %[[STICKY:.*]] = arith.ori %{{.*}} : i32
  // CHECK: %[[ODD:.*]] = arith.bitcast %[[STICKY]] : i32 to f32
  // CHECK: "llvm.nvvm.ff.to.e4m3x2.rn"
  %0 = arith.truncf %x : f64 to f8E4M3FN
  %1 = arith.bitcast %0 : f8E4M3FN to i8
  return %1 : i8
}

// Arithmetic is f32's; what is moved is a byte, in loops and branches as well.
// CHECK-LABEL: @arithmetic(
func.func @arithmetic(%x: i8, %c: i1) -> i8 {
  // CHECK-NOT: f8E4M3FN
  // CHECK: %[[ONE:.*]] = arith.constant 56 : i8
  // CHECK: "llvm.nvvm.e4m3x2.to.f16x2.rn"
  // CHECK: arith.addf %{{.*}}, %{{.*}} : f32
  // CHECK: scf.if %{{.*}} -> (i8)
  %one = arith.constant 1.0 : f8E4M3FN
  %0 = arith.bitcast %x : i8 to f8E4M3FN
  %1 = arith.addf %0, %one : f8E4M3FN
  %2 = scf.if %c -> f8E4M3FN {
    scf.yield %1 : f8E4M3FN
  } else {
    scf.yield %one : f8E4M3FN
  }
  %3 = arith.bitcast %2 : f8E4M3FN to i8
  return %3 : i8
}

// CHECK-LABEL: @classify(
func.func @classify(%x: i8) -> i1 {
  // CHECK: "llvm.nvvm.e5m2x2.to.f16x2.rn"
  // CHECK: arith.cmpf oeq, %{{.*}}, %{{.*}} : f32
  %0 = arith.bitcast %x : i8 to f8E5M2
  %1 = math.isinf %0 : f8E5M2
  return %1 : i1
}
