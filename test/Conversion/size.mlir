//===- size.mlir - Code does not grow -------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: sed -e 's/EXTENT/262144/g' %s > %t.narrow.mlir
// RUN: sed -e 's/EXTENT/1048576/g' %s > %t.wide.mlir
// RUN: norm-opt %t.narrow.mlir --norm-schedule="target=sm_90 schedule=threads=1024,residency=stream" --norm-tile --convert-norm-tile-to-gpu | grep -c " = \| llvm.store\|gpu.barrier" > %t.narrow
// RUN: norm-opt %t.wide.mlir --norm-schedule="target=sm_90 schedule=threads=1024,residency=stream" --norm-tile --convert-norm-tile-to-gpu | grep -c " = \| llvm.store\|gpu.barrier" > %t.wide
// RUN: diff %t.narrow %t.wide
// RUN: norm-opt %t.narrow.mlir --norm-schedule --norm-tile --convert-norm-tile-to-host | grep -c " = \| llvm.store" > %t.narrow
// RUN: norm-opt %t.wide.mlir --norm-schedule --norm-tile --convert-norm-tile-to-host | grep -c " = \| llvm.store" > %t.wide
// RUN: diff %t.narrow %t.wide

// Code doesn't grow with the extent: the same number of operations for rows of
// 262144 columns and four times as many.

func.func @sum(%x: memref<?xEXTENTxf32>, %y: memref<?xEXTENTxf32>) {
  norm.generic (row, col)
      ins(%a = %x[row, col] : memref<?xEXTENTxf32>) outs(%o = %y[row, col] : memref<?xEXTENTxf32>) {
    %s = norm.reduce add %a over [col] : f32
    %d = arith.subf %a, %s : f32
    norm.yield %d : f32
  }
  return
}
