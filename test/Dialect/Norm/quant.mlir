//===- quant.mlir - Assembly of quantize and dequantize -------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-opt %s | FileCheck %s
// RUN: norm-opt %s | norm-opt | FileCheck %s
// RUN: norm-opt %s --mlir-print-op-generic | norm-opt | FileCheck %s
// RUN: norm-opt %s --emit-bytecode | norm-opt | FileCheck %s

// CHECK-LABEL: func.func @computed
func.func @computed(%x: tensor<?x128xbf16>, %y: tensor<256x128xf32>, %t: tensor<f32>) {
  // CHECK: norm.quantize %{{.*}} group = [1, -1] : tensor<?x128xbf16> -> tensor<?x128xi8>, tensor<?x1xf32>
  %0:2 = norm.quantize %x group = [1, -1] : tensor<?x128xbf16> -> tensor<?x128xi8>, tensor<?x1xf32>
  // CHECK: norm.quantize %{{.*}} tensor_scale(%{{.*}}) group = [1, 16] scale_layout = swizzle_128x4 min_scale = 0.001953125 : tensor<256x128xf32>, tensor<f32> -> tensor<256x128xf4E2M1FN>, tensor<2x2x32x4x4xf8E4M3FN>
  %1:2 = norm.quantize %y tensor_scale(%t) group = [1, 16] scale_layout = swizzle_128x4 min_scale = 0.001953125
    : tensor<256x128xf32>, tensor<f32> -> tensor<256x128xf4E2M1FN>, tensor<2x2x32x4x4xf8E4M3FN>
  // CHECK: norm.quantize %{{.*}} stats(amax) group = [1, 32] scale_layout = packed scale_rounding = ceil saturate = false nan = group {note} : tensor<?x128xbf16> -> tensor<?x128xf8E5M2>, tensor<1x?x4xf8E8M0FNU>, tensor<?x4xf32>
  %2:3 = norm.quantize %x stats(amax) group = [1, 32] scale_layout = packed scale_rounding = ceil saturate = false nan = group {note}
    : tensor<?x128xbf16> -> tensor<?x128xf8E5M2>, tensor<1x?x4xf8E8M0FNU>, tensor<?x4xf32>
  // CHECK: norm.quantize %{{.*}} group = [128, 128] scale_layout = column_major : tensor<256x128xf32> -> tensor<256x128xf8E4M3FN>, tensor<1x2xf32>
  %3:2 = norm.quantize %y group = [128, 128] scale_layout = column_major : tensor<256x128xf32> -> tensor<256x128xf8E4M3FN>, tensor<1x2xf32>
  return
}

// The defaults, given, are not printed.
// CHECK-LABEL: func.func @defaults
func.func @defaults(%x: tensor<?x128xbf16>) {
  // CHECK: norm.quantize %{{.*}} group = [1, 32] : tensor<?x128xbf16>
  %0:2 = norm.quantize %x group = [1, 32] scale_layout = row_major scale_rounding = floor saturate = true nan = element
    : tensor<?x128xbf16> -> tensor<?x128xf8E4M3FN>, tensor<?x4xf8E8M0FNU>
  return
}

// CHECK-LABEL: func.func @given
func.func @given(%x: tensor<?x?xf16>, %s: tensor<f32>, %t: tensor<?x1xf8E8M0FNU>) {
  // CHECK: norm.quantize %{{.*}} scale(%{{.*}}) stats(amax) group = [-1, -1] : tensor<?x?xf16>, tensor<f32> -> tensor<?x?xi8>, tensor<1x1xf32>
  %0:2 = norm.quantize %x scale(%s) stats(amax) group = [-1, -1] : tensor<?x?xf16>, tensor<f32> -> tensor<?x?xi8>, tensor<1x1xf32>
  // CHECK: norm.quantize %{{.*}} scale(%{{.*}}) tensor_scale(%{{.*}}) group = [1, -1] saturate = false : tensor<?x?xf16>, tensor<?x1xf8E8M0FNU>, tensor<f32> -> tensor<?x?xf8E4M3FN>
  %1 = norm.quantize %x scale(%t) tensor_scale(%s) group = [1, -1] saturate = false : tensor<?x?xf16>, tensor<?x1xf8E8M0FNU>, tensor<f32> -> tensor<?x?xf8E4M3FN>
  return
}

// CHECK-LABEL: func.func @dequantize
func.func @dequantize(%q: tensor<?x128xf4E2M1FN>, %s: tensor<8x?xf8E4M3FN>, %t: tensor<f32>) {
  // CHECK: norm.dequantize %{{.*}} scale(%{{.*}}) tensor_scale(%{{.*}}) group = [1, 16] scale_layout = column_major : tensor<?x128xf4E2M1FN>, tensor<8x?xf8E4M3FN>, tensor<f32> -> tensor<?x128xbf16>
  %0 = norm.dequantize %q scale(%s) tensor_scale(%t) group = [1, 16] scale_layout = column_major
    : tensor<?x128xf4E2M1FN>, tensor<8x?xf8E4M3FN>, tensor<f32> -> tensor<?x128xbf16>
  // CHECK: norm.dequantize %{{.*}} scale(%{{.*}}) group = [-1, -1] : tensor<?x128xf4E2M1FN>, tensor<f32> -> tensor<?x128xf64>
  %1 = norm.dequantize %q scale(%t) group = [-1, -1] : tensor<?x128xf4E2M1FN>, tensor<f32> -> tensor<?x128xf64>
  return
}
