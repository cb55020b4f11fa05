//===- convert.mlir - Kernels as functions of the emulated device ---------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-opt %s --convert-gpu-to-emulated --split-input-file \
// RUN:   --verify-diagnostics | FileCheck %s

// CHECK: llvm.mlir.global external constant @norm_emulated_sites("0\09llvm.load\09{{.*}}convert.mlir:[[#]]:[[#]]\001\09llvm.store\09
// CHECK-NOT: gpu.module
gpu.module @global {
  // CHECK-LABEL: func.func @copy(%arg0: !llvm.ptr, %arg1: !llvm.ptr)
  gpu.func @copy(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>, %n: i64, %s: f32) kernel {
    // CHECK: %[[S0:.*]] = llvm.getelementptr %arg1[0]
    // CHECK: %[[X:.*]] = llvm.load %[[S0]] : !llvm.ptr -> !llvm.ptr
    // CHECK: %[[S3:.*]] = llvm.getelementptr %arg1[3]
    // CHECK: llvm.load %[[S3]] : !llvm.ptr -> f32
    // CHECK: call @norm_emulated_thread_id(%arg0, %{{.*}}) : (!llvm.ptr, i32) -> i64
    // CHECK: call @norm_emulated_block_id(
    // CHECK: call @norm_emulated_block_dim(
    // CHECK: call @norm_emulated_grid_dim(
    %t = gpu.thread_id x
    %b = gpu.block_id y
    %d = gpu.block_dim x
    %g = gpu.grid_dim x
    // CHECK: %[[P:.*]] = llvm.getelementptr %[[X]]{{.*}} : (!llvm.ptr, i64) -> !llvm.ptr, bf16
    // CHECK-DAG: %[[BYTES:.*]] = arith.constant 16 : i32
    // CHECK-DAG: %[[ALIGN:.*]] = arith.constant 4 : i32
    // CHECK: %[[C:.*]] = call @norm_emulated_global(%arg0, %[[P]], %
    // CHECK: %[[V:.*]] = llvm.load %[[C]] {alignment = 4 : i64} : !llvm.ptr -> vector<8xbf16>
    %p = llvm.getelementptr %x[%n] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, bf16
    %v = llvm.load %p {alignment = 4 : i64} : !llvm.ptr<1> -> vector<8xbf16>
    // CHECK: %[[D:.*]] = call @norm_emulated_global(
    // CHECK: llvm.store %[[V]], %[[D]]
    llvm.store %v, %y : vector<8xbf16>, !llvm.ptr<1>
    // CHECK: return
    gpu.return
  }
}

// -----

gpu.module @shared {
  llvm.mlir.global external @norm_shared() {addr_space = 3 : i32, alignment = 128 : i64} : !llvm.array<0 x i8>
  // CHECK-LABEL: func.func @exchange(%arg0: !llvm.ptr, %arg1: !llvm.ptr)
  gpu.func @exchange(%x: f32, %i: i32)
      workgroup(%a : memref<64xbf16, #gpu.address_space<workgroup>>,
                %s : memref<64xf32, #gpu.address_space<workgroup>>) kernel {
    %c3 = arith.constant 3 : index
    // CHECK: %[[BASE:.*]] = arith.constant 128 : i64
    // CHECK: %[[SIZE:.*]] = arith.constant 256 : i64
    // CHECK: %[[A:.*]] = call @norm_emulated_static_shared(%arg0, %[[BASE]], %[[SIZE]],
    // CHECK: llvm.store %{{.*}}, %[[A]] : f32, !llvm.ptr
    memref.store %x, %s[%c3] : memref<64xf32, #gpu.address_space<workgroup>>
    // CHECK: call @norm_emulated_barrier(%arg0, %{{.*}}) : (!llvm.ptr, i32) -> ()
    gpu.barrier
    // CHECK: call @norm_emulated_static_shared(
    // CHECK: %[[V:.*]] = llvm.load
    %v = memref.load %s[%c3] : memref<64xf32, #gpu.address_space<workgroup>>
    %w = arith.constant 32 : i32
    // CHECK: arith.bitcast %[[V]] : f32 to i32
    // CHECK: arith.extui
    // CHECK: call @norm_emulated_shuffle(
    // CHECK: call @norm_emulated_shuffle_valid(%arg0)
    %r, %ok = gpu.shuffle down %v, %i, %w : f32
    %z = arith.select %ok, %r, %v : f32
    // CHECK: %[[DYN:.*]] = call @norm_emulated_dynamic_shared(%arg0)
    // CHECK: call @norm_emulated_shared(%arg0, %[[DYN]],
    %p = llvm.mlir.addressof @norm_shared : !llvm.ptr<3>
    llvm.store %z, %p : f32, !llvm.ptr<3>
    gpu.return
  }
}

// -----

gpu.module @assembly {
  // CHECK-LABEL: func.func @keep
  gpu.func @keep(%x: i32, %y: !llvm.ptr<1>) kernel {
    // CHECK-NOT: inline_asm
    %one = llvm.inline_asm "", "=r,0" %x : (i32) -> i32
    %two = llvm.inline_asm "", "=r,=r,0,1" %x, %one : (i32, i32) -> !llvm.struct<(i32, i32)>
    %v = llvm.extractvalue %two[1] : !llvm.struct<(i32, i32)>
    llvm.store %v, %y : i32, !llvm.ptr<1>
    gpu.return
  }
}

// -----

gpu.module @assembly {
  gpu.func @text(%x: i32) kernel {
    // expected-error@below {{'llvm.inline_asm' has no emulation}}
    %one = llvm.inline_asm "mov.b32 $0, $1;", "=r,r" %x : (i32) -> i32
    gpu.return
  }
}

// -----

gpu.module @meeting {
  // CHECK-LABEL: func.func @meet(%arg0: !llvm.ptr, %arg1: !llvm.ptr)
  gpu.func @meet(%counter: !llvm.ptr<1>, %ctas: i32) kernel {
    // CHECK: %[[COUNTER:.*]] = llvm.load %{{.*}} : !llvm.ptr -> !llvm.ptr
    // CHECK: %[[CTAS:.*]] = llvm.load %{{.*}} : !llvm.ptr -> i32
    // CHECK: %[[PHASE:.*]] = arith.constant 3 : i32
    // CHECK: %[[LAST:.*]] = arith.constant 1 : i32
    // CHECK: call @norm_emulated_unit_barrier(%arg0, %[[COUNTER]], %[[CTAS]], %[[PHASE]], %[[LAST]], %
    norm_tile.unit_barrier %counter, %ctas phase 3 last : !llvm.ptr<1>
    gpu.return
  }
}

// -----

gpu.module @features {
  gpu.func @lane() kernel {
    // expected-error@below {{'gpu.subgroup_id' has no emulation}}
    %id = gpu.subgroup_id : index
    gpu.return
  }
}

// -----

gpu.module @features {
  gpu.func @wait() kernel {
    // expected-error@below {{'nvvm.fence.sc.cluster' has no emulation}}
    nvvm.fence.sc.cluster
    gpu.return
  }
}

// -----

gpu.module @memory {
  // expected-error@below {{needs 65536 bytes of static shared memory but a CTA may have 49152}}
  gpu.func @large() workgroup(%s : memref<16384xf32, #gpu.address_space<workgroup>>) kernel {
    gpu.return
  }
}

// -----

func.func private @taken()
gpu.module @names {
  // expected-error@below {{expects a name that the module doesn't have but got 'taken'}}
  gpu.func @taken() kernel {
    gpu.return
  }
}
