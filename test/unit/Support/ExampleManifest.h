//===- ExampleManifest.h - A manifest that uses every field -----*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_TEST_UNIT_SUPPORT_EXAMPLEMANIFEST_H
#define NORM_TEST_UNIT_SUPPORT_EXAMPLEMANIFEST_H

#include "norm/Support/Manifest.h"

namespace norm::test {

/// `y, rstd = f(x, w, eps)`, in two kernels with a temporary between them. The
/// second one's rows are cut in two and shared by CTAs.
inline Manifest exampleManifest() {
  Manifest m;
  m.norm = "0.1.0";
  m.entry = "main";
  m.target = "sm_90";
  m.ptx = "8.0";
  m.minDriver = 12000;
  BufferDim rowsOfX{0, 0};
  m.arguments = {
      {"x",
       ArgumentRole::Input,
       DType::BF16,
       {kDynamic, 4096},
       {kDynamic, 1},
       2,
       {3},
       {}},
      {"w", ArgumentRole::Input, DType::F32, {4096}, {1}, 4, {}, {}},
      {"eps", ArgumentRole::Scalar, DType::F32, {}, {}, 1, {}, {}},
      {"y",
       ArgumentRole::Output,
       DType::BF16,
       {kDynamic, 4096},
       {kDynamic, 1},
       2,
       {0},
       {rowsOfX, std::nullopt}},
      {"rstd",
       ArgumentRole::Output,
       DType::F32,
       {kDynamic},
       {1},
       4,
       {},
       {rowsOfX},
       /*contiguous=*/true},
  };
  m.arguments[3].inPlace = 0;
  m.temporaries = {{DType::F32, {TemporaryExtent(rowsOfX), 128}, 0}};
  Variant fast{"main_0", {{0, 16}, {3, 16}}, 256, 2, 4, 65536, 64, 40, 0};
  Variant slow{"main_1", {}, 128, 1, 1, 0, 64, std::nullopt, std::nullopt};
  Kernel first{"rms_norm",
               "#norm.order<lanes = 32>",
               "#norm.schedule<threads = 256>",
               {0, 1},
               {5, 4},
               {0, {0}},
               {0, {1}},
               {Param::pointer(0), Param::stride(0, 0),
                Param::extent(0, {0, 1}), Param::scalar(2), Param::workspace(),
                Param::pointer(5)},
               {fast, slow}};
  Variant fixed = slow, chosen = slow;
  fixed.split = 4;
  chosen.split = 0;
  Kernel second{"finish",
                "",
                "",
                {5},
                {3},
                {3, {0}, 2},
                {3, {1}},
                {Param::pointer(3), Param::extent(3, {0}, 2), Param::split(),
                 Param::workspace()},
                {fixed, chosen}};
  second.slices = 8;
  second.counterBytes = 8;
  second.unitBytes = 1024;
  Kernel third = first;
  third.grid = 3;
  third.params[1] = Param::stride(0, 0, 10);
  m.kernels = {first, second, third};
  m.workspace = {1024, {{0, 16}, {512, 512}}};
  return m;
}

} // namespace norm::test

#endif // NORM_TEST_UNIT_SUPPORT_EXAMPLEMANIFEST_H
