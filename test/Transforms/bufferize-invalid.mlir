//===- bufferize-invalid.mlir - A copy that no kernel makes ---------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-opt %s --verify-diagnostics --norm-bufferize

func.func @copy(%x: tensor<?x64xf32>, %d: memref<?x64xf32, strided<[?, 1]>>) {
  // expected-error@+1 {{expects every value to be computed where it's needed but needs a copy from 'memref<?x64xf32>' to 'memref<?x64xf32, strided<[?, 1]>>'}}
  bufferization.materialize_in_destination %x in restrict writable %d : (tensor<?x64xf32>, memref<?x64xf32, strided<[?, 1]>>) -> ()
  return
}
