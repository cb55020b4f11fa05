//===- gpu.mlir - Kernels as gpu.func -------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-opt %s --norm-schedule=target=sm_90 --norm-tile --convert-norm-tile-to-gpu --split-input-file | FileCheck %s

// Rows in registers: each element is loaded once, by accesses of 16 bytes, and
// a sum is one barrier and five shuffles.

// CHECK-LABEL: gpu.func @sum_0(
// CHECK-SAME:      !llvm.ptr<1> {llvm.noalias
// CHECK-SAME:      workgroup(%{{.*}} : memref<128xf32, #gpu.address_space<workgroup>>)
// CHECK-SAME:      known_block_size = array<i32: 128, 1, 1>
// CHECK-COUNT-4: llvm.load %{{.*}} {alignment = 16 : i64, nontemporal} : !llvm.ptr<1> -> vector<8xbf16>
// CHECK-NOT:     llvm.load
// CHECK:         memref.store
// CHECK:         gpu.barrier
// CHECK-NOT:     gpu.barrier
// CHECK-COUNT-4: memref.load
// CHECK-NOT:     memref.load
// CHECK:         %[[O16:.*]] = arith.constant 16 : i32
// CHECK:         gpu.shuffle xor %{{.*}}, %[[O16]],
// CHECK:         %[[O8:.*]] = arith.constant 8 : i32
// CHECK:         gpu.shuffle xor %{{.*}}, %[[O8]],
// CHECK:         %[[O4:.*]] = arith.constant 4 : i32
// CHECK:         gpu.shuffle xor %{{.*}}, %[[O4]],
// CHECK:         %[[O2:.*]] = arith.constant 2 : i32
// CHECK:         gpu.shuffle xor %{{.*}}, %[[O2]],
// CHECK:         %[[O1:.*]] = arith.constant 1 : i32
// CHECK:         gpu.shuffle xor %{{.*}}, %[[O1]],
// CHECK-NOT:     gpu.shuffle
// CHECK-NOT:     llvm.load
// CHECK-NOT:     scf.if
// CHECK-COUNT-4: llvm.store %{{.*}} {alignment = 16 : i64} : vector<8xbf16>, !llvm.ptr<1>
// CHECK-NOT:     llvm.store
// CHECK:         gpu.return

// The other variant, for buffers that are not aligned. Words that cover a chunk
// are shifted into place; all are loaded before the first is used, where they
// lie within the row. Results reach memory by way of shared memory, in aligned
// pieces, and the ends of the row by elements.

// CHECK-LABEL: gpu.func @sum_0_unaligned(
// CHECK:         %[[ADDRESS:.*]] = llvm.ptrtoint %{{.*}} : !llvm.ptr<1> to i64
// CHECK:         %[[LOW:.*]] = arith.trunci %[[ADDRESS]] : i64 to i32
// CHECK:         %[[MISFIT:.*]] = arith.andi %[[LOW]],
// CHECK:         scf.if
// CHECK-COUNT-12: llvm.load %{{.*}} {alignment = 8 : i64, nontemporal} : !llvm.ptr<1> -> vector<2xi32>
// CHECK-NOT:     alignment = 8
// CHECK:         %[[BIT:.*]] = arith.andi %[[MISFIT]],
// CHECK:         %[[IS_ODD:.*]] = arith.cmpi ne, %[[BIT]],
// CHECK-COUNT-5: arith.select %[[IS_ODD]], %{{.*}} : i32
// CHECK-COUNT-4: llvm.intr.fshr
// CHECK:         scf.if
// CHECK:           arith.minsi
// CHECK:           llvm.load %{{.*}} {alignment = 2 : i64} : !llvm.ptr<1> -> bf16
// CHECK-COUNT-16: llvm.store %{{.*}} {alignment = 4 : i64} : i32, !llvm.ptr<3>
// CHECK-NOT:     !llvm.ptr<1>
// CHECK:         gpu.barrier
// CHECK-COUNT-5: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<3> -> i32
// CHECK-COUNT-4: llvm.intr.fshr
// CHECK:         llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<1>
// CHECK:         %[[END:.*]] = llvm.load %{{.*}} {alignment = 2 : i64} : !llvm.ptr<3> -> bf16
// CHECK:         llvm.store %[[END]], %{{.*}} {alignment = 2 : i64} : bf16, !llvm.ptr<1>
// CHECK-NOT:     llvm.store
// CHECK:         gpu.return

// CHECK-LABEL: func.func @sum(
// CHECK:         norm_tile.launch @sum_0
// CHECK-SAME:      variants = [#norm_tile.variant<symbol = "sum_0", alignment = 16, block = 128, rows_per_cta = 1, shared = 0>,
// CHECK-SAME:                  #norm_tile.variant<symbol = "sum_0_unaligned", alignment = 1,
func.func @sum(%x: memref<?x4096xbf16, strided<[?, 1]>>, %y: memref<?x4096xbf16, strided<[?, 1]>>) {
  norm.generic (row, col)
      ins(%a = %x[row, col] : memref<?x4096xbf16, strided<[?, 1]>>)
      outs(%o = %y[row, col] : memref<?x4096xbf16, strided<[?, 1]>>) {
    %f = arith.extf %a : bf16 to f32
    %s = norm.reduce add %f over [col] : f32
    %d = arith.subf %f, %s : f32
    %t = arith.truncf %d : f32 to bf16
    norm.yield %t : bf16
  }
  return
}

// -----

// Odd rows are aligned to their elements only: one variant. What a kernel also
// writes is loaded by elements: words would hold some of another thread's.

// The last chunk has one column, which is known.

// CHECK-LABEL: gpu.func @odd_0(
// CHECK-NOT:     alignment = 8
// CHECK:         scf.if
// CHECK-COUNT-8:   llvm.load %{{.*}} {alignment = 2 : i64} : !llvm.ptr<1> -> bf16
// CHECK:         arith.cmpi eq, %{{.*}}, %c1000_i64
// CHECK-NEXT:    scf.if
// CHECK:           llvm.load %{{.*}} {alignment = 2 : i64} : !llvm.ptr<1> -> bf16
// CHECK-NEXT:      vector.from_elements
// CHECK:         arith.select %{{.*}} : vector<8xi1>, vector<8xf32>
// CHECK:         gpu.barrier
// CHECK:         llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<1>
// CHECK:         gpu.return
// CHECK-NOT:   gpu.func
// CHECK:         variants = [#norm_tile.variant<symbol = "odd_0", alignment = 1,
func.func @odd(%x: memref<?x1001xbf16, strided<[?, 1]>>) {
  norm.generic (row, col) outs(%a = %x[row, col] : memref<?x1001xbf16, strided<[?, 1]>>) {
    %f = arith.extf %a : bf16 to f32
    %s = norm.reduce add %f over [col] : f32
    %d = arith.subf %f, %s : f32
    %t = arith.truncf %d : f32 to bf16
    norm.yield %t : bf16
  }
  return
}

// -----

// Several rows per CTA: groups without a row compute the last one and store
// nothing.

// CHECK-LABEL: gpu.func @narrow_0(
// CHECK-SAME:      known_block_size = array<i32: 64, 1, 1>
// CHECK:         %[[IS_ROW:.*]] = arith.cmpi ult, %[[ROW:.*]], %[[ROWS:.*]] : index
// CHECK:         %[[LAST:.*]] = arith.subi %[[ROWS]],
// CHECK:         arith.minui %[[ROW]], %[[LAST]]
// CHECK-NOT:     gpu.barrier
// CHECK:         gpu.shuffle
// CHECK:         scf.if %[[IS_ROW]] {
// CHECK-NEXT:      llvm.store
// CHECK:         arith.andi %{{.*}}, %[[IS_ROW]]
func.func @narrow(%x: memref<?x128xbf16, strided<[?, 1]>>, %y: memref<?x128xbf16, strided<[?, 1]>>, %r: memref<?xf32>) {
  norm.generic (row, col)
      ins(%a = %x[row, col] : memref<?x128xbf16, strided<[?, 1]>>)
      outs(%o = %y[row, col] : memref<?x128xbf16, strided<[?, 1]>>, %o1 = %r[row] : memref<?xf32>) {
    %f = arith.extf %a : bf16 to f32
    %s = norm.reduce max %f over [col] : f32
    %t = arith.truncf %s : f32 to bf16
    %e = arith.subf %a, %t : bf16
    norm.yield %e, %s : bf16, f32
  }
  return
}

// -----

// A buffer that is passed twice may be written while it is read.

// CHECK-LABEL: gpu.func @in_place_0(
// CHECK-SAME:      %{{[^:]*}}: !llvm.ptr<1>,
// CHECK-SAME:      %{{[^:]*}}: !llvm.ptr<1> {llvm.noalias, llvm.readonly},
// CHECK-SAME:      %{{[^:]*}}: !llvm.ptr<1>, %{{[^:]*}}: i64)
func.func @in_place(%x: memref<?x4096xf32>, %w: memref<4096xf32>) {
  norm.generic (row, col)
      ins(%a = %x[row, col] : memref<?x4096xf32>, %g = %w[col] : memref<4096xf32>)
      outs(%o = %x[row, col] : memref<?x4096xf32>) {
    %p = arith.mulf %a, %g : f32
    norm.yield %p : f32
  }
  return
}

// -----

// Integers narrower than a register are shuffled in one.

// CHECK-LABEL: gpu.func @bytes_0(
// CHECK:         arith.extui %{{.*}} : i8 to i32
// CHECK:         gpu.shuffle xor %{{.*}} : i32
// CHECK:         arith.trunci %{{.*}} : i32 to i8
func.func @bytes(%x: memref<?x64xi8>, %r: memref<?xi8>) {
  norm.generic (row, col) ins(%a = %x[row, col] : memref<?x64xi8>) outs(%o = %r[row] : memref<?xi8>) {
    %s = norm.reduce max %a over [col] : i8
    norm.yield %s : i8
  }
  return
}
