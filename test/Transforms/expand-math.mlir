//===- expand-math.mlir - Functions as arithmetic -------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-opt %s --norm-expand-math | FileCheck %s

// CHECK-LABEL: func.func @exp_f32
func.func @exp_f32(%x: tensor<4xf32>, %y0: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NOT: math.exp
  // CHECK-DAG: %[[LOWEST:.*]] = arith.constant -1.040000e+02 : f32
  // CHECK-DAG: %[[HIGHEST:.*]] = arith.constant 8.900000e+01 : f32
  // CHECK-DAG: %[[LOG2E:.*]] = arith.constant 1.44269502 : f32
  // CHECK-DAG: %[[LN2:.*]] = arith.constant -0.693147182 : f32
  // CHECK-DAG: %[[LN2LOW:.*]] = arith.constant 1.90465421E-9 : f32
  // CHECK-DAG: %[[ADDEND:.*]] = arith.constant 0x4B4000FE : f32
  // CHECK-DAG: %[[ONE:.*]] = arith.constant 1.000000e+00 : f32
  // CHECK: %[[ABOVE:.*]] = arith.maximumf %[[X:.*]], %[[LOWEST]] : f32
  // CHECK: %[[IN:.*]] = arith.minimumf %[[ABOVE]], %[[HIGHEST]] : f32
  // CHECK: %[[SUM:.*]] = math.fma %[[IN]], %[[LOG2E]], %[[ADDEND]] : f32
  // CHECK: %[[N:.*]] = arith.subf %[[SUM]], %[[ADDEND]] : f32
  // CHECK: %[[R0:.*]] = math.fma %[[N]], %[[LN2]], %[[IN]] : f32
  // CHECK: %[[R:.*]] = math.fma %[[N]], %[[LN2LOW]], %[[R0]] : f32
  // CHECK-COUNT-4: math.fma %{{.*}}, %[[R]], %{{.*}} : f32
  // CHECK: %[[P1:.*]] = math.fma %{{.*}}, %[[R]], %[[ONE]] : f32
  // CHECK: %[[P:.*]] = math.fma %[[P1]], %[[R]], %[[ONE]] : f32
  // CHECK: %[[BITS:.*]] = arith.bitcast %[[SUM]] : f32 to i32
  // CHECK: %[[HALF:.*]] = arith.shrui %[[BITS]]
  // CHECK: %[[REST:.*]] = arith.subi %[[BITS]], %[[HALF]] : i32
  // CHECK: %[[E0:.*]] = arith.shli %[[HALF]]
  // CHECK: %[[S0:.*]] = arith.bitcast %[[E0]] : i32 to f32
  // CHECK: %[[Y0:.*]] = arith.mulf %[[P]], %[[S0]] : f32
  // CHECK: %[[E1:.*]] = arith.shli %[[REST]]
  // CHECK: %[[S1:.*]] = arith.bitcast %[[E1]] : i32 to f32
  // CHECK: %[[Y:.*]] = arith.mulf %[[Y0]], %[[S1]] : f32
  // CHECK: norm.yield %[[Y]] : f32
  %y = norm.generic (col) ins(%a = %x[col] : tensor<4xf32>)
      outs(%o = %y0[col] : tensor<4xf32>) {
    %e = math.exp %a : f32
    norm.yield %e : f32
  }
  return %y : tensor<4xf32>
}

// A value less its maximum needs one bound and one factor only.
// CHECK-LABEL: func.func @exp_below_max
func.func @exp_below_max(%x: tensor<4x8xf32>, %y0: tensor<4x8xf32>)
    -> tensor<4x8xf32> {
  // CHECK-NOT: arith.minimumf
  // CHECK: %[[D:.*]] = arith.subf
  // CHECK: arith.maximumf %[[D]]
  // CHECK-COUNT-1: arith.mulf
  // CHECK-NOT: arith.mulf
  // CHECK: norm.yield
  %y = norm.generic (row, col) ins(%a = %x[row, col] : tensor<4x8xf32>)
      outs(%o = %y0[row, col] : tensor<4x8xf32>) {
    %m, %s = norm.reduce max_expsum %a over [col] : f32
    %d = arith.subf %a, %m : f32
    %e = math.exp %d : f32
    norm.yield %e : f32
  }
  return %y : tensor<4x8xf32>
}

// Not so a value less the maximum of others, or the other way round.
// CHECK-LABEL: func.func @exp_below_other
func.func @exp_below_other(%x: tensor<4x8xf32>, %z: tensor<4x8xf32>,
                           %y0: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // CHECK: arith.minimumf
  // CHECK: arith.minimumf
  %y = norm.generic (row, col)
      ins(%a = %x[row, col] : tensor<4x8xf32>, %b = %z[row, col] : tensor<4x8xf32>)
      outs(%o = %y0[row, col] : tensor<4x8xf32>) {
    %m = norm.reduce max %b over [col] : f32
    %d = arith.subf %a, %m : f32
    %e = math.exp %d : f32
    %f = arith.subf %m, %b : f32
    %g = math.exp %f : f32
    %r = arith.addf %e, %g : f32
    norm.yield %r : f32
  }
  return %y : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @exp_f64
func.func @exp_f64(%x: tensor<4xf64>, %y0: tensor<4xf64>) -> tensor<4xf64> {
  // CHECK-NOT: math.exp
  // CHECK-COUNT-14: math.fma {{.*}} : f64
  // CHECK-NOT: math.fma
  // CHECK: arith.bitcast %{{.*}} : f64 to i64
  // CHECK: norm.yield
  %y = norm.generic (col) ins(%a = %x[col] : tensor<4xf64>)
      outs(%o = %y0[col] : tensor<4xf64>) {
    %e = math.exp %a : f64
    norm.yield %e : f64
  }
  return %y : tensor<4xf64>
}

// Narrow types by way of f32, rounded once.
// CHECK-LABEL: func.func @exp_bf16
func.func @exp_bf16(%x: tensor<4xbf16>, %y0: tensor<4xbf16>) -> tensor<4xbf16> {
  // CHECK: %[[X:.*]] = arith.extf %{{.*}} : bf16 to f32
  // CHECK: arith.maximumf %[[X]], %{{.*}} : f32
  // CHECK: %[[Y:.*]] = arith.truncf %{{.*}} : f32 to bf16
  // CHECK: norm.yield %[[Y]] : bf16
  %y = norm.generic (col) ins(%a = %x[col] : tensor<4xbf16>)
      outs(%o = %y0[col] : tensor<4xbf16>) {
    %e = math.exp %a : bf16
    norm.yield %e : bf16
  }
  return %y : tensor<4xbf16>
}

// CHECK-LABEL: func.func @others
func.func @others(%x: tensor<4xf32>, %y0: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NOT: math.tanh
  // CHECK-NOT: math.erf
  // CHECK-NOT: math.exp
  // CHECK-NOT: math.log
  // CHECK-NOT: math.rsqrt
  // CHECK: norm.yield
  %y = norm.generic (col) ins(%a = %x[col] : tensor<4xf32>)
      outs(%o = %y0[col] : tensor<4xf32>) {
    %0 = math.tanh %a : f32
    %1 = math.erf %0 : f32
    %2 = math.exp2 %1 : f32
    %3 = math.expm1 %2 : f32
    %4 = math.log1p %3 : f32
    %5 = math.log %4 : f32
    %6 = math.rsqrt %5 : f32
    norm.yield %6 : f32
  }
  return %y : tensor<4xf32>
}

// CHECK-LABEL: func.func @others_f64
func.func @others_f64(%x: tensor<4xf64>, %y0: tensor<4xf64>) -> tensor<4xf64> {
  // CHECK-NOT: math.tanh
  // CHECK-NOT: math.exp
  // CHECK-NOT: math.log
  // CHECK: norm.yield
  %y = norm.generic (col) ins(%a = %x[col] : tensor<4xf64>)
      outs(%o = %y0[col] : tensor<4xf64>) {
    %0 = math.tanh %a : f64
    %1 = math.exp2 %0 : f64
    %2 = math.expm1 %1 : f64
    %3 = math.log1p %2 : f64
    %4 = math.log %3 : f64
    norm.yield %4 : f64
  }
  return %y : tensor<4xf64>
}

// CHECK-LABEL: func.func @rsqrt
func.func @rsqrt(%x: tensor<4xf64>, %y0: tensor<4xf64>) -> tensor<4xf64> {
  // CHECK-DAG: %[[ONE:.*]] = arith.constant 1.000000e+00 : f64
  // CHECK-DAG: %[[HALF:.*]] = arith.constant -5.000000e-01 : f64
  // CHECK-DAG: %[[ROOT:.*]] = math.sqrt %[[A:.*]] : f64
  // CHECK: %[[INVERSE:.*]] = arith.divf %[[ONE]], %[[ROOT]] : f64
  // CHECK: %[[NEG:.*]] = arith.negf %[[ROOT]] : f64
  // CHECK: %[[OFF_ROOT:.*]] = math.fma %[[NEG]], %[[ROOT]], %[[A]] : f64
  // CHECK: %[[OFF:.*]] = math.fma %[[NEG]], %[[INVERSE]], %[[ONE]] : f64
  // CHECK: %[[H:.*]] = arith.mulf %[[INVERSE]], %[[HALF]] : f64
  // CHECK: %[[S:.*]] = arith.mulf %[[OFF_ROOT]], %[[H]] : f64
  // CHECK: %[[C:.*]] = math.fma %[[S]], %[[INVERSE]], %[[OFF]] : f64
  // CHECK: %[[REFINED:.*]] = math.fma %[[INVERSE]], %[[C]], %[[INVERSE]] : f64
  // CHECK: %[[IS:.*]] = arith.cmpf ord, %[[C]], %[[C]] : f64
  // CHECK: arith.select %[[IS]], %[[REFINED]], %[[INVERSE]] : f64
  %y = norm.generic (col) ins(%a = %x[col] : tensor<4xf64>)
      outs(%o = %y0[col] : tensor<4xf64>) {
    %e = math.rsqrt %a : f64
    norm.yield %e : f64
  }
  return %y : tensor<4xf64>
}

// What targets round exactly, and what has no good expansion, stays; so does
// everything outside of programs.
// CHECK-LABEL: func.func @left_alone
func.func @left_alone(%x: tensor<4xf32>, %y0: tensor<4xf32>, %s: f32)
    -> (tensor<4xf32>, f32) {
  // CHECK: math.sqrt
  // CHECK: math.absf
  // CHECK: math.sin
  %y = norm.generic (col) ins(%a = %x[col] : tensor<4xf32>)
      outs(%o = %y0[col] : tensor<4xf32>) {
    %0 = math.sqrt %a : f32
    %1 = math.absf %0 : f32
    %2 = math.sin %1 : f32
    norm.yield %2 : f32
  }
  // CHECK: math.exp
  %e = math.exp %s : f32
  return %y, %e : tensor<4xf32>, f32
}
