//===- unit-barrier.mlir - CTAs that meet, as text ------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-opt %s --split-input-file --verify-diagnostics | norm-opt --split-input-file | FileCheck %s

gpu.module @m {
  // CHECK-LABEL: gpu.func @k
  gpu.func @k(%counter: !llvm.ptr<1>, %ctas: i32) kernel {
    // CHECK: norm_tile.unit_barrier %{{.*}}, %{{.*}} phase 0 : !llvm.ptr<1>
    norm_tile.unit_barrier %counter, %ctas phase 0 : !llvm.ptr<1>
    // CHECK: norm_tile.unit_barrier %{{.*}}, %{{.*}} phase 1 last : !llvm.ptr<1>
    norm_tile.unit_barrier %counter, %ctas phase 1 last : !llvm.ptr<1>
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @k(%counter: !llvm.ptr<3>, %ctas: i32) kernel {
    // expected-error@+1 {{operand #0 must be address in global memory, but got '!llvm.ptr<3>'}}
    norm_tile.unit_barrier %counter, %ctas phase 0 : !llvm.ptr<3>
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @k(%counter: !llvm.ptr<1>, %ctas: i32) kernel {
    // expected-error@+1 {{attribute 'phase' failed to satisfy constraint}}
    norm_tile.unit_barrier %counter, %ctas phase -1 : !llvm.ptr<1>
    gpu.return
  }
}
