//===- eight-bit-host.mlir - 8-bit floats on the host ---------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-opt %s --norm-legalize-math | FileCheck %s

// What the codes mean is tested by running them; here that no type and no
// conversion is left that LLVM doesn't have.
// CHECK-NOT: f8E

// CHECK-LABEL: @extend(
func.func @extend(%x: vector<16xi8>) -> (vector<16xf32>, vector<16xf64>) {
  // CHECK: %[[MAGNITUDE:.*]] = arith.andi
  // CHECK: arith.extf %{{.*}} : vector<16xf16> to vector<16xf32>
  // CHECK: arith.cmpi eq, %[[MAGNITUDE]]
  // CHECK: arith.extf %{{.*}} : vector<16xf32> to vector<16xf64>
  %0 = arith.bitcast %x : vector<16xi8> to vector<16xf8E4M3FN>
  %1 = arith.extf %0 : vector<16xf8E4M3FN> to vector<16xf32>
  %2 = arith.extf %0 : vector<16xf8E4M3FN> to vector<16xf64>
  return %1, %2 : vector<16xf32>, vector<16xf64>
}

// CHECK-LABEL: @round(
func.func @round(%x: vector<16xf32>) -> vector<16xi8> {
  // CHECK: %[[R:.*]] = arith.trunci %{{.*}} : vector<16xi32> to vector<16xi8>
  // CHECK: return %[[R]]
  %0 = arith.truncf %x : vector<16xf32> to vector<16xf8E5M2>
  %1 = arith.bitcast %0 : vector<16xf8E5M2> to vector<16xi8>
  return %1 : vector<16xi8>
}
