//===- unpack-kernel-memrefs.mlir - Kernels without memref arguments -----===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-opt %s --pass-pipeline='builtin.module(gpu.module(norm-unpack-kernel-memrefs))' --split-input-file --verify-diagnostics | FileCheck %s

gpu.module @kernels {
  // Extents come before strides; a row-major memref has its strides from the
  // extents. What the arguments carry stays with the addresses.
  // CHECK-LABEL: gpu.func @dynamic(
  // CHECK-SAME: %[[X:.*]]: !llvm.ptr<1> {llvm.readonly}, %[[ROWS:[a-z0-9]+]]: i64, %[[COLUMNS:[a-z0-9]+]]: i64,
  // CHECK-SAME: %[[Y:.*]]: !llvm.ptr<1>, %[[YROWS:[a-z0-9]+]]: i64, %[[PITCH:[a-z0-9]+]]: i64, %[[N:.*]]: index)
  gpu.func @dynamic(%x: memref<?x?xf32> {llvm.readonly}, %y: memref<?x8xf32, strided<[?, 1]>>, %n: index) kernel {
    // CHECK: %[[T:.*]] = gpu.thread_id
    %t = gpu.thread_id x
    %c0 = arith.constant 0 : index
    // CHECK: %[[I:.*]] = arith.index_cast %[[N]] : index to i64
    // CHECK: %[[START:.*]] = arith.muli %[[I]], %[[STRIDE:.*]] : i64
    // CHECK: %[[J:.*]] = arith.index_cast %[[T]] : index to i64
    // CHECK: %[[FROM:.*]] = arith.addi %[[START]], %[[J]] : i64
    // CHECK: %[[P:.*]] = llvm.getelementptr %[[X]][%[[FROM]]] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
    // CHECK: %[[V:.*]] = llvm.load %[[P]] {alignment = 4 : i64} : !llvm.ptr<1> -> f32
    %v = memref.load %x[%n, %t] : memref<?x?xf32>
    // CHECK: arith.index_cast %[[YROWS]] : i64 to index
    %d = memref.dim %y, %c0 : memref<?x8xf32, strided<[?, 1]>>
    // CHECK: %[[R:.*]] = arith.index_cast %{{.*}} : index to i64
    // CHECK: %[[ROW:.*]] = arith.muli %[[R]], %[[PITCH]] : i64
    // CHECK: llvm.store %[[V]], %{{.*}} {alignment = 4 : i64} : f32, !llvm.ptr<1>
    memref.store %v, %y[%d, %t] : memref<?x8xf32, strided<[?, 1]>>
    gpu.return
  }

  // A vector has the alignment of its elements, or the one that is stated.
  // CHECK-LABEL: gpu.func @vectors(
  gpu.func @vectors(%x: memref<64xbf16>, %y: memref<64xf8E4M3FN>, %s: memref<f32>) kernel {
    %t = gpu.thread_id x
    // CHECK: llvm.load %{{.*}} {alignment = 2 : i64} : !llvm.ptr<1> -> vector<4xbf16>
    %v = vector.load %x[%t] : memref<64xbf16>, vector<4xbf16>
    // CHECK: llvm.load %{{.*}} {alignment = 8 : i64} : !llvm.ptr<1> -> vector<4xbf16>
    %w = vector.load %x[%t] {alignment = 8 : i64} : memref<64xbf16>, vector<4xbf16>
    // Numbers of 8 bits are moved as integers.
    // CHECK: %[[BITS:.*]] = llvm.load %{{.*}} {alignment = 1 : i64} : !llvm.ptr<1> -> vector<4xi8>
    // CHECK: %[[SMALL:.*]] = arith.bitcast %[[BITS]] : vector<4xi8> to vector<4xf8E4M3FN>
    // CHECK: %[[BACK:.*]] = arith.bitcast %[[SMALL]] : vector<4xf8E4M3FN> to vector<4xi8>
    // CHECK: llvm.store %[[BACK]], %{{.*}} {alignment = 1 : i64} : vector<4xi8>
    %q = vector.load %y[%t] : memref<64xf8E4M3FN>, vector<4xf8E4M3FN>
    vector.store %q, %y[%t] : memref<64xf8E4M3FN>, vector<4xf8E4M3FN>
    // CHECK: llvm.load %{{[a-z0-9]+}} {alignment = 4 : i64} : !llvm.ptr<1> -> f32
    %z = memref.load %s[] : memref<f32>
    gpu.return
  }

  // What isn't a kernel is left alone.
  // CHECK-LABEL: gpu.func @helper(%{{.*}}: memref<8xf32>)
  gpu.func @helper(%x: memref<8xf32>) {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error @+1 {{expects a strided memref of whole bytes in global memory, without an offset, as argument 0 but got 'memref<8xf32, #gpu.address_space<workgroup>>'}}
  gpu.func @space(%x: memref<8xf32, #gpu.address_space<workgroup>>) kernel {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error @+1 {{expects a strided memref of whole bytes in global memory, without an offset, as argument 1 but got 'memref<8xf32, strided<[1], offset: ?>>'}}
  gpu.func @offset(%n: i64, %x: memref<8xf32, strided<[1], offset: ?>>) kernel {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @tile(%x: memref<8x8xf32>) kernel {
    %t = gpu.thread_id x
    // expected-error @+1 {{expects a vector of elements that lie one after the other but got 'vector<2x4xf32>' of 'memref<8x8xf32>'}}
    %v = vector.load %x[%t, %t] : memref<8x8xf32>, vector<2x4xf32>
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @dim(%x: memref<?xf32>, %n: index) kernel {
    // expected-error @+1 {{expects a constant dim below 1}}
    %d = memref.dim %x, %n : memref<?xf32>
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @subview(%x: memref<64xf32>) kernel {
    // expected-error @+1 {{expects loads, stores and memref.dim of a kernel's argument but got 'memref.subview'}}
    %v = memref.subview %x[0] [8] [1] : memref<64xf32> to memref<8xf32, strided<[1]>>
    gpu.return
  }
}
