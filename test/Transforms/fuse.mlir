//===- fuse.mlir - Programs become one ------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-opt %s --norm-generalize --norm-fuse | FileCheck %s

// What is added before and what is applied after is part of one program; the
// sum, returned as well, is its second output. The norm reads the rounded sum.
// CHECK-LABEL: func.func @add_rms_norm
// CHECK-SAME: (%[[X:.*]]: tensor<?x8xbf16>, %[[R:.*]]: tensor<?x8xbf16>, %[[W:.*]]: tensor<8xbf16>, %[[S:.*]]: f32)
func.func @add_rms_norm(%x: tensor<?x8xbf16>, %r: tensor<?x8xbf16>,
                        %w: tensor<8xbf16>, %s: f32)
    -> (tensor<?x8xf32>, tensor<?x8xbf16>) {
  // CHECK: %[[F:.*]]:2 = norm.generic (row, col)
  // CHECK-NEXT: ins(%[[A:.*]] = %[[X]][row, col] : tensor<?x8xbf16>, %[[B:.*]] = %[[R]][row, col] : tensor<?x8xbf16>, %{{.*}} = %[[W]][col] : tensor<8xbf16>, %[[T:.*]] = %[[S]] : f32)
  // CHECK-NEXT: outs(%{{.*}} = %{{.*}}[row, col] : tensor<?x8xf32>, %{{.*}} = %{{.*}}[row, col] : tensor<?x8xbf16>)
  // CHECK-SAME: attributes {name = "add_rms_norm_ext_mul"}
  // CHECK: %[[SUM:.*]] = arith.addf %[[A]], %[[B]] : bf16
  // CHECK: arith.extf %[[SUM]] : bf16 to f32
  // CHECK: %[[Y:.*]] = arith.truncf %{{.*}} : f32 to bf16
  // CHECK: %[[YF:.*]] = arith.extf %[[Y]] : bf16 to f32
  // CHECK: %[[Z:.*]] = arith.mulf %[[YF]], %[[T]] : f32
  // CHECK: norm.yield %[[Z]], %[[SUM]] : f32, bf16
  // CHECK-NOT: norm.generic
  %sum = arith.addf %x, %r : tensor<?x8xbf16>
  %y = norm.rms_norm %sum scale(%w) axes = [1] eps = 1.0e-5
      : tensor<?x8xbf16>, tensor<8xbf16> -> tensor<?x8xbf16>
  %f = arith.extf %y : tensor<?x8xbf16> to tensor<?x8xf32>
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x8xbf16>
  %factor = tensor.splat %s[%n] : tensor<?x8xf32>
  %z = arith.mulf %f, %factor : tensor<?x8xf32>
  // CHECK: return %[[F]]#0, %[[F]]#1
  return %z, %sum : tensor<?x8xf32>, tensor<?x8xbf16>
}

// Several consumers of one producer; a norm of a norm over the same rows.
// CHECK-LABEL: func.func @siblings
func.func @siblings(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  // CHECK: %[[F:.*]]:2 = norm.generic
  // CHECK: attributes {name = "absf_rms_norm_softmax_softmax"}
  // CHECK-COUNT-1: math.absf
  // CHECK-NOT: math.absf
  // CHECK-NOT: norm.generic
  %a = math.absf %x : tensor<4x8xf32>
  %y = norm.rms_norm %a axes = [1] eps = 1.0e-5
      : tensor<4x8xf32> -> tensor<4x8xf32>
  %z = norm.softmax %a axes = [1] : tensor<4x8xf32> -> tensor<4x8xf32>
  %u = norm.softmax %z axes = [1] : tensor<4x8xf32> -> tensor<4x8xf32>
  // CHECK: return %[[F]]#1, %[[F]]#0
  return %y, %u : tensor<4x8xf32>, tensor<4x8xf32>
}

// A value read twice is loaded once, and what is computed twice from it only
// once; results without a use go.
// CHECK-LABEL: func.func @loads
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xf16>)
func.func @loads(%x: tensor<4x8xf16>) -> tensor<4x8xf32> {
  // CHECK: norm.generic (row, col)
  // CHECK-NEXT: ins(%[[A:.*]] = %[[X]][row, col] : tensor<4x8xf16>)
  // CHECK-NEXT: outs(%{{.*}} = %{{.*}}[row, col] : tensor<4x8xf32>)
  // CHECK-COUNT-1: arith.extf %[[A]]
  // CHECK-NOT: arith.extf
  %y, %rstd = norm.rms_norm %x stats(rstd) axes = [1] eps = 1.0e-5
      : tensor<4x8xf16> -> tensor<4x8xf32>, tensor<4xf32>
  %f = arith.extf %x : tensor<4x8xf16> to tensor<4x8xf32>
  %z = arith.addf %y, %f : tensor<4x8xf32>
  return %z : tensor<4x8xf32>
}

// Cheap work on a per-column operand is done again in every row.
// CHECK-LABEL: func.func @columns
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xf32>, %[[W:.*]]: tensor<8xbf16>)
func.func @columns(%x: tensor<4x8xf32>, %w: tensor<8xbf16>) -> tensor<4x8xf32> {
  // CHECK: norm.generic (row, col)
  // CHECK-NEXT: ins(%[[G:.*]] = %[[W]][col] : tensor<8xbf16>, %{{.*}} = %[[X]][row, col] : tensor<4x8xf32>)
  // CHECK: arith.addf %[[G]], %[[G]] : bf16
  // CHECK-NOT: norm.generic
  %w2 = arith.addf %w, %w : tensor<8xbf16>
  %y = norm.rms_norm %x scale(%w2) axes = [1] eps = 1.0e-5
      : tensor<4x8xf32>, tensor<8xbf16> -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

#all = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#unit = affine_map<(d0, d1) -> (d0, 0)>

// Work on a statistic joins the program that made it, whatever it costs; so
// does what applies it to other values of as many columns.
// CHECK-LABEL: func.func @statistics
// CHECK-SAME: (%[[X:.*]]: tensor<?x8xf32>, %[[Z:.*]]: tensor<?x8xf32>)
func.func @statistics(%x: tensor<?x8xf32>, %z: tensor<?x8xf32>)
    -> (tensor<?x8xf32>, tensor<?xf32>) {
  // CHECK: %[[F:.*]]:2 = norm.generic (row, col)
  // CHECK-NEXT: ins(%{{.*}} = %[[X]][row, col] : tensor<?x8xf32>, %[[A:.*]] = %[[Z]][row, col] : tensor<?x8xf32>)
  // CHECK-NEXT: outs(%{{.*}} = %{{.*}}[row, col] : tensor<?x8xf32>, %{{.*}} = %{{.*}}[row] : tensor<?xf32>)
  // CHECK: %[[RSTD:.*]] = math.rsqrt
  // CHECK: %[[LOG:.*]] = math.log %[[RSTD]] : f32
  // CHECK: %[[Y:.*]] = arith.mulf %[[A]], %[[LOG]] : f32
  // CHECK: norm.yield %[[Y]], %[[LOG]] : f32, f32
  // CHECK-NOT: norm.generic
  %y, %rstd = norm.rms_norm %x stats(rstd) axes = [1] eps = 1.0e-5
      : tensor<?x8xf32> -> tensor<?x8xf32>, tensor<?xf32>
  %log = math.log %rstd : tensor<?xf32>
  %c0 = arith.constant 0 : index
  %n = tensor.dim %z, %c0 : tensor<?x8xf32>
  %e = tensor.empty(%n) : tensor<?x8xf32>
  %o = linalg.generic {indexing_maps = [#all, #row, #all],
                       iterator_types = ["parallel", "parallel"]}
      ins(%z, %log : tensor<?x8xf32>, tensor<?xf32>)
      outs(%e : tensor<?x8xf32>) {
  ^bb0(%a: f32, %b: f32, %old: f32):
    %m = arith.mulf %a, %b : f32
    linalg.yield %m : f32
  } -> tensor<?x8xf32>
  // CHECK: return %[[F]]#0, %[[F]]#1
  return %o, %log : tensor<?x8xf32>, tensor<?xf32>
}

// Per-row values with an axis of size 1.
// CHECK-LABEL: func.func @unit_axis
// CHECK-SAME: (%[[X:.*]]: tensor<?x8xf32>, %[[Q:.*]]: tensor<?x1xf32>)
func.func @unit_axis(%x: tensor<?x8xf32>, %q: tensor<?x1xf32>)
    -> tensor<?x8xf32> {
  // CHECK: norm.generic (row, col)
  // CHECK-NEXT: ins(%[[B:.*]] = %[[Q]][row, 0] : tensor<?x1xf32>, %{{.*}} = %[[X]][row, col] : tensor<?x8xf32>)
  // CHECK: math.sqrt %[[B]]
  // CHECK: norm.reduce add
  // CHECK-NOT: norm.generic
  %s = math.sqrt %q : tensor<?x1xf32>
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x8xf32>
  %e = tensor.empty(%n) : tensor<?x8xf32>
  %o = linalg.generic {indexing_maps = [#all, #unit, #all],
                       iterator_types = ["parallel", "parallel"]}
      ins(%x, %s : tensor<?x8xf32>, tensor<?x1xf32>)
      outs(%e : tensor<?x8xf32>) {
  ^bb0(%a: f32, %b: f32, %old: f32):
    %m = arith.mulf %a, %b : f32
    linalg.yield %m : f32
  } -> tensor<?x8xf32>
  %y = norm.rms_norm %o axes = [1] eps = 1.0e-5
      : tensor<?x8xf32> -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// Dims go by the names of the norm, whether it comes first or last.
// CHECK-LABEL: func.func @names
func.func @names(%x: tensor<2x4x8xf32>) -> tensor<2x4x8xf32> {
  // CHECK: norm.generic (row, col, col1)
  // CHECK: norm.reduce add %{{.*}} over [col, col1] : f32
  // CHECK-NOT: norm.generic
  %a = math.absf %x : tensor<2x4x8xf32>
  %y = norm.rms_norm %a axes = [1, 2] eps = 1.0e-5
      : tensor<2x4x8xf32> -> tensor<2x4x8xf32>
  %z = arith.negf %y : tensor<2x4x8xf32>
  return %z : tensor<2x4x8xf32>
}

// A name that would be too long is that of the part that reduces.
// CHECK-LABEL: func.func @long_name
func.func @long_name(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // CHECK: name = "layer_norm_layer_norm_layer_norm_layer_norm"
  // CHECK-NOT: norm.generic
  %0 = norm.layer_norm %x axes = [1] eps = 1.0 : tensor<4x8xf32> -> tensor<4x8xf32>
  %1 = norm.layer_norm %0 axes = [1] eps = 1.0 : tensor<4x8xf32> -> tensor<4x8xf32>
  %2 = norm.layer_norm %1 axes = [1] eps = 1.0 : tensor<4x8xf32> -> tensor<4x8xf32>
  %3 = norm.layer_norm %2 axes = [1] eps = 1.0 : tensor<4x8xf32> -> tensor<4x8xf32>
  %4 = math.roundeven %3 : tensor<4x8xf32>
  return %4 : tensor<4x8xf32>
}

// Programs as they are written by hand: what an output held before is read, a
// reduction that only an output uses stays, what nobody uses goes.
// CHECK-LABEL: func.func @by_hand
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xf32>, %[[ACC:.*]]: tensor<4x8xf32>, %[[R0:.*]]: tensor<4xf32>)
func.func @by_hand(%x: tensor<4x8xf32>, %acc: tensor<4x8xf32>,
                   %r0: tensor<4xf32>) -> (tensor<4x8xf32>, tensor<4xf32>) {
  // CHECK: %[[F:.*]]:2 = norm.generic (row, col)
  // CHECK-NEXT: ins(%[[A:.*]] = %[[X]][row, col] : tensor<4x8xf32>, %[[B:.*]] = %[[ACC]][row, col] : tensor<4x8xf32>)
  // CHECK-NEXT: outs(%{{.*}} = %{{.*}}[row, col] : tensor<4x8xf32>, %{{.*}} = %[[R0]][row] : tensor<4xf32>) {
  // CHECK-NEXT: %[[S:.*]] = arith.addf %[[A]], %[[B]] : f32
  // CHECK-NEXT: %[[M:.*]] = norm.reduce max %[[S]] over [col] : f32
  // CHECK-NEXT: %[[D:.*]] = arith.subf %[[S]], %[[S]] : f32
  // CHECK-NEXT: norm.yield %[[D]], %[[M]] : f32, f32
  %0:2 = norm.generic (row, col) ins(%a = %x[row, col] : tensor<4x8xf32>)
      outs(%b = %acc[row, col] : tensor<4x8xf32>, %o = %r0[row] : tensor<4xf32>) {
    %s = arith.addf %a, %b : f32
    %unused = arith.mulf %a, %a : f32
    %m = norm.reduce max %s over [col] : f32
    norm.yield %s, %m : f32, f32
  }
  %e = tensor.empty() : tensor<4x8xf32>
  %1 = norm.generic (i, j) ins(%a = %0#0[i, j] : tensor<4x8xf32>, %u = %x[i, j] : tensor<4x8xf32>)
      outs(%o = %e[i, j] : tensor<4x8xf32>) {
    %d = arith.subf %a, %a : f32
    norm.yield %d : f32
  }
  // CHECK: return %[[F]]#0, %[[F]]#1
  return %1, %0#1 : tensor<4x8xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @statistic_of_conversion
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xf16>, %[[E:.*]]: tensor<4x8xf32>, %[[D:.*]]: tensor<4xf32>)
func.func @statistic_of_conversion(%x: tensor<4x8xf16>, %e: tensor<4x8xf32>,
                                   %d: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: %{{.*}} = norm.generic (row, col)
  // CHECK-NEXT: ins(%[[A:.*]] = %[[X]][row, col] : tensor<4x8xf16>)
  // The order stays that of the f32 values which were reduced.
  // CHECK-NEXT: outs(%{{.*}} = %[[D]][row] : tensor<4xf32>) attributes {name = "ext_sum", order = #norm.order<leaf = 4, lanes = 1024>} {
  // CHECK-NEXT: %[[F:.*]] = arith.extf %[[A]] : f16 to f32
  // CHECK-NEXT: %[[R:.*]] = norm.reduce add %[[F]] over [col] : f32
  // CHECK-NEXT: norm.yield %[[R]] : f32
  %s = norm.generic (row, col)
      ins(%a = %x[row, col] : tensor<4x8xf16>)
      outs(%o = %e[row, col] : tensor<4x8xf32>) attributes {name = "ext"} {
    %f = arith.extf %a : f16 to f32
    norm.yield %f : f32
  }
  %m = norm.generic (row, col)
      ins(%a = %s[row, col] : tensor<4x8xf32>)
      outs(%o = %d[row] : tensor<4xf32>) attributes {name = "sum"} {
    %r = norm.reduce add %a over [col] : f32
    norm.yield %r : f32
  }
  return %m : tensor<4xf32>
}

// Ops that shared a destination get one each.
// CHECK-LABEL: func.func @shared_destination
func.func @shared_destination(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  // CHECK: %[[E0:.*]] = tensor.empty() : tensor<8xf32>
  // CHECK: %[[E1:.*]] = tensor.empty() : tensor<8xf32>
  // CHECK: outs(%{{.*}} = %[[E0]][col] : tensor<8xf32>, %{{.*}} = %[[E1]][col] : tensor<8xf32>)
  %e = tensor.empty() : tensor<8xf32>
  %0 = norm.generic (col) ins(%a = %x[col] : tensor<8xf32>)
      outs(%o = %e[col] : tensor<8xf32>) {
    %n = arith.negf %a : f32
    norm.yield %n : f32
  }
  %1 = norm.generic (col) ins(%a = %0[col] : tensor<8xf32>)
      outs(%o = %e[col] : tensor<8xf32>) {
    %n = math.absf %a : f32
    norm.yield %n : f32
  }
  return %0, %1 : tensor<8xf32>, tensor<8xf32>
}

// What isn't read is no operand, nor is what only dead code reads; an input that
// alone tells an extent stays, unless that is a known number.
// CHECK-LABEL: func.func @unread
// CHECK-SAME: %[[X:.*]]: tensor<4x8xf32>, %[[U:.*]]: tensor<4x8xf32>, %[[V:.*]]: tensor<4x?xf32>, %[[W:.*]]: tensor<8xf32>
func.func @unread(%x: tensor<4x8xf32>, %u: tensor<4x8xf32>, %v: tensor<4x?xf32>,
                  %w: tensor<8xf32>)
    -> (tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>) {
  %e = tensor.empty() : tensor<4x8xf32>
  // CHECK: norm.generic (row, col)
  // CHECK-NEXT: ins(%{{.*}} = %[[X]][row, col] : tensor<4x8xf32>)
  // CHECK-NEXT: outs
  // CHECK-NEXT: norm.yield
  %y = norm.generic (row, col)
      ins(%a = %u[row, col] : tensor<4x8xf32>,
          %b = %x[row, col] : tensor<4x8xf32>, %c = %w[col] : tensor<8xf32>)
      outs(%o = %e[row, col] : tensor<4x8xf32>) {
    %d = arith.addf %a, %c : f32
    %r = norm.reduce add %d over [col] : f32
    norm.yield %b : f32
  }
  %f = tensor.empty() : tensor<4xf32>
  // CHECK: norm.generic (row, col)
  // CHECK-NEXT: ins(%{{.*}} = %[[V]][row, col] : tensor<4x?xf32>)
  %z = norm.generic (row, col)
      ins(%a = %v[row, col] : tensor<4x?xf32>)
      outs(%o = %f[row] : tensor<4xf32>) {
    %n = norm.extent col : f32
    norm.yield %n : f32
  }
  // CHECK: norm.generic (row)
  // CHECK-NEXT: outs
  // CHECK-NEXT: %[[N:.*]] = arith.constant 8.000000e+00 : f32
  // CHECK-NEXT: norm.yield %[[N]]
  %k = norm.generic (row, col)
      ins(%a = %u[row, col] : tensor<4x8xf32>)
      outs(%o = %f[row] : tensor<4xf32>) {
    %n = norm.extent col : f32
    norm.yield %n : f32
  }
  return %y, %z, %k : tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>
}

// Transposes are maps of what they move, on the way in and out; rows and
// columns stay those of the norm.
// CHECK-LABEL: func.func @transposes
// CHECK-SAME: (%[[X:.*]]: tensor<?x4xf32>)
func.func @transposes(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  // CHECK: %[[F:.*]] = norm.generic (row, col)
  // CHECK-NEXT: ins(%{{.*}} = %[[X]][col, row] : tensor<?x4xf32>)
  // CHECK-NEXT: outs(%{{.*}} = %{{.*}}[col, row] : tensor<?x4xf32>)
  // CHECK: norm.reduce max %{{.*}} over [col]
  // CHECK: math.absf
  // CHECK-NOT: norm.generic
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x4xf32>
  %e = tensor.empty(%n) : tensor<4x?xf32>
  %t = linalg.transpose ins(%x : tensor<?x4xf32>) outs(%e : tensor<4x?xf32>) permutation = [1, 0]
  %y = norm.softmax %t axes = [1] : tensor<4x?xf32> -> tensor<4x?xf32>
  %f = tensor.empty(%n) : tensor<?x4xf32>
  %z = linalg.transpose ins(%y : tensor<4x?xf32>) outs(%f : tensor<?x4xf32>) permutation = [1, 0]
  %a = math.absf %z : tensor<?x4xf32>
  // CHECK: return %[[F]]
  return %a : tensor<?x4xf32>
}

// A statistic of the columns, and what it's applied to.
// CHECK-LABEL: func.func @leading_dim
func.func @leading_dim(%x: tensor<4x8xf32>, %m0: tensor<8xf32>) -> tensor<4x8xf32> {
  // CHECK: norm.generic (row, col)
  // CHECK: %[[M:.*]] = norm.reduce max %[[A:.*]] over [row] : f32
  // CHECK: arith.subf %[[A]], %[[M]] : f32
  // CHECK-NOT: norm.generic
  %m = norm.generic (row, col) ins(%v = %x[row, col] : tensor<4x8xf32>)
      outs(%o = %m0[col] : tensor<8xf32>) {
    %r = norm.reduce max %v over [row] : f32
    norm.yield %r : f32
  }
  %e = tensor.empty() : tensor<4x8xf32>
  %t = norm.generic (row, col)
      ins(%p = %m[col] : tensor<8xf32>, %q = %x[row, col] : tensor<4x8xf32>)
      outs(%o = %e[row, col] : tensor<4x8xf32>) {
    %s = arith.subf %q, %p : f32
    norm.yield %s : f32
  }
  return %t : tensor<4x8xf32>
}

// A dim on which nothing that is read varies goes, with the input that tells its
// extent.
// CHECK-LABEL: func.func @unneeded_dim
// CHECK-SAME: %{{.*}}: tensor<?x?xf32>, %[[R:.*]]: tensor<?xf32>, %{{.*}}: tensor<?x?xf32>, %{{.*}}: tensor<?xf32>
func.func @unneeded_dim(%x: tensor<?x?xf32>, %r: tensor<?xf32>,
                        %e: tensor<?x?xf32>, %f: tensor<?xf32>) -> tensor<?xf32> {
  // CHECK: norm.generic (row)
  // CHECK-NEXT: ins(%[[A:.*]] = %[[R]][row] : tensor<?xf32>)
  // CHECK-NEXT: outs(%{{.*}} = %{{.*}}[row] : tensor<?xf32>)
  // CHECK-NEXT: %[[N:.*]] = arith.negf %[[A]]
  // CHECK-NEXT: %[[Y:.*]] = math.absf %[[N]]
  // CHECK-NEXT: norm.yield %[[Y]]
  %y, %s = norm.generic (row, col)
      ins(%a = %x[row, col] : tensor<?x?xf32>, %b = %r[row] : tensor<?xf32>)
      outs(%o = %e[row, col] : tensor<?x?xf32>, %p = %f[row] : tensor<?xf32>) {
    %n = arith.negf %b : f32
    norm.yield %a, %n : f32, f32
  }
  %z = math.absf %s : tensor<?xf32>
  return %z : tensor<?xf32>
}
