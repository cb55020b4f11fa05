//===- unknown-target.mlir - A target that isn't known --------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: norm-opt %s --verify-diagnostics --norm-legalize-math=target=sm_999

// expected-error@below {{unknown target 'sm_999', expects host or one of sm_80, sm_86, sm_87, sm_89, sm_90, sm_100, sm_103, sm_120, sm_121}}
module {}
