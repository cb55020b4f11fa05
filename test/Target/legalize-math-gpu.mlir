//===- legalize-math-gpu.mlir - Math on a GPU -----------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-opt %s --norm-legalize-math=target=sm_90 | FileCheck %s

// CHECK-LABEL: @intrinsics(
// CHECK-SAME: %[[X:[a-z0-9]+]]: vector<8xf32>, %[[Y:[a-z0-9]+]]: vector<8xf32>, %[[D:[a-z0-9]+]]: f64
func.func @intrinsics(%x: vector<8xf32>, %y: vector<8xf32>, %d: f64) {
  // CHECK: llvm.call_intrinsic "llvm.fma"(%[[X]], %[[Y]], %[[X]]) : (vector<8xf32>, vector<8xf32>, vector<8xf32>) -> vector<8xf32>
  %0 = math.fma %x, %y, %x : vector<8xf32>
  // CHECK: llvm.call_intrinsic "llvm.fma"(%[[Y]], %[[Y]], %[[X]])
  %1 = vector.fma %y, %y, %x : vector<8xf32>
  // CHECK: llvm.call_intrinsic "llvm.sqrt"(%[[X]])
  %2 = math.sqrt %x : vector<8xf32>
  // CHECK: llvm.call_intrinsic "llvm.sqrt"(%[[D]]) : (f64) -> f64
  %3 = math.sqrt %d : f64
  // CHECK: llvm.call_intrinsic "llvm.fabs"
  %4 = math.absf %x : vector<8xf32>
  // CHECK: llvm.call_intrinsic "llvm.floor"
  %5 = math.floor %x : vector<8xf32>
  // CHECK: llvm.call_intrinsic "llvm.ceil"
  %6 = math.ceil %x : vector<8xf32>
  // CHECK: llvm.call_intrinsic "llvm.round"(
  %7 = math.round %x : vector<8xf32>
  // CHECK: llvm.call_intrinsic "llvm.roundeven"
  %8 = math.roundeven %x : vector<8xf32>
  // CHECK: llvm.call_intrinsic "llvm.trunc"
  %9 = math.trunc %x : vector<8xf32>
  // CHECK: llvm.call_intrinsic "llvm.copysign"(%[[X]], %[[Y]])
  %10 = math.copysign %x, %y : vector<8xf32>
  // CHECK: llvm.call_intrinsic "llvm.maxnum"(%[[X]], %[[Y]])
  %11 = arith.maxnumf %x, %y : vector<8xf32>
  // CHECK: llvm.call_intrinsic "llvm.minnum"(%[[X]], %[[Y]])
  %12 = arith.minnumf %x, %y : vector<8xf32>
  return
}

// CHECK-LABEL: @integers(
func.func @integers(%x: vector<4xi32>) -> vector<4xi32> {
  // CHECK: %[[NO:.*]] = arith.constant false
  // CHECK: llvm.call_intrinsic "llvm.abs"(%{{.*}}, %[[NO]]) : (vector<4xi32>, i1) -> vector<4xi32>
  %0 = math.absi %x : vector<4xi32>
  return %0 : vector<4xi32>
}

// Small floats go through f32, in one rounding.
// CHECK-LABEL: @small(
// CHECK-SAME: %[[X:[a-z0-9]+]]: vector<8xbf16>
func.func @small(%x: vector<8xbf16>) -> vector<8xbf16> {
  // CHECK: %[[F:.*]] = arith.extf %[[X]] : vector<8xbf16> to vector<8xf32>
  // CHECK: %[[S:.*]] = llvm.call_intrinsic "llvm.sqrt"(%[[F]]) : (vector<8xf32>) -> vector<8xf32>
  // CHECK: arith.truncf %[[S]] : vector<8xf32> to vector<8xbf16>
  %0 = math.sqrt %x : vector<8xbf16>
  return %0 : vector<8xbf16>
}

// CHECK-LABEL: @classes(
// CHECK-SAME: %[[X:[a-z0-9]+]]: f32
func.func @classes(%x: f32) -> (i1, i1, i1) {
  // CHECK: arith.cmpf uno, %[[X]], %[[X]]
  %0 = math.isnan %x : f32
  // CHECK: arith.cmpf oeq, %[[X]], %{{.*}}
  // CHECK: arith.cmpf oeq, %[[X]], %{{.*}}
  // CHECK: arith.ori
  %1 = math.isinf %x : f32
  // CHECK: arith.cmpf one, %[[X]], %{{.*}}
  // CHECK: arith.cmpf one, %[[X]], %{{.*}}
  // CHECK: arith.andi
  %2 = math.isfinite %x : f32
  return %0, %1, %2 : i1, i1, i1
}

// What the bits depend on isn't left to a flag.
// CHECK-LABEL: @flags(
func.func @flags(%x: f32, %y: f32) -> f32 {
  // CHECK: arith.mulf %{{.*}}, %{{.*}} : f32
  %0 = arith.mulf %x, %y fastmath<contract> : f32
  // CHECK: arith.addf %{{.*}}, %{{.*}} : f32
  %1 = arith.addf %0, %y fastmath<fast> : f32
  // CHECK: llvm.call_intrinsic "llvm.sqrt"(%{{.*}}) : (f32) -> f32
  %2 = math.sqrt %1 fastmath<afn> : f32
  return %2 : f32
}

// An integer reaches bf16 in one rounding.
// CHECK-LABEL: @from_integers(
func.func @from_integers(%i: i32, %s: i16) -> (bf16, f16) {
  // CHECK: %[[D:.*]] = arith.sitofp %{{.*}} : i32 to f64
  // CHECK: arith.truncf %[[D]] : f64 to bf16
  %0 = arith.sitofp %i : i32 to bf16
  // CHECK: %[[F:.*]] = arith.uitofp %{{.*}} : i16 to f32
  // CHECK: arith.truncf %[[F]] : f32 to f16
  %1 = arith.uitofp %s : i16 to f16
  return %0, %1 : bf16, f16
}

// A pair of bf16 is extended by a shift and a mask.
// CHECK-LABEL: func.func @pairs
func.func @pairs(%x: vector<4xbf16>) -> vector<4xf32> {
  // CHECK: %[[WORDS:.*]] = vector.bitcast %{{.*}} : vector<4xbf16> to vector<2xi32>
  // CHECK: %[[SIXTEEN:.*]] = arith.constant dense<16> : vector<2xi32>
  // CHECK: %[[LOW:.*]] = arith.shli %[[WORDS]], %[[SIXTEEN]]
  // CHECK: %[[MASK:.*]] = arith.constant dense<-65536> : vector<2xi32>
  // CHECK: %[[HIGH:.*]] = arith.andi %[[WORDS]], %[[MASK]]
  // CHECK: %[[A:.*]] = arith.bitcast %[[LOW]] : vector<2xi32> to vector<2xf32>
  // CHECK: %[[B:.*]] = arith.bitcast %[[HIGH]] : vector<2xi32> to vector<2xf32>
  // CHECK: vector.shuffle %[[A]], %[[B]] [0, 2, 1, 3]
  %y = arith.extf %x : vector<4xbf16> to vector<4xf32>
  return %y : vector<4xf32>
}

// What has no pairs, or goes elsewhere, is left to LLVM.
// CHECK-LABEL: func.func @no_pairs
func.func @no_pairs(%x: bf16, %y: vector<3xbf16>, %z: vector<4xf16>,
                    %w: vector<4xbf16>)
    -> (f32, vector<3xf32>, vector<4xf32>, vector<4xf64>) {
  // CHECK-COUNT-4: arith.extf
  %a = arith.extf %x : bf16 to f32
  %b = arith.extf %y : vector<3xbf16> to vector<3xf32>
  %c = arith.extf %z : vector<4xf16> to vector<4xf32>
  %d = arith.extf %w : vector<4xbf16> to vector<4xf64>
  return %a, %b, %c, %d : f32, vector<3xf32>, vector<4xf32>, vector<4xf64>
}
