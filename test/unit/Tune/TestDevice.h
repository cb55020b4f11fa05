//===- TestDevice.h - A device whose times are made up ----------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_TEST_UNIT_TUNE_TESTDEVICE_H
#define NORM_TEST_UNIT_TUNE_TESTDEVICE_H

#include "norm/Tune/Tune.h"

namespace norm::test {

/// What a device does with a kernel, by its `#norm.schedule` as text.
struct Behaviour {
  /// Milliseconds; 1 where nothing is said.
  std::function<double(llvm::StringRef schedule)> cost;
  /// Whether it spoils a result.
  std::function<bool(llvm::StringRef schedule)> isWrong;
  /// Whether it refuses to run.
  std::function<bool(llvm::StringRef schedule)> isRefused;
};

/// The emulated device, with the times of `behaviour`. Its times say how long
/// the work took that was run last.
llvm::Expected<std::unique_ptr<Device>> openTestDevice(Behaviour behaviour);

/// A call of a manifest's function in which every dynamic extent is `rows`, on
/// random numbers.
llvm::Expected<std::vector<std::unique_ptr<TunedCall>>>
makeCalls(Device &device, const Manifest &manifest,
          llvm::ArrayRef<int64_t> rows);

} // namespace norm::test

#endif // NORM_TEST_UNIT_TUNE_TESTDEVICE_H
