//===- generalize-outputs.mlir - Programs that read what they write -----------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-opt %s --norm-generalize --split-input-file | FileCheck %s
// RUN: norm-opt %s --norm-generalize --norm-fuse --split-input-file | FileCheck %s --check-prefix=FUSED

// The previous content of an output is read as the last input. Of two outputs
// only the one that is read changes; its maps and extents stay.
// CHECK-LABEL: func.func @second(
// CHECK-SAME: %[[X:.*]]: tensor<?x8xf32>, %[[R:.*]]: tensor<?xf32>)
// CHECK: %[[DIM:.*]] = tensor.dim %[[R]]
// CHECK: %[[EMPTY:.*]] = tensor.empty(%[[DIM]]) : tensor<?xf32>
// CHECK: norm.generic (row, col)
// CHECK-NEXT: ins(%[[A:.*]] = %[[X]][row, col] : tensor<?x8xf32>, %[[B:.*]] = %[[R]][row] : tensor<?xf32>)
// CHECK-NEXT: outs(%{{.*}} = %[[X]][row, col] : tensor<?x8xf32>, %{{.*}} = %[[EMPTY]][row] : tensor<?xf32>)
// CHECK-NEXT: %[[SUM:.*]] = norm.reduce add %[[A]] over [col] : f32
// CHECK-NEXT: %[[TOTAL:.*]] = arith.addf %[[SUM]], %[[B]] : f32
// CHECK-NEXT: norm.yield %[[A]], %[[TOTAL]] : f32, f32
func.func @second(%x: tensor<?x8xf32>, %r: tensor<?xf32>)
    -> (tensor<?x8xf32>, tensor<?xf32>) {
  %y:2 = norm.generic (row, col)
      ins(%a = %x[row, col] : tensor<?x8xf32>)
      outs(%o = %x[row, col] : tensor<?x8xf32>, %p = %r[row] : tensor<?xf32>) {
    %sum = norm.reduce add %a over [col] : f32
    %total = arith.addf %sum, %p : f32
    norm.yield %a, %total : f32, f32
  }
  return %y#0, %y#1 : tensor<?x8xf32>, tensor<?xf32>
}

// -----

// What is read so is fused like any input: one program, which reads %x.
// FUSED-LABEL: func.func @fused(
// FUSED-SAME: %[[X:.*]]: tensor<?x8xf32>,
// FUSED-COUNT-1: norm.generic
// FUSED-NEXT: ins({{.*}}%[[X]][row, col]
// FUSED: norm.reduce add
// FUSED: math.tanh
// FUSED-NOT: norm.generic
// FUSED: return
func.func @fused(%x: tensor<?x8xf32>, %a: f32) -> tensor<?x8xf32> {
  %n = norm.rms_norm %x axes = [1] eps = 1.0e-6
      : tensor<?x8xf32> -> tensor<?x8xf32>
  %y = norm.generic (row, col) ins(%b = %a : f32)
      outs(%v = %n[row, col] : tensor<?x8xf32>) {
    %u = arith.mulf %b, %v : f32
    %t = math.tanh %u : f32
    norm.yield %t : f32
  }
  return %y : tensor<?x8xf32>
}

// -----

// A tensor without content stays a destination, and so does memory.
// CHECK-LABEL: func.func @memory(
// CHECK: norm.generic (row)
// CHECK-NEXT: outs(%{{.*}} = %arg0[row] : memref<?xf32>)
func.func @memory(%m: memref<?xf32>) {
  norm.generic (row) outs(%o = %m[row] : memref<?xf32>) {
    %t = arith.addf %o, %o : f32
    norm.yield %t : f32
  }
  return
}
