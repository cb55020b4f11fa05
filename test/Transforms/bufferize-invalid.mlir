//===- bufferize-invalid.mlir - A copy that no kernel makes ---------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-opt %s --split-input-file --verify-diagnostics --norm-bufferize

func.func @copy(%x: tensor<?x64xf32>, %d: memref<?x64xf32, strided<[?, 1]>>) {
  // expected-error@+1 {{expects every value to be computed where it's needed but needs a copy from 'memref<?x64xf32>' to 'memref<?x64xf32, strided<[?, 1]>>'}}
  bufferization.materialize_in_destination %x in restrict writable %d : (tensor<?x64xf32>, memref<?x64xf32, strided<[?, 1]>>) -> ()
  return
}

// -----

func.func @apart(%x: tensor<4x3x8x64xf32> {norm.layout = strided<[?, ?, 64, 1]>}, %d: memref<2x6x8x64xf32>) {
  // expected-error@+1 {{expects axes 0 to 1 to lie in memory as one but got 'memref<4x3x8x64xf32, strided<[?, ?, 64, 1]>>'}}
  %c = tensor.collapse_shape %x [[0, 1], [2, 3]] : tensor<4x3x8x64xf32> into tensor<12x512xf32>
  %s = tensor.expand_shape %c [[0, 1], [2, 3]] output_shape [2, 6, 8, 64] : tensor<12x512xf32> into tensor<2x6x8x64xf32>
  %e = tensor.empty() : tensor<2x6x8x64xf32>
  %r = norm.generic (row, row1, row2, col)
      ins(%a = %s[row, row1, row2, col] : tensor<2x6x8x64xf32>)
      outs(%o = %e[row, row1, row2, col] : tensor<2x6x8x64xf32>) {
    norm.yield %a : f32
  }
  bufferization.materialize_in_destination %r in restrict writable %d : (tensor<2x6x8x64xf32>, memref<2x6x8x64xf32>) -> ()
  return
}
