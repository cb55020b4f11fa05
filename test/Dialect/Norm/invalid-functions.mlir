//===- invalid-functions.mlir - Activations refused -----------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-opt %s --split-input-file --verify-diagnostics

func.func @sigmoid_of_integers(%x: tensor<4xi32>) {
  // expected-error@+1 {{'norm.sigmoid' op operand #0 must be a float, or a tensor or vector of floats, but got 'tensor<4xi32>'}}
  %0 = norm.sigmoid %x : tensor<4xi32>
  return
}

// -----

func.func @silu_of_an_index(%x: index) {
  // expected-error@+1 {{'norm.silu' op operand #0 must be a float, or a tensor or vector of floats, but got 'index'}}
  %0 = norm.silu %x : index
  return
}

// -----

func.func @gelu_of_integers(%x: tensor<?x4xi8>) {
  // expected-error@+1 {{'norm.gelu' op operand #0 must be a float, or a tensor or vector of floats, but got 'tensor<?x4xi8>'}}
  %0 = norm.gelu %x approximate = tanh : tensor<?x4xi8>
  return
}

// -----

func.func @unknown_form(%x: tensor<4xf32>) {
  // expected-error@+1 {{expected string or keyword containing one of the following enum values for attribute 'approximate' [erf, tanh]}}
  %0 = norm.gelu %x approximate = sigmoid : tensor<4xf32>
  return
}
