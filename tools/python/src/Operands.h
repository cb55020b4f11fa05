//===- Operands.h - Arrays of Python as arguments of a launch ---*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_TOOLS_PYTHON_OPERANDS_H
#define NORM_TOOLS_PYTHON_OPERANDS_H

#include "Support.h"
#include <array>
#include <cstdint>
#include <nanobind/nanobind.h>
#include <string_view>

namespace normpy {

/// Where the memory of arguments has to be.
struct Place {
  bool isCuda = false;
  int ordinal = -1; ///< of the CUDA device; -1 where it isn't known
};

/// Axes of an array, at most.
constexpr int kMostRank = 16;

/// One argument, with the memory that it points to.
struct Operand {
  NormcArgument argument = {};
  std::array<int64_t, kMostRank> shape, strides;
  uint64_t scalar = 0;
  nanobind::object keep; ///< alive until the launch is enqueued
};

/// The name of a dtype as MLIR has it, `bf16`.
const char *dtypeName(NormcDType dtype);

/// Reads a PyTorch tensor, a NumPy array, any object with `__dlpack__`, or for
/// a scalar a number. Arrays of uint16 and uint8 are taken as the bits of
/// floats of that width. Throws an `Error` that names the argument. `stream` is
/// what a producer of DLPack is asked to order its work before.
void readOperand(nanobind::handle object, size_t index,
                 const NormcArgumentInfo &info, Place place, uint64_t stream,
                 Operand &operand);

/// Makes a tensor of rows of a matrix, or all of it a vector, where its strides
/// allow that: axes become one, as `info` has them. False where they don't, and
/// for one without elements.
bool collapse(const NormcArgumentInfo &info, Operand &operand);

} // namespace normpy

#endif // NORM_TOOLS_PYTHON_OPERANDS_H
