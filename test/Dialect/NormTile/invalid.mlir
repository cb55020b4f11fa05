//===- invalid.mlir - What verifiers say about kernels --------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-opt %s --split-input-file --verify-diagnostics

// Types.

// expected-error@+1 {{expects f32 or f64 for kind 'welford' but got 'i32'}}
func.func private @welford_type(!norm_tile.partial<welford, i32>)

// -----

// expected-error@+1 {{expects f32 or f64 for kind 'maxnum' but got 'i32'}}
func.func private @maxnum_type(!norm_tile.partial<maxnum, i32>)

// -----

// expected-error@+1 {{expects f32, f64 or an integer but got 'bf16'}}
func.func private @partial_type(!norm_tile.partial<add, bf16>)

// -----

// expected-error@+1 {{expects f32, f64 or an integer but got 'index'}}
func.func private @partial_type(!norm_tile.partial<add, index>)

// -----

// expected-error@+1 {{expects f32, f64 or an integer but got 'vector<4xf32>'}}
func.func private @partial_type(!norm_tile.partial<add, vector<4xf32>>)

// -----

// Operands and fields of a kernel.

// expected-error@+1 {{'norm_tile.kernel' op expects memrefs and scalars of up to 64 bits but operand #0 is 'vector<4xf32>'}}
norm_tile.kernel @operand_type(%x: vector<4xf32>)
    attributes {program = "p", space = #norm_tile.space<rows = [-1], columns = [64], axes = [[]]>,
                order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 32>} {
  norm_tile.work (%row) {
  }
}

// -----

// expected-error@+1 {{'norm_tile.kernel' op expects memrefs and scalars of up to 64 bits but operand #1 is 'i128'}}
norm_tile.kernel @operand_width(%x: memref<?x64xf32, strided<[?, 1]>>, %s: i128)
    attributes {program = "p", space = #norm_tile.space<rows = [-1], columns = [64], axes = [[0, 1], []]>,
                order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 32>} {
  norm_tile.work (%row) {
  }
}

// -----

// expected-error@+1 {{'norm_tile.kernel' op expects axes of operand #0 below 2 but got 2}}
norm_tile.kernel @axis_bound(%x: memref<2x64xf32>)
    attributes {program = "p", space = #norm_tile.space<rows = [2], columns = [64], axes = [[0, 2]]>,
                order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 32>} {
  norm_tile.work (%row) {
  }
}

// -----

// expected-error@+1 {{'norm_tile.kernel' op expects axes of operand #0, which is 'memref<2x64xf32>'}}
norm_tile.kernel @no_axes(%x: memref<2x64xf32>)
    attributes {program = "p", space = #norm_tile.space<rows = [2], columns = [64], axes = [[]]>,
                order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 32>} {
  norm_tile.work (%row) {
  }
}

// -----

// expected-error@+1 {{'norm_tile.kernel' op expects axes for 2 operands but got 1}}
norm_tile.kernel @operands(%x: memref<?x64xf32, strided<[?, 1]>>, %s: f32)
    attributes {program = "p", space = #norm_tile.space<rows = [-1], columns = [64], axes = [[0, 1]]>,
                order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 32>} {
  norm_tile.work (%row) {
  }
}

// -----

// expected-error@+1 {{'norm_tile.kernel' op expects 64 elements on dim 1 of its space but operand #0 has 192: 'memref<2x3x64xf32>'}}
norm_tile.kernel @collapsed(%x: memref<2x3x64xf32>)
    attributes {program = "p", space = #norm_tile.space<rows = [2], columns = [64], axes = [[0, 2]]>,
                order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 32>} {
  norm_tile.work (%row) {
  }
}

// -----

// expected-error@+1 {{'norm_tile.kernel' op expects strided memrefs but operand #0 is 'memref<?x64xf32, affine_map<(d0, d1) -> (d0 + d1, d1)>>'}}
norm_tile.kernel @operand_layout(%x: memref<?x64xf32, affine_map<(d0, d1) -> (d0 + d1, d1)>>)
    attributes {program = "p", space = #norm_tile.space<rows = [-1], columns = [64], axes = [[0, 1]]>,
                order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 32>} {
  norm_tile.work (%row) {
  }
}

// -----

norm_tile.kernel @extent_number(%x: memref<?x64xf32, strided<[?, 1]>>)
    // expected-error@+1 {{expects extents, or -1, but got -2}}
    attributes {program = "p", space = #norm_tile.space<rows = [-1], columns = [-2], axes = [[0, 1]]>,
                order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 32>} {
  norm_tile.work (%row) {
  }
}

// -----

norm_tile.kernel @axes_number(%x: memref<?x64xf32, strided<[?, 1]>>)
    // expected-error@+1 {{expects 2 axes for operand #0 but got 1}}
    attributes {program = "p", space = #norm_tile.space<rows = [-1], columns = [64], axes = [[0]]>,
                order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 32>} {
  norm_tile.work (%row) {
  }
}

// -----

norm_tile.kernel @axis_number(%x: memref<?x64xf32, strided<[?, 1]>>)
    // expected-error@+1 {{expects an axis, or _, but got -2}}
    attributes {program = "p", space = #norm_tile.space<rows = [-1], columns = [64], axes = [[0, -2]]>,
                order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 32>} {
  norm_tile.work (%row) {
  }
}

// -----

norm_tile.kernel @axis_twice(%x: memref<?x64xf32, strided<[?, 1]>>)
    // expected-error@+1 {{expects different axes for operand #0 but got 1 twice}}
    attributes {program = "p", space = #norm_tile.space<rows = [-1], columns = [64], axes = [[1, 1]]>,
                order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 32>} {
  norm_tile.work (%row) {
  }
}

// -----

// expected-error@+1 {{'norm_tile.kernel' op expects at most 64 lanes per step, those of the order, but got 128 x 1}}
norm_tile.kernel @lanes(%x: memref<?x64xf32, strided<[?, 1]>>)
    attributes {program = "p", space = #norm_tile.space<rows = [-1], columns = [64], axes = [[0, 1]]>,
                order = #norm.order<leaf = 4, lanes = 64>, schedule = #norm.schedule<threads = 128>} {
  norm_tile.work (%row) {
  }
}

// -----

// expected-error@+1 {{'norm_tile.kernel' op expects at most 16 lanes per step, those of the order, but got 32 x 1}}
norm_tile.kernel @lanes_across(%x: memref<64x8xf32>)
    attributes {program = "p", space = #norm_tile.space<rows = [8], columns = [64], axes = [[1, 0]]>,
                order = #norm.order<leaf = 4, lanes = 16, inner = 1>, schedule = #norm.schedule<threads = 32, rows_per_cta = 8>} {
  norm_tile.work (%row) {
  }
}

// -----

// expected-error@+1 {{'norm_tile.kernel' op expects the last column dim to have the order's 4 inner columns}}
norm_tile.kernel @inner(%x: memref<64x8x3xf32>)
    attributes {program = "p", space = #norm_tile.space<rows = [8], columns = [64, 3], axes = [[1, 0, 2]]>,
                order = #norm.order<leaf = 4, lanes = 16, inner = 4>, schedule = #norm.schedule<threads = 4, rows_per_cta = 8>} {
  norm_tile.work (%row) {
  }
}

// -----

// expected-error@+1 {{'norm_tile.kernel' op expects 'vector' to divide the 1 elements of the last row dims whose extents are static, but got 2}}
norm_tile.kernel @dynamic_rows(%x: memref<64x8x?xf32>)
    attributes {program = "p", space = #norm_tile.space<rows = [8, -1], columns = [64], axes = [[1, 2, 0]]>,
                order = #norm.order<leaf = 4, lanes = 16, inner = 1>, schedule = #norm.schedule<threads = 4, rows_per_cta = 8, vector = 2>} {
  norm_tile.work (%row) {
  }
}

// -----

// expected-error@+1 {{'norm_tile.kernel' op expects 'vector' to divide the 12 elements of the last row dims whose extents are static, but got 8}}
norm_tile.kernel @static_rows(%x: memref<64x?x4x3xf32>)
    attributes {program = "p", space = #norm_tile.space<rows = [-1, 4], columns = [64, 3], axes = [[1, 2, 0, 3]]>,
                order = #norm.order<leaf = 4, lanes = 16, inner = 3>, schedule = #norm.schedule<threads = 4, rows_per_cta = 8, vector = 8>} {
  norm_tile.work (%row) {
  }
}

// -----

// expected-error@+1 {{'norm_tile.kernel' op expects 'vector' to be a power of two along memory but got 3}}
norm_tile.kernel @vector_along(%x: memref<8x64xf32>)
    attributes {program = "p", space = #norm_tile.space<rows = [8], columns = [64], axes = [[0, 1]]>,
                order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 32, vector = 3>} {
  norm_tile.work (%row) {
  }
}

// -----

// Structure.

// expected-error@+1 {{'norm_tile.kernel' op expects a body of one 'norm_tile.work'}}
norm_tile.kernel @no_work(%x: memref<?x64xf32, strided<[?, 1]>>)
    attributes {program = "p", space = #norm_tile.space<rows = [-1], columns = [64], axes = [[0, 1]]>,
                order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 32>} {

}

// -----

// expected-error@+1 {{'norm_tile.kernel' op expects a body of one 'norm_tile.work'}}
norm_tile.kernel @two_works(%x: memref<?x64xf32, strided<[?, 1]>>)
    attributes {program = "p", space = #norm_tile.space<rows = [-1], columns = [64], axes = [[0, 1]]>,
                order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 32>} {
  norm_tile.work (%row) {
  }
  norm_tile.work (%row) {
  }
}

// -----

// expected-error@+1 {{'norm_tile.kernel' op expects a body of one 'norm_tile.work'}}
norm_tile.kernel @other_op(%x: memref<?x64xf32, strided<[?, 1]>>)
    attributes {program = "p", space = #norm_tile.space<rows = [-1], columns = [64], axes = [[0, 1]]>,
                order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 32>} {
  %c = arith.constant 0 : index
  norm_tile.work (%row) {
  }
}

// -----

norm_tile.kernel @work_argument(%x: memref<?x64xf32, strided<[?, 1]>>)
    attributes {program = "p", space = #norm_tile.space<rows = [-1], columns = [64], axes = [[0, 1]]>,
                order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 32>} {
  // expected-error@+1 {{'norm_tile.work' op expects one argument of type index, the row, but got ()}}
  "norm_tile.work"() ({
  ^bb0:
  }) : () -> ()
}

// -----

norm_tile.kernel @phase_argument(%x: memref<?x64xf32, strided<[?, 1]>>)
    attributes {program = "p", space = #norm_tile.space<rows = [-1], columns = [64], axes = [[0, 1]]>,
                order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 32>} {
  norm_tile.work (%row) {
    // expected-error@+1 {{'norm_tile.phase' op expects one argument of type index, the first column of the chunk, but got ('i32')}}
    "norm_tile.phase"() <{kinds = []}> ({
    ^bb0(%column: i32):
      norm_tile.yield
    }) : () -> ()
  }
}

// -----

norm_tile.kernel @phase_terminator(%x: memref<?x64xf32, strided<[?, 1]>>)
    attributes {program = "p", space = #norm_tile.space<rows = [-1], columns = [64], axes = [[0, 1]]>,
                order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 32>} {
  norm_tile.work (%row) {
    // expected-error@+1 {{'norm_tile.phase' op expects the region to end in 'norm_tile.yield'}}
    norm_tile.phase (%column) {
      llvm.unreachable
    }
  }
}

// -----

norm_tile.kernel @kind(%x: memref<?x64xf32, strided<[?, 1]>>)
    attributes {program = "p", space = #norm_tile.space<rows = [-1], columns = [64], axes = [[0, 1]]>,
                order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 32>} {
  norm_tile.work (%row) {
    // expected-error@+1 {{expects a kind of reduction but got 'median'}}
    norm_tile.phase reduce [median] (%column) {
    }
  }
}

// -----

norm_tile.kernel @phase_count(%x: memref<?x64xf32, strided<[?, 1]>>)
    attributes {program = "p", space = #norm_tile.space<rows = [-1], columns = [64], axes = [[0, 1]]>,
                order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 32>} {
  norm_tile.work (%row) {
    // expected-error@+1 {{'norm_tile.phase' op expects 1 values and results, one for each kind, but got 0 and 1}}
    %p = norm_tile.phase reduce [add] (%column) {
    } : !norm_tile.partial<add, f32>
  }
}

// -----

norm_tile.kernel @phase_result(%x: memref<?x64xf32, strided<[?, 1]>>)
    attributes {program = "p", space = #norm_tile.space<rows = [-1], columns = [64], axes = [[0, 1]]>,
                order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 32>} {
  norm_tile.work (%row) {
    // expected-error@+1 {{'norm_tile.phase' op expects result #0 to hold 'add' of the yielded vector's elements but got '!norm_tile.partial<max, f32>' for 'vector<4xf32>'}}
    %p = norm_tile.phase reduce [add] (%column) {
      %a = norm_tile.load %x[%row, %column] : memref<?x64xf32, strided<[?, 1]>> -> vector<4xf32>
      norm_tile.yield %a : vector<4xf32>
    } : !norm_tile.partial<max, f32>
  }
}

// -----

norm_tile.kernel @row_op_in_phase(%x: memref<?x64xf32, strided<[?, 1]>>)
    attributes {program = "p", space = #norm_tile.space<rows = [-1], columns = [64], axes = [[0, 1]]>,
                order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 32>} {
  norm_tile.work (%row) {
    norm_tile.phase (%column) {
      // expected-error@+1 {{'norm_tile.rows' op expects parent op 'norm_tile.work'}}
      %n = norm_tile.rows
    }
  }
}

// -----

norm_tile.kernel @chunk_op_in_work(%x: memref<?x64xf32, strided<[?, 1]>>)
    attributes {program = "p", space = #norm_tile.space<rows = [-1], columns = [64], axes = [[0, 1]]>,
                order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 32>} {
  norm_tile.work (%row) {
    // expected-error@+1 {{'norm_tile.held' op expects parent op 'norm_tile.phase'}}
    %h = norm_tile.held 0 : vector<4xf32>
  }
}

// -----

// Accesses.

norm_tile.kernel @other_use(%x: memref<?x64xf32, strided<[?, 1]>>)
    attributes {program = "p", space = #norm_tile.space<rows = [-1], columns = [64], axes = [[0, 1]]>,
                order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 32>} {
  norm_tile.work (%row) {
    // expected-error@+2 {{'memref.dim' op is not a load or store of norm_tile, and can't use operand #0 of a kernel}}
    %c = arith.constant 0 : index
    %d = memref.dim %x, %c : memref<?x64xf32, strided<[?, 1]>>
  }
}

// -----

norm_tile.kernel @buffer(%x: memref<?x64xf32, strided<[?, 1]>>)
    attributes {program = "p", space = #norm_tile.space<rows = [-1], columns = [64], axes = [[0, 1]]>,
                order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 32>} {
  norm_tile.work (%row) {
    %m = memref.alloc() : memref<64xf32>
    norm_tile.phase (%column) {
      // expected-error@+1 {{'norm_tile.load' op expects a buffer that is an operand of the kernel}}
      %a = norm_tile.load %m[%column] : memref<64xf32> -> vector<4xf32>
    }
  }
}

// -----

norm_tile.kernel @no_row(%x: memref<?x64xf32, strided<[?, 1]>>)
    attributes {program = "p", space = #norm_tile.space<rows = [-1], columns = [64], axes = [[0, 1]]>,
                order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 32>} {
  norm_tile.work (%row) {
    norm_tile.phase (%column) {
      // expected-error@+1 {{'norm_tile.load' op expects a row for 'memref<?x64xf32, strided<[?, 1]>>'}}
      %a = norm_tile.load %x[%column] : memref<?x64xf32, strided<[?, 1]>> -> vector<4xf32>
    }
  }
}

// -----

norm_tile.kernel @extra_row(%x: memref<?x64xf32, strided<[?, 1]>>, %w: memref<64xf32>)
    attributes {program = "p", space = #norm_tile.space<rows = [-1], columns = [64], axes = [[0, 1], [_, 0]]>,
                order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 32>} {
  norm_tile.work (%row) {
    norm_tile.phase (%column) {
      // expected-error@+1 {{'norm_tile.load' op expects no row for 'memref<64xf32>'}}
      %a = norm_tile.load %w[%row, %column] : memref<64xf32> -> vector<4xf32>
    }
  }
}

// -----

norm_tile.kernel @other_row(%x: memref<?x64xf32, strided<[?, 1]>>)
    attributes {program = "p", space = #norm_tile.space<rows = [-1], columns = [64], axes = [[0, 1]]>,
                order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 32>} {
  norm_tile.work (%row) {
    norm_tile.phase (%column) {
      // expected-error@+1 {{'norm_tile.load' op expects the row of its 'norm_tile.work'}}
      %a = norm_tile.load %x[%column, %column] : memref<?x64xf32, strided<[?, 1]>> -> vector<4xf32>
    }
  }
}

// -----

norm_tile.kernel @other_column(%x: memref<?x64xf32, strided<[?, 1]>>)
    attributes {program = "p", space = #norm_tile.space<rows = [-1], columns = [64], axes = [[0, 1]]>,
                order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 32>} {
  norm_tile.work (%row) {
    norm_tile.phase (%column) {
      %a = norm_tile.load %x[%row, %column] : memref<?x64xf32, strided<[?, 1]>> -> vector<4xf32>
      // expected-error@+1 {{'norm_tile.store' op expects the column of its 'norm_tile.phase'}}
      norm_tile.store %a, %x[%row, %row] : vector<4xf32>, memref<?x64xf32, strided<[?, 1]>>
    }
  }
}

// -----

// expected-error@+1 {{'norm_tile.kernel' op expects 64 elements on dim 1 of its space but operand #1 has 32: 'memref<32xf32>'}}
norm_tile.kernel @extent(%x: memref<?x64xf32, strided<[?, 1]>>, %w: memref<32xf32>)
    attributes {program = "p", space = #norm_tile.space<rows = [-1], columns = [64], axes = [[0, 1], [_, 0]]>,
                order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 32>} {
  norm_tile.work (%row) {
  }
}

// -----

norm_tile.kernel @dim_of_extent(%x: memref<?x64xf32, strided<[?, 1]>>)
    attributes {program = "p", space = #norm_tile.space<rows = [-1], columns = [64], axes = [[0, 1]]>,
                order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 32>} {
  norm_tile.work (%row) {
    // expected-error@+1 {{'norm_tile.extent' op expects a dim below 2 but got 2}}
    %n = norm_tile.extent 2
  }
}

// -----

norm_tile.kernel @dim_of_index(%x: memref<?x64xf32, strided<[?, 1]>>)
    attributes {program = "p", space = #norm_tile.space<rows = [-1], columns = [64], axes = [[0, 1]]>,
                order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 32>} {
  norm_tile.work (%row) {
    // expected-error@+1 {{'norm_tile.index' op expects a dim below 2 but got 2}}
    %n = norm_tile.index 2 : index
  }
}

// -----

norm_tile.kernel @dim_of_index_in_phase(%x: memref<?x64xf32, strided<[?, 1]>>)
    attributes {program = "p", space = #norm_tile.space<rows = [-1], columns = [64], axes = [[0, 1]]>,
                order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 32>} {
  norm_tile.work (%row) {
    norm_tile.phase (%column) {
      // expected-error@+1 {{'norm_tile.index' op expects a dim below 2 but got 2}}
      %n = norm_tile.index 2 : vector<4xindex>
    }
  }
}

// -----

norm_tile.kernel @chunk_size(%x: memref<?x64xf32, strided<[?, 1]>>)
    attributes {program = "p", space = #norm_tile.space<rows = [-1], columns = [64], axes = [[0, 1]]>,
                order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 32>} {
  norm_tile.work (%row) {
    norm_tile.phase (%column) {
      // expected-error@+1 {{'norm_tile.load' op expects a vector of 4 elements, the chunk of a thread, but got 'vector<8xf32>'}}
      %a = norm_tile.load %x[%row, %column] : memref<?x64xf32, strided<[?, 1]>> -> vector<8xf32>
    }
  }
}

// -----

norm_tile.kernel @chunk_rank(%x: memref<?x64xf32, strided<[?, 1]>>)
    attributes {program = "p", space = #norm_tile.space<rows = [-1], columns = [64], axes = [[0, 1]]>,
                order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 32>} {
  norm_tile.work (%row) {
    norm_tile.phase (%column) {
      // expected-error@+1 {{'norm_tile.load' op expects a vector of 4 elements, the chunk of a thread, but got 'vector<2x2xf32>'}}
      %a = norm_tile.load %x[%row, %column] : memref<?x64xf32, strided<[?, 1]>> -> vector<2x2xf32>
    }
  }
}

// -----

norm_tile.kernel @element_type(%x: memref<?x64xf32, strided<[?, 1]>>)
    attributes {program = "p", space = #norm_tile.space<rows = [-1], columns = [64], axes = [[0, 1]]>,
                order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 32>} {
  norm_tile.work (%row) {
    norm_tile.phase (%column) {
      // expected-error@+1 {{'norm_tile.load' op expects elements of type 'f32' but got 'f16'}}
      %a = norm_tile.load %x[%row, %column] : memref<?x64xf32, strided<[?, 1]>> -> vector<4xf16>
    }
  }
}

// -----

norm_tile.kernel @yield_size(%x: memref<?x64xf32, strided<[?, 1]>>)
    attributes {program = "p", space = #norm_tile.space<rows = [-1], columns = [64], axes = [[0, 1]]>,
                order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 32>} {
  norm_tile.work (%row) {
    %p = norm_tile.phase reduce [add] (%column) {
      %a = arith.constant dense<0.0> : vector<2xf32>
      // expected-error@+1 {{'norm_tile.yield' op expects a vector of 4 elements, the chunk of a thread, but got 'vector<2xf32>'}}
      norm_tile.yield %a : vector<2xf32>
    } : !norm_tile.partial<add, f32>
  }
}

// -----

norm_tile.kernel @row_buffer(%x: memref<?x64xf32, strided<[?, 1]>>)
    attributes {program = "p", space = #norm_tile.space<rows = [-1], columns = [64], axes = [[0, 1]]>,
                order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 32>} {
  norm_tile.work (%row) {
    // expected-error@+1 {{'norm_tile.load_row' op expects a buffer of rows but got 'memref<?x64xf32, strided<[?, 1]>>'}}
    %a = norm_tile.load_row %x[%row] : memref<?x64xf32, strided<[?, 1]>> -> f32
  }
}

// -----

norm_tile.kernel @row_element(%x: memref<?x64xf32, strided<[?, 1]>>, %r: memref<?xf32>)
    attributes {program = "p", space = #norm_tile.space<rows = [-1], columns = [64], axes = [[0, 1], [0, _]]>,
                order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 32>} {
  norm_tile.work (%row) {
    // expected-error@+1 {{'norm_tile.load_row' op expects an element of type 'f32' but got 'f64'}}
    %a = norm_tile.load_row %r[%row] : memref<?xf32> -> f64
  }
}

// -----

norm_tile.kernel @row_index(%x: memref<?x64xf32, strided<[?, 1]>>, %r: memref<?xf32>)
    attributes {program = "p", space = #norm_tile.space<rows = [-1], columns = [64], axes = [[0, 1], [0, _]]>,
                order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 32>} {
  norm_tile.work (%row) {
    %c = arith.constant 0 : index
    %f = arith.constant 0.0 : f32
    // expected-error@+1 {{'norm_tile.store_row' op expects the row of its 'norm_tile.work'}}
    norm_tile.store_row %f, %r[%c] : f32, memref<?xf32>
  }
}

// -----

// Held values.

norm_tile.kernel @hold_in_stream(%x: memref<?x64xf32, strided<[?, 1]>>)
    attributes {program = "p", space = #norm_tile.space<rows = [-1], columns = [64], axes = [[0, 1]]>,
                order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 32, residency = stream>} {
  norm_tile.work (%row) {
    norm_tile.phase (%column) {
      %a = norm_tile.load %x[%row, %column] : memref<?x64xf32, strided<[?, 1]>> -> vector<4xf32>
      // expected-error@+1 {{'norm_tile.hold' op expects residency registers or shared, and a static column extent}}
      norm_tile.hold %a in 0 : vector<4xf32>
    }
  }
}

// -----

norm_tile.kernel @hold_dynamic(%x: memref<?x64xf32, strided<[?, 1]>>)
    attributes {program = "p", space = #norm_tile.space<rows = [-1], columns = [-1], axes = [[0, 1]]>,
                order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 32>} {
  norm_tile.work (%row) {
    norm_tile.phase (%column) {
      %a = norm_tile.load %x[%row, %column] : memref<?x64xf32, strided<[?, 1]>> -> vector<4xf32>
      // expected-error@+1 {{'norm_tile.hold' op expects residency registers or shared, and a static column extent}}
      norm_tile.hold %a in 0 : vector<4xf32>
    }
  }
}

// -----

norm_tile.kernel @hold_size(%x: memref<?x64xf32, strided<[?, 1]>>)
    attributes {program = "p", space = #norm_tile.space<rows = [-1], columns = [64], axes = [[0, 1]]>,
                order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 32>} {
  norm_tile.work (%row) {
    norm_tile.phase (%column) {
      %a = arith.constant dense<0.0> : vector<2xf32>
      // expected-error@+1 {{'norm_tile.hold' op expects a vector of 4 elements, the chunk of a thread, but got 'vector<2xf32>'}}
      norm_tile.hold %a in 0 : vector<2xf32>
    }
  }
}

// -----

norm_tile.kernel @hold_index(%x: memref<?x64xf32, strided<[?, 1]>>)
    attributes {program = "p", space = #norm_tile.space<rows = [-1], columns = [64], axes = [[0, 1]]>,
                order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 32>} {
  norm_tile.work (%row) {
    norm_tile.phase (%column) {
      %a = arith.constant dense<0> : vector<4xindex>
      // expected-error@+1 {{'norm_tile.hold' op expects integers or floats but got 'index'}}
      norm_tile.hold %a in 0 : vector<4xindex>
    }
  }
}

// -----

norm_tile.kernel @slot_number(%x: memref<?x64xf32, strided<[?, 1]>>)
    attributes {program = "p", space = #norm_tile.space<rows = [-1], columns = [64], axes = [[0, 1]]>,
                order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 32>} {
  norm_tile.work (%row) {
    norm_tile.phase (%column) {
      %a = norm_tile.load %x[%row, %column] : memref<?x64xf32, strided<[?, 1]>> -> vector<4xf32>
      // expected-error@+1 {{'norm_tile.hold' op expects a slot from 0 on but got -1}}
      norm_tile.hold %a in -1 : vector<4xf32>
    }
  }
}

// -----

norm_tile.kernel @slot_twice(%x: memref<?x64xf32, strided<[?, 1]>>)
    attributes {program = "p", space = #norm_tile.space<rows = [-1], columns = [64], axes = [[0, 1]]>,
                order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 32>} {
  norm_tile.work (%row) {
    norm_tile.phase (%column) {
      %a = norm_tile.load %x[%row, %column] : memref<?x64xf32, strided<[?, 1]>> -> vector<4xf32>
      norm_tile.hold %a in 3 : vector<4xf32>
      // expected-error@+1 {{'norm_tile.hold' op expects slot 3 to be filled once only}}
      norm_tile.hold %a in 3 : vector<4xf32>
    }
  }
}

// -----

norm_tile.kernel @slot_empty(%x: memref<?x64xf32, strided<[?, 1]>>)
    attributes {program = "p", space = #norm_tile.space<rows = [-1], columns = [64], axes = [[0, 1]]>,
                order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 32>} {
  norm_tile.work (%row) {
    norm_tile.phase (%column) {
      // expected-error@+1 {{'norm_tile.held' op expects slot 9223372036854775807 of type 'vector<4xf32>' but nothing is kept in it before}}
      %h = norm_tile.held 9223372036854775807 : vector<4xf32>
    }
  }
}

// -----

norm_tile.kernel @slot_type(%x: memref<?x64xf32, strided<[?, 1]>>)
    attributes {program = "p", space = #norm_tile.space<rows = [-1], columns = [64], axes = [[0, 1]]>,
                order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 32>} {
  norm_tile.work (%row) {
    norm_tile.phase (%column) {
      %a = norm_tile.load %x[%row, %column] : memref<?x64xf32, strided<[?, 1]>> -> vector<4xf32>
      norm_tile.hold %a in 0 : vector<4xf32>
      // expected-error@+1 {{'norm_tile.held' op expects slot 0 of type 'vector<4xi32>' but it holds 'vector<4xf32>'}}
      %h = norm_tile.held 0 : vector<4xi32>
    }
  }
}

// -----

// Exchanges.

norm_tile.kernel @foreign_partial(%x: memref<?x64xf32, strided<[?, 1]>>)
    attributes {program = "p", space = #norm_tile.space<rows = [-1], columns = [64], axes = [[0, 1]]>,
                order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 32>} {
  norm_tile.work (%row) {
    %p = builtin.unrealized_conversion_cast to !norm_tile.partial<add, f32>
    // expected-error@+1 {{'norm_tile.exchange_start' op expects partial #0 to be a result of a 'norm_tile.phase'}}
    %t = norm_tile.exchange_start %p : !norm_tile.partial<add, f32>
  }
}

// -----

norm_tile.kernel @exchanged_twice(%x: memref<?x64xf32, strided<[?, 1]>>)
    attributes {program = "p", space = #norm_tile.space<rows = [-1], columns = [64], axes = [[0, 1]]>,
                order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 32>} {
  norm_tile.work (%row) {
    %p = norm_tile.phase reduce [add] (%column) {
      %a = norm_tile.load %x[%row, %column] : memref<?x64xf32, strided<[?, 1]>> -> vector<4xf32>
      norm_tile.yield %a : vector<4xf32>
    } : !norm_tile.partial<add, f32>
    // expected-error@+1 {{'norm_tile.exchange_start' op expects partial #0 to be exchanged once only}}
    %t = norm_tile.exchange_start %p, %p : !norm_tile.partial<add, f32>, !norm_tile.partial<add, f32>
  }
}

// -----

norm_tile.kernel @foreign_token(%x: memref<?x64xf32, strided<[?, 1]>>)
    attributes {program = "p", space = #norm_tile.space<rows = [-1], columns = [64], axes = [[0, 1]]>,
                order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 32>} {
  norm_tile.work (%row) {
    %t = builtin.unrealized_conversion_cast to !norm_tile.token
    // expected-error@+1 {{'norm_tile.exchange_wait' op expects the token of a 'norm_tile.exchange_start'}}
    %e = norm_tile.exchange_wait %t : f32
  }
}

// -----

norm_tile.kernel @waited_twice(%x: memref<?x64xf32, strided<[?, 1]>>)
    attributes {program = "p", space = #norm_tile.space<rows = [-1], columns = [64], axes = [[0, 1]]>,
                order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 32>} {
  norm_tile.work (%row) {
    %p = norm_tile.phase reduce [add] (%column) {
      %a = norm_tile.load %x[%row, %column] : memref<?x64xf32, strided<[?, 1]>> -> vector<4xf32>
      norm_tile.yield %a : vector<4xf32>
    } : !norm_tile.partial<add, f32>
    %t = norm_tile.exchange_start %p : !norm_tile.partial<add, f32>
    // expected-error@+1 {{'norm_tile.exchange_wait' op expects the only wait for its exchange}}
    %e = norm_tile.exchange_wait %t : f32
    %f = norm_tile.exchange_wait %t : f32
  }
}

// -----

norm_tile.kernel @wait_types(%x: memref<?x64xf32, strided<[?, 1]>>)
    attributes {program = "p", space = #norm_tile.space<rows = [-1], columns = [64], axes = [[0, 1]]>,
                order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 32>} {
  norm_tile.work (%row) {
    %p = norm_tile.phase reduce [add] (%column) {
      %a = norm_tile.load %x[%row, %column] : memref<?x64xf32, strided<[?, 1]>> -> vector<4xf32>
      norm_tile.yield %a : vector<4xf32>
    } : !norm_tile.partial<add, f32>
    %t = norm_tile.exchange_start %p : !norm_tile.partial<add, f32>
    // expected-error@+1 {{'norm_tile.exchange_wait' op expects results of types 'f32' but got 'f32', 'f32'}}
    %e:2 = norm_tile.exchange_wait %t : f32, f32
  }
}

// -----

// Inputs that a launch doesn't read.

func.func @unread(%x: memref<?x64xf32>, %y: memref<?x64xf32>) {
  // expected-error@+1 {{'norm_tile.launch' op expects unread operands below 1, the number of inputs, but got 1}}
  norm_tile.launch @kernel(%x, %y) {program = "p", space = #norm_tile.space<rows = [-1], columns = [64], axes = [[0, 1], [0, 1]]>, num_outputs = 1 : i64,
      order = #norm.order<leaf = 4, lanes = 1024>, schedule = #norm.schedule<threads = 32>, unread = array<i64: 1>} : memref<?x64xf32>, memref<?x64xf32>
  return
}
