//===- unit-barrier.mlir - How CTAs meet ----------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-opt %s --pass-pipeline='builtin.module(gpu.module(norm-expand-unit-barriers))' | FileCheck %s
// RUN: norm-opt %s --pass-pipeline='builtin.module(gpu.module(norm-expand-unit-barriers,convert-scf-to-cf,convert-gpu-to-nvvm{index-bitwidth=64},reconcile-unrealized-casts),norm-translate-to-ptx{target=sm_90})' | FileCheck %s --check-prefix=PTX

// CHECK-LABEL: gpu.func @meet(
// CHECK-SAME: %[[COUNTER:.*]]: !llvm.ptr<1>, %[[CTAS:.*]]: i32, %[[X:.*]]: !llvm.ptr<1>)
// What lies before and after stays there, as the middle does.
// CHECK: llvm.store %{{.*}}, %[[X]]
// CHECK: gpu.barrier
// CHECK-DAG: %[[THREAD:.*]] = gpu.thread_id x
// CHECK-DAG: %[[FIRST:.*]] = arith.cmpi eq, %[[THREAD]], %{{.*}} : index
// CHECK-DAG: %[[SEVERAL:.*]] = arith.cmpi ugt, %[[CTAS]], %{{.*}} : i32
// CHECK: %[[LEADS:.*]] = arith.andi %[[FIRST]], %[[SEVERAL]]
// CHECK: scf.if %[[LEADS]] {
// CHECK:   llvm.fence syncscope("device") release
// CHECK:   llvm.atomicrmw add %[[COUNTER]], %{{.*}} syncscope("device") monotonic
// CHECK:   %[[C3:.*]] = arith.constant 3 : i32
// CHECK:   %[[ALL:.*]] = arith.muli %[[CTAS]], %[[C3]]
// CHECK:   scf.while
// CHECK:     %[[N:.*]] = llvm.load %[[COUNTER]] atomic syncscope("device") acquire
// CHECK:     arith.cmpi ult, %[[N]], %[[ALL]]
// CHECK: gpu.barrier
// CHECK-NOT: scf.if
// CHECK: llvm.load %[[X]]
// The last one makes the counter zero.
// CHECK: gpu.barrier
// CHECK: gpu.barrier
// CHECK: scf.if
// CHECK:   %[[DEPARTURES:.*]] = llvm.getelementptr %[[COUNTER]][1]
// CHECK:   llvm.fence syncscope("device") acq_rel
// CHECK:   %[[BEFORE:.*]] = llvm.atomicrmw add %[[DEPARTURES]], %{{.*}} syncscope("device") monotonic
// CHECK:   llvm.fence syncscope("device") acq_rel
// CHECK:   %[[OTHERS:.*]] = arith.subi %[[CTAS]], %{{.*}}
// CHECK:   %[[LAST:.*]] = arith.cmpi eq, %[[BEFORE]], %[[OTHERS]]
// CHECK:   scf.if %[[LAST]] {
// CHECK:     llvm.store %{{.*}}, %[[COUNTER]] atomic syncscope("device") monotonic
// CHECK:     llvm.store %{{.*}}, %[[DEPARTURES]] atomic syncscope("device") monotonic
// CHECK-NOT: norm_tile

// PTX: st.global.b32
// PTX: bar.sync
// PTX: fence.acq_rel.gpu
// PTX: atom.global.add.u32
// PTX: ld.acquire.gpu.global.b32
// PTX: bar.sync
// PTX: ld.global.b32
// PTX: bar.sync
// PTX: fence.acq_rel.gpu
// PTX: atom.global.add.u32
// PTX: ld.acquire.gpu.global.b32
// PTX: bar.sync
// PTX: fence.acq_rel.gpu
// PTX: atom.global.add.u32
// PTX: fence.acq_rel.gpu
// PTX: st.relaxed.gpu.global.b32
// PTX: st.relaxed.gpu.global.b32
gpu.module @m {
  gpu.func @meet(%counter: !llvm.ptr<1>, %ctas: i32, %x: !llvm.ptr<1>) kernel {
    llvm.store %ctas, %x : i32, !llvm.ptr<1>
    norm_tile.unit_barrier %counter, %ctas phase 2 : !llvm.ptr<1>
    %0 = llvm.load %x : !llvm.ptr<1> -> i32
    %p = llvm.getelementptr %x[%0] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    llvm.store %0, %p : i32, !llvm.ptr<1>
    norm_tile.unit_barrier %counter, %ctas phase 3 last : !llvm.ptr<1>
    gpu.return
  }
}
