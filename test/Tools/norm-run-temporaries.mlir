//===- norm-run-temporaries.mlir - What lies between two kernels ----------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-run %s --entry=mask --device=host --check | FileCheck %s --check-prefix=MASK
// RUN: norm-run %s --entry=mask --device=emulated --check | FileCheck %s --check-prefix=MASK
// RUN: norm-run %s --entry=tables --device=host --check | FileCheck %s --check-prefix=TABLES
// RUN: norm-run %s --entry=tables --device=emulated --check | FileCheck %s --check-prefix=TABLES

#all = affine_map<(i, j) -> (i, j)>
#col = affine_map<(i, j) -> (j)>

// A comparison that is too expensive to be made again in every row is kept as
// bytes.
// MASK: exp_cmp 1x8 f32
// MASK: select_softmax 5x8 f32
// MASK: ok result 0
func.func @mask(%x: tensor<5x8xf32>, %w: tensor<8xf32>) -> tensor<5x8xf32> {
  %e = math.exp %w : tensor<8xf32>
  %one = arith.constant dense<1.0> : tensor<8xf32>
  %m = arith.cmpf ogt, %e, %one : tensor<8xf32>
  %d = tensor.empty() : tensor<5x8xf32>
  %y = linalg.generic {indexing_maps = [#all, #col, #all],
                       iterator_types = ["parallel", "parallel"]}
      ins(%x, %m : tensor<5x8xf32>, tensor<8xi1>) outs(%d : tensor<5x8xf32>) {
  ^bb0(%a: f32, %b: i1, %o: f32):
    %z = arith.constant 0.0 : f32
    %s = arith.select %b, %a, %z : f32
    linalg.yield %s : f32
  } -> tensor<5x8xf32>
  %q = norm.softmax %y axes = [1] : tensor<5x8xf32> -> tensor<5x8xf32>
  return %q : tensor<5x8xf32>
}

// A few constants are part of the kernel that reads them, more are written first.
// TABLES-DAG: rms_norm 5x4 f32
// TABLES-DAG: table 1x20 f32
// TABLES-DAG: rms_norm 2x20 f32
// TABLES: ok result 0
// TABLES: ok result 1
func.func @tables(%x: tensor<5x4xf32>, %y: tensor<2x20xf32>)
    -> (tensor<5x4xf32>, tensor<2x20xf32>) {
  %w = arith.constant dense<[1.0, 2.0, 2.0, 4.0]> : tensor<4xf32>
  %r = norm.rms_norm %x scale(%w) axes = [1] eps = 1.0e-5
      : tensor<5x4xf32>, tensor<4xf32> -> tensor<5x4xf32>
  %v = arith.constant dense<[0., 1., 2., 3., 4., 5., 6., 7., 8., 9., 10., 11.,
                             12., 13., 14., 15., 16., 17., 18., 19.]> : tensor<20xf32>
  %q = norm.rms_norm %y scale(%v) axes = [1] eps = 1.0e-5
      : tensor<2x20xf32>, tensor<20xf32> -> tensor<2x20xf32>
  return %r, %q : tensor<5x4xf32>, tensor<2x20xf32>
}
