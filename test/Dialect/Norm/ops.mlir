//===- ops.mlir - Assembly of the norm dialect ----------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-opt %s | FileCheck %s
// RUN: norm-opt %s | norm-opt | FileCheck %s
// RUN: norm-opt %s --mlir-print-op-generic | norm-opt | FileCheck %s
// RUN: norm-opt %s --emit-bytecode | norm-opt | FileCheck %s

// Custom assembly, generic assembly and bytecode hold the same.

// CHECK-LABEL: func.func @layer_norm
func.func @layer_norm(%x: tensor<?x4x8xbf16>, %g: tensor<8xf32>,
                      %b: tensor<8xf16>, %g2: tensor<4x8xf32>) {
  // CHECK: norm.layer_norm %{{.*}} axes = [2] eps = 1.000000e-05 : tensor<?x4x8xbf16> -> tensor<?x4x8xbf16>
  %0 = norm.layer_norm %x axes = [2] eps = 1.0e-5
         : tensor<?x4x8xbf16> -> tensor<?x4x8xbf16>
  // CHECK: norm.layer_norm %{{.*}} scale(%{{.*}}) bias(%{{.*}}) stats(mean, rstd) axes = [2] eps = 9.9999999999999998E-13 : tensor<?x4x8xbf16>, tensor<8xf32>, tensor<8xf16> -> tensor<?x4x8xf32>, tensor<?x4xf32>, tensor<?x4xf32>
  %1:3 = norm.layer_norm %x scale(%g) bias(%b) stats(mean, rstd) axes = [2]
           eps = 1.0e-12 : tensor<?x4x8xbf16>, tensor<8xf32>, tensor<8xf16>
           -> tensor<?x4x8xf32>, tensor<?x4xf32>, tensor<?x4xf32>
  // CHECK: norm.layer_norm %{{.*}} scale(%{{.*}}, offset = 1.000000e+00) stats(rstd) axes = [1, 2] eps = 0.000000e+00 {note = 1 : i32} : tensor<?x4x8xbf16>, tensor<4x8xf32> -> tensor<?x4x8xbf16>, tensor<?xf32>
  %2:2 = norm.layer_norm %x scale(%g2, offset = 1.0) stats(rstd) axes = [1, 2]
           eps = 0.0 {note = 1 : i32} : tensor<?x4x8xbf16>, tensor<4x8xf32>
           -> tensor<?x4x8xbf16>, tensor<?xf32>
  // CHECK: norm.layer_norm %{{.*}} bias(%{{.*}}) stats(mean) axes = [2]
  %3:2 = norm.layer_norm %x bias(%b) stats(mean) axes = [2] eps = 1.0e-5
           : tensor<?x4x8xbf16>, tensor<8xf16>
           -> tensor<?x4x8xbf16>, tensor<?x4xf32>
  return
}

// CHECK-LABEL: func.func @rms_norm
func.func @rms_norm(%x: tensor<?x8xf64>, %w: tensor<8xf32>) {
  // CHECK: norm.rms_norm %{{.*}} axes = [1] eps = 1.000000e-05 : tensor<?x8xf64> -> tensor<?x8xf64>
  %0 = norm.rms_norm %x axes = [1] eps = 1.0e-5
         : tensor<?x8xf64> -> tensor<?x8xf64>
  // CHECK: norm.rms_norm %{{.*}} scale(%{{.*}}, offset = -5.000000e-01) stats(rstd) axes = [0, 1] eps = 1.000000e-05 : tensor<?x8xf64>, tensor<?x8xf64> -> tensor<?x8xf64>, tensor<f64>
  %1:2 = norm.rms_norm %x scale(%x, offset = -0.5) stats(rstd) axes = [0, 1]
           eps = 1.0e-5 : tensor<?x8xf64>, tensor<?x8xf64>
           -> tensor<?x8xf64>, tensor<f64>
  // CHECK: norm.rms_norm %{{.*}} scale(%{{.*}}) axes = [1]
  %2 = norm.rms_norm %x scale(%w) axes = [1] eps = 1.0e-5
         : tensor<?x8xf64>, tensor<8xf32> -> tensor<?x8xf16>
  return
}

// CHECK-LABEL: func.func @softmax
func.func @softmax(%x: tensor<?x0xf16>) -> tensor<?x0xf32> {
  // CHECK: norm.softmax %{{.*}} axes = [1] : tensor<?x0xf16> -> tensor<?x0xf32>
  %0 = norm.softmax %x axes = [1] : tensor<?x0xf16> -> tensor<?x0xf32>
  return %0 : tensor<?x0xf32>
}

// CHECK-LABEL: func.func @program_on_tensors
func.func @program_on_tensors(%x: tensor<?x8xbf16>, %w: tensor<1x8xf32>,
                              %s: f32, %n: i32, %y0: tensor<?x8xbf16>,
                              %r0: tensor<?xf32>) -> (tensor<?x8xbf16>, tensor<?xf32>) {
  // CHECK: norm.generic (row, col)
  // CHECK-NEXT: ins(%[[A:.*]] = %{{.*}}[row, col] : tensor<?x8xbf16>, %[[G:.*]] = %{{.*}}[0, col] : tensor<1x8xf32>, %{{.*}} = %{{.*}} : f32, %{{.*}} = %{{.*}} : i32)
  // CHECK-NEXT: outs(%{{.*}} = %{{.*}}[row, col] : tensor<?x8xbf16>, %[[OLD:.*]] = %{{.*}}[row] : tensor<?xf32>)
  // CHECK-SAME: attributes {name = "example", order = #norm.order<leaf = 8, lanes = 1024>, schedule = #norm.schedule<threads = 128
  %0:2 = norm.generic (row, col)
      ins(%a = %x[row, col] : tensor<?x8xbf16>, %g = %w[0, col] : tensor<1x8xf32>,
          %t = %s : f32, %i = %n : i32)
      outs(%o = %y0[row, col] : tensor<?x8xbf16>, %old = %r0[row] : tensor<?xf32>)
      attributes {name = "example", order = #norm.order<leaf = 8, lanes = 1024>,
                  schedule = #norm.schedule<threads = 128>} {
    // CHECK: %[[F:.*]] = arith.extf %[[A]] : bf16 to f32
    %f = arith.extf %a : bf16 to f32
    // CHECK: norm.reduce add %[[F]] over [col] : f32
    %sum = norm.reduce add %f over [col] : f32
    // CHECK: %[[WELFORD:.*]]:2 = norm.reduce welford %[[F]] over [col] : f32
    %mean, %m2 = norm.reduce welford %f over [col] : f32
    // CHECK: norm.reduce max_expsum %[[F]] over [row, col] : f32
    %max, %es = norm.reduce max_expsum %f over [row, col] : f32
    // CHECK: norm.extent col : f32
    %count = norm.extent col : f32
    // CHECK: norm.index row : index
    %j = norm.index row : index
    %k = norm.index col : i64
    %p = arith.mulf %g, %t : f32
    %q = arith.truncf %p : f32 to bf16
    %r = arith.addf %mean, %old : f32
    // CHECK: norm.yield %{{.*}}, %{{.*}} : bf16, f32
    norm.yield %q, %r : bf16, f32
  }
  return %0#0, %0#1 : tensor<?x8xbf16>, tensor<?xf32>
}

// CHECK-LABEL: func.func @random
func.func @random(%x: tensor<2x3x4xi32>, %seed: i64, %offset: i64)
    -> tensor<2x3x4xi32> {
  %0 = norm.generic (a, b, c) ins(%s = %seed : i64, %t = %offset : i64)
      outs(%o = %x[a, b, c] : tensor<2x3x4xi32>) {
    // CHECK: norm.random %[[S:.*]], %[[T:.*]] at [a, b, c] : i32
    %0 = norm.random %s, %t at [a, b, c] : i32
    // CHECK: norm.random %[[S]], %[[T]] at [c, (a, b)] {note} : i32
    %1 = norm.random %s, %t at [c, (a, b)] {note} : i32
    // CHECK: norm.random %[[S]], %[[T]] at [(a, b, c)] : i32
    %2 = norm.random %s, %t at [(a, b, c)] : i32
    // CHECK: norm.random %[[S]], %[[T]] at [a] : i32
    %3 = norm.random %s, %t at [(a)] : i32
    norm.yield %0 : i32
  }
  return %0 : tensor<2x3x4xi32>
}

// CHECK-LABEL: func.func @kinds
func.func @kinds(%x: tensor<4xf32>, %k: tensor<4xi32>, %y: tensor<4xf32>)
    -> tensor<4xf32> {
  %0 = norm.generic (col)
      ins(%a = %x[col] : tensor<4xf32>, %i = %k[col] : tensor<4xi32>)
      outs(%o = %y[col] : tensor<4xf32>) {
    // CHECK: norm.reduce mul %{{.*}} over [col] : f32
    %0 = norm.reduce mul %a over [col] : f32
    // CHECK: norm.reduce max %{{.*}} over [col] : f32
    %1 = norm.reduce max %a over [col] : f32
    // CHECK: norm.reduce min %{{.*}} over [col] : i32
    %2 = norm.reduce min %i over [col] : i32
    // CHECK: norm.reduce maxnum %{{.*}} over [col] : f32
    %3 = norm.reduce maxnum %a over [col] : f32
    // CHECK: norm.reduce minnum %{{.*}} over [col] {note} : f32
    %4 = norm.reduce minnum %a over [col] {note} : f32
    norm.yield %0 : f32
  }
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: func.func @program_on_memrefs
func.func @program_on_memrefs(%x: memref<?x8xf32, strided<[?, 1]>>,
                              %y: memref<?x8xf32>) {
  // CHECK: norm.generic (row, col)
  // CHECK-NEXT: ins(%{{.*}} = %{{.*}}[row, col] : memref<?x8xf32, strided<[?, 1]>>)
  // CHECK-NEXT: outs(%{{.*}} = %{{.*}}[row, col] : memref<?x8xf32>) {
  norm.generic (row, col)
      ins(%a = %x[row, col] : memref<?x8xf32, strided<[?, 1]>>)
      outs(%o = %y[row, col] : memref<?x8xf32>) {
    norm.yield %a : f32
  }
  return
}

// A space without dims, and a program without inputs.
// CHECK-LABEL: func.func @scalar_program
func.func @scalar_program(%y: tensor<f32>) -> tensor<f32> {
  // CHECK: norm.generic ()
  // CHECK-NEXT: outs(%{{.*}} = %{{.*}}[] : tensor<f32>) {
  %0 = norm.generic () outs(%o = %y[] : tensor<f32>) {
    %c = arith.constant 1.0 : f32
    norm.yield %c : f32
  }
  return %0 : tensor<f32>
}

// CHECK-LABEL: func.func private @attributes
// CHECK-SAME: #norm.order<leaf = 4, lanes = 1024>
// CHECK-SAME: #norm.schedule<threads = 512, rows_per_cta = 2, residency = stream, prefetch = false
// CHECK-SAME: max_registers = 64>
func.func private @attributes() attributes {
  a = #norm.order<leaf = 4, lanes = 1024>,
  b = #norm.schedule<threads = 512, rows_per_cta = 2, residency = stream,
                     prefetch = false, max_registers = 64>}
