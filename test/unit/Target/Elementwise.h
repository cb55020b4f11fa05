//===- Elementwise.h - Ops on whole tensors, on a device --------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_TEST_UNIT_TARGET_ELEMENTWISE_H
#define NORM_TEST_UNIT_TARGET_ELEMENTWISE_H

#include "norm/Support/DType.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/StringRef.h"
#include "gtest/gtest.h"
#include <cstdint>
#include <vector>

namespace norm::test {

/// Ops on tensors that compute `%r` of type `$O` from `%a` of type `$I`; `$M` is
/// the type of masks, of i1.
struct Elementwise {
  DType input = DType::F32;
  DType output = DType::F32;
  llvm::StringRef body;
};

/// Compiles the function for a device, as `openDevice` names it, and runs it on
/// elements given as bits. Returns the bits of the outputs; none after a
/// failure, which is one of the test.
std::vector<uint64_t> runOn(llvm::StringRef device, const Elementwise &program,
                            const std::vector<uint64_t> &elements);

/// Tests with a device's name as their parameter; skipped where there is none.
class OnDevice : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override;
};

/// The host, the emulated device, and the first GPU.
inline auto devices() { return testing::Values("host", "emulated", "cuda:0"); }

/// `cuda_0` for `cuda:0`.
std::string deviceName(const testing::TestParamInfo<const char *> &info);

const llvm::fltSemantics &semanticsOf(DType type);
llvm::APFloat valueOf(DType type, uint64_t bits);
uint64_t bitsOf(const llvm::APFloat &value);

/// All patterns of a number of bits.
std::vector<uint64_t> allOf(unsigned bits);

} // namespace norm::test

#endif // NORM_TEST_UNIT_TARGET_ELEMENTWISE_H
