//===- outline.mlir - Programs beside other work --------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-opt %s --allow-unregistered-dialect --split-input-file --norm-generalize --norm-fuse --norm-outline | FileCheck %s

// The fill stays with the product that reads it; norms around it are cut out,
// and what is elementwise goes with them.
// CHECK-LABEL: func.func @product
// CHECK-SAME: (%[[X:[a-z0-9]+]]: tensor<?x64xf32>, %[[R:[a-z0-9]+]]: tensor<?x64xf32>, %[[W:[a-z0-9]+]]: tensor<64x32xf32>
// CHECK: %[[A:.*]]:2 = call @product_add_softmax(%[[X]], %[[R]]) : (tensor<?x64xf32>, tensor<?x64xf32>) -> (tensor<?x64xf32>, tensor<?x64xf32>)
// CHECK: %[[F:.*]] = linalg.fill
// CHECK: %[[M:.*]] = linalg.matmul ins(%[[A]]#0, %[[W]] : tensor<?x64xf32>, tensor<64x32xf32>) outs(%[[F]] : tensor<?x32xf32>)
// CHECK: %[[B:.*]] = call @product_rms_norm(%[[M]], %{{.*}}) : (tensor<?x32xf32>, tensor<32xf32>) -> tensor<?x32xf32>
// CHECK: return %[[B]], %[[A]]#1
// CHECK: func.func private @product_add_softmax(tensor<?x64xf32>, tensor<?x64xf32>) -> (tensor<?x64xf32>, tensor<?x64xf32>)
// CHECK-NEXT: func.func private @product_rms_norm(tensor<?x32xf32>, tensor<32xf32>) -> tensor<?x32xf32>
// CHECK: module attributes {norm.kernels} {
// CHECK: func.func @product_add_softmax(%[[X:.*]]: tensor<?x64xf32>, %{{.*}}: tensor<?x64xf32>) -> (tensor<?x64xf32>, tensor<?x64xf32>)
// CHECK: %[[N:.*]] = tensor.dim %[[X]], %{{.*}}
// CHECK: tensor.empty(%[[N]]) : tensor<?x64xf32>
// CHECK: norm.generic
// CHECK-NOT: norm.generic
// CHECK: func.func @product_rms_norm(
func.func @product(%x: tensor<?x64xf32>, %r: tensor<?x64xf32>, %w: tensor<64x32xf32>, %s: tensor<32xf32>)
    -> (tensor<?x32xf32>, tensor<?x64xf32>) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x64xf32>
  %sum = arith.addf %x, %r : tensor<?x64xf32>
  %a = norm.softmax %sum axes = [1] : tensor<?x64xf32> -> tensor<?x64xf32>
  %e = tensor.empty(%n) : tensor<?x32xf32>
  %z = arith.constant 0.0 : f32
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<?x32xf32>) -> tensor<?x32xf32>
  %m = linalg.matmul ins(%a, %w : tensor<?x64xf32>, tensor<64x32xf32>) outs(%f : tensor<?x32xf32>) -> tensor<?x32xf32>
  %b = norm.rms_norm %m scale(%s) axes = [1] eps = 1.0e-6 : tensor<?x32xf32>, tensor<32xf32> -> tensor<?x32xf32>
  return %b, %sum : tensor<?x32xf32>, tensor<?x64xf32>
}

// -----

// Calls and ops that nobody knows stay; the same program twice is two
// functions; the layout of an argument comes along.
// CHECK: func.func private @other(
// CHECK-LABEL: func.func @calls(
// CHECK: call @calls_softmax(
// CHECK: call @other(
// CHECK: "my.op"
// CHECK: call @calls_softmax_2(
// CHECK-DAG: func.func private @calls_softmax(
// CHECK-DAG: func.func private @calls_softmax_2(
// CHECK: module attributes {norm.kernels}
// CHECK: func.func @calls_softmax(%{{.*}}: tensor<4x8xf32> {norm.layout = strided<[16, 1]>})
// CHECK: func.func @calls_softmax_2(%{{.*}}: tensor<4x8xf32>) -> tensor<4x8xf32>
func.func private @other(tensor<4x8xf32>) -> tensor<4x8xf32>
func.func @calls(%x: tensor<4x8xf32> {norm.layout = strided<[16, 1]>}) -> tensor<4x8xf32> {
  %a = norm.softmax %x axes = [1] : tensor<4x8xf32> -> tensor<4x8xf32>
  %b = call @other(%a) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %c = "my.op"(%b) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %d = norm.softmax %c axes = [1] : tensor<4x8xf32> -> tensor<4x8xf32>
  return %d : tensor<4x8xf32>
}

// -----

// Programs in a loop; scalars are arguments, constants are copied; an extent
// that no operand tells is an argument.
// CHECK-LABEL: func.func @loop
// CHECK: scf.for
// CHECK: call @loop_scaled(%{{.*}}, %{{.*}}) : (tensor<?x8xf32>, f32) -> tensor<?x8xf32>
// CHECK: call @loop_splat(%{{.*}}, %{{.*}}) : (f32, index) -> tensor<?x8xf32>
// CHECK: func.func @loop_scaled(%{{.*}}: tensor<?x8xf32>, %{{.*}}: f32)
// CHECK: arith.constant 2.000000e+00 : f32
// CHECK: func.func @loop_splat(%{{.*}}: f32, %[[N:.*]]: index) -> tensor<?x8xf32>
// CHECK: tensor.empty(%[[N]])
func.func @loop(%x: tensor<?x8xf32>, %s: f32, %n: index) -> (tensor<?x8xf32>, tensor<?x8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %two = arith.constant 2.0 : f32
  %rows = tensor.dim %x, %c0 : tensor<?x8xf32>
  %y = scf.for %i = %c0 to %c4 step %c1 iter_args(%a = %x) -> tensor<?x8xf32> {
    %e = tensor.empty(%rows) : tensor<?x8xf32>
    %b = norm.generic (row, col)
        ins(%v = %a[row, col] : tensor<?x8xf32>, %k = %s[] : f32, %t = %two[] : f32)
        outs(%o = %e[row, col] : tensor<?x8xf32>) attributes {name = "scaled"} {
      %m = norm.reduce max %v over [col] : f32
      %p = arith.mulf %m, %k : f32
      %q = arith.mulf %p, %t : f32
      %r = arith.mulf %v, %q : f32
      norm.yield %r : f32
    }
    scf.yield %b : tensor<?x8xf32>
  }
  %f = tensor.empty(%n) : tensor<?x8xf32>
  %z = norm.generic (row, col) ins(%k = %s[] : f32)
      outs(%o = %f[row, col] : tensor<?x8xf32>) attributes {name = "splat"} {
    norm.yield %k : f32
  }
  return %y, %z : tensor<?x8xf32>, tensor<?x8xf32>
}

// -----

// A result in place of an argument, as far as nobody else reads the argument.
// CHECK-LABEL: func.func @in_place
// CHECK: module attributes {norm.kernels}
// CHECK: func.func @in_place_add_softmax(%{{.*}}: tensor<4x8xf32>, %{{.*}}: tensor<4x8xf32> {norm.in_place = 1 : i64}) -> (tensor<4x8xf32>, tensor<4x8xf32>)
// CHECK: func.func @in_place_absf(%{{.*}}: tensor<4x8xf32>) -> tensor<4x8xf32>
func.func @in_place(%x: tensor<4x8xf32>, %r: tensor<4x8xf32> {norm.in_place = 0},
                    %z: tensor<4x8xf32> {norm.in_place = 2})
    -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
  %s = arith.addf %x, %r : tensor<4x8xf32>
  %a = norm.softmax %s axes = [1] : tensor<4x8xf32> -> tensor<4x8xf32>
  %m = "my.op"(%a, %z) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %b = math.absf %z : tensor<4x8xf32>
  return %s, %m, %b : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// Nothing to cut out: all of it is kernels.
// CHECK-LABEL: func.func @only_programs
// CHECK: norm.generic
// CHECK-NOT: module attributes
func.func @only_programs(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %a = norm.softmax %x axes = [1] : tensor<4x8xf32> -> tensor<4x8xf32>
  return %a : tensor<4x8xf32>
}
