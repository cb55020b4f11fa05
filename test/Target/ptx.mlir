//===- ptx.mlir - From LLVM dialect kernels to PTX ------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-opt %s --norm-translate-to-ptx=target=sm_90 | FileCheck %s
// RUN: norm-opt %s --norm-translate-to-ptx="target=sm_90 ptx-version=83" | FileCheck %s --check-prefix=NEWER
// RUN: norm-opt %s --norm-translate-to-ptx=target=sm_100 | FileCheck %s --check-prefix=BLACKWELL

// CHECK: gpu.binary @kernels [#gpu.object<#nvvm.target<chip = "sm_90", features = "+ptx81">, assembly =
// CHECK: .version 8.1
// CHECK: .target sm_90
// CHECK: .visible .entry scale(
// CHECK: .maxntid 128, 1, 1
// CHECK: ld.global.nc.v4.b32
// A product and a sum stay two roundings; only a written fma is one.
// CHECK: mul.rn.f32
// CHECK: add.rn.f32
// CHECK: fma.rn.f32
// CHECK: sqrt.rn.f32
// CHECK: div.rn.f32
// CHECK: st.global.v4.b32
// CHECK-NOT: .ftz
// CHECK-NOT: approx

// NEWER: .version 8.3
// BLACKWELL: .version 8.6
// BLACKWELL: .target sm_100
module {
  gpu.module @kernels {
    llvm.func @scale(%x: !llvm.ptr<1> {llvm.noalias, llvm.readonly}, %y: !llvm.ptr<1> {llvm.noalias}) attributes {gpu.kernel, nvvm.kernel, nvvm.maxntid = array<i32: 128, 1, 1>} {
      %t = nvvm.read.ptx.sreg.tid.x : i32
      %i = llvm.zext %t : i32 to i64
      %p = llvm.getelementptr %x[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, !llvm.array<4 x f32>
      %v = llvm.load %p {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
      %m = llvm.fmul %v, %v : vector<4xf32>
      %a = llvm.fadd %m, %v : vector<4xf32>
      %f = llvm.call_intrinsic "llvm.fma"(%a, %a, %v) : (vector<4xf32>, vector<4xf32>, vector<4xf32>) -> vector<4xf32>
      %s = llvm.call_intrinsic "llvm.sqrt"(%f) : (vector<4xf32>) -> vector<4xf32>
      %d = llvm.fdiv %v, %s : vector<4xf32>
      %q = llvm.getelementptr %y[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, !llvm.array<4 x f32>
      llvm.store %d, %q {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<1>
      llvm.return
    }
  }
}
