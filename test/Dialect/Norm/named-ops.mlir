//===- named-ops.mlir - Assembly of the named ops -------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-opt %s | FileCheck %s
// RUN: norm-opt %s | norm-opt | FileCheck %s
// RUN: norm-opt %s --mlir-print-op-generic | norm-opt | FileCheck %s
// RUN: norm-opt %s --emit-bytecode | norm-opt | FileCheck %s

// Custom assembly, generic assembly and bytecode hold the same. For what
// layer_norm and rms_norm have always had, see ops.mlir.

// Any axes; operands that broadcast to the normalized ones or to all.
// CHECK-LABEL: func.func @any_axes
func.func @any_axes(%x: tensor<?x4x8x16xbf16>, %g: tensor<?x1x16xf32>,
                    %h: tensor<8x16xf32>, %b: tensor<4x1x1xf16>) {
  // CHECK: norm.layer_norm %{{.*}} scale(%{{.*}}) bias(%{{.*}}) stats(mean, rstd) axes = [0, 2, 3] eps = 1.000000e-05 : tensor<?x4x8x16xbf16>, tensor<?x1x16xf32>, tensor<4x1x1xf16> -> tensor<?x4x8x16xbf16>, tensor<4xf32>, tensor<4xf32>
  %0:3 = norm.layer_norm %x scale(%g) bias(%b) stats(mean, rstd)
           axes = [0, 2, 3] eps = 1.0e-5
           : tensor<?x4x8x16xbf16>, tensor<?x1x16xf32>, tensor<4x1x1xf16>
           -> tensor<?x4x8x16xbf16>, tensor<4xf32>, tensor<4xf32>
  // CHECK: norm.rms_norm %{{.*}} scale(%{{.*}}, offset = 1.000000e+00) axes = [3] eps = 9.9999999999999995E-7 : tensor<?x4x8x16xbf16>, tensor<8x16xf32> -> tensor<?x4x8x16xf8E4M3FN>
  %1 = norm.rms_norm %x scale(%h, offset = 1.0) axes = [3] eps = 1.0e-6
           : tensor<?x4x8x16xbf16>, tensor<8x16xf32>
           -> tensor<?x4x8x16xf8E4M3FN>
  // CHECK: norm.l2_normalize %{{.*}} axes = [1] eps = 9.9999999999999998E-13 {note} : tensor<?x4x8x16xbf16> -> tensor<?x4x8x16xf64>
  %2 = norm.l2_normalize %x axes = [1] eps = 1.0e-12 {note}
           : tensor<?x4x8x16xbf16> -> tensor<?x4x8x16xf64>
  return
}

// CHECK-LABEL: func.func @softmax
func.func @softmax(%x: tensor<?x8x?x?xf16>, %s: f32, %m: tensor<?x?xbf16>,
                   %n: tensor<?xi32>, %k: tensor<?x8xi64>) {
  // CHECK: norm.softmax %{{.*}} axes = [1, 3] scale = 1.250000e-01 : tensor<?x8x?x?xf16> -> tensor<?x8x?x?xf16>
  %0 = norm.softmax %x axes = [1, 3] scale = 0.125
         : tensor<?x8x?x?xf16> -> tensor<?x8x?x?xf16>
  // CHECK: norm.softmax %{{.*}} scale(%{{.*}}) mask(%{{.*}}) lengths(%{{.*}}) stats(logsumexp) axes = [3] causal : tensor<?x8x?x?xf16>, f32, tensor<?x?xbf16>, tensor<?xi32> -> tensor<?x8x?x?xf16>, tensor<?x8x?xf32>
  %1:2 = norm.softmax %x scale(%s) mask(%m) lengths(%n) stats(logsumexp)
         axes = [3] causal
         : tensor<?x8x?x?xf16>, f32, tensor<?x?xbf16>, tensor<?xi32>
         -> tensor<?x8x?x?xf16>, tensor<?x8x?xf32>
  // CHECK: norm.softmax %{{.*}} lengths(%{{.*}}) axes = [3] causal = lower_right diagonal = -1 : tensor<?x8x?x?xf16>, tensor<?x8xi64> -> tensor<?x8x?x?xf32>
  %2 = norm.softmax %x lengths(%k) axes = [3] causal = lower_right
         diagonal = -1 : tensor<?x8x?x?xf16>, tensor<?x8xi64>
         -> tensor<?x8x?x?xf32>
  // The corner that is none said.
  // CHECK: norm.softmax %{{.*}} axes = [3] causal : tensor<?x8x?x?xf16> -> tensor<?x8x?x?xf32>
  %3 = norm.softmax %x axes = [3] causal = upper_left diagonal = 0
         : tensor<?x8x?x?xf16> -> tensor<?x8x?x?xf32>
  // CHECK: norm.log_softmax %{{.*}} axes = [1] : tensor<?x8x?x?xf16> -> tensor<?x8x?x?xf32>
  %4 = norm.log_softmax %x axes = [1]
         : tensor<?x8x?x?xf16> -> tensor<?x8x?x?xf32>
  // CHECK: norm.logsumexp %{{.*}} axes = [0, 1, 2, 3] : tensor<?x8x?x?xf16> -> tensor<f32>
  %5 = norm.logsumexp %x axes = [0, 1, 2, 3]
         : tensor<?x8x?x?xf16> -> tensor<f32>
  return
}

// CHECK-LABEL: func.func @channels
func.func @channels(%x: tensor<?x32x?x32xf16>, %g: tensor<32xf32>,
                    %b: tensor<32xbf16>) {
  // CHECK: norm.group_norm %{{.*}} scale(%{{.*}}, offset = 1.000000e+00) bias(%{{.*}}) stats(mean, rstd) groups = 4 channel_axis = 3 eps = 1.000000e-05 : tensor<?x32x?x32xf16>, tensor<32xf32>, tensor<32xbf16> -> tensor<?x32x?x32xf16>, tensor<?x4xf32>, tensor<?x4xf32>
  %0:3 = norm.group_norm %x scale(%g, offset = 1.0) bias(%b) stats(mean, rstd)
           groups = 4 channel_axis = 3 eps = 1.0e-5
           : tensor<?x32x?x32xf16>, tensor<32xf32>, tensor<32xbf16>
           -> tensor<?x32x?x32xf16>, tensor<?x4xf32>, tensor<?x4xf32>
  // CHECK: norm.group_norm %{{.*}} groups = 32 channel_axis = 1 eps = 0.000000e+00 : tensor<?x32x?x32xf16> -> tensor<?x32x?x32xf32>
  %1 = norm.group_norm %x groups = 32 channel_axis = 1 eps = 0.0
           : tensor<?x32x?x32xf16> -> tensor<?x32x?x32xf32>
  // CHECK: norm.instance_norm %{{.*}} bias(%{{.*}}) stats(rstd) channel_axis = 1 eps = 1.000000e-05 : tensor<?x32x?x32xf16>, tensor<32xbf16> -> tensor<?x32x?x32xf16>, tensor<?x32xf32>
  %2:2 = norm.instance_norm %x bias(%b) stats(rstd) channel_axis = 1
           eps = 1.0e-5 : tensor<?x32x?x32xf16>, tensor<32xbf16>
           -> tensor<?x32x?x32xf16>, tensor<?x32xf32>
  // CHECK: norm.batch_norm %{{.*}} scale(%{{.*}}) bias(%{{.*}}) running(%{{.*}}, %{{.*}}) channel_axis = 3 eps = 1.000000e-05 : tensor<?x32x?x32xf16>, tensor<32xf32>, tensor<32xbf16>, tensor<32xf32>, tensor<32xf32> -> tensor<?x32x?x32xf16>
  %3 = norm.batch_norm %x scale(%g) bias(%b) running(%g, %g) channel_axis = 3
           eps = 1.0e-5 : tensor<?x32x?x32xf16>, tensor<32xf32>,
             tensor<32xbf16>, tensor<32xf32>, tensor<32xf32>
           -> tensor<?x32x?x32xf16>
  // CHECK: norm.batch_norm %{{.*}} running(%{{.*}}, %{{.*}}) stats(mean, rstd) channel_axis = 1 eps = 1.000000e-05 training momentum = 1.000000e-01 : tensor<?x32x?x32xf16>, tensor<32xf32>, tensor<32xbf16> -> tensor<?x32x?x32xf16>, tensor<32xf32>, tensor<32xbf16>, tensor<32xf32>, tensor<32xf32>
  %4:5 = norm.batch_norm %x running(%g, %b) stats(mean, rstd) channel_axis = 1
           eps = 1.0e-5 training momentum = 0.1
           : tensor<?x32x?x32xf16>, tensor<32xf32>, tensor<32xbf16>
           -> tensor<?x32x?x32xf16>, tensor<32xf32>, tensor<32xbf16>,
              tensor<32xf32>, tensor<32xf32>
  // CHECK: norm.batch_norm %{{.*}} channel_axis = 0 eps = 1.000000e-05 training : tensor<?x32x?x32xf16> -> tensor<?x32x?x32xf16>
  %5 = norm.batch_norm %x channel_axis = 0 eps = 1.0e-5 training
           : tensor<?x32x?x32xf16> -> tensor<?x32x?x32xf16>
  return
}
