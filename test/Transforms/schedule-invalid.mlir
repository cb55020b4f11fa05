//===- schedule-invalid.mlir - Programs that no kernel takes --------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-opt %s --norm-schedule=target=sm_90 --split-input-file --verify-diagnostics

func.func @other_dims(%x: memref<?x4x8xf32>, %r: memref<?xf32>) {
  norm.generic (row, a, b)
      ins(%v = %x[row, a, b] : memref<?x4x8xf32>)
      outs(%o = %r[row] : memref<?xf32>) {
    // expected-error@+1 {{'norm.reduce' op expects all reductions of a program over the same dims or, of kinds without an order, over the last of them in groups of a power of two}}
    %s = norm.reduce add %v over [b] : f32
    %d = arith.subf %v, %s : f32
    %t = norm.reduce add %d over [a, b] : f32
    norm.yield %t : f32
  }
  return
}

// -----

func.func @column_output(%x: memref<8x16xf32>, %w: memref<16xf32>,
                         %r: memref<8xf32>) {
  // expected-error@+1 {{'norm.generic' op expects output #0 of a kernel to have row dim 'row'}}
  norm.generic (row, col)
      ins(%v = %x[row, col] : memref<8x16xf32>)
      outs(%o = %w[col] : memref<16xf32>, %p = %r[row] : memref<8xf32>) {
    %n = arith.negf %o : f32
    %s = norm.reduce add %v over [col] : f32
    norm.yield %n, %s : f32, f32
  }
  return
}

// -----

func.func @some_columns(%x: memref<8x16x4xf32>, %y: memref<8x4xf32>) {
  // expected-error@+1 {{'norm.generic' op expects output #0 of a kernel to have all column dims or none, but 'a' is missing}}
  norm.generic (row, a, b)
      ins(%v = %x[row, a, b] : memref<8x16x4xf32>)
      outs(%o = %y[row, b] : memref<8x4xf32>) {
    %s = norm.reduce add %v over [a, b] : f32
    %d = arith.addf %o, %s : f32
    norm.yield %d : f32
  }
  return
}

// -----

func.func @columns(%x: memref<?x2147483648xf32>) {
  // expected-error@+1 {{'norm.generic' op expects at most 1073741824 columns}}
  norm.generic (row, col)
      outs(%o = %x[row, col] : memref<?x2147483648xf32>) {
    norm.yield %o : f32
  }
  return
}

// -----

func.func @columns_of_dims(%x: memref<?x2147483648x8589934592xf32>, %r: memref<?xf32>) {
  // expected-error@+1 {{'norm.generic' op expects at most 1073741824 columns}}
  norm.generic (row, a, b)
      ins(%v = %x[row, a, b] : memref<?x2147483648x8589934592xf32>)
      outs(%o = %r[row] : memref<?xf32>) {
    %s = norm.reduce add %v over [a, b] : f32
    norm.yield %s : f32
  }
  return
}

// -----

func.func @reduced_index(%x: memref<?x16xindex>, %r: memref<?xindex>) {
  norm.generic (row, col)
      ins(%v = %x[row, col] : memref<?x16xindex>)
      outs(%o = %r[row] : memref<?xindex>) {
    // expected-error@+1 {{'norm.reduce' op expects a reduction of f32, f64 or integers of 8, 16, 32 or 64 bits in a kernel but got 'index'}}
    %s = norm.reduce max %v over [col] : index
    norm.yield %s : index
  }
  return
}

// -----

func.func @reduced_i1(%x: memref<?x16xi1>, %r: memref<?xi1>) {
  norm.generic (row, col)
      ins(%v = %x[row, col] : memref<?x16xi1>)
      outs(%o = %r[row] : memref<?xi1>) {
    // expected-error@+1 {{'norm.reduce' op expects a reduction of f32, f64 or integers of 8, 16, 32 or 64 bits in a kernel but got 'i1'}}
    %s = norm.reduce max %v over [col] : i1
    norm.yield %s : i1
  }
  return
}

// -----

func.func @reduced_i128(%x: memref<?x16xi128>, %r: memref<?xi128>) {
  norm.generic (row, col)
      ins(%v = %x[row, col] : memref<?x16xi128>)
      outs(%o = %r[row] : memref<?xi128>) {
    // expected-error@+1 {{'norm.reduce' op expects a reduction of f32, f64 or integers of 8, 16, 32 or 64 bits in a kernel but got 'i128'}}
    %s = norm.reduce max %v over [col] : i128
    norm.yield %s : i128
  }
  return
}

// -----

func.func @division(%x: memref<?x16xi32>) {
  norm.generic (row, col)
      outs(%o = %x[row, col] : memref<?x16xi32>) {
    %c = arith.constant 1 : i32
    // expected-error@+1 {{'arith.divsi' op may be undefined for some operands, and can't be computed on the columns of a kernel}}
    %q = arith.divsi %c, %o : i32
    norm.yield %q : i32
  }
  return
}

// -----

func.func @vector(%x: memref<?x16xf32>) {
  // expected-error@+1 {{expects 'vector' to be 1 on sm_90 but got 2}}
  norm.generic (row, col)
      outs(%o = %x[row, col] : memref<?x16xf32>)
      attributes {schedule = #norm.schedule<threads = 32, vector = 2>} {
    %s = norm.reduce max %o over [col] : f32
    %d = arith.subf %o, %s : f32
    norm.yield %d : f32
  }
  return
}

// -----

func.func @warps(%x: memref<?x16xf32>) {
  // expected-error@+1 {{expects whole warps per CTA but got 4 x 9 threads}}
  norm.generic (row, col)
      outs(%o = %x[row, col] : memref<?x16xf32>)
      attributes {schedule = #norm.schedule<threads = 4, rows_per_cta = 9>} {
    %s = norm.reduce max %o over [col] : f32
    %d = arith.subf %o, %s : f32
    norm.yield %d : f32
  }
  return
}

// -----

func.func @registers(%x: memref<?x8192xf32>) {
  // expected-error@+1 {{schedule needs 64 chunks per thread in registers but at most 32 are allowed}}
  norm.generic (row, col)
      outs(%o = %x[row, col] : memref<?x8192xf32>)
      attributes {schedule = #norm.schedule<threads = 32>} {
    %s = norm.reduce max %o over [col] : f32
    %d = arith.subf %o, %s : f32
    norm.yield %d : f32
  }
  return
}

// -----

func.func @shared(%x: memref<?x65536xf32>) {
  // expected-error@+1 {{schedule needs 264192 bytes of shared memory per CTA but sm_90 allows 232448}}
  norm.generic (row, col)
      outs(%o = %x[row, col] : memref<?x65536xf32>)
      attributes {schedule = #norm.schedule<threads = 512, residency = shared>} {
    %s = norm.reduce max %o over [col] : f32
    %d = arith.subf %o, %s : f32
    norm.yield %d : f32
  }
  return
}

// -----

func.func @dynamic(%x: memref<?x?xf32>) {
  // expected-error@+1 {{expects residency stream where the columns are known at launch only but got shared}}
  norm.generic (row, col)
      outs(%o = %x[row, col] : memref<?x?xf32>)
      attributes {schedule = #norm.schedule<threads = 512, residency = shared>} {
    %s = norm.reduce max %o over [col] : f32
    %d = arith.subf %o, %s : f32
    norm.yield %d : f32
  }
  return
}

// -----

func.func @lanes(%x: memref<?x16xf32>) {
  // expected-error@+1 {{expects 'vector' to be a power of two with at most 64 lanes per step but got 128 x 1}}
  norm.generic (row, col)
      outs(%o = %x[row, col] : memref<?x16xf32>)
      attributes {order = #norm.order<leaf = 4, lanes = 64>, schedule = #norm.schedule<threads = 128>} {
    norm.yield %o : f32
  }
  return
}

// -----

// Across memory.

func.func @across_vector(%x: memref<?x250xf32>) {
  // expected-error@+1 {{expects 'vector' to divide the 250 neighbours in memory but got 4}}
  norm.generic (row, col)
      outs(%o = %x[row, col] : memref<?x250xf32>)
      attributes {schedule = #norm.schedule<threads = 4, rows_per_cta = 32, residency = stream, vector = 4>} {
    %s = norm.reduce max %o over [row] : f32
    %d = arith.subf %o, %s : f32
    norm.yield %d : f32
  }
  return
}

// -----

func.func @across_threads(%x: memref<?x256xf32>) {
  // expected-error@+1 {{expects 'threads' to be a power of two from 1 to 32 but got 64}}
  norm.generic (row, col)
      outs(%o = %x[row, col] : memref<?x256xf32>)
      attributes {schedule = #norm.schedule<threads = 64, rows_per_cta = 16, residency = stream>} {
    %s = norm.reduce max %o over [row] : f32
    %d = arith.subf %o, %s : f32
    norm.yield %d : f32
  }
  return
}

// -----

func.func @across_wide(%x: memref<?x256xf32>) {
  // expected-error@+1 {{expects 'vector' to be a power of two up to 16 but got 32}}
  norm.generic (row, col)
      outs(%o = %x[row, col] : memref<?x256xf32>)
      attributes {schedule = #norm.schedule<threads = 4, rows_per_cta = 256, residency = stream, vector = 32>} {
    %s = norm.reduce max %o over [row] : f32
    %d = arith.subf %o, %s : f32
    norm.yield %d : f32
  }
  return
}

// -----

func.func @across_positions(%x: memref<?x256xf32>) {
  // expected-error@+1 {{expects 'rows_per_cta' to be a multiple of 4 up to 1024 but got 6}}
  norm.generic (row, col)
      outs(%o = %x[row, col] : memref<?x256xf32>)
      attributes {schedule = #norm.schedule<threads = 4, rows_per_cta = 6, residency = stream, vector = 4>} {
    %s = norm.reduce max %o over [row] : f32
    %d = arith.subf %o, %s : f32
    norm.yield %d : f32
  }
  return
}

// -----

func.func @across_groups(%x: memref<?x4x3xf32>) {
  // expected-error@+1 {{expects 'rows_per_cta' to be a multiple of 12 up to 1024 but got 16}}
  norm.generic (a, row, b)
      outs(%o = %x[a, row, b] : memref<?x4x3xf32>)
      attributes {schedule = #norm.schedule<threads = 4, rows_per_cta = 16, residency = stream, vector = 4>} {
    %s = norm.reduce max %o over [a, b] : f32
    %d = arith.subf %o, %s : f32
    norm.yield %d : f32
  }
  return
}

// -----

func.func @across_shared(%x: memref<?x1024xf64>) {
  // expected-error@+1 {{schedule needs 73728 bytes of static shared memory per CTA but sm_90 allows 49152}}
  norm.generic (row, col)
      outs(%o = %x[row, col] : memref<?x1024xf64>)
      attributes {schedule = #norm.schedule<threads = 16, rows_per_cta = 1024, residency = stream, vector = 16>} {
    %s = norm.reduce max %o over [row] : f64
    %d = arith.subf %o, %s : f64
    norm.yield %d : f64
  }
  return
}

// -----

func.func @across_split_dynamic(%x: memref<?x256xf32>) {
  // expected-error@+1 {{expects 'split' to be 0 or a power of two, at most the row's 1 slices, but got 2}}
  norm.generic (row, col)
      outs(%o = %x[row, col] : memref<?x256xf32>)
      attributes {schedule = #norm.schedule<threads = 4, rows_per_cta = 32, residency = stream, split = 2>} {
    %s = norm.reduce max %o over [row] : f32
    %d = arith.subf %o, %s : f32
    norm.yield %d : f32
  }
  return
}

// -----

func.func @across_split(%x: memref<512x256xf32>) {
  // expected-error@+1 {{expects 'split' to be 0 or a power of two, at most the row's 4 slices, but got 8}}
  norm.generic (row, col)
      outs(%o = %x[row, col] : memref<512x256xf32>)
      attributes {schedule = #norm.schedule<threads = 4, rows_per_cta = 32, residency = stream, split = 8>} {
    %s = norm.reduce max %o over [row] : f32
    %d = arith.subf %o, %s : f32
    norm.yield %d : f32
  }
  return
}

// -----

func.func @across_held_in_shared(%x: memref<512x256xf32>) {
  // expected-error@+1 {{schedule needs 270336 bytes of shared memory per CTA but sm_90 allows 232448}}
  norm.generic (row, col)
      outs(%o = %x[row, col] : memref<512x256xf32>)
      attributes {schedule = #norm.schedule<threads = 16, rows_per_cta = 128, residency = shared, vector = 2>} {
    %s = norm.reduce max %o over [row] : f32
    %d = arith.subf %o, %s : f32
    norm.yield %d : f32
  }
  return
}

// -----

func.func @across_held_dynamic(%x: memref<?x256xf32>) {
  // expected-error@+1 {{expects residency stream, or a split and whole leaves of static columns, but got registers}}
  norm.generic (row, col)
      outs(%o = %x[row, col] : memref<?x256xf32>)
      attributes {schedule = #norm.schedule<threads = 4, rows_per_cta = 32, residency = registers>} {
    %s = norm.reduce max %o over [row] : f32
    %d = arith.subf %o, %s : f32
    norm.yield %d : f32
  }
  return
}

// -----

func.func @across_held_at_launch(%x: memref<512x256xf32>) {
  // expected-error@+1 {{expects residency stream, or a split and whole leaves of static columns, but got registers}}
  norm.generic (row, col)
      outs(%o = %x[row, col] : memref<512x256xf32>)
      attributes {schedule = #norm.schedule<threads = 4, rows_per_cta = 32, residency = registers, split = 0>} {
    %s = norm.reduce max %o over [row] : f32
    %d = arith.subf %o, %s : f32
    norm.yield %d : f32
  }
  return
}

// -----

func.func @across_held_partial_slice(%x: memref<513x256xf32>) {
  // expected-error@+1 {{expects residency stream, or a split and whole leaves of static columns, but got registers}}
  norm.generic (row, col)
      outs(%o = %x[row, col] : memref<513x256xf32>)
      attributes {schedule = #norm.schedule<threads = 4, rows_per_cta = 32, residency = registers>} {
    %s = norm.reduce max %o over [row] : f32
    %d = arith.subf %o, %s : f32
    norm.yield %d : f32
  }
  return
}

// -----

func.func @across_chunks(%x: memref<2048x256xf32>) {
  // expected-error@+1 {{schedule needs 512 chunks per thread to be held but at most 128 are allowed}}
  norm.generic (row, col)
      outs(%o = %x[row, col] : memref<2048x256xf32>)
      attributes {schedule = #norm.schedule<threads = 4, rows_per_cta = 32, residency = registers>} {
    %s = norm.reduce max %o over [row] : f32
    %d = arith.subf %o, %s : f32
    norm.yield %d : f32
  }
  return
}

// -----

// Along memory.

func.func @along_split(%x: memref<?x256xf32>) {
  // expected-error@+1 {{expects 'split' to be 1 along memory but got 2}}
  norm.generic (row, col)
      outs(%o = %x[row, col] : memref<?x256xf32>)
      attributes {schedule = #norm.schedule<threads = 32, split = 2>} {
    %s = norm.reduce max %o over [col] : f32
    %d = arith.subf %o, %s : f32
    norm.yield %d : f32
  }
  return
}

// -----

func.func @inner_extent(%x: memref<?x256xf32>) {
  // expected-error@+1 {{'norm.generic' op expects dim 'col' to have the order's 7 inner columns}}
  norm.generic (row, col)
      outs(%o = %x[row, col] : memref<?x256xf32>)
      attributes {order = #norm.order<leaf = 4, lanes = 16, inner = 7>, schedule = #norm.schedule<threads = 32>} {
    %s = norm.reduce max %o over [col] : f32
    %d = arith.subf %o, %s : f32
    norm.yield %d : f32
  }
  return
}
