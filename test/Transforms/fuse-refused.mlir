//===- fuse-refused.mlir - Programs that stay apart -----------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-opt %s --norm-generalize --norm-fuse=explain --split-input-file --verify-diagnostics=only-expected | FileCheck %s

// CHECK-LABEL: func.func @other_reduction
// CHECK-COUNT-2: norm.generic
func.func @other_reduction(%x: tensor<4x2x8xf32>) -> tensor<4x2x8xf32> {
  %y = norm.softmax %x axes = [2] : tensor<4x2x8xf32> -> tensor<4x2x8xf32>
  // expected-remark@+1 {{not fused with producer 'softmax': the two reduce over different dims}}
  %z = norm.softmax %y axes = [1, 2] : tensor<4x2x8xf32> -> tensor<4x2x8xf32>
  return %z : tensor<4x2x8xf32>
}

// -----

// CHECK-LABEL: func.func @expensive
// CHECK-COUNT-2: norm.generic
func.func @expensive(%x: tensor<4x8xf32>, %w: tensor<8xf32>) -> tensor<4x8xf32> {
  %e = math.exp %w : tensor<8xf32>
  // expected-remark@+1 {{not fused with producer 'exp': it has fewer dims and is too expensive to compute again}}
  %y = norm.rms_norm %x scale(%e) axes = [1] eps = 1.0e-5
      : tensor<4x8xf32>, tensor<8xf32> -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// -----

// CHECK-LABEL: func.func @columns_used_twice
// CHECK-COUNT-2: norm.generic
func.func @columns_used_twice(%x: tensor<4x8xf32>, %w: tensor<8xf32>)
    -> (tensor<4x8xf32>, tensor<8xf32>) {
  %e = arith.addf %w, %w : tensor<8xf32>
  // expected-remark@+1 {{not fused with producer 'add': it has fewer dims and other uses}}
  %y = norm.rms_norm %x scale(%e) axes = [1] eps = 1.0e-5
      : tensor<4x8xf32>, tensor<8xf32> -> tensor<4x8xf32>
  return %y, %e : tensor<4x8xf32>, tensor<8xf32>
}

// -----

// The same dims, but one goes through them row by row and the other column by
// column.
// CHECK-LABEL: func.func @other_order
// CHECK-COUNT-2: norm.generic
func.func @other_order(%x: tensor<2x4x8xf32>, %e: tensor<2x8x4xf32>) -> tensor<2x8x4xf32> {
  %y = norm.softmax %x axes = [1, 2] : tensor<2x4x8xf32> -> tensor<2x4x8xf32>
  %t = linalg.transpose ins(%y : tensor<2x4x8xf32>) outs(%e : tensor<2x8x4xf32>) permutation = [0, 2, 1]
  // expected-remark@+1 {{the two reduce in different orders}}
  %z = norm.softmax %t axes = [1, 2] : tensor<2x8x4xf32> -> tensor<2x8x4xf32>
  return %z : tensor<2x8x4xf32>
}

// -----

// CHECK-LABEL: func.func @two_maps
// CHECK-COUNT-2: norm.generic
func.func @two_maps(%x: tensor<8xf32>, %e: tensor<8x8xf32>, %d: tensor<8xf32>) -> tensor<8x8xf32> {
  %a = norm.generic (i) ins(%v = %x[i] : tensor<8xf32>) outs(%o = %d[i] : tensor<8xf32>) {
    %n = math.absf %v : f32
    norm.yield %n : f32
  }
  // expected-remark@+1 {{not fused with producer '': its results are read through different maps}}
  %t = norm.generic (i, j)
      ins(%p = %a[i] : tensor<8xf32>, %q = %a[j] : tensor<8xf32>)
      outs(%o = %e[i, j] : tensor<8x8xf32>) {
    %s = arith.addf %p, %q : f32
    norm.yield %s : f32
  }
  return %t : tensor<8x8xf32>
}

// -----

// Neither space holds the other: four columns here, eight there.
// CHECK-LABEL: func.func @other_columns
// CHECK-COUNT-2: norm.generic
func.func @other_columns(%x: tensor<4x8xf32>, %z: tensor<4x6xf32>, %r0: tensor<4xf32>) -> tensor<4x6xf32> {
  %m = norm.generic (row, col) ins(%v = %x[row, col] : tensor<4x8xf32>) outs(%o = %r0[row] : tensor<4xf32>) {
    %r = norm.reduce max %v over [col] : f32
    norm.yield %r : f32
  }
  // expected-remark@+1 {{each has a dim that the other lacks}}
  %t = norm.generic (row, col)
      ins(%p = %m[row] : tensor<4xf32>, %q = %z[row, col] : tensor<4x6xf32>)
      outs(%o = %z[row, col] : tensor<4x6xf32>) {
    %s = arith.addf %p, %q : f32
    norm.yield %s : f32
  }
  return %t : tensor<4x6xf32>
}

// -----

// CHECK-LABEL: func.func @reduction_of_statistics
// CHECK-COUNT-2: norm.generic
func.func @reduction_of_statistics(%x: tensor<4x8xf32>, %r0: tensor<4xf32>, %s0: tensor<f32>) -> tensor<f32> {
  %m = norm.generic (row, col) ins(%v = %x[row, col] : tensor<4x8xf32>) outs(%o = %r0[row] : tensor<4xf32>) {
    %r = norm.reduce max %v over [col] : f32
    norm.yield %r : f32
  }
  // expected-remark@+1 {{it has a dim that the reductions here lack}}
  %t = norm.generic (i) ins(%p = %m[i] : tensor<4xf32>) outs(%o = %s0[] : tensor<f32>) {
    %s = norm.reduce max %p over [i] : f32
    norm.yield %s : f32
  }
  return %t : tensor<f32>
}

// -----

// CHECK-LABEL: func.func @used_above
// CHECK-COUNT-2: norm.generic
func.func @used_above(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %a = math.absf %x : tensor<4x8xf32>
  %c = tensor.collapse_shape %a [[0, 1]] : tensor<4x8xf32> into tensor<32xf32>
  %s = tensor.extract_slice %c[0] [4] [8] : tensor<32xf32> to tensor<4xf32>
  // expected-remark@+1 {{not fused with producer 'absf': its result is needed before this op}}
  %y = norm.generic (row, col)
      ins(%p = %a[row, col] : tensor<4x8xf32>, %q = %s[row] : tensor<4xf32>)
      outs(%o = %x[row, col] : tensor<4x8xf32>) {
    %m = arith.mulf %p, %q : f32
    norm.yield %m : f32
  }
  return %y : tensor<4x8xf32>
}

// -----

// CHECK-LABEL: func.func @destination
// CHECK-COUNT-2: norm.generic
func.func @destination(%x: tensor<8xf32>, %e: tensor<8xf32>) -> tensor<8xf32> {
  %a = norm.generic (i) ins(%v = %x[i] : tensor<8xf32>) outs(%o = %e[i] : tensor<8xf32>) attributes {name = "first"} {
    norm.yield %v : f32
  }
  // expected-remark@+1 {{not fused with producer 'first': its result is a destination here}}
  %t = norm.generic (i) ins(%p = %x[i] : tensor<8xf32>) outs(%o = %a[i] : tensor<8xf32>) {
    %s = arith.addf %p, %p : f32
    norm.yield %s : f32
  }
  return %t : tensor<8xf32>
}

// -----

// CHECK-LABEL: func.func @unit_axis
// CHECK-COUNT-2: norm.generic
func.func @unit_axis(%q: tensor<4x1xf32>, %x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %s = norm.softmax %q axes = [1] : tensor<4x1xf32> -> tensor<4x1xf32>
  // expected-remark@+1 {{it computes along the axis of size 1 that is read at 0}}
  %t = norm.generic (row, col)
      ins(%p = %s[row, 0] : tensor<4x1xf32>, %v = %x[row, col] : tensor<4x8xf32>)
      outs(%o = %x[row, col] : tensor<4x8xf32>) {
    %m = arith.mulf %p, %v : f32
    norm.yield %m : f32
  }
  return %t : tensor<4x8xf32>
}

// -----

// CHECK-LABEL: func.func @other_block
// CHECK-COUNT-2: norm.generic
func.func @other_block(%x: tensor<4x8xf32>, %c: i1) -> tensor<4x8xf32> {
  %a = math.absf %x : tensor<4x8xf32>
  %y = scf.if %c -> tensor<4x8xf32> {
    // expected-remark@+1 {{not fused with producer 'absf': it is in another block}}
    %s = norm.softmax %a axes = [1] : tensor<4x8xf32> -> tensor<4x8xf32>
    scf.yield %s : tensor<4x8xf32>
  } else {
    scf.yield %x : tensor<4x8xf32>
  }
  return %y : tensor<4x8xf32>
}

// -----

// CHECK-LABEL: func.func @scheduled
// CHECK-COUNT-2: norm.generic
func.func @scheduled(%x: tensor<8xf32>, %e: tensor<8xf32>) -> tensor<8xf32> {
  %a = norm.generic (i) ins(%v = %x[i] : tensor<8xf32>) outs(%o = %e[i] : tensor<8xf32>)
      attributes {order = #norm.order<leaf = 4, lanes = 1024>} {
    norm.yield %v : f32
  }
  // expected-remark@+1 {{a program with an order or a schedule is final}}
  %t = norm.generic (i) ins(%p = %a[i] : tensor<8xf32>) outs(%o = %e[i] : tensor<8xf32>) {
    norm.yield %p : f32
  }
  return %t : tensor<8xf32>
}

// -----

// As many columns there as rows here: they are not taken for each other where
// that would turn a row into a column.
// CHECK-LABEL: func.func @same_extents
// CHECK-COUNT-2: norm.generic
func.func @same_extents(%x: tensor<4x8xf32>, %z: tensor<8x4xf32>, %r0: tensor<4xf32>) -> tensor<8x4xf32> {
  %m = norm.generic (row, col) ins(%v = %x[row, col] : tensor<4x8xf32>) outs(%o = %r0[row] : tensor<4xf32>) {
    %r = norm.reduce max %v over [col] : f32
    norm.yield %r : f32
  }
  // expected-remark@+1 {{each has a dim that the other lacks}}
  %t = norm.generic (row, col)
      ins(%p = %m[col] : tensor<4xf32>, %q = %z[row, col] : tensor<8x4xf32>)
      outs(%o = %z[row, col] : tensor<8x4xf32>) {
    %s = arith.addf %p, %q : f32
    norm.yield %s : f32
  }
  return %t : tensor<8x4xf32>
}

// -----

// The splat is all that tells how many columns there are.
// CHECK-LABEL: func.func @extents
// CHECK-COUNT-2: norm.generic
func.func @extents(%s: f32) -> tensor<3xf32> {
  %x = tensor.splat %s : tensor<5x3xf32>
  // expected-remark@+1 {{nothing else tells the extents of its result}}
  %y = norm.logsumexp %x axes = [0] : tensor<5x3xf32> -> tensor<3xf32>
  return %y : tensor<3xf32>
}
