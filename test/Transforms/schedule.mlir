//===- schedule.mlir - Order and schedule of programs ---------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-opt %s --norm-schedule=target=sm_90 | FileCheck %s --check-prefixes=CHECK,GPU
// RUN: norm-opt %s --norm-schedule | FileCheck %s --check-prefixes=CHECK,HOST
// RUN: norm-opt %s --norm-schedule="target=sm_90 schedule=residency=stream,threads=512" | FileCheck %s --check-prefix=OVERRIDE

// The leaf is 16 bytes of the narrowest input that is read, for every target.

// CHECK-LABEL: func.func @half
// OVERRIDE-LABEL: func.func @half
func.func @half(%x: tensor<?x4096xbf16>, %y: tensor<?x4096xf32>) -> tensor<?x4096xf32> {
  // CHECK: order = #norm.order<leaf = 8, lanes = 1024>
  // GPU-SAME: schedule = #norm.schedule<threads = 128, prefetch = false>
  // HOST-SAME: schedule = #norm.schedule<threads = 1, residency = stream, vector = 8>
  // OVERRIDE: order = #norm.order<leaf = 8, lanes = 1024>, schedule = #norm.schedule<threads = 512, residency = stream, prefetch = false>
  %0 = norm.generic (row, col)
      ins(%a = %x[row, col] : tensor<?x4096xbf16>)
      outs(%o = %y[row, col] : tensor<?x4096xf32>) {
    %f = arith.extf %a : bf16 to f32
    %s = norm.reduce add %f over [col] : f32
    %v = arith.subf %f, %s : f32
    norm.yield %v : f32
  }
  return %0 : tensor<?x4096xf32>
}

// An input that nothing uses doesn't change the order.

// CHECK-LABEL: func.func @unused_input
func.func @unused_input(%x: tensor<?x4096xf32>, %z: tensor<?x4096xi8>, %y: tensor<?xf32>) -> tensor<?xf32> {
  // CHECK: order = #norm.order<leaf = 4, lanes = 1024>
  %0 = norm.generic (row, col)
      ins(%a = %x[row, col] : tensor<?x4096xf32>, %b = %z[row, col] : tensor<?x4096xi8>)
      outs(%o = %y[row] : tensor<?xf32>) {
    %s = norm.reduce max %a over [col] : f32
    norm.yield %s : f32
  }
  return %0 : tensor<?xf32>
}

// Nothing is held, but the row is too wide to be unrolled.

// CHECK-LABEL: func.func @wide
func.func @wide(%x: tensor<?x1048576xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
  // GPU: schedule = #norm.schedule<threads = 1024, residency = stream, prefetch = false>
  %0 = norm.generic (row, col)
      ins(%a = %x[row, col] : tensor<?x1048576xf32>)
      outs(%o = %y[row] : tensor<?xf32>) {
    %s = norm.reduce add %a over [col] : f32
    norm.yield %s : f32
  }
  return %0 : tensor<?xf32>
}

// CHECK-LABEL: func.func @dynamic
func.func @dynamic(%x: tensor<?x?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
  // GPU: schedule = #norm.schedule<threads = 512, residency = stream>
  %0 = norm.generic (row, col)
      ins(%a = %x[row, col] : tensor<?x?xf32>)
      outs(%o = %y[row] : tensor<?xf32>) {
    %s = norm.reduce add %a over [col] : f32
    norm.yield %s : f32
  }
  return %0 : tensor<?xf32>
}

// One row alone has the order of any number of rows: the operand without rows is
// no streamed one.
// CHECK-LABEL: func.func @one_row
// CHECK: order = #norm.order<leaf = 4, lanes = 1024>
func.func @one_row(%x: tensor<1x999xf32>, %w: tensor<999xbf16>,
                   %d: tensor<1x999xf32>) -> tensor<1x999xf32> {
  %y = norm.generic (row, col)
      ins(%a = %x[row, col] : tensor<1x999xf32>, %b = %w[col] : tensor<999xbf16>)
      outs(%o = %d[row, col] : tensor<1x999xf32>) {
    %s = norm.reduce add %a over [col] : f32
    %f = arith.extf %b : bf16 to f32
    %m = arith.mulf %f, %s : f32
    norm.yield %m : f32
  }
  return %y : tensor<1x999xf32>
}
