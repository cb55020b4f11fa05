//===- to-ptx-text.mlir - What PTX of rows in registers looks like --------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// One load of 16 bytes per vector of a row, one store, and the row in registers
// between them: 4096 columns of bf16 by 128 threads are 4 vectors per thread and
// operand. Nothing is flushed, approximated, spilled or left to a library.
//
// RUN: norm-compile %s --target=sm_80 -o - | FileCheck %s
// RUN: norm-compile %s --target=sm_90 -o - | FileCheck %s
// RUN: norm-compile %s --target=sm_100 -o - | FileCheck %s
// RUN: norm-compile %s --target=sm_90 -o - | FileCheck %s --check-prefix=NEVER
// RUN: norm-compile %s --target=sm_90 -o - | FileCheck %s --check-prefix=POLICY

// CHECK: .visible .entry main_0(
// CHECK: .maxntid 128, 1, 1
// CHECK-COUNT-4: ld.global.nc.L2::cache_hint.v4.b32
// CHECK-NOT: ld.global
// CHECK: bar.sync
// CHECK-COUNT-5: shfl.sync.bfly.b32
// CHECK-NOT: ld.global
// CHECK: sqrt.rn.f32
// CHECK-COUNT-4: st.global.v4.b32
// CHECK-NOT: st.global.v4.b32
// CHECK: ret;

// The grid decides what the cache keeps.
// POLICY: %nctaid.x
// POLICY: createpolicy.fractional.L2::evict_last.b64
// POLICY: createpolicy.fractional.L2::evict_normal.b64
// POLICY: selp.b64

// NEVER-NOT: .ftz
// NEVER-NOT: approx
// NEVER-NOT: .local
// NEVER-NOT: call
// NEVER-NOT: .extern .func
func.func @main(%x: tensor<?x4096xbf16>, %w: tensor<4096xbf16>) -> tensor<?x4096xbf16> {
  %y = norm.rms_norm %x scale(%w) axes = [1] eps = 1.0e-6
      : tensor<?x4096xbf16>, tensor<4096xbf16> -> tensor<?x4096xbf16>
  return %y : tensor<?x4096xbf16>
}
