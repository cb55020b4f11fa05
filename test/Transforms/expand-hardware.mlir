//===- expand-hardware.mlir - Functions by approximations -----------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-opt %s --norm-expand-math=math=hardware | FileCheck %s
// RUN: norm-opt %s --norm-expand-math=math=hardware --norm-expand-math=math=hardware | FileCheck %s
// RUN: norm-opt %s --norm-expand-math | FileCheck %s --check-prefix=EXACT
// RUN: norm-opt %s --norm-expand-math=math=exact | FileCheck %s --check-prefix=EXACT
// RUN: not norm-opt %s --norm-expand-math=math=fast 2>&1 | FileCheck %s --check-prefix=WRONG

// EXACT-NOT: fastmath
// EXACT-NOT: math.exp
// WRONG: error: option math expects exact or hardware but got 'fast'

// The exponent is a polynomial of degree 6, plus 24, which the last fma takes
// away: bf16 has numbers that are subnormal in f32. 11 ops.
// CHECK-LABEL: func.func @gelu_bf16
func.func @gelu_bf16(%x: tensor<4xbf16>, %y0: tensor<4xbf16>) -> tensor<4xbf16> {
  // CHECK: %[[DOWN:.*]] = arith.constant 5.96046448E-8 : f32
  // CHECK: %[[X:.*]] = arith.extf %{{.*}} : bf16 to f32
  // CHECK: %[[SIZE:.*]] = math.absf %[[X]] : f32
  // CHECK: %[[MINUS:.*]] = arith.negf %[[SIZE]] : f32
  // CHECK: %[[V:.*]] = arith.maximumf %[[MINUS]], %{{.*}} : f32
  // CHECK-COUNT-6: math.fma %{{.*}}, %[[V]], %{{.*}} : f32
  // CHECK-NOT: math.fma
  // CHECK: %[[E:.*]] = math.exp2 %{{.*}} fastmath<afn> : f32
  // CHECK: %[[POSITIVE:.*]] = arith.maximumf %[[X]], %{{.*}} : f32
  // CHECK: %[[P:.*]] = arith.mulf %[[V]], %[[E]] : f32
  // CHECK: %[[Y:.*]] = math.fma %[[P]], %[[DOWN]], %[[POSITIVE]] : f32
  // CHECK: arith.truncf %[[Y]] : f32 to bf16
  %y = norm.generic (col) ins(%a = %x[col] : tensor<4xbf16>)
      outs(%o = %y0[col] : tensor<4xbf16>) {
    %e = norm.gelu %a : bf16
    norm.yield %e : bf16
  }
  return %y : tensor<4xbf16>
}

// f16 needs neither the 24 nor the degree. 9 ops.
// CHECK-LABEL: func.func @gelu_f16
func.func @gelu_f16(%x: tensor<4xf16>, %y0: tensor<4xf16>) -> tensor<4xf16> {
  // CHECK: %[[V:.*]] = arith.maximumf
  // CHECK-COUNT-5: math.fma %{{.*}}, %[[V]], %{{.*}} : f32
  // CHECK-NOT: math.fma
  // CHECK: %[[E:.*]] = math.exp2 %{{.*}} fastmath<afn> : f32
  // CHECK: arith.maximumf
  // CHECK-NOT: arith.mulf
  // CHECK: math.fma %[[V]], %[[E]], %{{.*}} : f32
  %y = norm.generic (col) ins(%a = %x[col] : tensor<4xf16>)
      outs(%o = %y0[col] : tensor<4xf16>) {
    %e = norm.gelu %a : f16
    norm.yield %e : f16
  }
  return %y : tensor<4xf16>
}

// CHECK-LABEL: func.func @silu_f16
func.func @silu_f16(%x: tensor<4xf16>, %y0: tensor<4xf16>) -> tensor<4xf16> {
  // CHECK: %[[X:.*]] = arith.maximumf
  // CHECK: %[[SCALED:.*]] = arith.mulf %[[X]], %{{.*}} : f32
  // CHECK: %[[E:.*]] = math.exp2 %[[SCALED]] fastmath<afn> : f32
  // CHECK: %[[SUM:.*]] = arith.addf %[[E]], %{{.*}} : f32
  // CHECK: %[[F:.*]] = arith.divf %{{.*}}, %[[SUM]] fastmath<afn> : f32
  // CHECK: arith.mulf %[[X]], %[[F]] : f32
  %y = norm.generic (col) ins(%a = %x[col] : tensor<4xf16>)
      outs(%o = %y0[col] : tensor<4xf16>) {
    %e = norm.silu %a : f16
    norm.yield %e : f16
  }
  return %y : tensor<4xf16>
}

// The root's square reaches subnormal numbers.
// CHECK-LABEL: func.func @exp_bf16
func.func @exp_bf16(%x: tensor<4xbf16>, %y0: tensor<4xbf16>) -> tensor<4xbf16> {
  // CHECK: arith.mulf
  // CHECK: %[[ROOT:.*]] = math.exp2 %{{.*}} fastmath<afn> : f32
  // CHECK-NEXT: arith.mulf %[[ROOT]], %[[ROOT]] : f32
  %y = norm.generic (col) ins(%a = %x[col] : tensor<4xbf16>)
      outs(%o = %y0[col] : tensor<4xbf16>) {
    %e = math.exp %a : bf16
    norm.yield %e : bf16
  }
  return %y : tensor<4xbf16>
}

// CHECK-LABEL: func.func @others_bf16
func.func @others_bf16(%x: tensor<4xbf16>, %y0: tensor<4xbf16>)
    -> tensor<4xbf16> {
  // CHECK-COUNT-3: math.exp2 %{{.*}} fastmath<afn> : f32
  // CHECK-NOT: math.exp2
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

// Other types keep their own functions; a flag that says so is heeded.
// CHECK-LABEL: func.func @f32
func.func @f32(%x: tensor<4xf32>, %y0: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NOT: math.exp
  // CHECK: math.exp2 %{{.*}} fastmath<afn> : f32
  // CHECK-NOT: math.exp
  // CHECK: norm.yield
  %y = norm.generic (col) ins(%a = %x[col] : tensor<4xf32>)
      outs(%o = %y0[col] : tensor<4xf32>) {
    %e = norm.silu %a : f32
    %f = math.exp2 %e fastmath<afn> : f32
    %g = math.exp %f : f32
    norm.yield %g : f32
  }
  return %y : tensor<4xf32>
}

// Only f32 has them.
// CHECK-LABEL: func.func @f64
func.func @f64(%x: tensor<4xf64>, %y0: tensor<4xf64>) -> tensor<4xf64> {
  // CHECK-NOT: math.exp
  // CHECK: norm.yield
  %y = norm.generic (col) ins(%a = %x[col] : tensor<4xf64>)
      outs(%o = %y0[col] : tensor<4xf64>) {
    %f = math.exp2 %a fastmath<afn> : f64
    norm.yield %f : f64
  }
  return %y : tensor<4xf64>
}
