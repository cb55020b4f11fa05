//===- generalize-named.mlir - Named ops as programs ----------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-opt %s --norm-generalize | FileCheck %s

// The whole of a LayerNorm: types of its own for each operand, statistics, one
// rounding per result, one fused multiply-add.
// CHECK-LABEL: func.func @layer_norm
// CHECK-SAME: (%[[X:.*]]: tensor<?x384xbf16>, %[[G:.*]]: tensor<384xf32>, %[[B:.*]]: tensor<384xf16>)
func.func @layer_norm(%x: tensor<?x384xbf16>, %g: tensor<384xf32>,
                      %b: tensor<384xf16>)
    -> (tensor<?x384xbf16>, tensor<?xf32>, tensor<?xf32>) {
  // CHECK: %[[ROWS:.*]] = tensor.dim %[[X]]
  // CHECK: %[[Y0:.*]] = tensor.empty(%[[ROWS]]) : tensor<?x384xbf16>
  // CHECK: %[[M0:.*]] = tensor.empty(%[[ROWS]]) : tensor<?xf32>
  // CHECK: %[[R0:.*]] = tensor.empty(%[[ROWS]]) : tensor<?xf32>
  // CHECK: %[[RESULT:.*]]:3 = norm.generic (row, col)
  // CHECK-NEXT: ins(%[[XE:.*]] = %[[X]][row, col] : tensor<?x384xbf16>, %[[GE:.*]] = %[[G]][col] : tensor<384xf32>, %[[BE:.*]] = %[[B]][col] : tensor<384xf16>)
  // CHECK-NEXT: outs(%{{.*}} = %[[Y0]][row, col] : tensor<?x384xbf16>, %{{.*}} = %[[M0]][row] : tensor<?xf32>, %{{.*}} = %[[R0]][row] : tensor<?xf32>)
  // CHECK-SAME: attributes {name = "layer_norm"}
  // CHECK: %[[XF:.*]] = arith.extf %[[XE]] : bf16 to f32
  // CHECK: %[[N:.*]] = norm.extent col : f32
  // CHECK: %[[SUM:.*]] = norm.reduce add %[[XF]] over [col] : f32
  // CHECK: %[[MEAN:.*]] = arith.divf %[[SUM]], %[[N]] : f32
  // CHECK: %[[CENTRED:.*]] = arith.subf %[[XF]], %[[MEAN]] : f32
  // CHECK: %[[SQUARE:.*]] = arith.mulf %[[CENTRED]], %[[CENTRED]] : f32
  // CHECK: %[[SQUARES:.*]] = norm.reduce add %[[SQUARE]] over [col] : f32
  // CHECK: %[[VAR:.*]] = arith.divf %[[SQUARES]], %[[N]] : f32
  // CHECK: %[[EPS:.*]] = arith.constant 9.99999974E-6 : f32
  // CHECK: %[[VAREPS:.*]] = arith.addf %[[VAR]], %[[EPS]] : f32
  // CHECK: %[[RSTD:.*]] = math.rsqrt %[[VAREPS]] : f32
  // CHECK: %[[NORMED:.*]] = arith.mulf %[[CENTRED]], %[[RSTD]] : f32
  // CHECK: %[[BF:.*]] = arith.extf %[[BE]] : f16 to f32
  // CHECK: %[[YF:.*]] = math.fma %[[NORMED]], %[[GE]], %[[BF]] : f32
  // CHECK: %[[YE:.*]] = arith.truncf %[[YF]] : f32 to bf16
  // CHECK: norm.yield %[[YE]], %[[MEAN]], %[[RSTD]] : bf16, f32, f32
  %y, %mean, %rstd = norm.layer_norm %x scale(%g) bias(%b) stats(mean, rstd)
      axes = [1] eps = 1.0e-5
      : tensor<?x384xbf16>, tensor<384xf32>, tensor<384xf16>
        -> tensor<?x384xbf16>, tensor<?xf32>, tensor<?xf32>
  // CHECK: return %[[RESULT]]#0, %[[RESULT]]#1, %[[RESULT]]#2
  return %y, %mean, %rstd : tensor<?x384xbf16>, tensor<?xf32>, tensor<?xf32>
}

// CHECK-LABEL: func.func @layer_norm_plain
func.func @layer_norm_plain(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // CHECK: %[[RSTD:.*]] = math.rsqrt
  // CHECK-NEXT: %[[NORMED:.*]] = arith.mulf %{{.*}}, %[[RSTD]] : f32
  // CHECK-NEXT: norm.yield %[[NORMED]] : f32
  %y = norm.layer_norm %x axes = [1] eps = 1.0e-5
      : tensor<4x8xf32> -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @layer_norm_bias
func.func @layer_norm_bias(%x: tensor<4x8xf32>, %b: tensor<8xf32>)
    -> tensor<4x8xf32> {
  // CHECK: %[[RSTD:.*]] = math.rsqrt
  // CHECK-NEXT: %[[NORMED:.*]] = arith.mulf %{{.*}}, %[[RSTD]] : f32
  // CHECK-NEXT: %[[Y:.*]] = arith.addf %[[NORMED]], %{{.*}} : f32
  // CHECK-NEXT: norm.yield %[[Y]] : f32
  // CHECK-NOT: math.fma
  %y = norm.layer_norm %x bias(%b) axes = [1] eps = 1.0e-5
      : tensor<4x8xf32>, tensor<8xf32> -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// The offset is added in the type of the arithmetic; the scale alone is no
// fused multiply-add.
// CHECK-LABEL: func.func @rms_norm_offset
func.func @rms_norm_offset(%x: tensor<?x8xf16>, %w: tensor<8xbf16>)
    -> (tensor<?x8xf32>, tensor<?xf32>) {
  // CHECK: norm.generic (row, col)
  // CHECK: outs(%{{.*}} = %{{.*}}[row, col] : tensor<?x8xf32>, %{{.*}} = %{{.*}}[row] : tensor<?xf32>)
  // CHECK-SAME: attributes {name = "rms_norm"}
  // CHECK: %[[X:.*]] = arith.extf %{{.*}} : f16 to f32
  // CHECK: %[[SQUARE:.*]] = arith.mulf %[[X]], %[[X]] : f32
  // CHECK: norm.reduce add %[[SQUARE]] over [col] : f32
  // CHECK: %[[RSTD:.*]] = math.rsqrt
  // CHECK: %[[NORMED:.*]] = arith.mulf %[[X]], %[[RSTD]] : f32
  // CHECK: %[[W:.*]] = arith.extf %{{.*}} : bf16 to f32
  // CHECK: %[[ONE:.*]] = arith.constant 1.000000e+00 : f32
  // CHECK: %[[W1:.*]] = arith.addf %[[W]], %[[ONE]] : f32
  // CHECK: %[[Y:.*]] = arith.mulf %[[NORMED]], %[[W1]] : f32
  // CHECK: norm.yield %[[Y]], %[[RSTD]] : f32, f32
  %y, %rstd = norm.rms_norm %x scale(%w, offset = 1.0) stats(rstd) axes = [1]
      eps = 1.0e-6 : tensor<?x8xf16>, tensor<8xbf16>
      -> tensor<?x8xf32>, tensor<?xf32>
  return %y, %rstd : tensor<?x8xf32>, tensor<?xf32>
}

// One f64 anywhere makes the arithmetic f64.
// CHECK-LABEL: func.func @rms_norm_f64
func.func @rms_norm_f64(%x: tensor<4x8xf32>, %w: tensor<8xf64>)
    -> tensor<4x8xbf16> {
  // CHECK: arith.extf %{{.*}} : f32 to f64
  // CHECK: norm.extent col : f64
  // CHECK: norm.reduce add %{{.*}} over [col] : f64
  // CHECK: arith.constant 9.9999999999999995E-7 : f64
  // CHECK: math.rsqrt %{{.*}} : f64
  // CHECK: arith.truncf %{{.*}} : f64 to bf16
  %y = norm.rms_norm %x scale(%w) axes = [1] eps = 1.0e-6
      : tensor<4x8xf32>, tensor<8xf64> -> tensor<4x8xbf16>
  return %y : tensor<4x8xbf16>
}

// Over several axes, the count is a product of integers, rounded once.
// CHECK-LABEL: func.func @several_axes
func.func @several_axes(%x: tensor<2x?x4x?xf32>, %w: tensor<4x?xf32>)
    -> tensor<2x?x4x?xf32> {
  // CHECK: norm.generic (row, row1, col, col1)
  // CHECK-NEXT: ins(%{{.*}} = %{{.*}}[row, row1, col, col1] : tensor<2x?x4x?xf32>, %{{.*}} = %{{.*}}[col, col1] : tensor<4x?xf32>)
  // CHECK: %[[N0:.*]] = norm.extent col : i64
  // CHECK: %[[N1:.*]] = norm.extent col1 : i64
  // CHECK: %[[N:.*]] = arith.muli %[[N0]], %[[N1]] : i64
  // CHECK: arith.sitofp %[[N]] : i64 to f32
  // CHECK: norm.reduce add %{{.*}} over [col, col1] : f32
  %y = norm.rms_norm %x scale(%w) axes = [2, 3] eps = 1.0e-6
      : tensor<2x?x4x?xf32>, tensor<4x?xf32> -> tensor<2x?x4x?xf32>
  return %y : tensor<2x?x4x?xf32>
}

// CHECK-LABEL: func.func @softmax
func.func @softmax(%x: tensor<?x1000xf16>) -> tensor<?x1000xf16> {
  // CHECK: attributes {name = "softmax"}
  // CHECK: %[[X:.*]] = arith.extf %{{.*}} : f16 to f32
  // CHECK: %[[MAX:.*]] = norm.reduce max %[[X]] over [col] : f32
  // CHECK: %[[BELOW:.*]] = arith.subf %[[X]], %[[MAX]] : f32
  // CHECK: %[[E:.*]] = math.exp %[[BELOW]] : f32
  // CHECK: %[[SUM:.*]] = norm.reduce add %[[E]] over [col] : f32
  // CHECK: %[[ONE:.*]] = arith.constant 1.000000e+00 : f32
  // CHECK: %[[INVERSE:.*]] = arith.divf %[[ONE]], %[[SUM]] : f32
  // CHECK: %[[Y:.*]] = arith.mulf %[[E]], %[[INVERSE]] : f32
  // CHECK: %[[R:.*]] = arith.truncf %[[Y]] : f32 to f16
  // CHECK: norm.yield %[[R]] : f16
  %y = norm.softmax %x axes = [1] : tensor<?x1000xf16> -> tensor<?x1000xf16>
  return %y : tensor<?x1000xf16>
}

// No rows, and rows of nothing.
// CHECK-LABEL: func.func @empty
func.func @empty(%x: tensor<0x8xf32>, %z: tensor<4x0xf32>)
    -> (tensor<0x8xf32>, tensor<4x0xf32>) {
  // CHECK: norm.generic (row, col)
  // CHECK-NEXT: ins(%{{.*}} = %{{.*}}[row, col] : tensor<0x8xf32>)
  %y = norm.softmax %x axes = [1] : tensor<0x8xf32> -> tensor<0x8xf32>
  // CHECK: norm.generic (row, col)
  // CHECK-NEXT: ins(%{{.*}} = %{{.*}}[row, col] : tensor<4x0xf32>)
  %u = norm.layer_norm %z axes = [1] eps = 1.0e-5
      : tensor<4x0xf32> -> tensor<4x0xf32>
  return %y, %u : tensor<0x8xf32>, tensor<4x0xf32>
}

// A dynamic size comes from an operand that has it.
// CHECK-LABEL: func.func @sizes
// CHECK-SAME: (%[[X:.*]]: tensor<?x8xf32>
func.func @sizes(%x: tensor<?x8xf32>) -> (tensor<?x8xf32>, index) {
  // CHECK: %[[ROWS:.*]] = tensor.dim %[[X]]
  // CHECK-NOT: tensor.dim
  %y = norm.softmax %x axes = [1] : tensor<?x8xf32> -> tensor<?x8xf32>
  %z = norm.softmax %y axes = [1] : tensor<?x8xf32> -> tensor<?x8xf32>
  %c0 = arith.constant 0 : index
  %rows = tensor.dim %z, %c0 : tensor<?x8xf32>
  // CHECK: return %{{.*}}, %[[ROWS]]
  return %z, %rows : tensor<?x8xf32>, index
}

// Axes at any position are a matter of names.
// CHECK-LABEL: func.func @any_axes
func.func @any_axes(%x: tensor<?x16x?xbf16>, %g: tensor<16x1xf32>,
                    %b: tensor<?x1x1xf32>)
    -> (tensor<?x16x?xbf16>, tensor<16xf32>) {
  // CHECK: norm.generic (col, row, col1)
  // CHECK-NEXT: ins(%{{.*}} = %{{.*}}[col, row, col1] : tensor<?x16x?xbf16>, %{{.*}} = %{{.*}}[col, 0] : tensor<16x1xf32>, %{{.*}} = %{{.*}}[col, 0, 0] : tensor<?x1x1xf32>)
  // CHECK-NEXT: outs(%{{.*}} = %{{.*}}[col, row, col1] : tensor<?x16x?xbf16>, %{{.*}} = %{{.*}}[row] : tensor<16xf32>)
  // CHECK: norm.reduce add %{{.*}} over [col, col1] : f32
  %y, %m = norm.layer_norm %x scale(%g) bias(%b) stats(mean) axes = [0, 2]
      eps = 1.0e-5 : tensor<?x16x?xbf16>, tensor<16x1xf32>, tensor<?x1x1xf32>
      -> tensor<?x16x?xbf16>, tensor<16xf32>
  return %y, %m : tensor<?x16x?xbf16>, tensor<16xf32>
}

// By head: a scale of more axes than are normalized goes with the last of x.
// CHECK-LABEL: func.func @by_head
func.func @by_head(%x: tensor<?x?x32x128xbf16>, %w: tensor<32x128xbf16>)
    -> tensor<?x?x32x128xbf16> {
  // CHECK: norm.generic (row, row1, row2, col)
  // CHECK-NEXT: ins(%{{.*}} = %{{.*}}[row, row1, row2, col] : tensor<?x?x32x128xbf16>, %{{.*}} = %{{.*}}[row2, col] : tensor<32x128xbf16>)
  %y = norm.rms_norm %x scale(%w) axes = [3] eps = 1.0e-6
      : tensor<?x?x32x128xbf16>, tensor<32x128xbf16> -> tensor<?x?x32x128xbf16>
  return %y : tensor<?x?x32x128xbf16>
}

// The floor is of the norm.
// CHECK-LABEL: func.func @l2_normalize
func.func @l2_normalize(%x: tensor<4x?xf16>) -> tensor<4x?xf16> {
  // CHECK: norm.generic (col, row)
  // CHECK: attributes {name = "l2_normalize"}
  // CHECK: %[[X:.*]] = arith.extf %{{.*}} : f16 to f32
  // CHECK: %[[SQUARE:.*]] = arith.mulf %[[X]], %[[X]] : f32
  // CHECK: %[[SUM:.*]] = norm.reduce add %[[SQUARE]] over [col] : f32
  // CHECK: %[[ROOT:.*]] = math.sqrt %[[SUM]] : f32
  // CHECK: %[[EPS:.*]] = arith.constant 9.99999996E-13 : f32
  // CHECK: %[[DIVISOR:.*]] = arith.maximumf %[[ROOT]], %[[EPS]] : f32
  // CHECK: %[[INVERSE:.*]] = arith.divf %{{.*}}, %[[DIVISOR]] : f32
  // CHECK: arith.mulf %[[X]], %[[INVERSE]] : f32
  %y = norm.l2_normalize %x axes = [0] eps = 1.0e-12
      : tensor<4x?xf16> -> tensor<4x?xf16>
  return %y : tensor<4x?xf16>
}
