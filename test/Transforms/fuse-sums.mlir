//===- fuse-sums.mlir - Sums over rows beside reductions over columns -----===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-opt %s --norm-generalize --norm-fuse=explain --split-input-file --verify-diagnostics | FileCheck %s

// The sum over rows reads what the softmax does: the softmax adds up its rows by
// workers, and a program of these makes the sum.
// CHECK-LABEL: func.func @sibling
// CHECK-SAME: (%[[X:.*]]: tensor<?x1024xbf16>
// CHECK: %[[F:.*]]:2 = norm.generic (row, col, worker)
// CHECK-NEXT: ins(%[[A:.*]] = %[[X]][row, col] : tensor<?x1024xbf16>)
// CHECK-NEXT: outs(%{{.*}}[worker, col] : tensor<264x1024xf32>, %{{.*}}[row, col] : tensor<?x1024xbf16>)
// CHECK: %[[E:.*]] = arith.extf
// CHECK: norm.accumulate %[[E]] over [row] by worker strands 4 : f32
// CHECK: %[[S:.*]] = norm.generic (worker, col)
// CHECK-NEXT: ins(%[[P:.*]] = %[[F]]#0[worker, col] : tensor<264x1024xf32>)
// CHECK-NEXT: outs(%{{.*}}[col] : tensor<1024xbf16>) attributes {name = "columns_sum"}
// CHECK: %[[R:.*]] = norm.reduce add %[[P]] over [worker] : f32
// CHECK: arith.truncf %[[R]] : f32 to bf16
// CHECK: return %[[F]]#1, %[[S]]
func.func @sibling(%x: tensor<?x1024xbf16>, %o: tensor<1024xbf16>)
    -> (tensor<?x1024xbf16>, tensor<1024xbf16>) {
  %y = norm.softmax %x axes = [1] : tensor<?x1024xbf16> -> tensor<?x1024xbf16>
  // expected-remark@+1 {{fused with sibling 'softmax': saves ?x1024 bf16 once}}
  %s = norm.generic (row, col)
      ins(%a = %x[row, col] : tensor<?x1024xbf16>)
      outs(%p = %o[col] : tensor<1024xbf16>) attributes {name = "columns"} {
    %e = arith.extf %a : bf16 to f32
    %r = norm.reduce add %e over [row] : f32
    %t = arith.truncf %r : f32 to bf16
    norm.yield %t : bf16
  }
  return %y, %s : tensor<?x1024xbf16>, tensor<1024xbf16>
}

// -----

// The sum may come first, and be made part of something: here of vectors of
// columns.
// CHECK-LABEL: func.func @before
// CHECK-SAME: %[[O:[a-z0-9]*]]: tensor<4096xf32>, %[[B:[a-z0-9]*]]: tensor<4096xf32>
// CHECK: norm.generic (row, col, worker)
// CHECK: norm.accumulate %{{.*}} over [row] by worker : f32
// CHECK: norm.generic (worker, col)
// CHECK-NEXT: ins(%{{.*}} : tensor<264x4096xf32>, %[[BB:.*]] = %[[B]][col] : tensor<4096xf32>, %[[C:.*]] = %[[O]][col] : tensor<4096xf32>)
// CHECK: %[[R:.*]] = norm.reduce add
// CHECK: %[[Q:.*]] = arith.mulf %[[R]], %[[BB]]
// CHECK: arith.addf %[[Q]], %[[C]]
func.func @before(%x: tensor<?x4096xf32>, %o: tensor<4096xf32>, %b: tensor<4096xf32>)
    -> (tensor<?x4096xf32>, tensor<4096xf32>) {
  // expected-remark@+1 {{fused with sibling 'softmax': saves ?x4096 f32 once}}
  %s = norm.generic (row, col)
      ins(%a = %x[row, col] : tensor<?x4096xf32>, %m = %b[col] : tensor<4096xf32>)
      outs(%p = %o[col] : tensor<4096xf32>) {
    %r = norm.reduce add %a over [row] : f32
    %q = arith.mulf %r, %m : f32
    %t = arith.addf %q, %p : f32
    norm.yield %t : f32
  }
  %y = norm.softmax %x axes = [1] : tensor<?x4096xf32> -> tensor<?x4096xf32>
  return %y, %s : tensor<?x4096xf32>, tensor<4096xf32>
}

// -----

// Statistics of rows that only the sum reads aren't written.
// CHECK-LABEL: func.func @statistics
// CHECK: norm.generic (row, col, worker)
// CHECK: outs(%{{.*}}[worker, col] : tensor<264x512xf32>, %{{.*}}[row, col] : tensor<?x512xf32>)
// CHECK-NOT: tensor<?xf32>
// CHECK: norm.accumulate %{{.*}} over [row] by worker strands 8 : f32
func.func @statistics(%x: tensor<?x512xf32>, %o: tensor<512xf32>)
    -> (tensor<?x512xf32>, tensor<512xf32>) {
  %y, %rstd = norm.rms_norm %x stats(rstd) axes = [1] eps = 1.0e-6
      : tensor<?x512xf32> -> tensor<?x512xf32>, tensor<?xf32>
  // expected-remark@+1 {{fused with producer 'rms_norm': saves ?x512 f32 once, ? f32}}
  %s = norm.generic (row, col)
      ins(%a = %x[row, col] : tensor<?x512xf32>, %q = %rstd[row] : tensor<?xf32>)
      outs(%p = %o[col] : tensor<512xf32>) {
    %m = arith.mulf %a, %q : f32
    %r = norm.reduce add %m over [row] : f32
    norm.yield %r : f32
  }
  return %y, %s : tensor<?x512xf32>, tensor<512xf32>
}

// -----

// More columns than a worker keeps the sums of, and an unknown number of them.
// CHECK-LABEL: func.func @too_wide
// CHECK-NOT: norm.accumulate
// CHECK-LABEL: func.func @dynamic
// CHECK-NOT: norm.accumulate
func.func @too_wide(%x: tensor<?x16385xf32>, %o: tensor<16385xf32>)
    -> (tensor<?x16385xf32>, tensor<16385xf32>) {
  %y = norm.softmax %x axes = [1] : tensor<?x16385xf32> -> tensor<?x16385xf32>
  // expected-remark@+1 {{the two reduce over different dims}}
  %s = norm.generic (row, col) ins(%a = %x[row, col] : tensor<?x16385xf32>) outs(%p = %o[col] : tensor<16385xf32>) {
    %r = norm.reduce add %a over [row] : f32
    norm.yield %r : f32
  }
  return %y, %s : tensor<?x16385xf32>, tensor<16385xf32>
}
func.func @dynamic(%x: tensor<?x?xf32>, %o: tensor<?xf32>)
    -> (tensor<?x?xf32>, tensor<?xf32>) {
  %y = norm.softmax %x axes = [1] : tensor<?x?xf32> -> tensor<?x?xf32>
  // expected-remark@+1 {{the two reduce over different dims}}
  %s = norm.generic (row, col) ins(%a = %x[row, col] : tensor<?x?xf32>) outs(%p = %o[col] : tensor<?xf32>) {
    %r = norm.reduce add %a over [row] : f32
    norm.yield %r : f32
  }
  return %y, %s : tensor<?x?xf32>, tensor<?xf32>
}

// -----

// Three sums of 16384 columns are more than a CTA's registers hold.
// CHECK-LABEL: func.func @three
// CHECK-NOT: norm.accumulate
func.func @three(%x: tensor<?x16384xf32>, %o: tensor<16384xf32>)
    -> (tensor<?x16384xf32>, tensor<16384xf32>, tensor<16384xf32>, tensor<16384xf32>) {
  %y = norm.softmax %x axes = [1] : tensor<?x16384xf32> -> tensor<?x16384xf32>
  // expected-remark@+1 {{the two reduce over different dims}}
  %s:3 = norm.generic (row, col) ins(%a = %x[row, col] : tensor<?x16384xf32>)
      outs(%p = %o[col] : tensor<16384xf32>, %q = %o[col] : tensor<16384xf32>, %r = %o[col] : tensor<16384xf32>) {
    %b = arith.mulf %a, %a : f32
    %c = arith.mulf %b, %a : f32
    %d = norm.reduce add %a over [row] : f32
    %e = norm.reduce add %b over [row] : f32
    %f = norm.reduce add %c over [row] : f32
    norm.yield %d, %e, %f : f32, f32, f32
  }
  return %y, %s#0, %s#1, %s#2 : tensor<?x16384xf32>, tensor<16384xf32>, tensor<16384xf32>, tensor<16384xf32>
}

// -----

// A maximum over rows is no sum.
// CHECK-LABEL: func.func @other
// CHECK-NOT: norm.accumulate
func.func @other(%x: tensor<?x64xf32>, %o: tensor<64xf32>)
    -> (tensor<?x64xf32>, tensor<64xf32>) {
  %y = norm.softmax %x axes = [1] : tensor<?x64xf32> -> tensor<?x64xf32>
  // expected-remark@+1 {{the two reduce over different dims}}
  %s = norm.generic (row, col) ins(%a = %x[row, col] : tensor<?x64xf32>) outs(%p = %o[col] : tensor<64xf32>) {
    %r = norm.reduce max %a over [row] : f32
    norm.yield %r : f32
  }
  return %y, %s : tensor<?x64xf32>, tensor<64xf32>
}

// -----

// The program of the workers' sums knows no number of rows, so that a mean is
// taken by itself.
// CHECK-LABEL: func.func @mean
// CHECK-NOT: norm.accumulate
// CHECK: norm.reduce add %{{.*}} over [row] : f32
// CHECK-NEXT: norm.extent row : f32
func.func @mean(%x: tensor<9x64xf32>, %o: tensor<64xf32>)
    -> (tensor<9x64xf32>, tensor<64xf32>) {
  %y = norm.softmax %x axes = [1] : tensor<9x64xf32> -> tensor<9x64xf32>
  // expected-remark@+1 {{the two reduce over different dims}}
  %s = norm.generic (row, col)
      ins(%a = %x[row, col] : tensor<9x64xf32>)
      outs(%p = %o[col] : tensor<64xf32>) {
    %r = norm.reduce add %a over [row] : f32
    %n = norm.extent row : f32
    %q = arith.divf %r, %n : f32
    norm.yield %q : f32
  }
  return %y, %s : tensor<9x64xf32>, tensor<64xf32>
}

// -----

// Two workers at least: a dim of one element is none.
// CHECK-LABEL: func.func @few
// CHECK: outs(%{{.*}}[worker, col] : tensor<2x64xf32>, %{{.*}}[row, col] : tensor<6x64xf32>)
func.func @few(%x: tensor<6x64xf32>, %o: tensor<64xf32>)
    -> (tensor<6x64xf32>, tensor<64xf32>) {
  %y = norm.softmax %x axes = [1] : tensor<6x64xf32> -> tensor<6x64xf32>
  // expected-remark@+1 {{fused with sibling 'softmax': saves 6x64 f32 once}}
  %s = norm.generic (row, col)
      ins(%a = %x[row, col] : tensor<6x64xf32>)
      outs(%p = %o[col] : tensor<64xf32>) {
    %r = norm.reduce add %a over [row] : f32
    norm.yield %r : f32
  }
  return %y, %s : tensor<6x64xf32>, tensor<64xf32>
}

// -----

// A sum of what another sum is a part of takes two passes.
// CHECK-LABEL: func.func @sum_of_sum
// CHECK-NOT: norm.accumulate
func.func @sum_of_sum(%x: tensor<?x64xf32>, %o: tensor<64xf32>)
    -> (tensor<?x64xf32>, tensor<64xf32>) {
  %y = norm.softmax %x axes = [1] : tensor<?x64xf32> -> tensor<?x64xf32>
  // expected-remark@+1 {{the two reduce over different dims}}
  %s = norm.generic (row, col)
      ins(%a = %x[row, col] : tensor<?x64xf32>)
      outs(%p = %o[col] : tensor<64xf32>) {
    %r = norm.reduce add %a over [row] : f32
    %d = arith.subf %a, %r : f32
    %q = norm.reduce add %d over [row] : f32
    norm.yield %q : f32
  }
  return %y, %s : tensor<?x64xf32>, tensor<64xf32>
}
