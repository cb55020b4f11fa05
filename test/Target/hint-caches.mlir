//===- hint-caches.mlir - Streamed loads and the L2 cache -----------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-opt %s --norm-hint-caches=target=sm_90 --split-input-file | FileCheck %s
// RUN: norm-opt %s --norm-hint-caches=target=sm_80 --split-input-file | FileCheck %s --check-prefix=SMALLER
// RUN: not norm-opt %s --norm-hint-caches=target=host --split-input-file 2>&1 | FileCheck %s --check-prefix=HOST

// HOST: error: expects a GPU as target but got 'host'

// 60 MiB in CTAs of 16 KiB (40 MiB on sm_80).

// CHECK-LABEL: llvm.func @words
// SMALLER-LABEL: llvm.func @words
// CHECK:         %[[CTAS:.*]] = nvvm.read.ptx.sreg.nctaid.x : i32
// CHECK:         %[[LEAST:.*]] = llvm.mlir.constant(3840 : i32)
// SMALLER:       llvm.mlir.constant(2560 : i32)
// CHECK:         %[[LARGE:.*]] = llvm.icmp "uge" %[[CTAS]], %[[LEAST]]
// CHECK:         %[[LAST:.*]] = llvm.inline_asm "createpolicy.fractional.L2::evict_last.b64 $0, 1.0;", "=l"
// CHECK:         %[[NORMAL:.*]] = llvm.inline_asm "createpolicy.fractional.L2::evict_normal.b64 $0, 1.0;", "=l"
// CHECK:         %[[POLICY:.*]] = llvm.select %[[LARGE]], %[[LAST]], %[[NORMAL]]
// CHECK:         %[[FOUR:.*]] = llvm.inline_asm has_side_effects "ld.global.nc.L2::cache_hint.v4.b32 {$0, $1, $2, $3}, [$4], $5;", "=r,=r,=r,=r,l,l" %{{.*}}, %[[POLICY]]
// CHECK-COUNT-4: llvm.insertelement
// CHECK:         llvm.bitcast %{{.*}} : vector<4xi32> to vector<8xbf16>
// CHECK:         %[[ONE:.*]] = llvm.inline_asm has_side_effects "ld.global.nc.L2::cache_hint.b32 $0, [$1], $2;", "=r,l,l" %{{.*}}, %[[POLICY]]
// CHECK:         llvm.bitcast %[[ONE]] : i32 to f32
llvm.func @words(%x: !llvm.ptr<1> {llvm.noalias, llvm.readonly},
                 %y: !llvm.ptr<1> {llvm.noalias})
    attributes {norm_tile.cta_bytes = 16384 : i64, nvvm.kernel} {
  %at = llvm.getelementptr %x[8] : (!llvm.ptr<1>) -> !llvm.ptr<1>, bf16
  %0 = llvm.load %at {alignment = 16 : i64, nontemporal} : !llvm.ptr<1> -> vector<8xbf16>
  %1 = llvm.load %x {alignment = 4 : i64, nontemporal} : !llvm.ptr<1> -> f32
  llvm.store %0, %y {alignment = 16 : i64} : vector<8xbf16>, !llvm.ptr<1>
  llvm.store %1, %y {alignment = 4 : i64} : f32, !llvm.ptr<1>
  llvm.return
}

// -----

// Memory that may be written is read in order.

// CHECK-LABEL: llvm.func @written
// CHECK:         llvm.inline_asm has_side_effects "ld.global.L2::cache_hint.v2.b32 {$0, $1}, [$2], $3;"
llvm.func @written(%x: !llvm.ptr<1>)
    attributes {norm_tile.cta_bytes = 16384 : i64, nvvm.kernel} {
  %0 = llvm.load %x {alignment = 8 : i64, nontemporal} : !llvm.ptr<1> -> vector<4xf16>
  llvm.store %0, %x {alignment = 8 : i64} : vector<4xf16>, !llvm.ptr<1>
  llvm.return
}

// -----

// Other loads stay: not streamed, not of whole words, less aligned, of shared
// memory.

// CHECK-LABEL: llvm.func @others
// CHECK-NOT:     llvm.inline_asm
// CHECK:         llvm.return
llvm.func @others(%x: !llvm.ptr<1>, %s: !llvm.ptr<3>)
    attributes {norm_tile.cta_bytes = 16384 : i64, nvvm.kernel} {
  %0 = llvm.load %x {alignment = 16 : i64} : !llvm.ptr<1> -> vector<8xbf16>
  %1 = llvm.load %x {alignment = 2 : i64, nontemporal} : !llvm.ptr<1> -> bf16
  %2 = llvm.load %x {alignment = 2 : i64, nontemporal} : !llvm.ptr<1> -> vector<2xbf16>
  %3 = llvm.load %s {alignment = 4 : i64, nontemporal} : !llvm.ptr<3> -> f32
  llvm.store volatile %0, %x {alignment = 16 : i64} : vector<8xbf16>, !llvm.ptr<1>
  llvm.store volatile %1, %x {alignment = 2 : i64} : bf16, !llvm.ptr<1>
  llvm.store volatile %2, %x {alignment = 2 : i64} : vector<2xbf16>, !llvm.ptr<1>
  llvm.store volatile %3, %x {alignment = 4 : i64} : f32, !llvm.ptr<1>
  llvm.return
}

// -----

// A kernel that says nothing about its CTAs.

// CHECK-LABEL: llvm.func @unknown
// CHECK-NOT:     llvm.inline_asm
// CHECK:         llvm.return
llvm.func @unknown(%x: !llvm.ptr<1>) attributes {nvvm.kernel} {
  %0 = llvm.load %x {alignment = 4 : i64, nontemporal} : !llvm.ptr<1> -> f32
  llvm.store %0, %x {alignment = 4 : i64} : f32, !llvm.ptr<1>
  llvm.return
}
