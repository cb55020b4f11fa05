//===- invalid-program.mlir - Programs refused ----------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-opt %s --split-input-file --verify-diagnostics

// Assembly.

func.func @map_number(%x: tensor<4xf32>) {
  // expected-error@+1 {{expects a dim or 0 in a map but got 1}}
  norm.generic (col) ins(%a = %x[1] : tensor<4xf32>) outs(%o = %x[col] : tensor<4xf32>) { norm.yield %a : f32 }
  return
}

// -----

func.func @map_name(%x: tensor<4xf32>) {
  // expected-error@+1 {{expects a dim of the space but got 'row'}}
  norm.generic (col) outs(%o = %x[row] : tensor<4xf32>) { norm.yield %o : f32 }
  return
}

// -----

func.func @same_dims(%x: tensor<4xf32>) {
  // expected-error@+1 {{expects distinct dims but got 'col' twice}}
  norm.generic (col, col) outs(%o = %x[col] : tensor<4xf32>) { norm.yield %o : f32 }
  return
}

// -----

func.func @kind(%x: tensor<4xf32>) {
  norm.generic (col) outs(%o = %x[col] : tensor<4xf32>) {
    // expected-error@+1 {{expects a kind of reduction but got 'median'}}
    %r = norm.reduce median %o over [col] : f32
    norm.yield %r : f32
  }
  return
}

// -----

// Operands and maps.

func.func @same_dims_generic_form(%x: tensor<4x4xf32>) {
  // expected-error@+1 {{'norm.generic' op expects distinct dims but got 'a' twice}}
  %0 = "norm.generic"(%x) <{dims = ["a", "a"], indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], operandSegmentSizes = array<i32: 0, 1>}> ({
  ^bb0(%o: f32):
    norm.yield %o : f32
  }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @dim_name(%x: tensor<4xf32>) {
  // expected-error@+1 {{'norm.generic' op expects names of dims to be identifiers but got 'a b'}}
  %0 = "norm.generic"(%x) <{dims = ["a b"], indexing_maps = [affine_map<(d0) -> (d0)>], operandSegmentSizes = array<i32: 0, 1>}> ({
  ^bb0(%o: f32):
    norm.yield %o : f32
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @too_many_dims(%x: tensor<4xf32>) {
  // expected-error@+1 {{'norm.generic' op expects at most 64 dims but got 65}}
  %0 = norm.generic (a0, a1, a2, a3, a4, a5, a6, a7, a8, a9,
                     b0, b1, b2, b3, b4, b5, b6, b7, b8, b9,
                     c0, c1, c2, c3, c4, c5, c6, c7, c8, c9,
                     d0, d1, d2, d3, d4, d5, d6, d7, d8, d9,
                     e0, e1, e2, e3, e4, e5, e6, e7, e8, e9,
                     f0, f1, f2, f3, f4, f5, f6, f7, f8, f9,
                     g0, g1, g2, g3, g4)
      outs(%o = %x[a0] : tensor<4xf32>) { norm.yield %o : f32 }
  return
}

// -----

func.func @no_output(%x: tensor<4xf32>) {
  // expected-error@+1 {{'norm.generic' op expects at least one output but got none}}
  norm.generic (col) ins(%a = %x[col] : tensor<4xf32>) outs() { norm.yield }
  return
}

// -----

func.func @map_count(%x: tensor<4xf32>) {
  // expected-error@+1 {{'norm.generic' op expects a map for each of 2 operands but got 1}}
  %0 = "norm.generic"(%x, %x) <{dims = ["col"], indexing_maps = [affine_map<(d0) -> (d0)>], operandSegmentSizes = array<i32: 1, 1>}> ({
  ^bb0(%a: f32, %o: f32):
    norm.yield %o : f32
  }) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @mixed(%x: tensor<4xf32>, %y: memref<4xf32>) {
  // expected-error@+1 {{'norm.generic' op expects all tensors or all memrefs but got 1 tensors and 1 memrefs}}
  norm.generic (col) ins(%a = %x[col] : tensor<4xf32>) outs(%o = %y[col] : memref<4xf32>) { norm.yield %a : f32 }
  return
}

// -----

func.func @result_count(%x: tensor<4xf32>) {
  // expected-error@+1 {{'norm.generic' op expects 1 results but got 0}}
  "norm.generic"(%x) <{dims = ["col"], indexing_maps = [affine_map<(d0) -> (d0)>], operandSegmentSizes = array<i32: 0, 1>}> ({
  ^bb0(%o: f32):
    norm.yield %o : f32
  }) : (tensor<4xf32>) -> ()
  return
}

// -----

func.func @result_of_memref(%x: memref<4xf32>) {
  // expected-error@+1 {{'norm.generic' op expects 0 results but got 1}}
  %0 = "norm.generic"(%x) <{dims = ["col"], indexing_maps = [affine_map<(d0) -> (d0)>], operandSegmentSizes = array<i32: 0, 1>}> ({
  ^bb0(%o: f32):
    norm.yield %o : f32
  }) : (memref<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @result_type(%x: tensor<4xf32>) {
  // expected-error@+1 {{'norm.generic' op expects a result of type 'tensor<4xf32>' but got 'tensor<?xf32>'}}
  %0 = "norm.generic"(%x) <{dims = ["col"], indexing_maps = [affine_map<(d0) -> (d0)>], operandSegmentSizes = array<i32: 0, 1>}> ({
  ^bb0(%o: f32):
    norm.yield %o : f32
  }) : (tensor<4xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @vector_operand(%x: vector<4xf32>, %y: tensor<4xf32>) {
  // expected-error@+1 {{'norm.generic' op expects operand #0 to be a tensor, memref or scalar of an integer, index or float type but got 'vector<4xf32>'}}
  %0 = norm.generic (col) ins(%a = %x[col] : vector<4xf32>) outs(%o = %y[col] : tensor<4xf32>) { norm.yield %a : f32 }
  return
}

// -----

func.func @complex_operand(%x: complex<f32>, %y: tensor<4xf32>) {
  // expected-error@+1 {{'norm.generic' op expects operand #0 to be a tensor, memref or scalar of an integer, index or float type but got 'complex<f32>'}}
  %0 = norm.generic (col) ins(%a = %x : complex<f32>) outs(%o = %y[col] : tensor<4xf32>) { norm.yield %o : f32 }
  return
}

// -----

func.func @map_dims(%x: tensor<4xf32>) {
  // expected-error@+1 {{'norm.generic' op expects a map of 1 dims for operand #0 but got (d0, d1) -> (d0)}}
  %0 = "norm.generic"(%x) <{dims = ["col"], indexing_maps = [affine_map<(d0, d1) -> (d0)>], operandSegmentSizes = array<i32: 0, 1>}> ({
  ^bb0(%o: f32):
    norm.yield %o : f32
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @unranked(%x: tensor<*xf32>, %y: tensor<4xf32>) {
  // expected-error@+1 {{'norm.generic' op expects operand #0 to be ranked but got 'tensor<*xf32>'}}
  %0 = norm.generic (col) ins(%a = %x[col] : tensor<*xf32>) outs(%o = %y[col] : tensor<4xf32>) { norm.yield %a : f32 }
  return
}

// -----

func.func @map_results(%x: tensor<4x8xf32>, %y: tensor<8xf32>) {
  // expected-error@+1 {{'norm.generic' op expects a map with 2 results for operand #0 but got 1}}
  %0 = norm.generic (col) ins(%a = %x[col] : tensor<4x8xf32>) outs(%o = %y[col] : tensor<8xf32>) { norm.yield %a : f32 }
  return
}

// -----

func.func @scalar_map(%x: f32, %y: tensor<8xf32>) {
  // expected-error@+1 {{'norm.generic' op expects a map with 0 results for operand #0 but got 1}}
  %0 = norm.generic (col) ins(%a = %x[col] : f32) outs(%o = %y[col] : tensor<8xf32>) { norm.yield %a : f32 }
  return
}

// -----

func.func @zero_on_size(%x: tensor<4x8xf32>, %y: tensor<8xf32>) {
  // expected-error@+1 {{'norm.generic' op expects 0 only on an axis of size 1 but axis 0 of operand #0 has size 4}}
  %0 = norm.generic (col) ins(%a = %x[0, col] : tensor<4x8xf32>) outs(%o = %y[col] : tensor<8xf32>) { norm.yield %a : f32 }
  return
}

// -----

func.func @zero_on_dynamic_size(%x: tensor<?x8xf32>, %y: tensor<8xf32>) {
  // expected-error@+1 {{'norm.generic' op expects 0 only on an axis of size 1 but axis 0 of operand #0 has a dynamic size}}
  %0 = norm.generic (col) ins(%a = %x[0, col] : tensor<?x8xf32>) outs(%o = %y[col] : tensor<8xf32>) { norm.yield %a : f32 }
  return
}

// -----

func.func @map_expression(%x: tensor<4xf32>) {
  // expected-error@+1 {{'norm.generic' op expects a dim or 0 for axis 0 of operand #0 but got d0 + 1}}
  %0 = "norm.generic"(%x) <{dims = ["col"], indexing_maps = [affine_map<(d0) -> (d0 + 1)>], operandSegmentSizes = array<i32: 0, 1>}> ({
  ^bb0(%o: f32):
    norm.yield %o : f32
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @diagonal(%x: tensor<4x4xf32>, %y: tensor<4xf32>) {
  // expected-error@+1 {{'norm.generic' op expects distinct dims in the map of operand #0 but got 'col' twice}}
  %0 = norm.generic (col) ins(%a = %x[col, col] : tensor<4x4xf32>) outs(%o = %y[col] : tensor<4xf32>) { norm.yield %a : f32 }
  return
}

// -----

func.func @extent(%x: tensor<?x8xf32>, %w: tensor<9xf32>) {
  // expected-error@+1 {{'norm.generic' op expects extent 9 of dim 'col' at axis 1 of operand #1 but got 8}}
  %0 = norm.generic (row, col) ins(%g = %w[col] : tensor<9xf32>) outs(%o = %x[row, col] : tensor<?x8xf32>) { norm.yield %o : f32 }
  return
}

// -----

// A dynamic extent between two static ones hides no difference.
func.func @extent_after_dynamic(%x: tensor<8xf32>, %y: tensor<?xf32>, %z: tensor<4xf32>) {
  // expected-error@+1 {{'norm.generic' op expects extent 8 of dim 'col' at axis 0 of operand #2 but got 4}}
  %0 = norm.generic (col) ins(%a = %x[col] : tensor<8xf32>, %b = %y[col] : tensor<?xf32>) outs(%o = %z[col] : tensor<4xf32>) { norm.yield %o : f32 }
  return
}

// -----

func.func @open_dim(%y: tensor<4xf32>) {
  // expected-error@+1 {{'norm.generic' op expects each dim in the map of an operand but 'row' is in none}}
  %0 = norm.generic (row, col) outs(%o = %y[col] : tensor<4xf32>) { norm.yield %o : f32 }
  return
}

// -----

// The body.

func.func @argument_count(%x: tensor<4xf32>) {
  // expected-error@+1 {{'norm.generic' op expects 1 body arguments but got 2}}
  %0 = "norm.generic"(%x) <{dims = ["col"], indexing_maps = [affine_map<(d0) -> (d0)>], operandSegmentSizes = array<i32: 0, 1>}> ({
  ^bb0(%o: f32, %p: f32):
    norm.yield %o : f32
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @argument_type(%x: tensor<4xf32>) {
  // expected-error@+1 {{'norm.generic' op expects body argument #0 of type 'f32' but got 'f16'}}
  %0 = "norm.generic"(%x) <{dims = ["col"], indexing_maps = [affine_map<(d0) -> (d0)>], operandSegmentSizes = array<i32: 0, 1>}> ({
  ^bb0(%o: f16):
    norm.yield %o : f16
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @effect(%x: tensor<4xf32>) {
  %0 = norm.generic (col) outs(%o = %x[col] : tensor<4xf32>) {
    // expected-error@+1 {{'memref.alloc' op is not an elementwise op, a constant or a body op of norm, and can't stand in 'norm.generic'}}
    %m = memref.alloc() : memref<f32>
    norm.yield %o : f32
  }
  return
}

// -----

func.func @region(%x: tensor<4xf32>, %y: tensor<4xf32>) {
  %0 = norm.generic (col) outs(%o = %x[col] : tensor<4xf32>) {
    %t = arith.constant true
    // expected-error@+1 {{'scf.if' op is not an elementwise op, a constant or a body op of norm, and can't stand in 'norm.generic'}}
    %v = scf.if %t -> f32 {
      scf.yield %o : f32
    } else {
      scf.yield %o : f32
    }
    norm.yield %v : f32
  }
  return
}

// -----

func.func @vector_value(%x: tensor<4xf32>) {
  %0 = norm.generic (col) outs(%o = %x[col] : tensor<4xf32>) {
    // expected-error@+1 {{'arith.constant' op expects scalars in the body of 'norm.generic' but yields 'vector<4xf32>'}}
    %v = arith.constant dense<1.0> : vector<4xf32>
    norm.yield %o : f32
  }
  return
}

// -----

func.func @capture(%x: tensor<4xf32>, %s: f32) {
  // expected-note@+1 {{required by region isolation constraints}}
  %0 = norm.generic (col) outs(%o = %x[col] : tensor<4xf32>) {
    // expected-error@+1 {{'arith.addf' op using value defined outside the region}}
    %v = arith.addf %o, %s : f32
    norm.yield %v : f32
  }
  return
}

// -----

func.func @reduce_dim(%x: tensor<4xf32>) {
  %0 = norm.generic (col) outs(%o = %x[col] : tensor<4xf32>) {
    // expected-error@+1 {{'norm.reduce' op expects a dim of the space but got 'row'}}
    %r = norm.reduce add %o over [row] : f32
    norm.yield %r : f32
  }
  return
}

// -----

func.func @extent_dim(%x: tensor<4xf32>) {
  %0 = norm.generic (col) outs(%o = %x[col] : tensor<4xf32>) {
    // expected-error@+1 {{'norm.extent' op expects a dim of the space but got 'row'}}
    %r = norm.extent row : f32
    norm.yield %r : f32
  }
  return
}

// -----

func.func @index_dim(%x: tensor<4xindex>) {
  %0 = norm.generic (col) outs(%o = %x[col] : tensor<4xindex>) {
    // expected-error@+1 {{'norm.index' op expects a dim of the space but got 'row'}}
    %r = norm.index row : index
    norm.yield %r : index
  }
  return
}

// -----

func.func @reduce_dim_twice(%x: tensor<4xf32>) {
  %0 = norm.generic (col) outs(%o = %x[col] : tensor<4xf32>) {
    // expected-error@+1 {{'norm.reduce' op expects distinct dims but got 'col' twice}}
    %r = norm.reduce add %o over [col, col] : f32
    norm.yield %r : f32
  }
  return
}

// -----

func.func @reduce_no_dim(%x: tensor<4xf32>) {
  %0 = norm.generic (col) outs(%o = %x[col] : tensor<4xf32>) {
    // expected-error@+1 {{'norm.reduce' op expects at least one dim but got none}}
    %r = norm.reduce add %o over [] : f32
    norm.yield %r : f32
  }
  return
}

// -----

func.func @welford_type(%x: tensor<4xi32>) {
  %0 = norm.generic (col) outs(%o = %x[col] : tensor<4xi32>) {
    // expected-error@+1 {{'norm.reduce' op expects f32 or f64 for kind 'welford' but got 'i32'}}
    %r:2 = norm.reduce welford %o over [col] : i32
    norm.yield %r#0 : i32
  }
  return
}

// -----

func.func @maxnum_type(%x: tensor<4xi32>) {
  %0 = norm.generic (col) outs(%o = %x[col] : tensor<4xi32>) {
    // expected-error@+1 {{'norm.reduce' op expects a float for kind 'maxnum' but got 'i32'}}
    %r = norm.reduce maxnum %o over [col] : i32
    norm.yield %r : i32
  }
  return
}

// -----

func.func @narrow_reduce(%x: tensor<4xbf16>) {
  %0 = norm.generic (col) outs(%o = %x[col] : tensor<4xbf16>) {
    // expected-error@+1 {{'norm.reduce' op expects f32, f64 or an integer but got 'bf16'}}
    %r = norm.reduce add %o over [col] : bf16
    norm.yield %r : bf16
  }
  return
}

// -----

func.func @reduce_results(%x: tensor<4xf32>) {
  %0 = norm.generic (col) outs(%o = %x[col] : tensor<4xf32>) {
    // expected-error@+2 {{'norm.reduce' op inferred type(s) 'f32' are incompatible with return type(s) of operation 'f32', 'f32'}}
    // expected-error@+1 {{'norm.reduce' op failed to infer returned types}}
    %r:2 = "norm.reduce"(%o) <{kind = 0 : i32, dims = ["col"]}> : (f32) -> (f32, f32)
    norm.yield %r#0 : f32
  }
  return
}

// -----

func.func @outside(%x: f32) {
  // expected-error@+1 {{'norm.reduce' op expects parent op 'norm.generic'}}
  %0 = norm.reduce add %x over [col] : f32
  return
}

// -----

func.func @terminator(%x: tensor<4xf32>) {
  // expected-error@+2 {{'norm.generic' op expects regions to end with 'norm.yield', found 'llvm.unreachable'}}
  // expected-note@+1 {{in custom textual format, the absence of terminator implies 'norm.yield'}}
  %0 = "norm.generic"(%x) <{dims = ["col"], indexing_maps = [affine_map<(d0) -> (d0)>], operandSegmentSizes = array<i32: 0, 1>}> ({
  ^bb0(%o: f32):
    llvm.unreachable
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @yield_count(%x: tensor<4xf32>) {
  %0 = norm.generic (col) outs(%o = %x[col] : tensor<4xf32>) {
    // expected-error@+1 {{'norm.yield' op expects 1 values but got 2}}
    norm.yield %o, %o : f32, f32
  }
  return
}

// -----

func.func @yield_type(%x: tensor<4xf32>) {
  %0 = norm.generic (col) outs(%o = %x[col] : tensor<4xf32>) {
    %v = arith.truncf %o : f32 to f16
    // expected-error@+1 {{'norm.yield' op expects value #0 of type 'f32' but got 'f16'}}
    norm.yield %v : f16
  }
  return
}

// -----

func.func @support(%x: tensor<4x8xf32>, %y: tensor<4xf32>) {
  %0 = norm.generic (row, col) ins(%a = %x[row, col] : tensor<4x8xf32>) outs(%o = %y[row] : tensor<4xf32>) {
    // expected-error@+1 {{'norm.yield' op expects value #0 to vary on dims of its output only but it varies on 'col'}}
    norm.yield %a : f32
  }
  return
}

// -----

func.func @support_of_index(%y: tensor<4xindex>, %x: tensor<4x8xf32>) {
  %0 = norm.generic (row, col) ins(%a = %x[row, col] : tensor<4x8xf32>) outs(%o = %y[row] : tensor<4xindex>) {
    %j = norm.index col : index
    // expected-error@+1 {{'norm.yield' op expects value #0 to vary on dims of its output only but it varies on 'col'}}
    norm.yield %j : index
  }
  return
}
