// RUN: norm-opt %s --canonicalize | FileCheck %s

// A static extent is a constant, rounded to the type that asks for it.
// CHECK-LABEL: func.func @extent
// CHECK-NOT:     norm.extent
// CHECK-DAG:     arith.constant 4.096000e+03 : f32
// CHECK-DAG:     arith.constant 0x4B800000 : f32
// CHECK:         norm.yield
func.func @extent(%x: tensor<4096xf32>, %z: tensor<16777217x4096xi8>, %y0: tensor<4096xf32>) -> tensor<4096xf32> {
  %y = norm.generic (row, col)
      ins(%a = %x[col] : tensor<4096xf32>, %b = %z[row, col] : tensor<16777217x4096xi8>)
      outs(%o = %y0[col] : tensor<4096xf32>) {
    %n = norm.extent col : f32
    %m = norm.extent row : f32
    %p = arith.mulf %a, %n : f32
    %q = arith.addf %p, %m : f32
    norm.yield %q : f32
  }
  return %y : tensor<4096xf32>
}

// A dynamic extent stays.
// CHECK-LABEL: func.func @dynamic
// CHECK:         norm.extent col : index
func.func @dynamic(%x: tensor<?xf32>, %y0: tensor<?xindex>) -> tensor<?xindex> {
  %y = norm.generic (col) ins(%a = %x[col] : tensor<?xf32>)
      outs(%o = %y0[col] : tensor<?xindex>) {
    %n = norm.extent col : index
    norm.yield %n : index
  }
  return %y : tensor<?xindex>
}

// An input that the body doesn't read goes, unless a dim needs it.
// CHECK-LABEL: func.func @unused
// CHECK-SAME:    %[[X:.*]]: tensor<?x8xf32>, %[[U:.*]]: tensor<?x8xf32>, %[[R:.*]]: tensor<?xf32>
// CHECK:         ins(%{{.*}} = %[[X]][row, col] : tensor<?x8xf32>)
func.func @unused(%x: tensor<?x8xf32>, %u: tensor<?x8xf32>, %r: tensor<?xf32>, %y0: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %y = norm.generic (row, col)
      ins(%a = %x[row, col] : tensor<?x8xf32>, %b = %u[row, col] : tensor<?x8xf32>, %c = %r[row] : tensor<?xf32>)
      outs(%o = %y0[row, col] : tensor<?x8xf32>) {
    norm.yield %a : f32
  }
  return %y : tensor<?x8xf32>
}
