//===- levels.mlir - The IR at each level ---------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-compile %s --emit=norm | FileCheck %s --check-prefix=NORM
// RUN: norm-compile %s --emit=program | FileCheck %s --check-prefix=PROGRAM
// RUN: norm-compile %s --emit=scheduled | FileCheck %s --check-prefix=SCHEDULED
// RUN: norm-compile %s --emit=scheduled --target=host --schedule=vector=4 | FileCheck %s --check-prefix=HOSTSCHEDULE
// RUN: norm-compile %s --emit=tiled | FileCheck %s --check-prefix=TILED
// RUN: norm-compile %s --emit=gpu | FileCheck %s --check-prefix=GPU
// RUN: norm-compile %s --emit=nvvm | FileCheck %s --check-prefix=NVVM
// RUN: norm-compile %s --emit=llvm | FileCheck %s --check-prefix=LLVM
// RUN: norm-compile %s --emit=llvm --target=host | FileCheck %s --check-prefix=HOSTLLVM
// RUN: norm-compile %s --emit ptx --target sm_80 | FileCheck %s --check-prefix=PTX
// RUN: norm-compile --ptx-version=83 - < %s | FileCheck %s --check-prefix=NEWER

// Every level reads back.
// RUN: norm-compile %s --emit=scheduled | norm-compile - -o - | FileCheck %s --check-prefix=NEWEST
// RUN: norm-compile %s --emit=tiled | norm-opt | FileCheck %s --check-prefix=TILED
// RUN: norm-compile %s --emit=gpu | norm-opt | FileCheck %s --check-prefix=GPU
// RUN: norm-compile %s --emit=nvvm | norm-opt | FileCheck %s --check-prefix=NVVM

// NORM: norm.rms_norm %{{.*}} scale(
// PROGRAM: norm.generic (row, col)
// PROGRAM: norm.reduce add
// SCHEDULED: #norm.schedule<threads = {{[0-9]+}}
// HOSTSCHEDULE: #norm.schedule<threads = 1,
// HOSTSCHEDULE-SAME: vector = 4
// TILED: norm_tile.kernel @main_0
// TILED: norm_tile.launch @main_0
// GPU: gpu.func @main_0
// NVVM: llvm.func @main_0
// LLVM: target triple = "nvptx64-nvidia-cuda"
// LLVM: define ptx_kernel void @main_0(
// HOSTLLVM: define void @main_0(ptr
// PTX: .target sm_80
// NEWER: .version 8.3
// NEWEST: .target sm_90
func.func @main(%x: tensor<?x4096xbf16>, %w: tensor<4096xbf16>) -> tensor<?x4096xbf16> {
  %y = norm.rms_norm %x scale(%w) axes = [1] eps = 1.0e-6
      : tensor<?x4096xbf16>, tensor<4096xbf16> -> tensor<?x4096xbf16>
  return %y : tensor<?x4096xbf16>
}
