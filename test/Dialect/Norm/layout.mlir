//===- layout.mlir - Layouts of arguments and results ---------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-opt %s --split-input-file --verify-diagnostics | FileCheck %s

// CHECK: func.func private @layouts(tensor<?x8x64xf32> {norm.layout = strided<[?, 64, 1]>}, tensor<f32> {norm.layout = strided<[]>})
// CHECK-SAME: -> (tensor<4xf32> {norm.layout = strided<[1]>})
func.func private @layouts(tensor<?x8x64xf32> {norm.layout = strided<[?, 64, 1]>},
                           tensor<f32> {norm.layout = strided<[]>})
    -> (tensor<4xf32> {norm.layout = strided<[1]>})

// -----

// expected-error@+1 {{expects a ranked tensor for 'norm.layout' of argument 1 but got 'f32'}}
func.func private @scalar(tensor<4xf32>, f32 {norm.layout = strided<[1]>})

// -----

// expected-error@+1 {{expects a strided layout as 'norm.layout' of argument 0 but got 1 : i64}}
func.func private @number(tensor<4xf32> {norm.layout = 1})

// -----

// expected-error@+1 {{expects 2 strides in 'norm.layout' of result 0 but got 1}}
func.func private @rank() -> (tensor<4x8xf32> {norm.layout = strided<[1]>})

// -----

// expected-error@+1 {{expects no offset in 'norm.layout' of argument 0 but got strided<[1], offset: 4>}}
func.func private @offset(tensor<4xf32> {norm.layout = strided<[1], offset: 4>})

// -----

// expected-error@+1 {{expects a stride of 0 or more along axis 0 in 'norm.layout' of argument 0 but got -8}}
func.func private @backwards(tensor<4x8xf32> {norm.layout = strided<[-8, 1]>})

// -----

// expected-error@+1 {{expects stride 1 along axis 1 in 'norm.layout' of argument 0 but got 4}}
func.func private @transposed(tensor<4x8xf32> {norm.layout = strided<[1, 4]>})

// -----

// expected-error@+1 {{expects stride 1 along axis 2 in 'norm.layout' of result 0 but got any}}
func.func private @any() -> (tensor<2x4x8xf32> {norm.layout = strided<[32, 8, ?]>})

// -----

// expected-error@+1 {{expects no attribute 'norm.pitch' of an argument or a result}}
func.func private @unknown(tensor<4x8xf32> {norm.pitch = 4})
