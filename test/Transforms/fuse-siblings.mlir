//===- fuse-siblings.mlir - Programs that read the same become one --------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-opt %s --norm-generalize --norm-fuse=explain --allow-unregistered-dialect --split-input-file --verify-diagnostics | FileCheck %s

// Two norms of one input: x is read once, and what both reduce is reduced once.
// CHECK-LABEL: func.func @two_norms
// CHECK-SAME: (%[[X:.*]]: tensor<?x1024xbf16>
// CHECK: %[[F:.*]]:2 = norm.generic (row, col)
// CHECK-NEXT: ins(%{{.*}} = %[[X]][row, col] : tensor<?x1024xbf16>, %[[W:.*]] = %{{.*}}[col] : tensor<1024xbf16>, %[[V:.*]] = %{{.*}}[col] : tensor<1024xbf16>)
// CHECK: norm.reduce
// CHECK-NOT: norm.reduce
// CHECK: norm.yield
// CHECK-NOT: norm.generic
// CHECK: return %[[F]]#1, %[[F]]#0
func.func @two_norms(%x: tensor<?x1024xbf16>, %w: tensor<1024xbf16>, %v: tensor<1024xbf16>)
    -> (tensor<?x1024xbf16>, tensor<?x1024xbf16>) {
  %a = norm.rms_norm %x scale(%w) axes = [1] eps = 1.0e-6
      : tensor<?x1024xbf16>, tensor<1024xbf16> -> tensor<?x1024xbf16>
  // expected-remark@+1 {{fused with sibling 'rms_norm': saves ?x1024 bf16 once}}
  %b = norm.rms_norm %x scale(%v) axes = [1] eps = 1.0e-6
      : tensor<?x1024xbf16>, tensor<1024xbf16> -> tensor<?x1024xbf16>
  return %a, %b : tensor<?x1024xbf16>, tensor<?x1024xbf16>
}

// -----

// Different norms: both first reductions are ready in the first phase.
// CHECK-LABEL: func.func @other_norms
// CHECK: norm.generic (row, col)
// CHECK-NEXT: ins(%{{.*}} : tensor<8x64xf32>)
// CHECK: norm.reduce add
// CHECK: norm.reduce add
// CHECK: norm.reduce max
// CHECK-NOT: norm.generic
func.func @other_norms(%x: tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<8x64xf32>) {
  %a = norm.layer_norm %x axes = [1] eps = 1.0e-6 : tensor<8x64xf32> -> tensor<8x64xf32>
  // expected-remark@+1 {{fused with sibling 'layer_norm': saves 8x64 f32 once (2048 bytes)}}
  %b = norm.softmax %x axes = [1] : tensor<8x64xf32> -> tensor<8x64xf32>
  return %a, %b : tensor<8x64xf32>, tensor<8x64xf32>
}

// -----

// The first result is needed by an op that is no program; the second norm can
// be computed before it, together with what it needs.
// CHECK-LABEL: func.func @moved_up
// CHECK: arith.addf %{{.*}} : f32
// CHECK: norm.generic
// CHECK: "some.op"
// CHECK-NOT: norm.generic
func.func @moved_up(%x: tensor<8x64xf32>, %s: f32) -> (tensor<4xf32>, tensor<8x64xf32>) {
  %a = norm.softmax %x axes = [1] : tensor<8x64xf32> -> tensor<8x64xf32>
  %u = "some.op"(%a) : (tensor<8x64xf32>) -> tensor<4xf32>
  %t = arith.addf %s, %s : f32
  %e = tensor.empty() : tensor<8x64xf32>
  // expected-remark@+1 {{fused with sibling 'softmax': saves 8x64 f32 once (2048 bytes)}}
  %b = norm.generic (row, col)
      ins(%v = %x[row, col] : tensor<8x64xf32>, %k = %t[] : f32)
      outs(%o = %e[row, col] : tensor<8x64xf32>) {
    %r = norm.reduce max %v over [col] : f32
    %d = arith.subf %v, %r : f32
    %m = arith.mulf %d, %k : f32
    norm.yield %m : f32
  }
  return %u, %b : tensor<4xf32>, tensor<8x64xf32>
}

// -----

// What the second norm needs comes out of an op with unknown effects, below
// that the first one's result is needed.
// CHECK-LABEL: func.func @in_between
// CHECK-COUNT-2: norm.generic
func.func @in_between(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %a = norm.softmax %x axes = [1] : tensor<8x64xf32> -> tensor<8x64xf32>
  %w = "some.op"(%a) : (tensor<8x64xf32>) -> tensor<64xf32>
  // expected-remark@+1 {{not fused with sibling 'softmax': its result is needed before this op}}
  %b = norm.rms_norm %x scale(%w) axes = [1] eps = 1.0e-6
      : tensor<8x64xf32>, tensor<64xf32> -> tensor<8x64xf32>
  return %b : tensor<8x64xf32>
}

// -----

// A consumer goes up to its producer, where another op needs the producer.
// CHECK-LABEL: func.func @consumer_moved_up
// CHECK: %[[F:.*]]:2 = norm.generic
// CHECK: "some.op"(%[[F]]#1)
// CHECK-NOT: norm.generic
func.func @consumer_moved_up(%x: tensor<8x64xf32>, %y: tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<8x64xf32>) {
  %s = arith.addf %x, %y : tensor<8x64xf32>
  %u = "some.op"(%s) : (tensor<8x64xf32>) -> tensor<8x64xf32>
  // expected-remark@+1 {{fused with producer 'add': saves 8x64 f32 once (2048 bytes)}}
  %b = norm.softmax %s axes = [1] : tensor<8x64xf32> -> tensor<8x64xf32>
  return %u, %b : tensor<8x64xf32>, tensor<8x64xf32>
}

// -----

// A scale that both take is made in the kernel of both.
// CHECK-LABEL: func.func @shared_scale
// CHECK: %[[F:.*]]:2 = norm.generic (row, col)
// CHECK: arith.addf
// CHECK-NOT: norm.generic
func.func @shared_scale(%x: tensor<8x64xf32>, %w: tensor<64xf32>) -> (tensor<8x64xf32>, tensor<8x64xf32>) {
  %w2 = arith.addf %w, %w : tensor<64xf32>
  %a = norm.rms_norm %x scale(%w2) axes = [1] eps = 1.0e-6 : tensor<8x64xf32>, tensor<64xf32> -> tensor<8x64xf32>
  // expected-remark@+2 {{fused with sibling 'rms_norm': saves 8x64 f32 once, 64 f32 once (2304 bytes)}}
  // expected-remark@+1 {{fused with producer 'add': saves 64 f32 twice (512 bytes)}}
  %b = norm.layer_norm %x scale(%w2) axes = [1] eps = 1.0e-6 : tensor<8x64xf32>, tensor<64xf32> -> tensor<8x64xf32>
  return %a, %b : tensor<8x64xf32>, tensor<8x64xf32>
}

// -----

// A sum that two norms read: one kernel, which doesn't write the sum.
// CHECK-LABEL: func.func @one_producer
// CHECK: norm.generic (row, col)
// CHECK: norm.yield %{{.*}}, %{{.*}} : f32, f32
// CHECK-NOT: norm.generic
func.func @one_producer(%x: tensor<8x64xf32>, %y: tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<8x64xf32>) {
  %s = arith.addf %x, %y : tensor<8x64xf32>
  // expected-remark@+1 {{fused with producer 'add': saves 8x64 f32 once (2048 bytes)}}
  %a = norm.softmax %s axes = [1] : tensor<8x64xf32> -> tensor<8x64xf32>
  // expected-remark@+1 {{fused with producer 'add_softmax': saves 8x64 f32 twice (4096 bytes)}}
  %b = norm.layer_norm %s axes = [1] eps = 1.0e-6 : tensor<8x64xf32> -> tensor<8x64xf32>
  return %a, %b : tensor<8x64xf32>, tensor<8x64xf32>
}

// -----

// A norm, a residual, and the norm of the next block.
// CHECK-LABEL: func.func @post_and_pre
// CHECK: norm.generic (row, col)
// CHECK: norm.yield
// CHECK-NOT: norm.generic
func.func @post_and_pre(%x: tensor<?x512xbf16>, %res: tensor<?x512xbf16>, %w: tensor<512xbf16>, %v: tensor<512xbf16>)
    -> (tensor<?x512xbf16>, tensor<?x512xbf16>) {
  %post = norm.rms_norm %x scale(%w) axes = [1] eps = 1.0e-6 : tensor<?x512xbf16>, tensor<512xbf16> -> tensor<?x512xbf16>
  // expected-remark@+1 {{fused with producer 'rms_norm': saves ?x512 bf16 twice}}
  %sum = arith.addf %post, %res : tensor<?x512xbf16>
  // expected-remark@+1 {{fused with producer 'rms_norm_add': saves ?x512 bf16 once}}
  %pre = norm.rms_norm %sum scale(%v) axes = [1] eps = 1.0e-6 : tensor<?x512xbf16>, tensor<512xbf16> -> tensor<?x512xbf16>
  return %sum, %pre : tensor<?x512xbf16>, tensor<?x512xbf16>
}

// -----

// The rows of one are the columns of the other.
// CHECK-LABEL: func.func @rows_and_columns
// CHECK-COUNT-2: norm.generic
func.func @rows_and_columns(%x: tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  %a = norm.softmax %x axes = [1] : tensor<64x64xf32> -> tensor<64x64xf32>
  // expected-remark@+1 {{not fused with sibling 'softmax': the two reduce over different dims}}
  %b = norm.softmax %x axes = [0] : tensor<64x64xf32> -> tensor<64x64xf32>
  return %a, %b : tensor<64x64xf32>, tensor<64x64xf32>
}

// -----

// CHECK-LABEL: func.func @more_dims
// CHECK-COUNT-2: norm.generic
func.func @more_dims(%x: tensor<4x64xf32>, %y: tensor<3x4x64xf32>) -> (tensor<4x64xf32>, tensor<3x4x64xf32>) {
  %a = norm.softmax %x axes = [1] : tensor<4x64xf32> -> tensor<4x64xf32>
  %e = tensor.empty() : tensor<3x4x64xf32>
  // expected-remark@+1 {{not fused with sibling 'softmax': their iteration spaces differ, (row, col) and (b, row, col)}}
  %b = norm.generic (b, row, col)
      ins(%v = %x[row, col] : tensor<4x64xf32>, %u = %y[b, row, col] : tensor<3x4x64xf32>)
      outs(%o = %e[b, row, col] : tensor<3x4x64xf32>) {
    %s = arith.addf %v, %u : f32
    norm.yield %s : f32
  }
  return %a, %b : tensor<4x64xf32>, tensor<3x4x64xf32>
}

// -----

// One scale is no reason to compute two norms together.
// CHECK-LABEL: func.func @strangers
// CHECK-COUNT-2: norm.generic
func.func @strangers(%x: tensor<4x64xf32>, %y: tensor<4x64xf32>, %w: tensor<64xf32>) -> (tensor<4x64xf32>, tensor<4x64xf32>) {
  %a = norm.rms_norm %x scale(%w) axes = [1] eps = 1.0e-6 : tensor<4x64xf32>, tensor<64xf32> -> tensor<4x64xf32>
  %b = norm.rms_norm %y scale(%w) axes = [1] eps = 1.0e-6 : tensor<4x64xf32>, tensor<64xf32> -> tensor<4x64xf32>
  return %a, %b : tensor<4x64xf32>, tensor<4x64xf32>
}

// -----

// Both gates are held until the reductions are known: more than a CTA has room
// for, where each program can hold what it reads itself.
// CHECK-LABEL: func.func @too_much_to_hold
// CHECK-COUNT-2: norm.generic
func.func @too_much_to_hold(%x: tensor<8x24576xf32>, %g: tensor<8x24576xf32>, %h: tensor<8x24576xf32>)
    -> (tensor<8x24576xf32>, tensor<8x24576xf32>) {
  %e = tensor.empty() : tensor<8x24576xf32>
  %a = norm.generic (row, col)
      ins(%v = %x[row, col] : tensor<8x24576xf32>, %k = %g[row, col] : tensor<8x24576xf32>)
      outs(%o = %e[row, col] : tensor<8x24576xf32>) attributes {name = "first"} {
    %r = norm.reduce max %v over [col] : f32
    %d = arith.subf %v, %r : f32
    %q = arith.mulf %d, %d : f32
    %t = norm.reduce add %q over [col] : f32
    %n = arith.mulf %d, %t : f32
    %m = arith.mulf %n, %k : f32
    norm.yield %m : f32
  }
  // expected-remark@+1 {{not fused with sibling 'first': as one they would hold 12 bytes of each of 24576 columns, more than registers and shared memory have room for, and move 28 bytes of each by reading again instead of 24}}
  %b = norm.generic (row, col)
      ins(%v = %x[row, col] : tensor<8x24576xf32>, %k = %h[row, col] : tensor<8x24576xf32>)
      outs(%o = %e[row, col] : tensor<8x24576xf32>) {
    %r = norm.reduce max %v over [col] : f32
    %d = arith.subf %v, %r : f32
    %m = arith.mulf %d, %k : f32
    norm.yield %m : f32
  }
  return %a, %b : tensor<8x24576xf32>, tensor<8x24576xf32>
}

// -----

// Where one reads again in any case, fusing saves what it always saves.
// CHECK-LABEL: func.func @unknown_columns
// CHECK: norm.generic
// CHECK-NOT: norm.generic
func.func @unknown_columns(%x: tensor<8x?xf32>) -> (tensor<8x?xf32>, tensor<8x?xf32>) {
  %a = norm.softmax %x axes = [1] : tensor<8x?xf32> -> tensor<8x?xf32>
  // expected-remark@+1 {{fused with sibling 'softmax': saves 8x? f32 once}}
  %b = norm.rms_norm %x axes = [1] eps = 1.0e-6 : tensor<8x?xf32> -> tensor<8x?xf32>
  return %a, %b : tensor<8x?xf32>, tensor<8x?xf32>
}
