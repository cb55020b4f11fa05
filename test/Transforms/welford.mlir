//===- welford.mlir - Dependent reductions as one -------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-opt %s --norm-rewrite-welford=online-from=0 | FileCheck %s
// RUN: norm-opt %s --norm-rewrite-welford=online-from=9 | FileCheck %s --check-prefix=SHORT

// Across memory both moments are found at once, the mean of values of more than
// 16 bits as a sum of two numbers. (The order says that these
// programs are.)

// Rows of 8 columns are short of 9.
// SHORT-NOT: max_expsum %

// CHECK-LABEL: func.func @welford
func.func @welford(%x: tensor<?x8xbf16>, %y0: tensor<?x8xf32>)
    -> tensor<?x8xf32> {
  // CHECK: %[[X:.*]] = arith.extf
  // CHECK: %[[N:.*]] = norm.extent col : f32
  // CHECK: %[[MEAN:.*]]:2 = norm.reduce welford %[[X]] over [col] : f32
  // CHECK-NEXT: %[[CENTRED:.*]] = arith.subf %[[X]], %[[MEAN]]#0 : f32
  // CHECK-NEXT: %[[VAR:.*]] = arith.divf %[[MEAN]]#1, %[[N]] : f32
  // CHECK-NEXT: %[[Y:.*]] = arith.divf %[[CENTRED]], %[[VAR]] : f32
  // CHECK-NEXT: norm.yield %[[Y]] : f32
  %y = norm.generic (row, col) ins(%a = %x[row, col] : tensor<?x8xbf16>)
      outs(%o = %y0[row, col] : tensor<?x8xf32>)
      attributes {order = #norm.order<leaf = 4, lanes = 32, inner = 1>} {
    %f = arith.extf %a : bf16 to f32
    %n = norm.extent col : f32
    %sum = norm.reduce add %f over [col] : f32
    %mean = arith.divf %sum, %n : f32
    %c = arith.subf %f, %mean : f32
    %sq = arith.mulf %c, %c : f32
    %ss = norm.reduce add %sq over [col] : f32
    %var = arith.divf %ss, %n : f32
    %r = arith.divf %c, %var : f32
    norm.yield %r : f32
  }
  return %y : tensor<?x8xf32>
}

// mean - x squares to the same; the mean may be computed twice, over a count
// that is a product or a constant, in any order.
// CHECK-LABEL: func.func @forms
func.func @forms(%x: tensor<?x4x8xf64>, %y0: tensor<?xf64>) -> tensor<?xf64> {
  // CHECK: %[[W:.*]]:2 = norm.reduce welford_exact %{{.*}} over [col, col1] : f64
  // CHECK-NEXT: %[[Y:.*]] = arith.addf %[[W]]#0, %[[W]]#1 : f64
  // CHECK-NEXT: norm.yield %[[Y]] : f64
  %y = norm.generic (row, col, col1)
      ins(%a = %x[row, col, col1] : tensor<?x4x8xf64>)
      outs(%o = %y0[row] : tensor<?xf64>)
      attributes {order = #norm.order<leaf = 4, lanes = 32, inner = 1>} {
    %n0 = norm.extent col : i64
    %n1 = norm.extent col1 : i64
    %ni = arith.muli %n1, %n0 : i64
    %n = arith.sitofp %ni : i64 to f64
    %count = arith.constant 32.0 : f64
    %sum = norm.reduce add %a over [col, col1] : f64
    %mean = arith.divf %sum, %n : f64
    %mean2 = arith.divf %sum, %count : f64
    %c = arith.subf %mean2, %a : f64
    %sq = arith.mulf %c, %c : f64
    %ss = norm.reduce add %sq over [col1, col] : f64
    %r = arith.addf %mean, %ss : f64
    norm.yield %r : f64
  }
  return %y : tensor<?xf64>
}

// CHECK-LABEL: func.func @negated
func.func @negated(%x: tensor<?x?xf32>, %y0: tensor<?xf32>) -> tensor<?xf32> {
  // CHECK: norm.reduce welford
  // CHECK-NOT: norm.reduce add
  %y = norm.generic (row, col) ins(%a = %x[row, col] : tensor<?x?xf32>)
      outs(%o = %y0[row] : tensor<?xf32>)
      attributes {order = #norm.order<leaf = 4, lanes = 32, inner = 1>} {
    %n = norm.extent col : f32
    %sum = norm.reduce add %a over [col] : f32
    %mean = arith.divf %sum, %n : f32
    %minus = arith.negf %mean : f32
    %c = arith.addf %minus, %a : f32
    %sq = arith.mulf %c, %c : f32
    %ss = norm.reduce add %sq over [col] : f32
    norm.yield %ss : f32
  }
  return %y : tensor<?xf32>
}

// CHECK-LABEL: func.func @max_expsum
func.func @max_expsum(%x: tensor<?x8xf32>, %y0: tensor<?x8xf32>)
    -> tensor<?x8xf32> {
  // CHECK: %[[M:.*]]:2 = norm.reduce max_expsum %[[X:.*]] over [col] : f32
  // CHECK-NEXT: %[[BELOW:.*]] = arith.subf %[[X]], %[[M]]#0 : f32
  // CHECK-NEXT: %[[E:.*]] = math.exp %[[BELOW]] : f32
  // CHECK-NEXT: arith.divf %[[E]], %[[M]]#1 : f32
  // CHECK-NOT: norm.reduce
  %y = norm.generic (row, col) ins(%a = %x[row, col] : tensor<?x8xf32>)
      outs(%o = %y0[row, col] : tensor<?x8xf32>) {
    %max = norm.reduce max %a over [col] : f32
    %d = arith.subf %a, %max : f32
    %e = math.exp %d : f32
    %sum = norm.reduce add %e over [col] : f32
    %r = arith.divf %e, %sum : f32
    norm.yield %r : f32
  }
  return %y : tensor<?x8xf32>
}

// The sum is wanted itself.
// CHECK-LABEL: func.func @sum_is_used
func.func @sum_is_used(%x: tensor<?x8xf32>, %y0: tensor<?xf32>)
    -> tensor<?xf32> {
  // CHECK-NOT: welford
  %y = norm.generic (row, col) ins(%a = %x[row, col] : tensor<?x8xf32>)
      outs(%o = %y0[row] : tensor<?xf32>)
      attributes {order = #norm.order<leaf = 4, lanes = 32, inner = 1>} {
    %n = norm.extent col : f32
    %sum = norm.reduce add %a over [col] : f32
    %mean = arith.divf %sum, %n : f32
    %c = arith.subf %a, %mean : f32
    %sq = arith.mulf %c, %c : f32
    %ss = norm.reduce add %sq over [col] : f32
    %r = arith.addf %sum, %ss : f32
    norm.yield %r : f32
  }
  return %y : tensor<?xf32>
}

// Divided by something else than the number of values: the extent of another
// dim, a part of the count, another constant.
// CHECK-LABEL: func.func @other_count
func.func @other_count(%x: tensor<?x4x8xf32>, %y0: tensor<?xf32>)
    -> tensor<?xf32> {
  // CHECK-NOT: welford
  %y = norm.generic (row, a, b) ins(%v = %x[row, a, b] : tensor<?x4x8xf32>)
      outs(%o = %y0[row] : tensor<?xf32>)
      attributes {order = #norm.order<leaf = 4, lanes = 32, inner = 1>} {
    %n = norm.extent b : f32
    %sum = norm.reduce add %v over [a, b] : f32
    %mean = arith.divf %sum, %n : f32
    %c = arith.subf %v, %mean : f32
    %sq = arith.mulf %c, %c : f32
    %ss = norm.reduce add %sq over [a, b] : f32
    %count = arith.constant 31.0 : f32
    %sum2 = norm.reduce add %ss over [a, b] : f32
    %mean2 = arith.divf %sum2, %count : f32
    %c2 = arith.subf %ss, %mean2 : f32
    %sq2 = arith.mulf %c2, %c2 : f32
    %ss2 = norm.reduce add %sq2 over [a, b] : f32
    norm.yield %ss2 : f32
  }
  return %y : tensor<?xf32>
}

// The two go over different dims, or over different values.
// CHECK-LABEL: func.func @other_dims
func.func @other_dims(%x: tensor<?x4x8xf32>, %y0: tensor<?xf32>)
    -> tensor<?xf32> {
  // CHECK-NOT: welford
  // CHECK-NOT: max_expsum
  %y = norm.generic (row, a, b) ins(%v = %x[row, a, b] : tensor<?x4x8xf32>)
      outs(%o = %y0[row] : tensor<?xf32>)
      attributes {order = #norm.order<leaf = 4, lanes = 32, inner = 1>} {
    %n = norm.extent b : f32
    %sum = norm.reduce add %v over [b] : f32
    %mean = arith.divf %sum, %n : f32
    %c = arith.subf %v, %mean : f32
    %sq = arith.mulf %c, %c : f32
    %ss = norm.reduce add %sq over [a, b] : f32
    %twice = arith.addf %v, %v : f32
    %max = norm.reduce max %v over [a, b] : f32
    %d = arith.subf %twice, %max : f32
    %e = math.exp %d : f32
    %es = norm.reduce add %e over [a, b] : f32
    %r = arith.addf %ss, %es : f32
    norm.yield %r : f32
  }
  return %y : tensor<?xf32>
}

// maxnum ignores a NaN, which the merged form doesn't.
// CHECK-LABEL: func.func @maxnum
func.func @maxnum(%x: tensor<?x8xf32>, %y0: tensor<?xf32>) -> tensor<?xf32> {
  // CHECK-NOT: max_expsum
  %y = norm.generic (row, col) ins(%a = %x[row, col] : tensor<?x8xf32>)
      outs(%o = %y0[row] : tensor<?xf32>) {
    %max = norm.reduce maxnum %a over [col] : f32
    %d = arith.subf %a, %max : f32
    %e = math.exp %d : f32
    %sum = norm.reduce add %e over [col] : f32
    norm.yield %sum : f32
  }
  return %y : tensor<?xf32>
}

// A program with a schedule is final.
// CHECK-LABEL: func.func @ordered
func.func @ordered(%x: tensor<?x8xf32>, %y0: tensor<?xf32>) -> tensor<?xf32> {
  // CHECK-NOT: max_expsum
  %y = norm.generic (row, col) ins(%a = %x[row, col] : tensor<?x8xf32>)
      outs(%o = %y0[row] : tensor<?xf32>)
      attributes {order = #norm.order<leaf = 4, lanes = 1024>,
                  schedule = #norm.schedule<threads = 32>} {
    %max = norm.reduce max %a over [col] : f32
    %d = arith.subf %a, %max : f32
    %e = math.exp %d : f32
    %sum = norm.reduce add %e over [col] : f32
    norm.yield %sum : f32
  }
  return %y : tensor<?xf32>
}

// Along memory rows of 16-bit values are left as they are: their mean is exact
// enough.
// CHECK-LABEL: func.func @along_narrow
func.func @along_narrow(%x: tensor<?x8xbf16>, %y0: tensor<?x8xf32>)
    -> tensor<?x8xf32> {
  // CHECK: %[[SUM:.*]] = norm.reduce add
  // CHECK: %[[MEAN:.*]] = arith.divf %[[SUM]]
  // CHECK: %[[C:.*]] = arith.subf %{{.*}}, %[[MEAN]]
  // CHECK: %[[SQ:.*]] = arith.mulf %[[C]], %[[C]]
  // CHECK: %[[SS:.*]] = norm.reduce add %[[SQ]]
  // CHECK: arith.divf %[[C]], %[[SS]]
  %y = norm.generic (row, col) ins(%a = %x[row, col] : tensor<?x8xbf16>)
      outs(%o = %y0[row, col] : tensor<?x8xf32>) {
    %f = arith.extf %a : bf16 to f32
    %n = norm.extent col : f32
    %sum = norm.reduce add %f over [col] : f32
    %mean = arith.divf %sum, %n : f32
    %c = arith.subf %f, %mean : f32
    %sq = arith.mulf %c, %c : f32
    %ss = norm.reduce add %sq over [col] : f32
    %r = arith.divf %c, %ss : f32
    norm.yield %r : f32
  }
  return %y : tensor<?x8xf32>
}

// What is left of the mean in the deviations of others is taken away, from them,
// from the sum of their squares and from the mean.
// CHECK-LABEL: func.func @along
func.func @along(%x: tensor<?x8xf32>, %y0: tensor<?x8xf32>, %m0: tensor<?xf32>)
    -> (tensor<?x8xf32>, tensor<?xf32>) {
  // CHECK: %[[SUM:.*]] = norm.reduce add
  // CHECK: %[[MEAN:.*]] = arith.divf %[[SUM]], %[[N:.*]] : f32
  // CHECK: %[[C:.*]] = arith.subf %{{.*}}, %[[MEAN]]
  // CHECK: %[[REST:.*]] = norm.reduce add %[[C]] over [col] : f32
  // CHECK: %[[SHIFT:.*]] = arith.divf %[[REST]], %[[N]] : f32
  // CHECK: %[[EXACT:.*]] = arith.subf %[[C]], %[[SHIFT]] : f32
  // CHECK: %[[BOTH:.*]] = arith.addf %[[MEAN]], %[[SHIFT]] : f32
  // CHECK: %[[SQ:.*]] = arith.mulf %[[C]], %[[C]] : f32
  // CHECK: %[[SS:.*]] = norm.reduce add %[[SQ]] over [col] : f32
  // CHECK: %[[LOST:.*]] = arith.mulf %[[REST]], %[[SHIFT]] : f32
  // CHECK: %[[MOST:.*]] = arith.minnumf %[[LOST]], %{{.*}} : f32
  // CHECK: %[[LEFT:.*]] = arith.subf %[[SS]], %[[MOST]] : f32
  // CHECK: %[[M2:.*]] = arith.maximumf %[[LEFT]], %{{.*}} : f32
  // CHECK: %[[Y:.*]] = arith.divf %[[EXACT]], %[[M2]] : f32
  // CHECK: norm.yield %[[Y]], %[[BOTH]]
  %y, %m = norm.generic (row, col) ins(%a = %x[row, col] : tensor<?x8xf32>)
      outs(%o = %y0[row, col] : tensor<?x8xf32>, %_1 = %m0[row] : tensor<?xf32>) {
    %n = norm.extent col : f32
    %sum = norm.reduce add %a over [col] : f32
    %mean = arith.divf %sum, %n : f32
    %c = arith.subf %a, %mean : f32
    %sq = arith.mulf %c, %c : f32
    %ss = norm.reduce add %sq over [col] : f32
    %r = arith.divf %c, %ss : f32
    norm.yield %r, %mean : f32, f32
  }
  return %y, %m : tensor<?x8xf32>, tensor<?xf32>
}
