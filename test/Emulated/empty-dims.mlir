//===- empty-dims.mlir - Rows of several dims, one of them without elements ===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Such rows have statistics. A position on the dim is the rest of a division by
// its extent.

// RUN: norm-run %s --device=host --arg 0=random:3x2x1x0 --out 0=%t.host.npy --check | FileCheck %s
// RUN: norm-run %s --device=emulated --arg 0=random:3x2x1x0 --expect 0=%t.host.npy:ulp=0 --check | FileCheck %s
// CHECK: ok    result 0 reference: f32 3x1
// CHECK: ok    result 1 reference: bf16 3x2x1x0

func.func @main(%x: tensor<?x?x?x?xbf16>) -> (tensor<?x?xf32>, tensor<?x?x?x?xbf16>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %d0 = tensor.dim %x, %c0 : tensor<?x?x?x?xbf16>
  %d1 = tensor.dim %x, %c1 : tensor<?x?x?x?xbf16>
  %d2 = tensor.dim %x, %c2 : tensor<?x?x?x?xbf16>
  %d3 = tensor.dim %x, %c3 : tensor<?x?x?x?xbf16>
  %sums = tensor.empty(%d0, %d2) : tensor<?x?xf32>
  %rest = tensor.empty(%d0, %d1, %d2, %d3) : tensor<?x?x?x?xbf16>
  %s, %y = norm.generic (row, col, row1, col1)
      ins(%in = %x[row, col, row1, col1] : tensor<?x?x?x?xbf16>)
      outs(%o0 = %sums[row, row1] : tensor<?x?xf32>,
           %o1 = %rest[row, col, row1, col1] : tensor<?x?x?x?xbf16>) {
    %v = arith.extf %in : bf16 to f32
    %sum = norm.reduce add %v over [col, col1] : f32
    %less = arith.subf %v, %sum : f32
    %z = arith.truncf %less : f32 to bf16
    norm.yield %sum, %z : f32, bf16
  }
  return %s, %y : tensor<?x?xf32>, tensor<?x?x?x?xbf16>
}
