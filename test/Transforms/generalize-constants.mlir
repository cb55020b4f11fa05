//===- generalize-constants.mlir - Constants that programs read ----------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-opt %s --norm-generalize | FileCheck %s
// RUN: norm-compile %s --entry=operand --emit=llvm --target=host -o /dev/null
// RUN: norm-compile %s --entry=empty --emit=llvm --target=host -o /dev/null
// RUN: norm-compile %s --entry=initial --emit=llvm --target=sm_90 -o /dev/null
// RUN: norm-run %s --entry=reduced --device=emulated --arg 0=1.5 --check --bits=host

// A program of the input reads a buffer, which a program has to write.
// CHECK-LABEL: func.func @operand
// CHECK: %[[SPLAT:.*]] = norm.generic
// CHECK: %[[THREE:.*]] = arith.constant 3.0{{.*}} : f32
// CHECK: norm.yield %[[THREE]]
// CHECK: norm.generic
// CHECK-NEXT: ins(%{{.*}} = %[[SPLAT]][row, col]
func.func @operand(%x: tensor<4x31xf32>) -> tensor<4x31xf32> {
  %c = arith.constant dense<3.0> : tensor<4x31xf32>
  %e = tensor.empty() : tensor<4x31xf32>
  %y = norm.generic (row, col)
      ins(%a = %c[row, col] : tensor<4x31xf32>,
          %b = %x[row, col] : tensor<4x31xf32>)
      outs(%o = %e[row, col] : tensor<4x31xf32>) {
    %s = arith.addf %a, %b : f32
    norm.yield %s : f32
  }
  return %y : tensor<4x31xf32>
}

// The same for the previous content of an output, which becomes an input.
// CHECK-LABEL: func.func @initial
// CHECK: %[[SPLAT:.*]] = norm.generic
// CHECK: norm.generic
// CHECK-NEXT: ins(%[[X:.*]] = %arg0[row, col] : tensor<4x31xf32>, %[[C:.*]] = %[[SPLAT]][row, col] : tensor<4x31xf32>)
// CHECK-NEXT: outs(%{{.*}} = %{{.*}}[row, col] : tensor<4x31xf32>) {
// CHECK-NEXT: arith.addf %[[C]], %[[X]]
func.func @initial(%x: tensor<4x31xf32>) -> tensor<4x31xf32> {
  %c = arith.constant dense<3.0> : tensor<4x31xf32>
  %y = norm.generic (row, col)
      ins(%b = %x[row, col] : tensor<4x31xf32>)
      outs(%o = %c[row, col] : tensor<4x31xf32>) {
    %s = arith.addf %o, %b : f32
    norm.yield %s : f32
  }
  return %y : tensor<4x31xf32>
}

// A constant without elements is one of any value.
// CHECK-LABEL: func.func @empty
// CHECK-NOT: dense
// CHECK: norm.generic
func.func @empty(%x: tensor<0x31xf32>) -> (tensor<0x31xf32>, tensor<0x31xf32>) {
  %c = arith.constant dense<3.0> : tensor<0x31xf32>
  %y = arith.addf %x, %c : tensor<0x31xf32>
  return %y, %c : tensor<0x31xf32>, tensor<0x31xf32>
}

// Where nothing else tells the extents of the columns, a splat is a tensor.
// CHECK-LABEL: func.func @reduced
// CHECK-COUNT-2: norm.yield
// CHECK: norm.generic (col, row)
// CHECK-NEXT: ins(%{{.*}} = %{{.*}}[col, row] : tensor<5x3xf32>)
// CHECK: norm.generic (col, row)
// CHECK-NEXT: ins(%{{.*}} = %{{.*}}[col, row] : tensor<5x3xbf16>)
func.func @reduced(%s: f32) -> (tensor<3xf32>, tensor<3xbf16>) {
  %x = tensor.splat %s : tensor<5x3xf32>
  %c = arith.constant dense<3.0> : tensor<5x3xbf16>
  %y = norm.logsumexp %x axes = [0] : tensor<5x3xf32> -> tensor<3xf32>
  %z = norm.logsumexp %c axes = [0] : tensor<5x3xbf16> -> tensor<3xbf16>
  return %y, %z : tensor<3xf32>, tensor<3xbf16>
}
