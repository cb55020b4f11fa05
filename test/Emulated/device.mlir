//===- device.mlir - Names of the emulated device ------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: sh -c 'norm-run %s --device=emulated:x >%t.out 2>%t.err; test $? -eq 1'
// RUN: FileCheck %s --check-prefix=NAME --input-file=%t.err
// NAME: norm-run: error: expects device auto, host, emulated or cuda:N but got 'emulated:x'

// RUN: sh -c 'norm-run %s --device=emulated --target=host >%t.out 2>%t.err; test $? -eq 1'
// RUN: FileCheck %s --check-prefix=TARGET --input-file=%t.err
// TARGET: norm-run: error: expects a GPU target for the emulated device but got host

// Nothing is launched for no rows, and nothing is wrong with that.
// RUN: norm-run %s --device=emulated:12 --arg 0=zeros:0x8 --check | FileCheck %s
// CHECK: device emulated: {{.*}}seed 12

func.func @main(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %y = norm.softmax %x axes = [1] : tensor<?x8xf32> -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}
