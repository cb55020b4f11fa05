//===- bufferize-unranked.mlir - Tensors without a rank ---------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-opt %s --norm-bufferize --split-input-file --verify-diagnostics

// expected-error @below {{expects ranked tensors but got 'tensor<*xf32>'}}
func.func @argument(%x: tensor<*xf32>) {
  return
}

// -----

// expected-error @below {{expects ranked tensors but got 'tensor<*xf32>'}}
func.func private @result() -> tensor<*xf32>

// -----

func.func @value(%x: tensor<4xf32>) {
  // expected-error @below {{expects ranked tensors but got 'tensor<*xf32>'}}
  %0 = tensor.cast %x : tensor<4xf32> to tensor<*xf32>
  return
}
