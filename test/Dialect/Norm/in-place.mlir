//===- in-place.mlir - Results declared to be in the memory of arguments --===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-opt %s --split-input-file --verify-diagnostics | FileCheck %s

// CHECK: func.func private @in_place(tensor<?x64xf32>, tensor<4xf32> {norm.in_place = 0 : i64, norm.layout = strided<[1]>})
func.func private @in_place(tensor<?x64xf32>, tensor<4xf32> {norm.in_place = 0, norm.layout = strided<[1]>})
    -> (tensor<4xf32> {norm.layout = strided<[1]>})

// -----

// expected-error@+1 {{expects the number of a result as 'norm.in_place' of argument 0 but got "y"}}
func.func private @no_number(tensor<4xf32> {norm.in_place = "y"}) -> tensor<4xf32>

// -----

// expected-error@+1 {{expects one of 1 results in 'norm.in_place' of argument 0 but got 1}}
func.func private @no_result(tensor<4xf32> {norm.in_place = 1}) -> tensor<4xf32>

// -----

// expected-error@+1 {{expects argument 0 and result 0, written in place of it, to be ranked tensors of one type but got 'tensor<4xf32>' and 'tensor<4xf16>'}}
func.func private @types(tensor<4xf32> {norm.in_place = 0}) -> tensor<4xf16>

// -----

// expected-error@+1 {{expects argument 0 and result 0, written in place of it, to be ranked tensors of one type but got 'f32' and 'f32'}}
func.func private @scalar(f32 {norm.in_place = 0}) -> f32

// -----

// expected-error@+1 {{expects argument 0 and result 0, written in place of it, to have one layout but got none and strided<[8, 1]>}}
func.func private @layouts(tensor<4x4xf32> {norm.in_place = 0}) -> (tensor<4x4xf32> {norm.layout = strided<[8, 1]>})

// -----

// expected-error@+1 {{expects result 0 to be written in place of one argument but got 0 and 2}}
func.func private @twice(tensor<4xf32> {norm.in_place = 0}, tensor<4xf32>, tensor<4xf32> {norm.in_place = 0}) -> tensor<4xf32>

// -----

// expected-error@+1 {{expects attribute 'norm.kernels' on modules, without a value, but got 1 : i64}}
module attributes {norm.kernels = 1} {}
