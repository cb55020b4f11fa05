//===- accumulate.mlir - Sums of workers ----------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-opt %s | norm-opt | FileCheck %s
// RUN: norm-opt %s --mlir-print-op-generic | norm-opt | FileCheck %s

// CHECK-LABEL: func.func @sums
func.func @sums(%x: tensor<?x64xf32>, %p: tensor<8x64xf32>) -> tensor<8x64xf32> {
  // CHECK: norm.generic (row, col, worker)
  %s = norm.generic (row, col, worker)
      ins(%a = %x[row, col] : tensor<?x64xf32>)
      outs(%o = %p[worker, col] : tensor<8x64xf32>) {
    // CHECK: %[[S:.*]] = norm.accumulate %{{.*}} over [row] by worker strands 4 : f32
    // CHECK-NEXT: norm.yield %[[S]] : f32
    %r = norm.accumulate %a over [row] by worker strands 4 : f32
    norm.yield %r : f32
  }
  return %s : tensor<8x64xf32>
}

// One strand is not printed.
// CHECK-LABEL: func.func @strand
func.func @strand(%x: tensor<4x?x64xf64>, %p: tensor<8x64xf64>) -> tensor<8x64xf64> {
  %s = norm.generic (batch, row, col, worker)
      ins(%a = %x[batch, row, col] : tensor<4x?x64xf64>)
      outs(%o = %p[worker, col] : tensor<8x64xf64>) {
    // CHECK: norm.accumulate %{{.*}} over [batch, row] by worker : f64
    %r = norm.accumulate %a over [batch, row] by worker strands 1 : f64
    norm.yield %r : f64
  }
  return %s : tensor<8x64xf64>
}
