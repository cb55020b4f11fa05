//===- invalid-accumulate.mlir - Sums of workers refused ------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-opt %s --split-input-file --verify-diagnostics

func.func @strands(%x: tensor<?x64xf32>, %p: tensor<8x64xf32>) {
  norm.generic (row, col, worker) ins(%a = %x[row, col] : tensor<?x64xf32>) outs(%o = %p[worker, col] : tensor<8x64xf32>) {
    // expected-error@+1 {{'norm.accumulate' op expects a power of two of strands but got 3}}
    %r = norm.accumulate %a over [row] by worker strands 3 : f32
    norm.yield %r : f32
  }
  return
}

// -----

func.func @no_dim(%x: tensor<?x64xf32>, %p: tensor<8x64xf32>) {
  norm.generic (row, col, worker) ins(%a = %x[row, col] : tensor<?x64xf32>) outs(%o = %p[worker, col] : tensor<8x64xf32>) {
    // expected-error@+1 {{'norm.accumulate' op expects at least one dim but got none}}
    %r = norm.accumulate %a over [] by worker : f32
    norm.yield %r : f32
  }
  return
}

// -----

func.func @own_dim(%x: tensor<?x64xf32>, %p: tensor<8x64xf32>) {
  norm.generic (row, col, worker) ins(%a = %x[row, col] : tensor<?x64xf32>) outs(%o = %p[worker, col] : tensor<8x64xf32>) {
    // expected-error@+1 {{'norm.accumulate' op expects another dim of workers than 'row', which it sums over}}
    %r = norm.accumulate %a over [row] by row : f32
    norm.yield %r : f32
  }
  return
}

// -----

func.func @unknown_dim(%x: tensor<?x64xf32>, %p: tensor<8x64xf32>) {
  norm.generic (row, col, worker) ins(%a = %x[row, col] : tensor<?x64xf32>) outs(%o = %p[worker, col] : tensor<8x64xf32>) {
    // expected-error@+1 {{'norm.accumulate' op expects a dim of the space but got 'cta'}}
    %r = norm.accumulate %a over [row] by cta : f32
    norm.yield %r : f32
  }
  return
}

// -----

func.func @input(%x: tensor<8x64xf32>, %p: tensor<8x64xf32>) {
  norm.generic (row, col, worker) ins(%a = %x[row, col] : tensor<8x64xf32>, %b = %p[worker, col] : tensor<8x64xf32>) outs(%o = %p[worker, col] : tensor<8x64xf32>) {
    // expected-error@+1 {{'norm.accumulate' op expects workers, 'worker', to be a dim of outputs only but input #1 has it}}
    %r = norm.accumulate %a over [row] by worker : f32
    norm.yield %r : f32
  }
  return
}

// -----

func.func @dynamic(%x: tensor<8x64xf32>, %p: tensor<?x64xf32>) {
  norm.generic (row, col, worker) ins(%a = %x[row, col] : tensor<8x64xf32>) outs(%o = %p[worker, col] : tensor<?x64xf32>) {
    // expected-error@+1 {{'norm.accumulate' op expects a static number of workers on 'worker' but got a dynamic one}}
    %r = norm.accumulate %a over [row] by worker : f32
    norm.yield %r : f32
  }
  return
}

// -----

func.func @used(%x: tensor<8x64xf32>, %p: tensor<8x64xf32>) {
  norm.generic (row, col, worker) ins(%a = %x[row, col] : tensor<8x64xf32>) outs(%o = %p[worker, col] : tensor<8x64xf32>) {
    // expected-error@+1 {{'norm.accumulate' op expects the sums of workers to be yielded, but 'arith.negf' uses one}}
    %r = norm.accumulate %a over [row] by worker : f32
    %n = arith.negf %r : f32
    norm.yield %n : f32
  }
  return
}
