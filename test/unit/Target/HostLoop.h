//===- HostLoop.h - Vector code run on the host -----------------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_TEST_UNIT_TARGET_HOSTLOOP_H
#define NORM_TEST_UNIT_TARGET_HOSTLOOP_H

#include "norm/Support/DType.h"
#include "llvm/ADT/StringRef.h"
#include <vector>

namespace norm::test {

/// A loop over rows of 16 elements of one or two inputs and an output.
struct HostLoop {
  DType input = DType::F32;
  DType output = DType::F32;
  /// How often the input type occurs: `%a` and, with 2, `%b`.
  unsigned numInputs = 1;
  /// Ops that compute `%r`, a vector of 16 of the output type. `$I` and `$O`
  /// stand for the vector types.
  llvm::StringRef body;
  /// The CPU to compile for; empty for this machine's.
  llvm::StringRef cpu = "";
};

/// Compiles the loop for the host and runs it over elements given as bits.
/// Returns the bits of the outputs.
std::vector<uint64_t> run(const HostLoop &loop, const std::vector<uint64_t> &a,
                          const std::vector<uint64_t> &b = {});

} // namespace norm::test

#endif // NORM_TEST_UNIT_TARGET_HOSTLOOP_H
