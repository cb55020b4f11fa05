//===- tile-invalid.mlir - Programs that are not tiled --------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-opt %s --norm-tile --split-input-file --verify-diagnostics

func.func @no_schedule(%x: memref<?x16xf32>) {
  // expected-error@+1 {{'norm.generic' op expects an order and a schedule; run norm-schedule}}
  norm.generic (row, col)
      outs(%o = %x[row, col] : memref<?x16xf32>) {
    norm.yield %o : f32
  }
  return
}
