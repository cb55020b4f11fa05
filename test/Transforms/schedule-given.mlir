//===- schedule-given.mlir - What the user schedules ----------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-opt %s --norm-schedule=target=sm_90 | FileCheck %s --check-prefix=KEEP
// RUN: norm-opt %s --norm-schedule="target=sm_90 schedule=residency=stream,threads=512" | FileCheck %s --check-prefix=SET

// An order and a schedule that are there stay; the option sets fields.

// KEEP-LABEL: func.func @given
// SET-LABEL: func.func @given
func.func @given(%x: tensor<?x64xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
  // KEEP: order = #norm.order<leaf = 2, lanes = 512>, schedule = #norm.schedule<threads = 16, rows_per_cta = 2>
  // SET: order = #norm.order<leaf = 2, lanes = 512>, schedule = #norm.schedule<threads = 512, rows_per_cta = 2, residency = stream>
  %0 = norm.generic (row, col)
      ins(%a = %x[row, col] : tensor<?x64xf32>)
      outs(%o = %y[row] : tensor<?xf32>)
      attributes {order = #norm.order<leaf = 2, lanes = 512>, schedule = #norm.schedule<threads = 16, rows_per_cta = 2>} {
    %s = norm.reduce add %a over [col] : f32
    norm.yield %s : f32
  }
  return %0 : tensor<?xf32>
}
