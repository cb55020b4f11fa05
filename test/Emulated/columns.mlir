//===- columns.mlir - Narrow and wide rows -------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Rows from one element to more than one CTA can hold, aligned and not.

// RUN: norm-run %s --entry=rms_1 --device=emulated --arg 0=random:5x1:seed=1 --check --bits=host | FileCheck %s
// RUN: norm-run %s --entry=softmax_1 --device=emulated --arg 0=random:5x1:seed=1 --check --bits=host | FileCheck %s
// RUN: norm-run %s --entry=add_1 --device=emulated --arg 0=random:5x1:seed=1 --arg 1=random:5x1:seed=2 --check --bits=host | FileCheck %s
// RUN: norm-run %s --entry=rms_7 --device=emulated --arg 0=random:5x7:seed=1 --check --bits=host | FileCheck %s
// RUN: norm-run %s --entry=softmax_7 --device=emulated --arg 0=random:5x7:seed=1 --check --bits=host | FileCheck %s
// RUN: norm-run %s --entry=add_7 --device=emulated --arg 0=random:5x7:seed=1 --arg 1=random:5x7:seed=2 --check --bits=host | FileCheck %s
// RUN: norm-run %s --entry=rms_33 --device=emulated --arg 0=random:5x33:seed=1 --check --bits=host | FileCheck %s
// RUN: norm-run %s --entry=softmax_33 --device=emulated --arg 0=random:5x33:seed=1 --check --bits=host | FileCheck %s
// RUN: norm-run %s --entry=add_33 --device=emulated --arg 0=random:5x33:seed=1 --arg 1=random:5x33:seed=2 --check --bits=host | FileCheck %s
// RUN: norm-run %s --entry=rms_384 --device=emulated --arg 0=random:5x384:seed=1 --check --bits=host | FileCheck %s
// RUN: norm-run %s --entry=softmax_384 --device=emulated --arg 0=random:5x384:seed=1 --check --bits=host | FileCheck %s
// RUN: norm-run %s --entry=add_384 --device=emulated --arg 0=random:5x384:seed=1 --arg 1=random:5x384:seed=2 --check --bits=host | FileCheck %s
// RUN: norm-run %s --entry=rms_1001 --device=emulated --arg 0=random:5x1001:seed=1 --check --bits=host | FileCheck %s
// RUN: norm-run %s --entry=softmax_1001 --device=emulated --arg 0=random:5x1001:seed=1 --check --bits=host | FileCheck %s
// RUN: norm-run %s --entry=add_1001 --device=emulated --arg 0=random:5x1001:seed=1 --arg 1=random:5x1001:seed=2 --check --bits=host | FileCheck %s
// RUN: norm-run %s --entry=rms_4096 --device=emulated --arg 0=random:5x4096:seed=1 --check --bits=host | FileCheck %s
// RUN: norm-run %s --entry=softmax_4096 --device=emulated --arg 0=random:5x4096:seed=1 --check --bits=host | FileCheck %s
// RUN: norm-run %s --entry=add_4096 --device=emulated --arg 0=random:5x4096:seed=1 --arg 1=random:5x4096:seed=2 --check --bits=host | FileCheck %s
// RUN: norm-run %s --entry=rms_16384 --device=emulated --arg 0=random:2x16384:seed=1 --check --bits=host | FileCheck %s
// RUN: norm-run %s --entry=softmax_16384 --device=emulated --arg 0=random:2x16384:seed=1 --check --bits=host | FileCheck %s
// RUN: norm-run %s --entry=add_16384 --device=emulated --arg 0=random:2x16384:seed=1 --arg 1=random:2x16384:seed=2 --check --bits=host | FileCheck %s
// RUN: norm-run %s --entry=rms_131072 --device=emulated --arg 0=random:2x131072:seed=1 --check --bits=host | FileCheck %s
// RUN: norm-run %s --entry=softmax_131072 --device=emulated --arg 0=random:2x131072:seed=1 --check --bits=host | FileCheck %s
// RUN: norm-run %s --entry=add_131072 --device=emulated --arg 0=random:2x131072:seed=1 --arg 1=random:2x131072:seed=2 --check --bits=host | FileCheck %s

// CHECK: ok    result 0 reference
// CHECK: ok    result 0 bits: {{.*}}: 0 of
// CHECK-NOT: WRONG

func.func @rms_1(%x: tensor<?x1xbf16>, %w: tensor<1xbf16>) -> tensor<?x1xbf16> {
  %y = norm.rms_norm %x scale(%w) axes = [1] eps = 1.0e-6 : tensor<?x1xbf16>, tensor<1xbf16> -> tensor<?x1xbf16>
  return %y : tensor<?x1xbf16>
}

func.func @softmax_1(%x: tensor<?x1xf32>) -> tensor<?x1xf32> {
  %y = norm.softmax %x axes = [1] : tensor<?x1xf32> -> tensor<?x1xf32>
  return %y : tensor<?x1xf32>
}

func.func @add_1(%x: tensor<?x1xf32>, %r: tensor<?x1xf32>, %w: tensor<1xf32>) -> (tensor<?x1xf32>, tensor<?x1xf32>) {
  %s = arith.addf %x, %r : tensor<?x1xf32>
  %y = norm.rms_norm %s scale(%w) axes = [1] eps = 1.0e-6 : tensor<?x1xf32>, tensor<1xf32> -> tensor<?x1xf32>
  return %y, %s : tensor<?x1xf32>, tensor<?x1xf32>
}

func.func @rms_7(%x: tensor<?x7xbf16>, %w: tensor<7xbf16>) -> tensor<?x7xbf16> {
  %y = norm.rms_norm %x scale(%w) axes = [1] eps = 1.0e-6 : tensor<?x7xbf16>, tensor<7xbf16> -> tensor<?x7xbf16>
  return %y : tensor<?x7xbf16>
}

func.func @softmax_7(%x: tensor<?x7xf32>) -> tensor<?x7xf32> {
  %y = norm.softmax %x axes = [1] : tensor<?x7xf32> -> tensor<?x7xf32>
  return %y : tensor<?x7xf32>
}

func.func @add_7(%x: tensor<?x7xf32>, %r: tensor<?x7xf32>, %w: tensor<7xf32>) -> (tensor<?x7xf32>, tensor<?x7xf32>) {
  %s = arith.addf %x, %r : tensor<?x7xf32>
  %y = norm.rms_norm %s scale(%w) axes = [1] eps = 1.0e-6 : tensor<?x7xf32>, tensor<7xf32> -> tensor<?x7xf32>
  return %y, %s : tensor<?x7xf32>, tensor<?x7xf32>
}

func.func @rms_33(%x: tensor<?x33xbf16>, %w: tensor<33xbf16>) -> tensor<?x33xbf16> {
  %y = norm.rms_norm %x scale(%w) axes = [1] eps = 1.0e-6 : tensor<?x33xbf16>, tensor<33xbf16> -> tensor<?x33xbf16>
  return %y : tensor<?x33xbf16>
}

func.func @softmax_33(%x: tensor<?x33xf32>) -> tensor<?x33xf32> {
  %y = norm.softmax %x axes = [1] : tensor<?x33xf32> -> tensor<?x33xf32>
  return %y : tensor<?x33xf32>
}

func.func @add_33(%x: tensor<?x33xf32>, %r: tensor<?x33xf32>, %w: tensor<33xf32>) -> (tensor<?x33xf32>, tensor<?x33xf32>) {
  %s = arith.addf %x, %r : tensor<?x33xf32>
  %y = norm.rms_norm %s scale(%w) axes = [1] eps = 1.0e-6 : tensor<?x33xf32>, tensor<33xf32> -> tensor<?x33xf32>
  return %y, %s : tensor<?x33xf32>, tensor<?x33xf32>
}

func.func @rms_384(%x: tensor<?x384xbf16>, %w: tensor<384xbf16>) -> tensor<?x384xbf16> {
  %y = norm.rms_norm %x scale(%w) axes = [1] eps = 1.0e-6 : tensor<?x384xbf16>, tensor<384xbf16> -> tensor<?x384xbf16>
  return %y : tensor<?x384xbf16>
}

func.func @softmax_384(%x: tensor<?x384xf32>) -> tensor<?x384xf32> {
  %y = norm.softmax %x axes = [1] : tensor<?x384xf32> -> tensor<?x384xf32>
  return %y : tensor<?x384xf32>
}

func.func @add_384(%x: tensor<?x384xbf16>, %r: tensor<?x384xbf16>, %w: tensor<384xbf16>) -> (tensor<?x384xbf16>, tensor<?x384xbf16>) {
  %s = arith.addf %x, %r : tensor<?x384xbf16>
  %y = norm.rms_norm %s scale(%w) axes = [1] eps = 1.0e-6 : tensor<?x384xbf16>, tensor<384xbf16> -> tensor<?x384xbf16>
  return %y, %s : tensor<?x384xbf16>, tensor<?x384xbf16>
}

func.func @rms_1001(%x: tensor<?x1001xbf16>, %w: tensor<1001xbf16>) -> tensor<?x1001xbf16> {
  %y = norm.rms_norm %x scale(%w) axes = [1] eps = 1.0e-6 : tensor<?x1001xbf16>, tensor<1001xbf16> -> tensor<?x1001xbf16>
  return %y : tensor<?x1001xbf16>
}

func.func @softmax_1001(%x: tensor<?x1001xf32>) -> tensor<?x1001xf32> {
  %y = norm.softmax %x axes = [1] : tensor<?x1001xf32> -> tensor<?x1001xf32>
  return %y : tensor<?x1001xf32>
}

func.func @add_1001(%x: tensor<?x1001xf32>, %r: tensor<?x1001xf32>, %w: tensor<1001xf32>) -> (tensor<?x1001xf32>, tensor<?x1001xf32>) {
  %s = arith.addf %x, %r : tensor<?x1001xf32>
  %y = norm.rms_norm %s scale(%w) axes = [1] eps = 1.0e-6 : tensor<?x1001xf32>, tensor<1001xf32> -> tensor<?x1001xf32>
  return %y, %s : tensor<?x1001xf32>, tensor<?x1001xf32>
}

func.func @rms_4096(%x: tensor<?x4096xbf16>, %w: tensor<4096xbf16>) -> tensor<?x4096xbf16> {
  %y = norm.rms_norm %x scale(%w) axes = [1] eps = 1.0e-6 : tensor<?x4096xbf16>, tensor<4096xbf16> -> tensor<?x4096xbf16>
  return %y : tensor<?x4096xbf16>
}

func.func @softmax_4096(%x: tensor<?x4096xf32>) -> tensor<?x4096xf32> {
  %y = norm.softmax %x axes = [1] : tensor<?x4096xf32> -> tensor<?x4096xf32>
  return %y : tensor<?x4096xf32>
}

func.func @add_4096(%x: tensor<?x4096xbf16>, %r: tensor<?x4096xbf16>, %w: tensor<4096xbf16>) -> (tensor<?x4096xbf16>, tensor<?x4096xbf16>) {
  %s = arith.addf %x, %r : tensor<?x4096xbf16>
  %y = norm.rms_norm %s scale(%w) axes = [1] eps = 1.0e-6 : tensor<?x4096xbf16>, tensor<4096xbf16> -> tensor<?x4096xbf16>
  return %y, %s : tensor<?x4096xbf16>, tensor<?x4096xbf16>
}

func.func @rms_16384(%x: tensor<?x16384xbf16>, %w: tensor<16384xbf16>) -> tensor<?x16384xbf16> {
  %y = norm.rms_norm %x scale(%w) axes = [1] eps = 1.0e-6 : tensor<?x16384xbf16>, tensor<16384xbf16> -> tensor<?x16384xbf16>
  return %y : tensor<?x16384xbf16>
}

func.func @softmax_16384(%x: tensor<?x16384xf32>) -> tensor<?x16384xf32> {
  %y = norm.softmax %x axes = [1] : tensor<?x16384xf32> -> tensor<?x16384xf32>
  return %y : tensor<?x16384xf32>
}

func.func @add_16384(%x: tensor<?x16384xbf16>, %r: tensor<?x16384xbf16>, %w: tensor<16384xbf16>) -> (tensor<?x16384xbf16>, tensor<?x16384xbf16>) {
  %s = arith.addf %x, %r : tensor<?x16384xbf16>
  %y = norm.rms_norm %s scale(%w) axes = [1] eps = 1.0e-6 : tensor<?x16384xbf16>, tensor<16384xbf16> -> tensor<?x16384xbf16>
  return %y, %s : tensor<?x16384xbf16>, tensor<?x16384xbf16>
}

func.func @rms_131072(%x: tensor<?x131072xbf16>, %w: tensor<131072xbf16>) -> tensor<?x131072xbf16> {
  %y = norm.rms_norm %x scale(%w) axes = [1] eps = 1.0e-6 : tensor<?x131072xbf16>, tensor<131072xbf16> -> tensor<?x131072xbf16>
  return %y : tensor<?x131072xbf16>
}

func.func @softmax_131072(%x: tensor<?x131072xf32>) -> tensor<?x131072xf32> {
  %y = norm.softmax %x axes = [1] : tensor<?x131072xf32> -> tensor<?x131072xf32>
  return %y : tensor<?x131072xf32>
}

func.func @add_131072(%x: tensor<?x131072xbf16>, %r: tensor<?x131072xbf16>, %w: tensor<131072xbf16>) -> (tensor<?x131072xbf16>, tensor<?x131072xbf16>) {
  %s = arith.addf %x, %r : tensor<?x131072xbf16>
  %y = norm.rms_norm %s scale(%w) axes = [1] eps = 1.0e-6 : tensor<?x131072xbf16>, tensor<131072xbf16> -> tensor<?x131072xbf16>
  return %y, %s : tensor<?x131072xbf16>, tensor<?x131072xbf16>
}
