//===- fuse-reshapes.mlir - Programs with reshapes between become one -----===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-opt %s --norm-generalize --norm-fuse=explain --split-input-file --verify-diagnostics=only-expected | FileCheck %s

// A group norm of channels first, a sum before and SiLU after. The sum is a
// result as well; channels and groups are views of the arguments and results.
// CHECK-LABEL: func.func @channels_first
// CHECK-SAME: (%[[X:.*]]: tensor<?x64x7x9xf16>, %[[R:.*]]: tensor<?x64x7x9xf16>, %[[W:.*]]: tensor<64xf16>)
// CHECK-NOT: norm.generic
// CHECK-DAG: %[[XE:.*]] = tensor.expand_shape %[[X]] {{\[}}[0], [1, 2], [3], [4]] output_shape [%{{.*}}, 4, 16, 7, 9]
// CHECK-DAG: %[[RE:.*]] = tensor.expand_shape %[[R]] {{\[}}[0], [1, 2], [3], [4]] output_shape [%{{.*}}, 4, 16, 7, 9]
// CHECK-DAG: %[[WE:.*]] = tensor.expand_shape %[[W]] {{\[}}[0, 1]] output_shape [4, 16]
// CHECK: %[[F:.*]]:2 = norm.generic (row, row1, col, col1, col2)
// CHECK-NEXT: ins(%[[WA:.*]] = %[[WE]][row1, col] : tensor<4x16xf16>, %[[XA:.*]] = %[[XE]][row, row1, col, col1, col2] : tensor<?x4x16x7x9xf16>, %[[RA:.*]] = %[[RE]][row, row1, col, col1, col2] : tensor<?x4x16x7x9xf16>)
// CHECK-NEXT: outs(%{{.*}} = %{{.*}}[row, row1, col, col1, col2] : tensor<?x4x16x7x9xf16>, %{{.*}} = %{{.*}}[row, row1, col, col1, col2] : tensor<?x4x16x7x9xf16>)
// CHECK-DAG: %[[SUM:.*]] = arith.addf %[[XA]], %[[RA]] : f16
// CHECK-DAG: arith.addf %[[WA]], %{{.*}} : f16
// CHECK: norm.reduce add %{{.*}} over [col, col1, col2] : f32
// CHECK: math.exp
// CHECK: norm.yield %{{.*}}, %[[SUM]] : f16, f16
// CHECK-DAG: %[[S:.*]] = tensor.collapse_shape %[[F]]#1 {{\[}}[0], [1, 2], [3], [4]]
// CHECK-DAG: %[[Y:.*]] = tensor.collapse_shape %[[F]]#0 {{\[}}[0], [1, 2], [3], [4]]
// CHECK-NOT: tensor.{{.*}}_shape
// CHECK: return %[[Y]], %[[S]]
func.func @channels_first(%x: tensor<?x64x7x9xf16>, %r: tensor<?x64x7x9xf16>,
                          %w: tensor<64xf16>)
    -> (tensor<?x64x7x9xf16>, tensor<?x64x7x9xf16>) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x64x7x9xf16>
  %s = arith.addf %x, %r : tensor<?x64x7x9xf16>
  %one = arith.constant dense<1.0> : tensor<64xf16>
  %w1 = arith.addf %w, %one : tensor<64xf16>
  %xe = tensor.expand_shape %s [[0], [1, 2], [3], [4]] output_shape [%n, 4, 16, 7, 9] : tensor<?x64x7x9xf16> into tensor<?x4x16x7x9xf16>
  %we = tensor.expand_shape %w1 [[0, 1]] output_shape [4, 16] : tensor<64xf16> into tensor<4x16xf16>
  %e = tensor.empty(%n) : tensor<?x4x16x7x9xf16>
  %y = norm.generic (row, row1, col, col1, col2)
      ins(%xa = %xe[row, row1, col, col1, col2] : tensor<?x4x16x7x9xf16>,
          %wa = %we[row1, col] : tensor<4x16xf16>)
      outs(%o = %e[row, row1, col, col1, col2] : tensor<?x4x16x7x9xf16>) {
    %f = arith.extf %xa : f16 to f32
    %sum = norm.reduce add %f over [col, col1, col2] : f32
    %c = arith.subf %f, %sum : f32
    %wf = arith.extf %wa : f16 to f32
    %z = arith.mulf %c, %wf : f32
    %t = arith.truncf %z : f32 to f16
    norm.yield %t : f16
  }
  %yc = tensor.collapse_shape %y [[0], [1, 2], [3], [4]] : tensor<?x4x16x7x9xf16> into tensor<?x64x7x9xf16>
  %yf = arith.extf %yc : tensor<?x64x7x9xf16> to tensor<?x64x7x9xf32>
  %neg = arith.negf %yf : tensor<?x64x7x9xf32>
  %ex = math.exp %neg : tensor<?x64x7x9xf32>
  %onef = arith.constant 1.0 : f32
  %ones = tensor.splat %onef[%n] : tensor<?x64x7x9xf32>
  %den = arith.addf %ex, %ones : tensor<?x64x7x9xf32>
  %q = arith.divf %yf, %den : tensor<?x64x7x9xf32>
  %qt = arith.truncf %q : tensor<?x64x7x9xf32> to tensor<?x64x7x9xf16>
  return %qt, %s : tensor<?x64x7x9xf16>, tensor<?x64x7x9xf16>
}

// -----

#all = affine_map<(n, h, w, c) -> (n, h, w, c)>
#channel = affine_map<(n, h, w, c) -> (c)>

// Channels last, dynamic extents. What has the channels only is split as well,
// and a position among them is made of the group's and that within.
// CHECK-LABEL: func.func @channels_last
// CHECK-SAME: (%[[X:.*]]: tensor<2x?x?x64xf32>, %[[S:.*]]: tensor<64xf32>)
// CHECK: %[[SE:.*]] = tensor.expand_shape %[[S]] {{\[}}[0, 1]] output_shape [4, 16]
// CHECK: norm.generic (row, col, col1, row1, col2)
// CHECK-NEXT: ins(%{{.*}} = %{{.*}}[row, col, col1, row1, col2] : tensor<2x?x?x4x16xf32>, %[[SA:.*]] = %[[SE]][row1, col2] : tensor<4x16xf32>)
// CHECK: %[[G:.*]] = norm.index row1 : index
// CHECK: %[[N:.*]] = norm.extent col2 : index
// CHECK: %[[GN:.*]] = arith.muli %[[G]], %[[N]] : index
// CHECK: %[[C:.*]] = norm.index col2 : index
// CHECK: arith.addi %[[GN]], %[[C]] : index
// CHECK: arith.mulf %{{.*}}, %[[SA]] : f32
// CHECK-NOT: norm.generic
func.func @channels_last(%x: tensor<2x?x?x64xf32>, %s: tensor<64xf32>) -> tensor<2x?x?x64xf32> {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %h = tensor.dim %x, %c1 : tensor<2x?x?x64xf32>
  %w = tensor.dim %x, %c2 : tensor<2x?x?x64xf32>
  %xe = tensor.expand_shape %x [[0], [1], [2], [3, 4]] output_shape [2, %h, %w, 4, 16] : tensor<2x?x?x64xf32> into tensor<2x?x?x4x16xf32>
  %e = tensor.empty(%h, %w) : tensor<2x?x?x4x16xf32>
  %y = norm.generic (row, col, col1, row1, col2)
      ins(%a = %xe[row, col, col1, row1, col2] : tensor<2x?x?x4x16xf32>)
      outs(%o = %e[row, col, col1, row1, col2] : tensor<2x?x?x4x16xf32>) {
    %sum = norm.reduce add %a over [col, col1, col2] : f32
    %c = arith.subf %a, %sum : f32
    norm.yield %c : f32
  }
  %yc = tensor.collapse_shape %y [[0], [1], [2], [3, 4]] : tensor<2x?x?x4x16xf32> into tensor<2x?x?x64xf32>
  %d = tensor.empty(%h, %w) : tensor<2x?x?x64xf32>
  %z = linalg.generic {indexing_maps = [#all, #channel, #all],
                       iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%yc, %s : tensor<2x?x?x64xf32>, tensor<64xf32>)
      outs(%d : tensor<2x?x?x64xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %i = linalg.index 3 : index
    %j = arith.index_cast %i : index to i32
    %f = arith.sitofp %j : i32 to f32
    %m = arith.mulf %a, %b : f32
    %n = arith.addf %m, %f : f32
    linalg.yield %n : f32
  } -> tensor<2x?x?x64xf32>
  return %z : tensor<2x?x?x64xf32>
}

// -----

// A group norm written as a layer norm of flat groups: the reduction is split
// back, and counts what it did before.
// CHECK-LABEL: func.func @flat_groups
// CHECK: norm.generic (row, row1, col, col1, col2)
// CHECK: arith.addf
// CHECK: %[[C0:.*]] = norm.extent col : i64
// CHECK: %[[C1:.*]] = norm.extent col1 : i64
// CHECK: %[[C01:.*]] = arith.muli %[[C0]], %[[C1]] : i64
// CHECK: %[[C2:.*]] = norm.extent col2 : i64
// CHECK: %[[C:.*]] = arith.muli %[[C01]], %[[C2]] : i64
// CHECK: arith.sitofp %[[C]] : i64 to f32
// CHECK: norm.reduce add %{{.*}} over [col, col1, col2] : f32
// CHECK: math.absf
// CHECK-NOT: norm.generic
func.func @flat_groups(%x: tensor<2x64x7x9xf32>, %r: tensor<2x64x7x9xf32>) -> tensor<2x64x7x9xf32> {
  %s = arith.addf %x, %r : tensor<2x64x7x9xf32>
  %e = tensor.expand_shape %s [[0], [1, 2], [3], [4]] output_shape [2, 4, 16, 7, 9] : tensor<2x64x7x9xf32> into tensor<2x4x16x7x9xf32>
  %f = tensor.collapse_shape %e [[0], [1], [2, 3, 4]] : tensor<2x4x16x7x9xf32> into tensor<2x4x1008xf32>
  %y = norm.layer_norm %f axes = [2] eps = 1.0e-5 : tensor<2x4x1008xf32> -> tensor<2x4x1008xf32>
  %g = tensor.expand_shape %y [[0], [1], [2, 3, 4]] output_shape [2, 4, 16, 7, 9] : tensor<2x4x1008xf32> into tensor<2x4x16x7x9xf32>
  %h = tensor.collapse_shape %g [[0], [1, 2], [3], [4]] : tensor<2x4x16x7x9xf32> into tensor<2x64x7x9xf32>
  %z = math.absf %h : tensor<2x64x7x9xf32>
  return %z : tensor<2x64x7x9xf32>
}

// -----

// Two dynamic extents made one and two again.
// CHECK-LABEL: func.func @dynamic
// CHECK: norm.generic (row, row1, col, col1)
// CHECK-NEXT: ins(%{{.*}} = %{{.*}}[row, row1, col, col1] : tensor<?x64x?x?xf32>)
// CHECK-NEXT: outs(%{{.*}} = %{{.*}}[row, row1, col, col1] : tensor<?x64x?x?xf32>) attributes {name = "absf_softmax_neg"
// CHECK-NOT: norm.generic
// CHECK-NOT: tensor.{{.*}}_shape
func.func @dynamic(%x: tensor<?x64x?x?xf32>) -> tensor<?x64x?x?xf32> {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %n = tensor.dim %x, %c0 : tensor<?x64x?x?xf32>
  %h = tensor.dim %x, %c2 : tensor<?x64x?x?xf32>
  %w = tensor.dim %x, %c3 : tensor<?x64x?x?xf32>
  %s = math.absf %x : tensor<?x64x?x?xf32>
  %f = tensor.collapse_shape %s [[0], [1], [2, 3]] : tensor<?x64x?x?xf32> into tensor<?x64x?xf32>
  %y = norm.softmax %f axes = [2] : tensor<?x64x?xf32> -> tensor<?x64x?xf32>
  %g = tensor.expand_shape %y [[0], [1], [2, 3]] output_shape [%n, 64, %h, %w] : tensor<?x64x?xf32> into tensor<?x64x?x?xf32>
  %z = arith.negf %g : tensor<?x64x?x?xf32>
  return %z : tensor<?x64x?x?xf32>
}

// -----

// Heads of a row, each normalized by itself.
// CHECK-LABEL: func.func @heads
// CHECK: norm.generic (row, row1, row2, col)
// CHECK: norm.reduce add %{{.*}} over [col] : f32
// CHECK-NOT: norm.generic
func.func @heads(%x: tensor<?x?x512xbf16>, %w: tensor<64xbf16>) -> tensor<?x?x512xbf16> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %b = tensor.dim %x, %c0 : tensor<?x?x512xbf16>
  %t = tensor.dim %x, %c1 : tensor<?x?x512xbf16>
  %xa = arith.addf %x, %x : tensor<?x?x512xbf16>
  %xe = tensor.expand_shape %xa [[0], [1], [2, 3]] output_shape [%b, %t, 8, 64] : tensor<?x?x512xbf16> into tensor<?x?x8x64xbf16>
  %y = norm.rms_norm %xe scale(%w) axes = [3] eps = 1.0e-5 : tensor<?x?x8x64xbf16>, tensor<64xbf16> -> tensor<?x?x8x64xbf16>
  %yc = tensor.collapse_shape %y [[0], [1], [2, 3]] : tensor<?x?x8x64xbf16> into tensor<?x?x512xbf16>
  %z = arith.negf %yc : tensor<?x?x512xbf16>
  return %z : tensor<?x?x512xbf16>
}

// -----

#mat = affine_map<(d0, d1) -> (d0, d1)>
#unit = affine_map<(d0, d1) -> (d0, 0)>

// An axis of size 1 that is added to a statistic is read at 0: nothing is split.
// CHECK-LABEL: func.func @unit_axis
// CHECK-SAME: (%[[X:.*]]: tensor<?x8xf32>)
// CHECK: norm.generic (row, col)
// CHECK-NEXT: ins(%[[A:.*]] = %[[X]][row, col] : tensor<?x8xf32>)
// CHECK: %[[M:.*]] = norm.reduce max
// CHECK: arith.mulf %[[A]], %[[M]] : f32
// CHECK-NOT: norm.generic
// CHECK-NOT: tensor.{{.*}}_shape
func.func @unit_axis(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x8xf32>
  %m0 = tensor.empty(%n) : tensor<?xf32>
  %m = norm.generic (row, col) ins(%a = %x[row, col] : tensor<?x8xf32>)
      outs(%o = %m0[row] : tensor<?xf32>) {
    %r = norm.reduce max %a over [col] : f32
    norm.yield %r : f32
  }
  %k = tensor.expand_shape %m [[0, 1]] output_shape [%n, 1] : tensor<?xf32> into tensor<?x1xf32>
  %e = tensor.empty(%n) : tensor<?x8xf32>
  %z = linalg.generic {indexing_maps = [#mat, #unit, #mat],
                       iterator_types = ["parallel", "parallel"]}
      ins(%x, %k : tensor<?x8xf32>, tensor<?x1xf32>) outs(%e : tensor<?x8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<?x8xf32>
  return %z : tensor<?x8xf32>
}

// -----

// A batch of one is a dim like others.
// CHECK-LABEL: func.func @batch_of_one
// CHECK: norm.generic (row, row1, col, col1)
// CHECK-NEXT: ins(%{{.*}} = %{{.*}}[row, row1, col, col1] : tensor<1x4x16x7xf32>)
// CHECK-NEXT: outs(%{{.*}} = %{{.*}}[row, row1, col, col1] : tensor<1x4x16x7xf32>)
// CHECK-NOT: norm.generic
func.func @batch_of_one(%x: tensor<1x64x7xf32>) -> tensor<1x64x7xf32> {
  %xe = tensor.expand_shape %x [[0], [1, 2], [3]] output_shape [1, 4, 16, 7] : tensor<1x64x7xf32> into tensor<1x4x16x7xf32>
  %y = norm.softmax %xe axes = [2, 3] : tensor<1x4x16x7xf32> -> tensor<1x4x16x7xf32>
  %yc = tensor.collapse_shape %y [[0], [1, 2], [3]] : tensor<1x4x16x7xf32> into tensor<1x64x7xf32>
  %z = math.absf %yc : tensor<1x64x7xf32>
  return %z : tensor<1x64x7xf32>
}

// -----

// What else uses the sum, as it is or reshaped, gets it from the fused program.
// CHECK-LABEL: func.func @shared
// CHECK: %[[F:.*]]:2 = norm.generic (row, col, col1)
// CHECK: norm.yield %{{.*}}, %{{.*}} : f32, f32
// CHECK-DAG: %[[S:.*]] = tensor.collapse_shape %[[F]]#1 {{\[}}[0, 1], [2]] : tensor<4x16x7xf32> into tensor<64x7xf32>
// CHECK-DAG: %[[L:.*]] = tensor.collapse_shape %[[S]] {{\[}}[0, 1]] : tensor<64x7xf32> into tensor<448xf32>
// CHECK-DAG: %[[Y:.*]] = tensor.collapse_shape %[[F]]#0 {{\[}}[0, 1], [2]] : tensor<4x16x7xf32> into tensor<64x7xf32>
// CHECK: return %[[Y]], %[[F]]#1, %[[L]], %[[S]]
func.func @shared(%x: tensor<64x7xf32>, %r: tensor<64x7xf32>)
    -> (tensor<64x7xf32>, tensor<4x16x7xf32>, tensor<448xf32>, tensor<64x7xf32>) {
  %s = arith.addf %x, %r : tensor<64x7xf32>
  %e = tensor.expand_shape %s [[0, 1], [2]] output_shape [4, 16, 7] : tensor<64x7xf32> into tensor<4x16x7xf32>
  %flat = tensor.collapse_shape %s [[0, 1]] : tensor<64x7xf32> into tensor<448xf32>
  %y = norm.softmax %e axes = [1, 2] : tensor<4x16x7xf32> -> tensor<4x16x7xf32>
  %c = tensor.collapse_shape %y [[0, 1], [2]] : tensor<4x16x7xf32> into tensor<64x7xf32>
  %z = math.absf %c : tensor<64x7xf32>
  return %z, %e, %flat, %s : tensor<64x7xf32>, tensor<4x16x7xf32>, tensor<448xf32>, tensor<64x7xf32>
}

// -----

// Groups of 16 rows, then of 8: no dims hold both. Both programs and what is
// between them stay as they were.
// CHECK-LABEL: func.func @other_groups
// CHECK: norm.generic (row, col, col1)
// CHECK-NEXT: ins(%{{.*}} : tensor<4x16x7xf32>)
// CHECK: tensor.collapse_shape
// CHECK: tensor.expand_shape
// CHECK-NOT: tensor.{{.*}}_shape
// CHECK: norm.generic (row, col, col1)
// CHECK-NEXT: ins(%{{.*}} : tensor<8x8x7xf32>)
// CHECK-NOT: tensor.{{.*}}_shape
func.func @other_groups(%x: tensor<64x7xf32>) -> tensor<8x8x7xf32> {
  %e = tensor.expand_shape %x [[0, 1], [2]] output_shape [4, 16, 7] : tensor<64x7xf32> into tensor<4x16x7xf32>
  %y = norm.softmax %e axes = [1, 2] : tensor<4x16x7xf32> -> tensor<4x16x7xf32>
  %c = tensor.collapse_shape %y [[0, 1], [2]] : tensor<4x16x7xf32> into tensor<64x7xf32>
  %f = tensor.expand_shape %c [[0, 1], [2]] output_shape [8, 8, 7] : tensor<64x7xf32> into tensor<8x8x7xf32>
  // expected-remark@+1 {{not fused with producer 'softmax': the reshapes between the two don't split their dims alike}}
  %z = norm.softmax %f axes = [1, 2] : tensor<8x8x7xf32> -> tensor<8x8x7xf32>
  return %z : tensor<8x8x7xf32>
}

// -----

// A split that leads to no fusion isn't made.
// CHECK-LABEL: func.func @other_reduction
// CHECK: norm.generic (row, col, col1)
// CHECK: %[[C:.*]] = tensor.collapse_shape
// CHECK-NOT: tensor.{{.*}}_shape
// CHECK: norm.generic (row, col)
// CHECK-NEXT: ins(%{{.*}} = %[[C]][row, col] : tensor<64x7xf32>)
// CHECK-NOT: tensor.{{.*}}_shape
func.func @other_reduction(%x: tensor<64x7xf32>) -> tensor<64x7xf32> {
  %e = tensor.expand_shape %x [[0, 1], [2]] output_shape [4, 16, 7] : tensor<64x7xf32> into tensor<4x16x7xf32>
  %y = norm.softmax %e axes = [1, 2] : tensor<4x16x7xf32> -> tensor<4x16x7xf32>
  %c = tensor.collapse_shape %y [[0, 1], [2]] : tensor<4x16x7xf32> into tensor<64x7xf32>
  // expected-remark@+1 {{not fused with producer 'softmax': the two reduce over different dims}}
  %z = norm.softmax %c axes = [1] : tensor<64x7xf32> -> tensor<64x7xf32>
  return %z : tensor<64x7xf32>
}

// -----

// CHECK-LABEL: func.func @destination
// CHECK-COUNT-2: norm.generic
func.func @destination(%x: tensor<32xf32>, %e: tensor<32xf32>, %z: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %a = norm.generic (i) ins(%v = %x[i] : tensor<32xf32>) outs(%o = %e[i] : tensor<32xf32>) {
    norm.yield %v : f32
  }
  %s = tensor.expand_shape %a [[0, 1]] output_shape [4, 8] : tensor<32xf32> into tensor<4x8xf32>
  // expected-remark@+1 {{its result is a destination here}}
  %t = norm.generic (i, j) ins(%p = %z[i, j] : tensor<4x8xf32>) outs(%o = %s[i, j] : tensor<4x8xf32>) {
    %q = arith.addf %p, %p : f32
    norm.yield %q : f32
  }
  return %t : tensor<4x8xf32>
}
