//===- in-place-invalid.mlir - Arguments that can't be overwritten --------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-opt %s --split-input-file --verify-diagnostics --norm-generalize --norm-fuse --norm-results-to-destinations

func.func @read_later(%x: tensor<8x64xf32> {norm.in_place = 0}) -> (tensor<8x64xf32>, tensor<8x64xf32>) {
  %y = norm.softmax %x axes = [1] : tensor<8x64xf32> -> tensor<8x64xf32>
  // expected-error@+1 {{expects argument 0, in place of which result 0 is written, not to be read once it is overwritten, but 'softmax' reads it}}
  %z = norm.softmax %x axes = [0] : tensor<8x64xf32> -> tensor<8x64xf32>
  return %y, %z : tensor<8x64xf32>, tensor<8x64xf32>
}

// -----

func.func @other_element(%x: tensor<8x8xf32> {norm.in_place = 0}) -> tensor<8x8xf32> {
  %e = tensor.empty() : tensor<8x8xf32>
  // expected-error@+1 {{expects argument 0, in place of which result 0 is written, to be read at the element that is written, but operand 0 of 'transposed' reads others}}
  %y = norm.generic (row, col) ins(%a = %x[col, row] : tensor<8x8xf32>)
      outs(%o = %e[row, col] : tensor<8x8xf32>) attributes {name = "transposed"} {
    norm.yield %a : f32
  }
  return %y : tensor<8x8xf32>
}

// -----

func.func @also_elsewhere(%x: tensor<8x8xf32> {norm.in_place = 0}) -> tensor<8x8xf32> {
  %e = tensor.empty() : tensor<8x8xf32>
  // expected-error@+1 {{to be read at the element that is written, but operand 1 of 'sum' reads others}}
  %y = norm.generic (row, col) ins(%a = %x[row, col] : tensor<8x8xf32>, %b = %x[col, row] : tensor<8x8xf32>)
      outs(%o = %e[row, col] : tensor<8x8xf32>) attributes {name = "sum"} {
    %s = arith.addf %a, %b : f32
    norm.yield %s : f32
  }
  return %y : tensor<8x8xf32>
}

// -----

func.func @reshaped(%x: tensor<8x6xf32> {norm.in_place = 0}) -> tensor<8x6xf32> {
  %c = tensor.collapse_shape %x [[0, 1]] : tensor<8x6xf32> into tensor<48xf32>
  %t = tensor.expand_shape %c [[0, 1]] output_shape [6, 8] : tensor<48xf32> into tensor<6x8xf32>
  %y = norm.softmax %t axes = [1] : tensor<6x8xf32> -> tensor<6x8xf32>
  %f = tensor.empty() : tensor<8x6xf32>
  // expected-error@+1 {{to be read at the element that is written, but operand 0 of 'softmax_transpose' reads it reshaped otherwise}}
  %z = linalg.transpose ins(%y : tensor<6x8xf32>) outs(%f : tensor<8x6xf32>) permutation = [1, 0]
  return %z : tensor<8x6xf32>
}

// -----

func.func @no_program(%x: tensor<8xf32> {norm.in_place = 0}, %y: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{expects argument 0, in place of which result 0 is written, to be updated by a program, which makes the result, but got no such program}}
  return %y : tensor<8xf32>
}

// -----

func.func @returned(%x: tensor<8xf32> {norm.in_place = 0}) -> (tensor<8xf32>, tensor<8xf32>) {
  %y = math.absf %x : tensor<8xf32>
  // expected-error@+1 {{not to be read once it is overwritten, but 'func.return' reads it}}
  return %y, %x : tensor<8xf32>, tensor<8xf32>
}

// -----

// expected-error@+1 {{expects results 0 and 1, written in place of arguments 0 and 1, to be different values}}
func.func @one_value(%x: tensor<8xf32> {norm.in_place = 0}, %y: tensor<8xf32> {norm.in_place = 1}) -> (tensor<8xf32>, tensor<8xf32>) {
  %z = arith.addf %x, %y : tensor<8xf32>
  return %z, %z : tensor<8xf32>, tensor<8xf32>
}
