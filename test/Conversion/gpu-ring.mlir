//===- gpu-ring.mlir - Rows in the shared memory of a cluster -------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-opt %s --norm-schedule="target=sm_90 schedule=cluster=8" --norm-tile --convert-norm-tile-to-gpu --canonicalize --cse | FileCheck %s
// RUN: norm-opt %s --norm-schedule="target=sm_90 schedule=cluster=8" --norm-tile --convert-norm-tile-to-gpu | norm-opt --pass-pipeline='builtin.module(gpu.module(norm-expand-cluster-ops))' | FileCheck %s --check-prefix=ASM

// What all rows have in common is loaded once where registers are left: here 2
// steps of 8 columns.

// CHECK-LABEL:  gpu.func @scaled_0(
// CHECK-COUNT-2:  llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<8xbf16>
// CHECK:          scf.while
// CHECK-NOT:      !llvm.ptr<1> -> vector
// CHECK-COUNT-2:  llvm.inline_asm has_side_effects "", "=r,=r,=r,=r,0,1,2,3"
// CHECK-NOT:      !llvm.ptr<1> -> vector
// CHECK:          norm_tile.bulk_wait 0

// 32 steps of the 128 threads that a CTA has of the row: 8 slots of 4 steps,
// 8 KB each, in a ring of 16.

// CHECK-LABEL:  gpu.func @sum_0(
// CHECK-SAME:     %[[X:[^:]*]]: !llvm.ptr<1> {llvm.noalias, llvm.readonly}
// CHECK-SAME:     known_block_size = array<i32: 160, 1, 1>
// CHECK-SAME:     known_cluster_size = array<i32: 8, 1, 1>
// CHECK:          %[[RING:.*]] = llvm.mlir.addressof @norm_shared
// CHECK:          norm_tile.mbarrier_init %{{.*}} count 1
// CHECK:          norm_tile.mbarrier_init %{{.*}} count 4
// CHECK:          norm_tile.cluster_barrier

// The threads that have columns go on while a slot is of a row, and wait for
// each slot of it in the first phase.
// CHECK:          scf.while {{.*}} : (i32, i32, i32) ->
// CHECK:            norm_tile.mbarrier_wait
// CHECK:            llvm.load %{{.*}} {alignment = 8 : i64} : !llvm.ptr<3> -> i64
// CHECK:            scf.condition
// CHECK:            scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}) -> (f32)
// CHECK:              norm_tile.mbarrier_wait
// CHECK-NOT:          !llvm.ptr<1> -> vector
// CHECK-COUNT-4:      llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<8xbf16>

// Each sends its state to one CTA, where a warp combines 128 of them and sends
// one to all.
// CHECK:            norm_tile.mbarrier_expect %{{.*}}, %c512_i32
// CHECK:            norm_tile.mbarrier_expect %{{.*}}, %c32_i32
// CHECK:            norm_tile.send
// CHECK:            norm_tile.mbarrier_wait
// CHECK-COUNT-5:    gpu.shuffle xor
// CHECK:            norm_tile.warp_barrier
// CHECK:            norm_tile.send
// CHECK:            norm_tile.mbarrier_wait

// The last phase writes its results where it has read, and gives the slot back.
// CHECK:            scf.for
// CHECK-NOT:          norm_tile.mbarrier_wait
// CHECK:              %[[AT:.*]] = llvm.load %[[CHUNK:.*]] {alignment = 16 : i64} : !llvm.ptr<3> -> vector<8xbf16>
// CHECK:              llvm.store %{{.*}}, %[[CHUNK]] {alignment = 16 : i64} : vector<8xbf16>, !llvm.ptr<3>
// CHECK:              norm_tile.proxy_fence
// CHECK:              norm_tile.mbarrier_arrive

// One more thread copies: as many slots as there are, then one for each that
// comes back, when what was before has been read. With the first slot of a row
// the next one is drawn, with the last one it's received.
// CHECK:          } else {
// CHECK:            scf.while
// CHECK:              norm_tile.mbarrier_expect %[[FULL:.*]], %c8192_i32
// CHECK-COUNT-4:      norm_tile.bulk_load %{{.*}}, %{{.*}}, %c2048_i32, %[[FULL]]
// CHECK:              norm_tile.ticket %{{.*}}, %{{.*}} of %{{.*}} : !llvm.ptr<1>
// CHECK:              norm_tile.send {{.*}} : i64,
// CHECK:              norm_tile.mbarrier_expect %[[MAIL:.*]], %c8_i32
// CHECK:              norm_tile.mbarrier_wait %[[MAIL]],
// CHECK:              norm_tile.mbarrier_expect %{{.*}}, %c0_i32
// CHECK:            scf.while
// CHECK:              norm_tile.mbarrier_wait
// CHECK-COUNT-4:      norm_tile.bulk_store %{{.*}}, %{{.*}}, %c2048_i32
// CHECK:              norm_tile.bulk_commit
// CHECK:              norm_tile.bulk_wait 1 read
// CHECK-COUNT-4:      norm_tile.bulk_load
// CHECK:            norm_tile.bulk_wait 0
// CHECK:          norm_tile.cluster_barrier
// CHECK-NEXT:     gpu.return

// Rows at any address are read twice.
// CHECK-LABEL:  gpu.func @sum_0_unaligned(
// CHECK-NOT:      norm_tile.bulk_load
// CHECK:          gpu.return
// CHECK:        variants = [#norm_tile.variant<symbol = "sum_0", alignment = 16, block = 160, rows_per_cta = 1, shared = {{[0-9]+}}, counters = 8, cluster = 8, persistent = true>, #norm_tile.variant<symbol = "sum_0_unaligned", alignment = 1, block = 1024,

// ASM-NOT: norm_tile.mbarrier
// ASM: mbarrier.init.shared::cta.b64 [$0], 1;
// ASM: fence.mbarrier_init.release.cluster
// ASM: mbarrier.try_wait.parity.shared::cta.b64
// ASM: mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], $1;
// ASM: st.async.shared::cluster.mbarrier::complete_tx::bytes.b32
// ASM: bar.warp.sync
// ASM: fence.proxy.async.shared::cta;
// ASM: @p mbarrier.arrive.shared::cta.b64 _, [$0];
// ASM: cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [$0], [$1], $2, [$3];", "r,l,r,r,~{memory}"
// ASM: llvm.atomicrmw add %{{.*}}, %{{.*}} syncscope("device") monotonic {alignment = 8 : i64} : !llvm.ptr<1>, i64
// ASM: scf.if
// ASM: llvm.store %{{.*}} atomic syncscope("device") monotonic
// ASM: st.async.shared::cluster.mbarrier::complete_tx::bytes.b64
// ASM: cp.async.bulk.global.shared::cta.bulk_group [$0], [$1], $2;", "l,r,r,~{memory}"
// ASM: cp.async.bulk.commit_group;
// ASM: cp.async.bulk.wait_group.read 1;
// ASM: cp.async.bulk.wait_group 0;
func.func @sum(%x: memref<?x262144xbf16, strided<[?, 1]>>, %y: memref<?x262144xbf16, strided<[?, 1]>>) {
  norm.generic (row, col)
      ins(%a = %x[row, col] : memref<?x262144xbf16, strided<[?, 1]>>)
      outs(%o = %y[row, col] : memref<?x262144xbf16, strided<[?, 1]>>) {
    %f = arith.extf %a : bf16 to f32
    %s = norm.reduce add %f over [col] : f32
    %d = arith.subf %f, %s : f32
    %t = arith.truncf %d : f32 to bf16
    norm.yield %t : bf16
  }
  return
}

func.func @scaled(%x: memref<?x16384xbf16, strided<[?, 1]>>, %w: memref<16384xbf16>, %y: memref<?x16384xbf16, strided<[?, 1]>>) {
  norm.generic (row, col)
      ins(%a = %x[row, col] : memref<?x16384xbf16, strided<[?, 1]>>,
          %g = %w[col] : memref<16384xbf16>)
      outs(%o = %y[row, col] : memref<?x16384xbf16, strided<[?, 1]>>) {
    %f = arith.extf %a : bf16 to f32
    %s = norm.reduce add %f over [col] : f32
    %d = arith.subf %f, %s : f32
    %h = arith.extf %g : bf16 to f32
    %m = arith.mulf %d, %h : f32
    %t = arith.truncf %m : f32 to bf16
    norm.yield %t : bf16
  }
  return
}
