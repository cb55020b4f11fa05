//===- outlined.mlir - Kernels of functions that do other work ------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-opt %s --norm-to-gpu-pipeline=target=sm_90 | FileCheck %s --check-prefixes=CHECK,GPU
// RUN: norm-opt %s --norm-to-ptx-pipeline=target=sm_90 | FileCheck %s --check-prefixes=CHECK,PTX
// RUN: norm-opt %s --norm-to-host-pipeline | FileCheck %s --check-prefixes=CHECK,HOST
// RUN: norm-opt %s --norm-to-emulated-pipeline=target=sm_90 | FileCheck %s --check-prefixes=CHECK,HOST

// CHECK-LABEL: func.func @f(
// CHECK-NEXT: %[[A:.*]] = call @f_rms_norm(%{{.*}}) : (tensor<64x128xf32>) -> tensor<64x128xf32>
// CHECK-NEXT: %[[M:.*]] = linalg.matmul ins(%[[A]], %{{.*}}) outs(%{{.*}} : tensor<64x32xf32>) -> tensor<64x32xf32>
// CHECK-NEXT: %[[B:.*]] = call @f_softmax(%[[M]]) : (tensor<64x32xf32>) -> tensor<64x32xf32>
// CHECK-NEXT: return %[[B]] : tensor<64x32xf32>
// CHECK: func.func private @f_rms_norm(tensor<64x128xf32>) -> tensor<64x128xf32>
// CHECK: func.func private @f_softmax(tensor<64x32xf32>) -> tensor<64x32xf32>
// CHECK: module attributes {{{.*}}norm.kernels}
// GPU-DAG: gpu.func @f_rms_norm_0(
// GPU-DAG: gpu.func @f_softmax_0(
// PTX: gpu.binary
// PTX-SAME: .entry f_softmax_0(
// PTX-SAME: .entry f_rms_norm_0(
// HOST-DAG: func.func @f_rms_norm_0(%{{.*}}: !llvm.ptr
// HOST-DAG: func.func @f_softmax_0(%{{.*}}: !llvm.ptr
func.func @f(%x: tensor<64x128xf32>, %w: tensor<128x32xf32>, %i: tensor<64x32xf32>) -> tensor<64x32xf32> {
  %a = norm.rms_norm %x axes = [1] eps = 1.0e-6 : tensor<64x128xf32> -> tensor<64x128xf32>
  %m = linalg.matmul ins(%a, %w : tensor<64x128xf32>, tensor<128x32xf32>) outs(%i : tensor<64x32xf32>) -> tensor<64x32xf32>
  %b = norm.softmax %m axes = [1] : tensor<64x32xf32> -> tensor<64x32xf32>
  return %b : tensor<64x32xf32>
}
