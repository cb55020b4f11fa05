//===- in-place.mlir - Results in the memory of arguments -----------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-opt %s --norm-generalize --norm-fuse --norm-schedule=target=sm_90 --norm-results-to-destinations --norm-bufferize --norm-tile | FileCheck %s

// The residual is an output whose previous content is read. It is stored in the
// last phase, when nothing reads it any more.
// CHECK: norm_tile.kernel @add_norm_0(%[[X:.*]]: memref<?x64xbf16, {{.*}}>, %[[Y:.*]]: memref<?x64xbf16, {{.*}}>, %[[R:.*]]: memref<?x64xbf16, {{.*}}>)
// CHECK: norm_tile.phase reduce [add]
// CHECK-DAG: norm_tile.load %[[X]]
// CHECK-DAG: norm_tile.load %[[R]]
// CHECK-NOT: norm_tile.store
// CHECK: norm_tile.exchange_wait
// CHECK: norm_tile.store %{{.*}}, %[[Y]]
// CHECK: norm_tile.store %{{.*}}, %[[R]]
// CHECK: func.func @add_norm(%[[X:[a-z0-9]+]]: memref<?x64xbf16, strided<[?, 1]>>, %[[R:[a-z0-9]+]]: memref<?x64xbf16, strided<[?, 1]>>, %[[Y:[a-z0-9]+]]: memref<?x64xbf16, strided<[?, 1]>>)
// CHECK: norm_tile.launch @add_norm_0(%[[X]], %[[Y]], %[[R]])
func.func @add_norm(%x: tensor<?x64xbf16>, %res: tensor<?x64xbf16> {norm.in_place = 1})
    -> (tensor<?x64xbf16>, tensor<?x64xbf16>) {
  %s = arith.addf %x, %res : tensor<?x64xbf16>
  %y = norm.rms_norm %s axes = [1] eps = 1.0e-6 : tensor<?x64xbf16> -> tensor<?x64xbf16>
  return %y, %s : tensor<?x64xbf16>, tensor<?x64xbf16>
}

// Reshaped alike on the way in and out; read by an earlier kernel as well.
// CHECK: func.func @groups(%[[X:[a-z0-9]+]]: memref<2x64x7xf32>, %[[M:[a-z0-9]+]]: memref<64xf32>)
// CHECK-DAG: %[[E:.*]] = memref.expand_shape %[[X]]
// CHECK-DAG: norm_tile.launch @groups_{{[0_]+}}(%[[X]], %[[M]])
// CHECK-DAG: norm_tile.launch @groups_{{[0_]+}}(%[[E]])
// CHECK-NOT: memref.alloc
func.func @groups(%x: tensor<2x64x7xf32> {norm.in_place = 0}) -> (tensor<2x64x7xf32>, tensor<64xf32>) {
  %m0 = tensor.empty() : tensor<64xf32>
  %m = norm.generic (n, c, p) ins(%a = %x[n, c, p] : tensor<2x64x7xf32>)
      outs(%o = %m0[c] : tensor<64xf32>) {
    %r = norm.reduce max %a over [n, p] : f32
    norm.yield %r : f32
  }
  %xe = tensor.expand_shape %x [[0], [1, 2], [3]] output_shape [2, 4, 16, 7] : tensor<2x64x7xf32> into tensor<2x4x16x7xf32>
  %y = norm.softmax %xe axes = [2, 3] : tensor<2x4x16x7xf32> -> tensor<2x4x16x7xf32>
  %yc = tensor.collapse_shape %y [[0], [1, 2], [3]] : tensor<2x4x16x7xf32> into tensor<2x64x7xf32>
  return %yc, %m : tensor<2x64x7xf32>, tensor<64xf32>
}

// Two results of one program in place of two of its inputs.
// CHECK: func.func @both(%[[X:[a-z0-9]+]]: memref<8x64xf32, {{.*}}>, %[[R:[a-z0-9]+]]: memref<8x64xf32, {{.*}}>, %[[W:[a-z0-9]+]]: memref<64xf32>)
// CHECK: norm_tile.launch @both_{{[0_]+}}(%[[W]], %[[X]], %[[R]])
func.func @both(%x: tensor<8x64xf32> {norm.in_place = 0}, %r: tensor<8x64xf32> {norm.in_place = 1}, %w: tensor<64xf32>)
    -> (tensor<8x64xf32>, tensor<8x64xf32>) {
  %s = arith.addf %x, %r : tensor<8x64xf32>
  %y = norm.rms_norm %s scale(%w) axes = [1] eps = 1.0e-6 : tensor<8x64xf32>, tensor<64xf32> -> tensor<8x64xf32>
  return %y, %s : tensor<8x64xf32>, tensor<8x64xf32>
}
