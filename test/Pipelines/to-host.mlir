//===- to-host.mlir - From tensors to host functions ----------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-opt %s --norm-to-host-pipeline | FileCheck %s

// CHECK-DAG: func.func @main_0(%{{.*}}: !llvm.ptr, %{{.*}}: i64, %{{.*}}: i64)
// CHECK-DAG: norm_tile.launch @main_0({{.*}}variants = [#norm_tile.variant<symbol = "main_0", alignment = 1,
// CHECK-NOT: norm.generic
// CHECK-NOT: norm_tile.kernel
func.func @main(%x: tensor<?x384xf32>) -> tensor<?x384xf32> {
  %y = norm.softmax %x axes = [1] : tensor<?x384xf32> -> tensor<?x384xf32>
  return %y : tensor<?x384xf32>
}
