//===- RowManifest.h - Manifests of kernels over rows -----------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_TEST_UNIT_RUNTIME_ROWMANIFEST_H
#define NORM_TEST_UNIT_RUNTIME_ROWMANIFEST_H

#include "norm/Support/Manifest.h"

namespace norm::test {

/// `y = f(x)` by rows of 8 columns of f32, one CTA for each, for sm_90.
inline Manifest rowManifest() {
  Manifest m;
  m.norm = "0.1.0";
  m.entry = "main";
  m.target = "sm_90";
  m.ptx = "8.0";
  m.minDriver = 11080;
  Argument x;
  x.name = "x";
  x.shape = {kDynamic, 8};
  x.strides = {kDynamic, 1};
  x.alignment = 4;
  Argument y = x;
  y.name = "y";
  y.role = ArgumentRole::Output;
  y.equals = {BufferDim{0, 0}, std::nullopt};
  m.arguments = {x, y};
  Variant variant;
  variant.symbol = "main_0";
  variant.block = 128;
  Kernel kernel;
  kernel.program = "test";
  kernel.reads = {0};
  kernel.writes = {1};
  kernel.rows = {0, {0}};
  kernel.columns = {0, {1}};
  kernel.params = {Param::pointer(0), Param::pointer(1)};
  kernel.variants = {variant};
  m.kernels = {kernel};
  return m;
}

/// The same with each row shared by as many CTAs as fit, up to 16, with 8
/// bytes of counters and 64 of results per row. Parameter 2 is the split,
/// parameter 3 the workspace.
inline Manifest splitRowManifest() {
  Manifest m = rowManifest();
  Kernel &kernel = m.kernels[0];
  kernel.params.push_back(Param::split());
  kernel.params.push_back(Param::workspace());
  kernel.slices = 16;
  kernel.counterBytes = 8;
  kernel.unitBytes = 64;
  kernel.variants[0].split = 0;
  return m;
}

} // namespace norm::test

#endif // NORM_TEST_UNIT_RUNTIME_ROWMANIFEST_H
