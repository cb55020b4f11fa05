//===- eight-bit-old.mlir - GPUs without 8-bit floats ---------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-opt %s --split-input-file --verify-diagnostics --norm-legalize-math=target=sm_80

func.func @result(%x: vector<4xf32>) -> vector<4xi8> {
  // expected-error@+1 {{'f8E4M3FN' result needs sm_89 or newer but target is sm_80}}
  %0 = arith.truncf %x : vector<4xf32> to vector<4xf8E4M3FN>
  %1 = arith.bitcast %0 : vector<4xf8E4M3FN> to vector<4xi8>
  return %1 : vector<4xi8>
}

// -----

func.func @operand(%x: i8) -> f32 {
  %0 = arith.bitcast %x : i8 to f8E5M2
  // expected-error@+1 {{'f8E5M2' operand needs sm_89 or newer but target is sm_80}}
  %1 = arith.extf %0 : f8E5M2 to f32
  return %1 : f32
}
