//===- expand-activations.mlir - Activations as arithmetic ----------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-opt %s --norm-expand-math | FileCheck %s
// RUN: norm-opt %s --norm-expand-math | FileCheck %s --check-prefix=ALL

// Nothing but exactly rounded arithmetic is left, and no division where the
// type has 16 bits.
// ALL-NOT: norm.{{sigmoid|silu|gelu}}
// ALL-NOT: math.{{exp|tanh|erf}}

// A polynomial of degree 6, squared six times: three squares plus a constant,
// two without, and the last with the product. 15 ops.
// CHECK-LABEL: func.func @gelu_bf16
func.func @gelu_bf16(%x: tensor<4xbf16>, %y0: tensor<4xbf16>) -> tensor<4xbf16> {
  // CHECK: %[[X:.*]] = arith.extf %{{.*}} : bf16 to f32
  // CHECK: %[[SIZE:.*]] = math.absf %[[X]] : f32
  // CHECK: %[[MINUS:.*]] = arith.negf %[[SIZE]] : f32
  // CHECK: %[[V:.*]] = arith.maximumf %[[MINUS]], %{{.*}} : f32
  // CHECK-COUNT-6: math.fma %{{.*}}, %[[V]], %{{.*}} : f32
  // CHECK-COUNT-3: math.fma %[[Q:.*]], %[[Q]], %{{.*}} : f32
  // CHECK-COUNT-2: arith.mulf %[[R:.*]], %[[R]] : f32
  // CHECK: %[[P:.*]] = arith.mulf %[[V]], %[[H:.*]] : f32
  // CHECK: %[[POSITIVE:.*]] = arith.maximumf %[[X]], %{{.*}} : f32
  // CHECK: %[[Y:.*]] = math.fma %[[P]], %[[H]], %[[POSITIVE]] : f32
  // CHECK: arith.truncf %[[Y]] : f32 to bf16
  %y = norm.generic (col) ins(%a = %x[col] : tensor<4xbf16>)
      outs(%o = %y0[col] : tensor<4xbf16>) {
    %e = norm.gelu %a : bf16
    norm.yield %e : bf16
  }
  return %y : tensor<4xbf16>
}

// f16 has a shorter range, and needs less.
// CHECK-LABEL: func.func @gelu_f16
func.func @gelu_f16(%x: tensor<4xf16>, %y0: tensor<4xf16>) -> tensor<4xf16> {
  // CHECK-COUNT-8: math.fma
  // CHECK-NOT: math.fma
  // CHECK: arith.truncf %{{.*}} : f32 to f16
  %y = norm.generic (col) ins(%a = %x[col] : tensor<4xf16>)
      outs(%o = %y0[col] : tensor<4xf16>) {
    %e = norm.gelu %a : f16
    norm.yield %e : f16
  }
  return %y : tensor<4xf16>
}

// The power of two is added to the exponent of a polynomial.
// CHECK-LABEL: func.func @silu_bf16
func.func @silu_bf16(%x: tensor<4xbf16>, %y0: tensor<4xbf16>) -> tensor<4xbf16> {
  // CHECK-NOT: arith.divf
  // CHECK: arith.shli
  // CHECK: arith.addi
  // CHECK-NOT: arith.divf
  // CHECK: arith.truncf %{{.*}} : f32 to bf16
  %y = norm.generic (col) ins(%a = %x[col] : tensor<4xbf16>)
      outs(%o = %y0[col] : tensor<4xbf16>) {
    %e = norm.silu %a : bf16
    norm.yield %e : bf16
  }
  return %y : tensor<4xbf16>
}

// Both forms of the tanh GELU, sigmoid, and tanh, which is a polynomial.
// CHECK-LABEL: func.func @others_bf16
func.func @others_bf16(%x: tensor<4xbf16>, %y0: tensor<4xbf16>)
    -> tensor<4xbf16> {
  // CHECK-NOT: arith.divf
  // CHECK: norm.yield
  %y = norm.generic (col) ins(%a = %x[col] : tensor<4xbf16>)
      outs(%o = %y0[col] : tensor<4xbf16>) {
    %e = norm.gelu %a approximate = tanh : bf16
    %f = norm.sigmoid %e : bf16
    %g = math.tanh %f : bf16
    norm.yield %g : bf16
  }
  return %y : tensor<4xbf16>
}

// The reciprocal of 1 + exp(-|x|) in f32 takes no division, in f64 it is one.
// CHECK-LABEL: func.func @sigmoid_f32
func.func @sigmoid_f32(%x: tensor<4xf32>, %y0: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NOT: arith.divf
  // CHECK: arith.cmpf olt, %[[X:.*]], %{{.*}} : f32
  // CHECK-NOT: arith.divf
  // CHECK: norm.yield
  %y = norm.generic (col) ins(%a = %x[col] : tensor<4xf32>)
      outs(%o = %y0[col] : tensor<4xf32>) {
    %e = norm.sigmoid %a : f32
    norm.yield %e : f32
  }
  return %y : tensor<4xf32>
}

// CHECK-LABEL: func.func @silu_f64
func.func @silu_f64(%x: tensor<4xf64>, %y0: tensor<4xf64>) -> tensor<4xf64> {
  // CHECK: arith.divf %{{.*}}, %{{.*}} : f64
  // CHECK: norm.yield
  %y = norm.generic (col) ins(%a = %x[col] : tensor<4xf64>)
      outs(%o = %y0[col] : tensor<4xf64>) {
    %e = norm.silu %a : f64
    norm.yield %e : f64
  }
  return %y : tensor<4xf64>
}

// 8-bit floats by way of f32, rounded once.
// CHECK-LABEL: func.func @gelu_f8
func.func @gelu_f8(%x: tensor<4xf8E4M3FN>, %y0: tensor<4xf8E4M3FN>)
    -> tensor<4xf8E4M3FN> {
  // CHECK: arith.extf %{{.*}} : f8E4M3FN to f32
  // CHECK-NOT: arith.truncf
  // CHECK: arith.truncf %{{.*}} : f32 to f8E4M3FN
  // CHECK-NEXT: norm.yield
  %y = norm.generic (col) ins(%a = %x[col] : tensor<4xf8E4M3FN>)
      outs(%o = %y0[col] : tensor<4xf8E4M3FN>) {
    %e = norm.gelu %a approximate = tanh : f8E4M3FN
    norm.yield %e : f8E4M3FN
  }
  return %y : tensor<4xf8E4M3FN>
}
