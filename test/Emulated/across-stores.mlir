//===- across-stores.mlir - Stores beside a reduction across memory ------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// The second result is stored while the rows are summed. Threads whose lanes have
// no leaf of the 16 columns compute one of another thread again, and must not
// store it: every element is written once.

// RUN: norm-run %s --device=emulated --check --bits=host | FileCheck %s
// RUN: norm-run %s --device=emulated --schedule=threads=8,rows_per_cta=32,vector=1,split=1,residency=registers --check --bits=host | FileCheck %s
// RUN: norm-run %s --device=emulated --schedule=threads=4,rows_per_cta=64,vector=4,split=0,residency=stream --check --bits=host | FileCheck %s

// CHECK: argument 3 'result1': 6144 of 6144 bytes written, 6144 in all
// CHECK: ok    result 1 bits: f16 3x16x16x4: 0 of 3072 elements differ

func.func @f(%x: tensor<3x16x16x4xf16>, %w: tensor<16xf16>)
    -> (tensor<3x16x16x4xf16>, tensor<3x16x16x4xf16>) {
  %e = tensor.empty() : tensor<3x16x16x4xf16>
  %n = norm.l2_normalize %x axes = [1] eps = 1.0 : tensor<3x16x16x4xf16> -> tensor<3x16x16x4xf16>
  %b = linalg.broadcast ins(%w : tensor<16xf16>) outs(%e : tensor<3x16x16x4xf16>) dimensions = [0, 2, 3]
  %y = arith.addf %n, %b : tensor<3x16x16x4xf16>
  return %y, %b : tensor<3x16x16x4xf16>, tensor<3x16x16x4xf16>
}
