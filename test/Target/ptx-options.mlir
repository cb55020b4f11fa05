//===- ptx-options.mlir - Targets and versions ----------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: not norm-opt %s --norm-translate-to-ptx=target=host 2>&1 | FileCheck %s --check-prefix=HOST
// RUN: not norm-opt %s --norm-translate-to-ptx=target=sm_75 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not norm-opt %s --norm-translate-to-ptx="target=sm_100 ptx-version=80" 2>&1 | FileCheck %s --check-prefix=OLD
// RUN: not norm-opt %s --norm-translate-to-ptx="target=sm_90 ptx-version=99" 2>&1 | FileCheck %s --check-prefix=VERSION

// HOST: error: target host has no PTX
// UNKNOWN: error: unknown target 'sm_75', expects host or one of sm_80,
// OLD: error: target sm_100 expects PTX 8.6 or newer but got 8.0
// VERSION: error: unknown PTX version 9.9
module {
  gpu.module @kernels {
    llvm.func @k() attributes {gpu.kernel, nvvm.kernel} {
      llvm.return
    }
  }
}
