//===- gpu-across.mlir - Rows across memory on a GPU ----------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-opt %s --norm-schedule=target=sm_90 --norm-tile --convert-norm-tile-to-gpu --split-input-file | FileCheck %s

// 16 lanes of 64 rows, 4 neighbours each, meet in shared memory, each element of
// a chunk at a place of its own. One slice: nobody else is met.

// CHECK-LABEL: gpu.func @one_slice_0(
// CHECK-SAME:      %{{.*}}: !llvm.ptr<1>, %{{.*}}: !llvm.ptr<1>, %[[ROWS:.*]]: i64, %{{.*}}: i64, %{{.*}}: !llvm.ptr<1>)
// CHECK-SAME:      workgroup(%[[LANES:.*]] : memref<512xf32, {{.*}}>, %[[GROUPS:.*]] : memref<64xf32, {{.*}}>)
// CHECK-SAME:      known_block_size = array<i32: 256, 1, 1>
// CHECK:         %[[VALID:.*]] = arith.cmpi slt, %{{.*}}, %[[ROWS]] : i64
// CHECK:         scf.for
// CHECK-COUNT-4:   llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
// CHECK-NOT:     norm_tile
// The upper lanes store, the lower ones halve.
// CHECK:         scf.if
// CHECK-COUNT-4:   memref.store %{{.*}}, %[[LANES]]
// CHECK:         gpu.barrier
// CHECK:         scf.if
// CHECK-COUNT-4:   memref.load %[[LANES]]
// CHECK:         gpu.barrier
// CHECK:         scf.if
// CHECK-COUNT-8:   memref.load %[[LANES]]
// CHECK:           memref.store %{{.*}}, %[[GROUPS]]
// CHECK:         gpu.barrier
// CHECK-COUNT-4: memref.load %[[GROUPS]]
// CHECK-NOT:     norm_tile
// CHECK:         scf.for
// CHECK:           scf.if %[[VALID]] {
// CHECK:             llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<1>

// The other form is for buffers that aren't aligned.
// CHECK-LABEL: gpu.func @one_slice_0_unaligned(
// CHECK:         llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<1> -> f32
// CHECK-LABEL: func.func @one_slice(
// CHECK:         variants = [#norm_tile.variant<symbol = "one_slice_0", alignment = 16, block = 256, rows_per_cta = 64, shared = 0>,
func.func @one_slice(%x: memref<64x64xf32>, %y: memref<64x64xf32>) {
  norm.generic (col, row) ins(%a = %x[col, row] : memref<64x64xf32>)
      outs(%o = %y[col, row] : memref<64x64xf32>) attributes {schedule = #norm.schedule<threads = 16, rows_per_cta = 64, residency = stream, vector = 4>} {
    %m = norm.reduce max %a over [col] : f32
    %d = arith.subf %a, %m : f32
    norm.yield %d : f32
  }
  return
}

// -----

// Four CTAs have one of four slices each, and hold it: they write their states
// into the workspace, meet, and combine those of all by halving, four threads for
// each row. What was loaded isn't loaded again.

// CHECK-LABEL: gpu.func @held_0(
// CHECK-SAME:      %{{.*}}: !llvm.ptr<1> {llvm.noalias, llvm.readonly}, %{{.*}}: !llvm.ptr<1> {llvm.noalias}, %{{.*}}: i64, %{{.*}}: i64, %[[WORKSPACE:[^:]*]]: !llvm.ptr<1>)
// CHECK:         %[[COUNTER:.*]] = llvm.getelementptr %[[WORKSPACE]]
// CHECK-COUNT-8: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
// CHECK-NOT:     llvm.load
// CHECK:         llvm.store %{{.*}} {alignment = 4 : i64} : f32, !llvm.ptr<1>
// CHECK:         norm_tile.unit_barrier %[[COUNTER]], %{{.*}} phase 0 last : !llvm.ptr<1>
// CHECK:         llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<1> -> f32
// CHECK:         gpu.barrier
// CHECK-NOT:     llvm.load
// CHECK:         scf.if
// CHECK-COUNT-4:   memref.load
// CHECK-COUNT-8: llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<1>

// Where four CTAs can't run at once for each row, fewer take all slices again.
// CHECK-LABEL: gpu.func @held_0_streamed(
// CHECK:         scf.for
// CHECK:         norm_tile.unit_barrier
// CHECK:         scf.for
// CHECK:           llvm.load %{{.*}} -> vector<4xf32>
// CHECK-LABEL: func.func @held(
// CHECK:         variants = [#norm_tile.variant<symbol = "held_0", alignment = 16, block = 256, rows_per_cta = 64, shared = 0, split = 4, counters = 8, workspace = 1024>,
// CHECK-SAME:      #norm_tile.variant<symbol = "held_0_streamed", alignment = 16, {{.*}} split = 0, counters = 8, workspace = 1024>,
func.func @held(%x: memref<512x64xf32>, %y: memref<512x64xf32>) {
  norm.generic (col, row) ins(%a = %x[col, row] : memref<512x64xf32>)
      outs(%o = %y[col, row] : memref<512x64xf32>) attributes {schedule = #norm.schedule<threads = 16, rows_per_cta = 64, vector = 4, split = 4>} {
    %m = norm.reduce max %a over [col] : f32
    %d = arith.subf %a, %m : f32
    norm.yield %d : f32
  }
  return
}

// -----

// How many CTAs share a row is known at launch: each takes every so many slices.

// CHECK-LABEL: gpu.func @chosen_at_launch_0(
// CHECK-SAME:      %{{.*}}: i64, %[[SPLIT:[^:]*]]: i64, %{{[^:]*}}: !llvm.ptr<1>)
// CHECK:         %[[PART:.*]] = arith.remui %{{.*}}, %[[SPLIT]] : i64
// CHECK:         scf.for %{{.*}} = %[[PART]] to %{{.*}} step %[[SPLIT]]
// CHECK:         norm_tile.unit_barrier
// CHECK:         scf.for %{{.*}} = %[[PART]] to %{{.*}} step %[[SPLIT]]
// CHECK:           llvm.load %{{.*}} -> vector<4xf32>
// CHECK:           llvm.store %{{.*}} : vector<4xf32>
// CHECK-LABEL: func.func @chosen_at_launch(
// CHECK:         split = 0, counters = 8, workspace = 1024>
func.func @chosen_at_launch(%x: memref<512x64xf32>, %y: memref<512x64xf32>) {
  norm.generic (col, row) ins(%a = %x[col, row] : memref<512x64xf32>)
      outs(%o = %y[col, row] : memref<512x64xf32>) attributes {schedule = #norm.schedule<threads = 16, rows_per_cta = 64, residency = stream, vector = 4, split = 0>} {
    %m = norm.reduce max %a over [col] : f32
    %d = arith.subf %a, %m : f32
    norm.yield %d : f32
  }
  return
}

// -----

// One CTA for all slices waits for nobody, but keeps their states in the same
// place.

// CHECK-LABEL: gpu.func @alone_0(
// CHECK-NOT:     norm_tile.unit_barrier
// CHECK:         llvm.store %{{.*}} : f32, !llvm.ptr<1>
// CHECK:         gpu.barrier
// CHECK:         llvm.load %{{.*}} : !llvm.ptr<1> -> f32
// CHECK-LABEL: func.func @alone(
// CHECK:         counters = 8, workspace = 1024>
func.func @alone(%x: memref<512x64xf32>, %y: memref<512x64xf32>) {
  norm.generic (col, row) ins(%a = %x[col, row] : memref<512x64xf32>)
      outs(%o = %y[col, row] : memref<512x64xf32>) attributes {schedule = #norm.schedule<threads = 16, rows_per_cta = 64, residency = stream, vector = 4>} {
    %m = norm.reduce max %a over [col] : f32
    %d = arith.subf %a, %m : f32
    norm.yield %d : f32
  }
  return
}

// -----

// Of two exchanges the second barrier is the last one.

// CHECK-LABEL: gpu.func @two_0(
// CHECK:         norm_tile.unit_barrier %[[COUNTER:.*]], %{{.*}} phase 0 : !llvm.ptr<1>
// CHECK:         norm_tile.unit_barrier %[[COUNTER]], %{{.*}} phase 1 last : !llvm.ptr<1>
// CHECK-NOT:     norm_tile.unit_barrier
// CHECK-LABEL: gpu.func @two_0_streamed(
func.func @two(%x: memref<512x64xf32>, %y: memref<64xf32>) {
  norm.generic (col, row) ins(%a = %x[col, row] : memref<512x64xf32>)
      outs(%o = %y[row] : memref<64xf32>)
      attributes {schedule = #norm.schedule<threads = 16, rows_per_cta = 64, vector = 4, split = 2>} {
    %m = norm.reduce max %a over [col] : f32
    %d = arith.subf %a, %m : f32
    %s = norm.reduce add %d over [col] : f32
    norm.yield %s : f32
  }
  return
}

// -----

// Columns whose number is known at launch: so is the number of slices, at most
// 256, and the last leaf of a lane may lack columns.

// CHECK-LABEL: gpu.func @dynamic_0(
// CHECK:         %[[LONGEST:.*]] = arith.constant 32768 : i64
// CHECK:         arith.cmpi uge, %{{.*}}, %[[LONGEST]] : i64
// CHECK:         scf.for
// CHECK:           scf.if
// CHECK:             scf.if
// CHECK:               llvm.load
// CHECK-LABEL: func.func @dynamic(
// CHECK:         split = 0, counters = 8, workspace = 32768>
func.func @dynamic(%x: memref<?x64xf32>, %y: memref<?x64xf32>) {
  norm.generic (col, row) ins(%a = %x[col, row] : memref<?x64xf32>)
      outs(%o = %y[col, row] : memref<?x64xf32>) attributes {schedule = #norm.schedule<threads = 4, rows_per_cta = 32, residency = stream, vector = 1, split = 0>} {
    %m = norm.reduce max %a over [col] : f32
    %d = arith.subf %a, %m : f32
    norm.yield %d : f32
  }
  return
}

// -----

// Ten neighbouring columns: once the lanes have met, so do these, for the row to
// which they belong. One thread of it stores what is the row's.

// CHECK-LABEL: gpu.func @inner_0(
// CHECK-SAME:      workgroup(%[[LANES:.*]] : memref<640xf32, {{.*}}>, %[[GROUPS:.*]] : memref<8xf32, {{.*}}>)
// CHECK:         gpu.barrier
// CHECK-COUNT-16: memref.load %[[LANES]]
// CHECK:         memref.store %{{.*}}, %[[LANES]]
// CHECK:         gpu.barrier
// CHECK-COUNT-10: memref.load %[[LANES]]
// CHECK:         memref.store %{{.*}}, %[[GROUPS]]
// CHECK:         gpu.barrier
// CHECK-COUNT-8: memref.load %[[GROUPS]]
func.func @inner(%x: memref<2x64x4x10xf16>, %r: memref<2x4xf32>) {
  norm.generic (n, h, g, c) ins(%a = %x[n, h, g, c] : memref<2x64x4x10xf16>)
      outs(%o = %r[n, g] : memref<2x4xf32>)
      attributes {schedule = #norm.schedule<threads = 16, rows_per_cta = 80, residency = stream, vector = 8>} {
    %f = arith.extf %a : f16 to f32
    %s = norm.reduce add %f over [h, c] : f32
    norm.yield %s : f32
  }
  return
}
