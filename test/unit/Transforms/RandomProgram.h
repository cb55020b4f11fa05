//===- RandomProgram.h - Random functions of norms --------------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_TEST_UNIT_TRANSFORMS_RANDOMPROGRAM_H
#define NORM_TEST_UNIT_TRANSFORMS_RANDOMPROGRAM_H

#include <string>

namespace norm::test {

/// The text of a function @f of (a tensor of rows x columns of bf16, one of
/// f32, a tensor of columns of f32, a scalar f32): a dozen of norms and of
/// elementwise ops on whole tensors, rows and columns, some of them done with
/// the columns split in two parts or transposed; a few values are returned. The
/// row extent is dynamic for odd seeds; `columns` is even.
std::string makeRandomProgram(unsigned seed, int rows, int columns);

} // namespace norm::test

#endif // NORM_TEST_UNIT_TRANSFORMS_RANDOMPROGRAM_H
