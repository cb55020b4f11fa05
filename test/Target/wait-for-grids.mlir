//===- wait-for-grids.mlir - Programmatic dependent launch ----------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-opt %s --norm-wait-for-grids=target=sm_90 | FileCheck %s
// RUN: norm-opt %s --norm-wait-for-grids=target=sm_89 | FileCheck %s --check-prefix=OLD
// RUN: not norm-opt %s --norm-wait-for-grids=target=host 2>&1 | FileCheck %s --check-prefix=HOST

// HOST: error: expects a GPU as target but got 'host'
// OLD-NOT: nvvm.griddepcontrol

// Before the first access.

// CHECK-LABEL: llvm.func @dependent
// CHECK-NEXT:    %[[CTAS:.*]] = nvvm.read.ptx.sreg.nctaid.x : i32
// CHECK-NEXT:    %[[MOST:.*]] = llvm.mlir.constant(32 : i32)
// CHECK-NEXT:    %[[FEW:.*]] = llvm.icmp "ule" %[[CTAS]], %[[MOST]]
// CHECK-NEXT:    llvm.cond_br %[[FEW]], ^[[WAIT:.*]], ^[[REST:.*]]
// CHECK-NEXT:  ^[[WAIT]]:
// CHECK-NEXT:    nvvm.griddepcontrol launch_dependents
// CHECK-NEXT:    nvvm.griddepcontrol wait
// CHECK-NEXT:    llvm.br ^[[REST]]
// CHECK-NEXT:  ^[[REST]]:
// CHECK-NEXT:    llvm.load
llvm.func @dependent(%x: !llvm.ptr<1>)
    attributes {norm_tile.dependent_launch = 32 : i64, nvvm.kernel} {
  %0 = llvm.load %x : !llvm.ptr<1> -> f32
  llvm.store %0, %x : f32, !llvm.ptr<1>
  llvm.return
}

// CHECK-LABEL: llvm.func @independent
// CHECK-NOT:     nvvm.griddepcontrol
llvm.func @independent(%x: !llvm.ptr<1>) attributes {nvvm.kernel} {
  %0 = llvm.load %x : !llvm.ptr<1> -> f32
  llvm.store %0, %x : f32, !llvm.ptr<1>
  llvm.return
}
