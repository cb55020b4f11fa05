//===- legalize-math-invalid.mlir - Math that no target has ---------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-opt %s --split-input-file --verify-diagnostics --norm-legalize-math=target=sm_90

func.func @exponential(%x: vector<8xf32>) -> vector<8xf32> {
  // expected-error@+1 {{target sm_90 has no exactly rounded 'math.exp' on 'vector<8xf32>'}}
  %0 = math.exp %x : vector<8xf32>
  return %0 : vector<8xf32>
}

// -----

func.func @reciprocal_root(%x: f64) -> f64 {
  // expected-error@+1 {{target sm_90 has no exactly rounded 'math.rsqrt' on 'f64'}}
  %0 = math.rsqrt %x : f64
  return %0 : f64
}

// -----

func.func @remainder(%x: f32) -> f32 {
  // expected-error@+1 {{target sm_90 has no exactly rounded 'arith.remf' on 'f32'}}
  %0 = arith.remf %x, %x : f32
  return %0 : f32
}

// -----

func.func @wide_integer(%x: i64) -> bf16 {
  // expected-error@+1 {{target sm_90 has no exactly rounded 'arith.uitofp' on 'i64'}}
  %0 = arith.uitofp %x : i64 to bf16
  return %0 : bf16
}
