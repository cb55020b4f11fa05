//===- to-gpu.mlir - From tensors to gpu.func -----------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-opt %s --norm-to-gpu-pipeline=target=sm_90 | FileCheck %s
// RUN: norm-opt %s --norm-to-gpu-pipeline="target=sm_90 schedule=threads=256" | FileCheck %s --check-prefix=OVERRIDE

// CHECK: gpu.module @kernels
// CHECK: gpu.func @main_0(
// CHECK-SAME: kernel attributes {known_block_size
// CHECK-NOT: norm.generic
// CHECK-NOT: norm_tile.kernel
// The launches stay, in the function, on buffers.
// CHECK: func.func @main(%[[X:[a-z0-9]+]]: memref<?x4096xbf16, strided<[?, 1]>>, %[[W:[a-z0-9]+]]: memref<4096xbf16>, %[[Y:[a-z0-9]+]]: memref<?x4096xbf16, strided<[?, 1]>>)
// CHECK: norm_tile.launch @main_0(%[[X]], %[[W]], %[[Y]])
// CHECK-SAME: variants = [#norm_tile.variant<symbol = "main_0", alignment = 16

// OVERRIDE: known_block_size = array<i32: 256, 1, 1>
// OVERRIDE: #norm.schedule<threads = 256
func.func @main(%x: tensor<?x4096xbf16>, %w: tensor<4096xbf16>) -> tensor<?x4096xbf16> {
  %y = norm.rms_norm %x scale(%w) axes = [1] eps = 1.0e-6
      : tensor<?x4096xbf16>, tensor<4096xbf16> -> tensor<?x4096xbf16>
  return %y : tensor<?x4096xbf16>
}
