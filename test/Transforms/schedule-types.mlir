//===- schedule-types.mlir - Types that a target doesn't convert ----------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-opt %s --norm-schedule=target=sm_86 --split-input-file --verify-diagnostics

func.func @result(%x: memref<?x64xf32>, %y: memref<?x64xf8E4M3FN>) {
  norm.generic (row, col)
      ins(%a = %x[row, col] : memref<?x64xf32>)
      outs(%b = %y[row, col] : memref<?x64xf8E4M3FN>) {
    // expected-error@+1 {{'f8E4M3FN' result needs sm_89 or newer but target is sm_86}}
    %t = arith.truncf %a : f32 to f8E4M3FN
    norm.yield %t : f8E4M3FN
  }
  return
}

// -----

func.func @operand(%x: memref<?x64xf8E5M2>, %y: memref<?x64xf32>) {
  norm.generic (row, col)
      ins(%a = %x[row, col] : memref<?x64xf8E5M2>)
      outs(%b = %y[row, col] : memref<?x64xf32>) {
    // expected-error@+1 {{'f8E5M2' operand needs sm_89 or newer but target is sm_86}}
    %t = arith.extf %a : f8E5M2 to f32
    norm.yield %t : f32
  }
  return
}

// -----

// Any target moves bytes.
func.func @move(%x: memref<?x64xf8E5M2>, %y: memref<?x64xf8E5M2>) {
  norm.generic (row, col)
      ins(%a = %x[row, col] : memref<?x64xf8E5M2>)
      outs(%b = %y[row, col] : memref<?x64xf8E5M2>) {
    norm.yield %a : f8E5M2
  }
  return
}
