//===- results-to-destinations-invalid.mlir - Functions refused -----------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-opt %s --split-input-file --verify-diagnostics --norm-results-to-destinations

// expected-error@+1 {{expects result 1 to be a ranked tensor of numbers but got 'f32'}}
func.func @scalar(%x: tensor<4xf32>, %s: f32) -> (tensor<4xf32>, f32) {
  return %x, %s : tensor<4xf32>, f32
}

// -----

// expected-error@+1 {{expects argument 0 to be a number or a ranked tensor of numbers but got 'tensor<*xf32>'}}
func.func @unranked(%x: tensor<*xf32>) {
  return
}

// -----

// expected-error@+1 {{expects a function of one block but got 2}}
func.func @blocks(%x: tensor<4xf32>) -> tensor<4xf32> {
  cf.br ^next
^next:
  return %x : tensor<4xf32>
}

// -----

func.func private @callee(%x: tensor<4xf32>) -> tensor<4xf32>
func.func @caller(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{expects no calls of functions here but got 'func.call'}}
  %0 = call @callee(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// expected-error@+1 {{expects result 0 to be a ranked tensor of numbers but got 'tensor<4xcomplex<f32>>'}}
func.func @complex(%x: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> {
  return %x : tensor<4xcomplex<f32>>
}

// -----

func.func @foreign(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // expected-error@+1 {{expects named, elementwise and reshaping ops on tensors but got 'linalg.matmul'}}
  %0 = linalg.matmul ins(%x, %x : tensor<4x4xf32>, tensor<4x4xf32>) outs(%y : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

// -----

func.func @table() -> tensor<2xf32> {
  // expected-error@+1 {{expects constants of one value, or of at most 256 that aren't 8-bit floats, but got 'tensor<2xf32>' of several}}
  %0 = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
  return %0 : tensor<2xf32>
}
