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

func.func @unknown_type(%x: f32) -> f32 {
  // expected-error@+1 {{target sm_90 has no 'arith.truncf' on 'f8E4M3'}}
  %0 = arith.truncf %x : f32 to f8E4M3
  %1 = arith.extf %0 : f8E4M3 to f32
  return %1 : f32
}

// -----

func.func @quad(%x: f128) -> f128 {
  // expected-error@+1 {{target sm_90 has no 'arith.addf' on 'f128'}}
  %0 = arith.addf %x, %x : f128
  return %0 : f128
}

// -----

func.func @rounding_mode(%x: f32) -> i8 {
  // expected-error@+1 {{expects rounding to nearest even but got toward_zero}}
  %0 = arith.truncf %x toward_zero : f32 to f8E5M2
  %1 = arith.bitcast %0 : f8E5M2 to i8
  return %1 : i8
}

// -----

// expected-error@+1 {{expects 8-bit floats as i8 but argument 1 is 'f8E5M2'}}
func.func @argument(%x: f32, %y: f8E5M2) -> f32 {
  %0 = arith.extf %y : f8E5M2 to f32
  return %0 : f32
}

// -----

func.func @pairs(%x: vector<1073741824xi8>) -> vector<1073741824xf32> {
  %0 = arith.bitcast %x : vector<1073741824xi8> to vector<1073741824xf8E5M2>
  // expected-error@+1 {{expects at most 1024 elements to convert by pairs but got 'vector<1073741824xf8E5M2>'}}
  %1 = arith.extf %0 : vector<1073741824xf8E5M2> to vector<1073741824xf32>
  return %1 : vector<1073741824xf32>
}

// -----

func.func @matrix(%x: vector<2x4xf32>) -> vector<2x4xi8> {
  // expected-error@+1 {{expects a scalar or a vector of one static dim to convert but got 'vector<2x4xf8E4M3FN>'}}
  %0 = arith.truncf %x : vector<2x4xf32> to vector<2x4xf8E4M3FN>
  %1 = arith.bitcast %0 : vector<2x4xf8E4M3FN> to vector<2x4xi8>
  return %1 : vector<2x4xi8>
}

// -----

func.func @memory(%m: memref<4xf8E4M3FN>, %i: index) -> i8 {
  // expected-error@+1 {{target sm_90 has no 'memref.load' on 8-bit floats}}
  %0 = memref.load %m[%i] : memref<4xf8E4M3FN>
  %1 = arith.bitcast %0 : f8E4M3FN to i8
  return %1 : i8
}

// -----

func.func @approximate_tensor(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{target sm_90 has no exactly rounded 'math.exp2' on 'tensor<4xf32>'}}
  %0 = math.exp2 %x fastmath<afn> : tensor<4xf32>
  return %0 : tensor<4xf32>
}
