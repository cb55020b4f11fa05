//===- generalize-elementwise.mlir - Elementwise ops as programs ----------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-opt %s --norm-generalize | FileCheck %s

// CHECK-LABEL: func.func @add
// CHECK-SAME: (%[[X:.*]]: tensor<?x8xbf16>, %[[R:.*]]: tensor<?x8xbf16>)
func.func @add(%x: tensor<?x8xbf16>, %r: tensor<?x8xbf16>) -> tensor<?x8xbf16> {
  // CHECK: norm.generic (row, col)
  // CHECK-NEXT: ins(%[[A:.*]] = %[[X]][row, col] : tensor<?x8xbf16>, %[[B:.*]] = %[[R]][row, col] : tensor<?x8xbf16>)
  // CHECK-NEXT: outs(%{{.*}} = %{{.*}}[row, col] : tensor<?x8xbf16>) attributes {name = "add"}
  // CHECK-NEXT: %[[SUM:.*]] = arith.addf %[[A]], %[[B]] : bf16
  // CHECK-NEXT: norm.yield %[[SUM]] : bf16
  %s = arith.addf %x, %r : tensor<?x8xbf16>
  return %s : tensor<?x8xbf16>
}

// Licences to change bits are not passed on.
// CHECK-LABEL: func.func @fast_math
func.func @fast_math(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NOT: fastmath
  %s = arith.mulf %x, %x fastmath<contract> : tensor<4xf32>
  %t = math.sqrt %s fastmath<fast> : tensor<4xf32>
  %u = arith.truncf %t fastmath<nnan> : tensor<4xf32> to tensor<4xf16>
  %v = arith.extf %u fastmath<nnan> : tensor<4xf16> to tensor<4xf32>
  return %v : tensor<4xf32>
}

// Types may change, and a condition may be one for all elements.
// CHECK-LABEL: func.func @types
func.func @types(%x: tensor<4x8xf32>, %c: i1) -> tensor<4x8xf16> {
  // CHECK: outs({{.*}} : tensor<4x8xi1>) attributes {name = "cmp"}
  // CHECK-NEXT: arith.cmpf ogt, %{{.*}}, %{{.*}} : f32
  %0 = arith.negf %x : tensor<4x8xf32>
  %1 = arith.cmpf ogt, %0, %x : tensor<4x8xf32>
  // CHECK: ins({{.*}} : tensor<4x8xi1>, {{.*}} : tensor<4x8xf32>, {{.*}} : tensor<4x8xf32>)
  // CHECK: attributes {name = "select"}
  // CHECK-NEXT: arith.select %{{.*}}, %{{.*}}, %{{.*}} : f32
  %2 = arith.select %1, %0, %x : tensor<4x8xi1>, tensor<4x8xf32>
  // CHECK: ins(%{{.*}} = %{{[^ ]*}} : i1, {{.*}} : tensor<4x8xf32>, {{.*}} : tensor<4x8xf32>)
  %3 = arith.select %c, %2, %x : tensor<4x8xf32>
  // CHECK: attributes {name = "trunc"}
  // CHECK-NEXT: arith.truncf %{{.*}} : f32 to f16
  %4 = arith.truncf %3 : tensor<4x8xf32> to tensor<4x8xf16>
  return %4 : tensor<4x8xf16>
}

// A splat is a scalar operand, or a constant of the body.
// CHECK-LABEL: func.func @splats
// CHECK-SAME: (%[[X:.*]]: tensor<?x8xf32>, %[[S:.*]]: f32)
func.func @splats(%x: tensor<?x8xf32>, %s: f32) -> tensor<?x8xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x8xf32>
  %two = arith.constant 2.0 : f32
  %a = tensor.splat %s[%n] : tensor<?x8xf32>
  %b = tensor.splat %two[%n] : tensor<?x8xf32>
  %e = tensor.empty(%n) : tensor<?x8xf32>
  %f = linalg.fill ins(%s : f32) outs(%e : tensor<?x8xf32>) -> tensor<?x8xf32>
  // CHECK-NOT: tensor.splat
  // CHECK-NOT: linalg.fill
  // CHECK: norm.generic (row, col)
  // CHECK-NEXT: ins(%{{.*}} = %[[X]][row, col] : tensor<?x8xf32>, %{{.*}} = %[[S]] : f32)
  %0 = arith.mulf %x, %a : tensor<?x8xf32>
  // CHECK: norm.generic (row, col)
  // CHECK-NEXT: ins(%[[E:.*]] = %{{.*}}[row, col] : tensor<?x8xf32>)
  // CHECK: %[[TWO:.*]] = arith.constant 2.000000e+00 : f32
  // CHECK: arith.addf %[[E]], %[[TWO]] : f32
  %1 = arith.addf %0, %b : tensor<?x8xf32>
  // CHECK: ins(%{{.*}} = %{{.*}}[row, col] : tensor<?x8xf32>, %{{.*}} = %[[S]] : f32)
  %2 = arith.subf %1, %f : tensor<?x8xf32>
  return %2 : tensor<?x8xf32>
}

// CHECK-LABEL: func.func @constant_scale
func.func @constant_scale(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // CHECK-NOT: dense
  // CHECK: ins(%{{.*}} = %{{.*}}[row, col] : tensor<4x8xf32>)
  // CHECK: arith.constant 5.000000e-01 : f32
  %half = arith.constant dense<0.5> : tensor<8xf32>
  %y = norm.rms_norm %x scale(%half) axes = [1] eps = 1.0e-5
      : tensor<4x8xf32>, tensor<8xf32> -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @constant_vector
func.func @constant_vector(%x: tensor<2xf32>) -> tensor<2xf32> {
  // CHECK: ins(%[[X:.*]] = %{{.*}}[col] : tensor<2xf32>)
  // CHECK: %[[I:.*]] = norm.index col : index
  // CHECK-DAG: %[[ONE:.*]] = arith.constant 1.0{{.*}} : f32
  // CHECK-DAG: %[[TWO:.*]] = arith.constant 2.0{{.*}} : f32
  // CHECK: %[[LT:.*]] = arith.cmpi ult, %[[I]], %c1{{.*}} : index
  // CHECK: %[[C:.*]] = arith.select %[[LT]], %[[ONE]], %[[TWO]] : f32
  // CHECK: arith.addf %[[X]], %[[C]] : f32
  %c = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %y = arith.addf %x, %c : tensor<2xf32>
  return %y : tensor<2xf32>
}

// What is returned is written.
// CHECK-LABEL: func.func @returned_splats
func.func @returned_splats(%s: f32, %n: index) -> (tensor<?xf32>, tensor<4xf32>) {
  // CHECK: norm.generic (col)
  // CHECK-NEXT: ins(%[[V:.*]] = %{{.*}} : f32)
  // CHECK-NEXT: outs(%{{.*}} = %{{.*}}[col] : tensor<?xf32>) attributes {name = "splat"}
  // CHECK-NEXT: norm.yield %[[V]] : f32
  // CHECK: norm.generic (col)
  // CHECK-NEXT: outs(%{{.*}} = %{{.*}}[col] : tensor<4xf32>) attributes {name = "splat"}
  %a = tensor.splat %s[%n] : tensor<?xf32>
  %c = arith.constant dense<1.0> : tensor<4xf32>
  return %a, %c : tensor<?xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @named_linalg
func.func @named_linalg(%x: tensor<4x8xf32>, %b: tensor<8xf32>)
    -> tensor<4x8xf32> {
  %e = tensor.empty() : tensor<4x8xf32>
  // CHECK: norm.generic (row, col)
  // CHECK-NEXT: ins(%{{.*}} = %{{.*}}[col] : tensor<8xf32>)
  // CHECK-NEXT: outs(%{{.*}} = %{{.*}}[row, col] : tensor<4x8xf32>) attributes {name = "broadcast"}
  %0 = linalg.broadcast ins(%b : tensor<8xf32>) outs(%e : tensor<4x8xf32>)
      dimensions = [0]
  // CHECK: attributes {name = "add"}
  %1 = linalg.add ins(%x, %0 : tensor<4x8xf32>, tensor<4x8xf32>)
      outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: attributes {name = "exp"}
  %2 = linalg.exp ins(%1 : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>)
      -> tensor<4x8xf32>
  // CHECK-NOT: linalg
  return %2 : tensor<4x8xf32>
}

#row = affine_map<(d0, d1) -> (d0, 0)>
#col = affine_map<(d0, d1) -> (d1)>
#all = affine_map<(d0, d1) -> (d0, d1)>
#none = affine_map<(d0, d1) -> ()>

// Broadcasts, an index, a scalar operand and a captured one.
// CHECK-LABEL: func.func @generic
// CHECK-SAME: (%[[R:.*]]: tensor<?x1xf32>, %[[C:.*]]: tensor<8xf32>, %[[S:.*]]: f32, %[[T:.*]]: f32)
func.func @generic(%r: tensor<?x1xf32>, %c: tensor<8xf32>, %s: f32, %t: f32)
    -> tensor<?x8xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %r, %c0 : tensor<?x1xf32>
  %e = tensor.empty(%n) : tensor<?x8xf32>
  // CHECK: norm.generic (row, col)
  // CHECK-NEXT: ins(%[[RE:.*]] = %[[R]][row, 0] : tensor<?x1xf32>, %[[CE:.*]] = %[[C]][col] : tensor<8xf32>, %[[SE:.*]] = %[[S]] : f32, %[[TE:.*]] = %[[T]] : f32)
  // CHECK-NEXT: outs(%{{.*}} = %{{.*}}[row, col] : tensor<?x8xf32>) attributes {name = "elementwise"}
  // CHECK: %[[J:.*]] = norm.index col : index
  // CHECK: arith.index_cast %[[J]] : index to i32
  // CHECK: arith.addf %[[RE]], %[[CE]] : f32
  // CHECK: math.fma %{{.*}}, %[[SE]], %[[TE]] : f32
  %0 = linalg.generic {indexing_maps = [#row, #col, #none, #all],
                       iterator_types = ["parallel", "parallel"]}
      ins(%r, %c, %s : tensor<?x1xf32>, tensor<8xf32>, f32)
      outs(%e : tensor<?x8xf32>) {
  ^bb0(%re: f32, %ce: f32, %se: f32, %o: f32):
    %j = linalg.index 1 : index
    %i = arith.index_cast %j : index to i32
    %f = arith.sitofp %i : i32 to f32
    %0 = arith.addf %re, %ce : f32
    %1 = math.fma %0, %se, %t : f32
    %2 = arith.mulf %1, %f : f32
    linalg.yield %2 : f32
  } -> tensor<?x8xf32>
  return %0 : tensor<?x8xf32>
}

// The order of the loops is that of the output; what it held before is read.
#tr = affine_map<(d0, d1) -> (d1, d0)>
// CHECK-LABEL: func.func @loop_order
// CHECK-SAME: (%[[X:.*]]: tensor<8x4xf32>, %[[Y:.*]]: tensor<8x4xf32>)
func.func @loop_order(%x: tensor<8x4xf32>, %y: tensor<8x4xf32>)
    -> tensor<8x4xf32> {
  // CHECK: norm.generic (row, col)
  // CHECK-NEXT: ins(%[[A:.*]] = %[[X]][row, col] : tensor<8x4xf32>, %[[B:.*]] = %[[Y]][row, col] : tensor<8x4xf32>)
  // CHECK-NEXT: outs(%{{.*}} = %{{.*}}[row, col] : tensor<8x4xf32>)
  // CHECK: index col : index
  // CHECK: arith.addf %[[A]], %[[B]] : f32
  %0 = linalg.generic {indexing_maps = [#tr, #tr],
                       iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<8x4xf32>) outs(%y : tensor<8x4xf32>) {
  ^bb0(%a: f32, %b: f32):
    %j = linalg.index 0 : index
    %i = arith.index_cast %j : index to i32
    %f = arith.sitofp %i : i32 to f32
    %s = arith.addf %a, %b : f32
    %t = arith.mulf %s, %f : f32
    linalg.yield %t : f32
  } -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// A transpose is a map, as is a broadcast along any axis.
// CHECK-LABEL: func.func @maps
// CHECK-SAME: (%[[X:.*]]: tensor<4x?x8xf32>, %[[B:.*]]: tensor<8xf32>, %[[Z:.*]]: tensor<8x4xf32>)
func.func @maps(%x: tensor<4x?x8xf32>, %b: tensor<8xf32>, %z: tensor<8x4xf32>)
    -> (tensor<8x4x?xf32>, tensor<8x4xf32>) {
  %c1 = arith.constant 1 : index
  %n = tensor.dim %x, %c1 : tensor<4x?x8xf32>
  %e = tensor.empty(%n) : tensor<8x4x?xf32>
  // CHECK: norm.generic (row, row1, col)
  // CHECK-NEXT: ins(%[[V:.*]] = %[[X]][row1, col, row] : tensor<4x?x8xf32>)
  // CHECK-NEXT: outs(%{{.*}} = %{{.*}}[row, row1, col] : tensor<8x4x?xf32>) attributes {name = "transpose"}
  // CHECK-NEXT: norm.yield %[[V]] : f32
  %t = linalg.transpose ins(%x : tensor<4x?x8xf32>) outs(%e : tensor<8x4x?xf32>)
      permutation = [2, 0, 1]
  %d = tensor.empty() : tensor<8x4xf32>
  // CHECK: ins(%{{.*}} = %[[Z]][row, col] : tensor<8x4xf32>, %{{.*}} = %[[B]][row] : tensor<8xf32>)
  // CHECK-NEXT: outs({{.*}}) attributes {name = "mul"}
  %m = linalg.elementwise kind = #linalg.elementwise_kind<mul>
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>,
                       affine_map<(i, j) -> (i, j)>]
      ins(%z, %b : tensor<8x4xf32>, tensor<8xf32>)
      outs(%d : tensor<8x4xf32>) -> tensor<8x4xf32>
  // CHECK-NOT: linalg
  return %t, %m : tensor<8x4x?xf32>, tensor<8x4xf32>
}

// Left alone: reductions, reads at other positions, values that are not
// elements, vectors.
#shift = affine_map<(d0) -> (d0 + 1)>
#id = affine_map<(d0) -> (d0)>
// CHECK-LABEL: func.func @left_alone
func.func @left_alone(%x: tensor<4x8xf32>, %y: tensor<4xf32>, %z: tensor<5xf32>,
                      %v: vector<4xf32>)
    -> (tensor<4xf32>, tensor<4xf32>, tensor<4xcomplex<f32>>, vector<4xf32>) {
  // CHECK: linalg.reduce
  %0 = linalg.reduce ins(%x : tensor<4x8xf32>) outs(%y : tensor<4xf32>)
      dimensions = [1] (%a: f32, %b: f32) {
        %s = arith.addf %a, %b : f32
        linalg.yield %s : f32
      }
  // CHECK: linalg.generic
  %1 = linalg.generic {indexing_maps = [#shift, #id],
                       iterator_types = ["parallel"]}
      ins(%z : tensor<5xf32>) outs(%y : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<4xf32>
  // CHECK: linalg.generic
  %e = tensor.empty() : tensor<4xcomplex<f32>>
  %2 = linalg.generic {indexing_maps = [#id, #id],
                       iterator_types = ["parallel"]}
      ins(%y : tensor<4xf32>) outs(%e : tensor<4xcomplex<f32>>) {
  ^bb0(%a: f32, %b: complex<f32>):
    %c = complex.create %a, %a : complex<f32>
    linalg.yield %c : complex<f32>
  } -> tensor<4xcomplex<f32>>
  // CHECK: arith.addf %{{.*}}, %{{.*}} : vector<4xf32>
  %3 = arith.addf %v, %v : vector<4xf32>
  // CHECK-NOT: norm.generic
  return %0, %1, %2, %3 : tensor<4xf32>, tensor<4xf32>, tensor<4xcomplex<f32>>, vector<4xf32>
}

// An operand that comes twice is loaded once.
// CHECK-LABEL: func.func @same_operand
func.func @same_operand(%x: tensor<4xf32>, %s: f32) -> tensor<4xf32> {
  // CHECK: ins(%[[A:.*]] = %{{[^ ]*}}[col] : tensor<4xf32>, %[[S:.*]] = %{{[^ ]*}} : f32)
  // CHECK: math.fma %[[A]], %[[S]], %[[A]] : f32
  %t = tensor.splat %s : tensor<4xf32>
  %0 = math.fma %x, %t, %x : tensor<4xf32>
  // CHECK: ins(%[[B:.*]] = %{{[^ ]*}} : f32)
  // CHECK: arith.mulf %[[B]], %[[B]] : f32
  %1 = arith.mulf %t, %t : tensor<4xf32>
  %2 = arith.addf %0, %1 : tensor<4xf32>
  return %2 : tensor<4xf32>
}
