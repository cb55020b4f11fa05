//===- gpu-invalid.mlir - Kernels that no GPU runs ------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-opt %s --convert-norm-tile-to-gpu --split-input-file --verify-diagnostics

// expected-error@+1 {{'norm_tile.kernel' op expects buffers of f16, bf16, f32, f64, f8E4M3FN, f8E5M2, f8E8M0FNU, f4E2M1FN or integers of 1, 8, 16, 32 or 64 bits but operand #0 is 'memref<?x64xi2>'}}
norm_tile.kernel @element(%x: memref<?x64xi2>)
    attributes {program = "p", space = #norm_tile.space<rows = [-1], columns = [64], axes = [[0, 1]]>,
                order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 32>} {
  norm_tile.work (%row) {
  }
}

// -----

// expected-error@+1 {{'norm_tile.kernel' op expects buffers of f16, bf16, f32, f64, f8E4M3FN, f8E5M2, f8E8M0FNU, f4E2M1FN or integers of 1, 8, 16, 32 or 64 bits but operand #0 is 'memref<?x64xi4>'}}
norm_tile.kernel @element(%x: memref<?x64xi4>)
    attributes {program = "p", space = #norm_tile.space<rows = [-1], columns = [64], axes = [[0, 1]]>,
                order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 32>} {
  norm_tile.work (%row) {
  }
}

// -----

// expected-error@+1 {{'norm_tile.kernel' op expects buffers of f16, bf16, f32, f64, f8E4M3FN, f8E5M2, f8E8M0FNU, f4E2M1FN or integers of 1, 8, 16, 32 or 64 bits but operand #0 is 'memref<?x64xindex>'}}
norm_tile.kernel @element(%x: memref<?x64xindex>)
    attributes {program = "p", space = #norm_tile.space<rows = [-1], columns = [64], axes = [[0, 1]]>,
                order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 32>} {
  norm_tile.work (%row) {
  }
}

// -----

// expected-error@+1 {{'norm_tile.kernel' op expects buffers of f16, bf16, f32, f64, f8E4M3FN, f8E5M2, f8E8M0FNU, f4E2M1FN or integers of 1, 8, 16, 32 or 64 bits but operand #0 is 'memref<?x64xf8E4M3>'}}
norm_tile.kernel @element(%x: memref<?x64xf8E4M3>)
    attributes {program = "p", space = #norm_tile.space<rows = [-1], columns = [64], axes = [[0, 1]]>,
                order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 32>} {
  norm_tile.work (%row) {
  }
}

// -----

// expected-error@+1 {{'norm_tile.kernel' op expects buffers of f16, bf16, f32, f64, f8E4M3FN, f8E5M2, f8E8M0FNU, f4E2M1FN or integers of 1, 8, 16, 32 or 64 bits but operand #0 is 'memref<?x64xf128>'}}
norm_tile.kernel @element(%x: memref<?x64xf128>)
    attributes {program = "p", space = #norm_tile.space<rows = [-1], columns = [64], axes = [[0, 1]]>,
                order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 32>} {
  norm_tile.work (%row) {
  }
}

// -----

// expected-error@+1 {{'norm_tile.kernel' op expects scalars of f16, bf16, f32, f64, f8E4M3FN, f8E5M2, f8E8M0FNU, index or integers of 1, 8, 16, 32 or 64 bits but operand #1 is 'i7'}}
norm_tile.kernel @scalar(%x: memref<?x64xf32>, %s: i7)
    attributes {program = "p", space = #norm_tile.space<rows = [-1], columns = [64], axes = [[0, 1], []]>,
                order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 32>} {
  norm_tile.work (%row) {
  }
}

// -----

// expected-error@+1 {{'norm_tile.kernel' op expects at most 1073741824 columns but got 1073741825}}
norm_tile.kernel @columns(%x: memref<?x?xf32>)
    attributes {program = "p", space = #norm_tile.space<rows = [-1], columns = [1073741825], axes = [[0, 1]]>,
                order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 32>} {
  norm_tile.work (%row) {
  }
}

// -----

norm_tile.kernel @reduction(%x: memref<?x64xi32>)
    attributes {program = "p", space = #norm_tile.space<rows = [-1], columns = [64], axes = [[0, 1]]>,
                order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 32>} {
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
      order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 32>} : memref<?x64xf32>
  return
}

// -----

norm_tile.kernel @callee(%x: memref<?x64xf32>)
    attributes {program = "p", space = #norm_tile.space<rows = [-1], columns = [64], axes = [[0, 1]]>,
                order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 32>} {
  norm_tile.work (%row) {
  }
}

func.func @operands(%x: memref<?x32xf32>) {
  // expected-error@+1 {{'norm_tile.launch' op expects operands of types 'memref<?x64xf32>' but got 'memref<?x32xf32>'}}
  norm_tile.launch @callee(%x) {program = "p", space = #norm_tile.space<rows = [-1], columns = [64], axes = [[0, 1]]>, num_outputs = 1 : i64,
      order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 32>} : memref<?x32xf32>
  return
}

// -----

norm_tile.kernel @callee(%x: memref<?x64xf32>)
    attributes {program = "p", space = #norm_tile.space<rows = [-1], columns = [64], axes = [[0, 1]]>,
                order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 32>} {
  norm_tile.work (%row) {
  }
}

func.func @space(%x: memref<?x64xf32>) {
  // expected-error@+1 {{'norm_tile.launch' op expects space #norm_tile.space<rows = [-1], columns = [64], axes = [[0, 1]]>, that of its kernel, but got #norm_tile.space<rows = [8], columns = [64], axes = [[0, 1]]>}}
  norm_tile.launch @callee(%x) {program = "p", space = #norm_tile.space<rows = [8], columns = [64], axes = [[0, 1]]>, num_outputs = 1 : i64,
      order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 32>} : memref<?x64xf32>
  return
}

// -----

norm_tile.kernel @callee(%x: memref<?x64xf32>)
    attributes {program = "p", space = #norm_tile.space<rows = [-1], columns = [64], axes = [[0, 1]]>,
                order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 32>} {
  norm_tile.work (%row) {
  }
}

func.func @order(%x: memref<?x64xf32>) {
  // expected-error@+1 {{'norm_tile.launch' op expects the order and the schedule of its kernel, #norm.order<leaf = 4, lanes = 1024> and #norm.schedule<threads = 32>, but got #norm.order<leaf = 4, lanes = 512> and #norm.schedule<threads = 32>}}
  norm_tile.launch @callee(%x) {program = "p", space = #norm_tile.space<rows = [-1], columns = [64], axes = [[0, 1]]>, num_outputs = 1 : i64,
      order = #norm.order<leaf = 4, lanes = 512>, schedule = #norm.schedule<threads = 32>} : memref<?x64xf32>
  return
}

// -----

// expected-error@+1 {{'norm_tile.kernel' op expects 'vector' to be 1 on a GPU but got 2}}
norm_tile.kernel @vector(%x: memref<?x64xf32>)
    attributes {program = "p", space = #norm_tile.space<rows = [-1], columns = [64], axes = [[0, 1]]>,
                order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 32, vector = 2>} {
  norm_tile.work (%row) {
  }
}

// -----

// expected-error@+1 {{'norm_tile.kernel' op expects whole warps per CTA but got 4 x 1 threads}}
norm_tile.kernel @warps(%x: memref<?x64xf32>)
    attributes {program = "p", space = #norm_tile.space<rows = [-1], columns = [64], axes = [[0, 1]]>,
                order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 4>} {
  norm_tile.work (%row) {
  }
}

// -----

// expected-error@+1 {{'norm_tile.kernel' op expects residency stream where the columns are known at launch only but got shared}}
norm_tile.kernel @dynamic(%x: memref<?x?xf32>)
    attributes {program = "p", space = #norm_tile.space<rows = [-1], columns = [-1], axes = [[0, 1]]>,
                order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 32, residency = shared>} {
  norm_tile.work (%row) {
  }
}

// -----

// expected-error@+1 {{'norm_tile.kernel' op schedule needs 64 chunks per thread in registers but at most 32 are allowed}}
norm_tile.kernel @registers(%x: memref<?x8192xf32>)
    attributes {program = "p", space = #norm_tile.space<rows = [-1], columns = [8192], axes = [[0, 1]]>,
                order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 32>} {
  norm_tile.work (%row) {
  }
}

// -----

norm_tile.kernel @held(%x: memref<?x64xf32>)
    attributes {program = "p", space = #norm_tile.space<rows = [-1], columns = [64], axes = [[0, 1]]>,
                order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 32>} {
  norm_tile.work (%row) {
    norm_tile.phase (%column) {
      %a = norm_tile.load %x[%row, %column] : memref<?x64xf32> -> vector<4xf32>
      %t = arith.truncf %a : vector<4xf32> to vector<4xf8E4M3>
      // expected-error@+1 {{'norm_tile.hold' op expects f16, bf16, f32, f64, f8E4M3FN, f8E5M2, f8E8M0FNU, f4E2M1FN or integers of 1, 8, 16, 32 or 64 bits to keep but got 'f8E4M3'}}
      norm_tile.hold %t in 0 : vector<4xf8E4M3>
    }
  }
}

// -----

// expected-error@+1 {{'norm_tile.kernel' op expects at most 1073741824 columns but got 9223372036854775807}}
norm_tile.kernel @columns_overflow(%r: memref<?xf32>)
    attributes {program = "p", space = #norm_tile.space<rows = [-1], columns = [4294967296, 4294967296], axes = [[0, _, _]]>,
                order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 32>} {
  norm_tile.work (%row) {
  }
}

// -----

norm_tile.kernel @callee(%x: memref<?x64xf32>, %y: memref<?x64xf32>)
    attributes {program = "p", space = #norm_tile.space<rows = [-1], columns = [64], axes = [[0, 1], [0, 1]]>,
                order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 32>} {
  norm_tile.work (%row) {
    norm_tile.phase (%column) {
      %a = norm_tile.load %x[%row, %column] : memref<?x64xf32> -> vector<4xf32>
      norm_tile.store %a, %y[%row, %column] : vector<4xf32>, memref<?x64xf32>
    }
  }
}

func.func @unread(%x: memref<?x64xf32>, %y: memref<?x64xf32>) {
  // expected-error@+1 {{'norm_tile.launch' op expects a kernel that doesn't use operand 0, which is unread, but it does}}
  norm_tile.launch @callee(%x, %y) {program = "p", space = #norm_tile.space<rows = [-1], columns = [64], axes = [[0, 1], [0, 1]]>, num_outputs = 1 : i64,
      order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 32>, unread = array<i64: 0>} : memref<?x64xf32>, memref<?x64xf32>
  return
}
