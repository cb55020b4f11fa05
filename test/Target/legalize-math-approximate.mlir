//===- legalize-math-approximate.mlir - Approximations --------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-opt %s --norm-legalize-math=target=sm_90 --split-input-file --verify-diagnostics | FileCheck %s --check-prefix=GPU
// RUN: norm-opt %s --norm-legalize-math --split-input-file | FileCheck %s --check-prefix=HOST

// GPU-LABEL: @scalar(
// GPU-SAME: %[[X:[a-z0-9]+]]: f32
// HOST-LABEL: @scalar(
func.func @scalar(%x: f32) -> (f32, f32) {
  // GPU: llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz"(%[[X]]) : (f32) -> f32
  // HOST-NOT: math.exp2
  // HOST: math.fma
  // HOST-NOT: math.exp2
  %0 = math.exp2 %x fastmath<afn> : f32
  // GPU: llvm.call_intrinsic "llvm.nvvm.rcp.approx.ftz.f"(%[[X]]) : (f32) -> f32
  // HOST: arith.divf %{{.*}}, %{{.*}} : f32
  %one = arith.constant 1.0 : f32
  %1 = arith.divf %one, %x fastmath<afn> : f32
  return %0, %1 : f32, f32
}

// GPU-LABEL: @vector(
// HOST-LABEL: @vector(
func.func @vector(%x: vector<2xf32>) -> (vector<2xf32>, vector<2xf32>) {
  // GPU: %[[A:.*]] = vector.extract %{{.*}}[0]
  // GPU: %[[EA:.*]] = llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz"(%[[A]])
  // GPU: %[[B:.*]] = vector.extract %{{.*}}[1]
  // GPU: %[[EB:.*]] = llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz"(%[[B]])
  // GPU: vector.from_elements %[[EA]], %[[EB]] : vector<2xf32>
  // HOST-NOT: math.exp2
  // HOST: math.fma %{{.*}} : vector<2xf32>
  %0 = math.exp2 %x fastmath<afn> : vector<2xf32>
  // GPU-COUNT-2: llvm.call_intrinsic "llvm.nvvm.rcp.approx.ftz.f"
  // HOST: arith.divf %{{.*}}, %{{.*}} : vector<2xf32>
  %one = arith.constant dense<1.0> : vector<2xf32>
  %1 = arith.divf %one, %x fastmath<afn> : vector<2xf32>
  // GPU-COUNT-2: llvm.call_intrinsic "llvm.nvvm.rcp.approx.ftz.f"
  // HOST: arith.divf %{{.*}}, %{{.*}} : vector<2xf32>
  %scalar = arith.constant 1.0 : f32
  %ones = vector.broadcast %scalar : f32 to vector<2xf32>
  %2 = arith.divf %ones, %1 fastmath<afn> : vector<2xf32>
  return %0, %2 : vector<2xf32>, vector<2xf32>
}

// Other flags ask for nothing, and no other division does.
// GPU-LABEL: @exact(
// HOST-LABEL: @exact(
func.func @exact(%x: f32, %d: f64) -> (f32, f32, f64) {
  %one = arith.constant 1.0 : f32
  %two = arith.constant 2.0 : f32
  %wide = arith.constant 1.0 : f64
  // GPU-COUNT-2: arith.divf %{{.*}}, %{{.*}} : f32
  // HOST-COUNT-2: arith.divf %{{.*}}, %{{.*}} : f32
  %0 = arith.divf %one, %x fastmath<fast> : f32
  %1 = arith.divf %two, %x fastmath<afn> : f32
  // GPU: arith.divf %{{.*}}, %{{.*}} : f64
  %2 = arith.divf %wide, %d fastmath<afn> : f64
  return %0, %1, %2 : f32, f32, f64
}

// -----

// HOST-LABEL: @matrix(
func.func @matrix(%x: vector<2x2xf32>) -> vector<2x2xf32> {
  // expected-error@+1 {{expects a scalar or a vector of one static dim of at most 1024 elements to approximate but got 'vector<2x2xf32>'}}
  %0 = math.exp2 %x fastmath<afn> : vector<2x2xf32>
  return %0 : vector<2x2xf32>
}
