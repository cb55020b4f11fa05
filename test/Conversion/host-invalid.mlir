//===- host-invalid.mlir - Kernels that no host runs ----------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-opt %s --convert-norm-tile-to-host --split-input-file --verify-diagnostics

// expected-error@+1 {{'norm_tile.kernel' op expects buffers of f16, bf16, f32, f64, f8E4M3FN, f8E5M2, f8E8M0FNU, f4E2M1FN or integers of 1, 8, 16, 32 or 64 bits but operand #0 is 'memref<?x64xi2>'}}
norm_tile.kernel @element(%x: memref<?x64xi2>)
    attributes {program = "p", space = #norm_tile.space<rows = [-1], columns = [64], axes = [[0, 1]]>,
                order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 1, residency = stream>} {
  norm_tile.work (%row) {
  }
}

// -----

// expected-error@+1 {{'norm_tile.kernel' op expects buffers of f16, bf16, f32, f64, f8E4M3FN, f8E5M2, f8E8M0FNU, f4E2M1FN or integers of 1, 8, 16, 32 or 64 bits but operand #0 is 'memref<?x64xi4>'}}
norm_tile.kernel @element(%x: memref<?x64xi4>)
    attributes {program = "p", space = #norm_tile.space<rows = [-1], columns = [64], axes = [[0, 1]]>,
                order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 1, residency = stream>} {
  norm_tile.work (%row) {
  }
}

// -----

// expected-error@+1 {{'norm_tile.kernel' op expects buffers of f16, bf16, f32, f64, f8E4M3FN, f8E5M2, f8E8M0FNU, f4E2M1FN or integers of 1, 8, 16, 32 or 64 bits but operand #0 is 'memref<?x64xindex>'}}
norm_tile.kernel @element(%x: memref<?x64xindex>)
    attributes {program = "p", space = #norm_tile.space<rows = [-1], columns = [64], axes = [[0, 1]]>,
                order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 1, residency = stream>} {
  norm_tile.work (%row) {
  }
}

// -----

// expected-error@+1 {{'norm_tile.kernel' op expects buffers of f16, bf16, f32, f64, f8E4M3FN, f8E5M2, f8E8M0FNU, f4E2M1FN or integers of 1, 8, 16, 32 or 64 bits but operand #0 is 'memref<?x64xf8E4M3>'}}
norm_tile.kernel @element(%x: memref<?x64xf8E4M3>)
    attributes {program = "p", space = #norm_tile.space<rows = [-1], columns = [64], axes = [[0, 1]]>,
                order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 1, residency = stream>} {
  norm_tile.work (%row) {
  }
}

// -----

// expected-error@+1 {{'norm_tile.kernel' op expects buffers of f16, bf16, f32, f64, f8E4M3FN, f8E5M2, f8E8M0FNU, f4E2M1FN or integers of 1, 8, 16, 32 or 64 bits but operand #0 is 'memref<?x64xf128>'}}
norm_tile.kernel @element(%x: memref<?x64xf128>)
    attributes {program = "p", space = #norm_tile.space<rows = [-1], columns = [64], axes = [[0, 1]]>,
                order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 1, residency = stream>} {
  norm_tile.work (%row) {
  }
}

// -----

// expected-error@+1 {{'norm_tile.kernel' op expects scalars of f16, bf16, f32, f64, f8E4M3FN, f8E5M2, f8E8M0FNU, index or integers of 1, 8, 16, 32 or 64 bits but operand #1 is 'i7'}}
norm_tile.kernel @scalar(%x: memref<?x64xf32>, %s: i7)
    attributes {program = "p", space = #norm_tile.space<rows = [-1], columns = [64], axes = [[0, 1], []]>,
                order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 1, residency = stream>} {
  norm_tile.work (%row) {
  }
}

// -----

// expected-error@+1 {{'norm_tile.kernel' op expects at most 1073741824 columns but got 1073741825}}
norm_tile.kernel @columns(%x: memref<?x?xf32>)
    attributes {program = "p", space = #norm_tile.space<rows = [-1], columns = [1073741825], axes = [[0, 1]]>,
                order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 1, residency = stream>} {
  norm_tile.work (%row) {
  }
}

// -----

norm_tile.kernel @reduction(%x: memref<?x64xi32>)
    attributes {program = "p", space = #norm_tile.space<rows = [-1], columns = [64], axes = [[0, 1]]>,
                order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 1, residency = stream>} {
  norm_tile.work (%row) {
    // expected-error@+1 {{'norm_tile.phase' op expects reductions of f32, f64 or integers of 8, 16, 32 or 64 bits but got 'i128'}}
    %p = norm_tile.phase reduce [add] (%column) {
      %a = norm_tile.load %x[%row, %column] : memref<?x64xi32> -> vector<4xi32>
      %e = arith.extsi %a : vector<4xi32> to vector<4xi128>
      norm_tile.yield %e : vector<4xi128>
    } : !norm_tile.partial<add, i128>
  }
}

// -----

func.func @no_kernel(%x: memref<?x64xf32>) {
  // expected-error@+1 {{'norm_tile.launch' op expects a kernel of the module but got @nothing}}
  norm_tile.launch @nothing(%x) {program = "p", space = #norm_tile.space<rows = [-1], columns = [64], axes = [[0, 1]]>, num_outputs = 1 : i64,
      order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 1, residency = stream>} : memref<?x64xf32>
  return
}

// -----

norm_tile.kernel @callee(%x: memref<?x64xf32>)
    attributes {program = "p", space = #norm_tile.space<rows = [-1], columns = [64], axes = [[0, 1]]>,
                order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 1, residency = stream>} {
  norm_tile.work (%row) {
  }
}

func.func @operands(%x: memref<?x32xf32>) {
  // expected-error@+1 {{'norm_tile.launch' op expects operands of types 'memref<?x64xf32>' but got 'memref<?x32xf32>'}}
  norm_tile.launch @callee(%x) {program = "p", space = #norm_tile.space<rows = [-1], columns = [64], axes = [[0, 1]]>, num_outputs = 1 : i64,
      order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 1, residency = stream>} : memref<?x32xf32>
  return
}

// -----

norm_tile.kernel @callee(%x: memref<?x64xf32>)
    attributes {program = "p", space = #norm_tile.space<rows = [-1], columns = [64], axes = [[0, 1]]>,
                order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 1, residency = stream>} {
  norm_tile.work (%row) {
  }
}

func.func @space(%x: memref<?x64xf32>) {
  // expected-error@+1 {{'norm_tile.launch' op expects space #norm_tile.space<rows = [-1], columns = [64], axes = [[0, 1]]>, that of its kernel, but got #norm_tile.space<rows = [8], columns = [64], axes = [[0, 1]]>}}
  norm_tile.launch @callee(%x) {program = "p", space = #norm_tile.space<rows = [8], columns = [64], axes = [[0, 1]]>, num_outputs = 1 : i64,
      order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 1, residency = stream>} : memref<?x64xf32>
  return
}

// -----

norm_tile.kernel @callee(%x: memref<?x64xf32>)
    attributes {program = "p", space = #norm_tile.space<rows = [-1], columns = [64], axes = [[0, 1]]>,
                order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 1, residency = stream>} {
  norm_tile.work (%row) {
  }
}

func.func @order(%x: memref<?x64xf32>) {
  // expected-error@+1 {{'norm_tile.launch' op expects the order and the schedule of its kernel, #norm.order<leaf = 4, lanes = 1024> and #norm.schedule<threads = 1, residency = stream>, but got #norm.order<leaf = 4, lanes = 512> and #norm.schedule<threads = 1, residency = stream>}}
  norm_tile.launch @callee(%x) {program = "p", space = #norm_tile.space<rows = [-1], columns = [64], axes = [[0, 1]]>, num_outputs = 1 : i64,
      order = #norm.order<leaf = 4, lanes = 512>, schedule = #norm.schedule<threads = 1, residency = stream>} : memref<?x64xf32>
  return
}

// -----

// expected-error@+1 {{'norm_tile.kernel' op expects 'threads' and 'rows_per_cta' to be 1 on the host but got 32 and 1}}
norm_tile.kernel @threads(%x: memref<?x64xf32>)
    attributes {program = "p", space = #norm_tile.space<rows = [-1], columns = [64], axes = [[0, 1]]>,
                order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 32, residency = stream>} {
  norm_tile.work (%row) {
  }
}

// -----

// expected-error@+1 {{'norm_tile.kernel' op expects 'residency' to be stream on the host but got registers}}
norm_tile.kernel @residency(%x: memref<?x64xf32>)
    attributes {program = "p", space = #norm_tile.space<rows = [-1], columns = [64], axes = [[0, 1]]>,
                order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 1>} {
  norm_tile.work (%row) {
  }
}
