//===- Harness.h - Hand-written kernels on the emulated device --*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_TEST_UNIT_EMULATED_HARNESS_H
#define NORM_TEST_UNIT_EMULATED_HARNESS_H

#include "norm/Runtime/EmulatedDevice.h"
#include "gtest/gtest.h"
#include <string>
#include <vector>

namespace norm::test {

/// A kernel `@k(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>)` on f32: `x` holds its
/// indices and is read, `y` is written, both of shape `rows` x `columns`.
struct Example {
  /// The body of the gpu.func; its first line is line 2 of `k.mlir`.
  std::string body;
  /// Shared memory that the function declares: `%s : memref<...>`.
  std::string shared;
  unsigned threads = 64;
  int64_t rows = 1; ///< each a CTA
  int64_t columns = 64;
  int64_t pitch = 0; ///< of x, in elements; 0 for `columns`
  uint64_t dynamicShared = 0;
  uint64_t seed = 1;
  unsigned hostThreads = 0;
  bool declaresRead = true; ///< the manifest lists x as read
  /// Of the manifest's variant; other than 1, the kernel takes `%ws:
  /// !llvm.ptr<1>, %k: i64, %rows: i64` too: workspace, split and rows. Each row
  /// has a counter of 8 bytes and 1024 bytes of data.
  uint64_t split = 1;
  unsigned residentCtas = 64;
  uint64_t cluster = 1; ///< CTAs of each row
  bool persistent = false;
  /// The kernel takes what one with a split takes.
  bool hasCounters = false;
};

struct Outcome {
  /// What went wrong before the kernel ran, or other than findings.
  std::string failure;
  std::vector<Finding> findings;
  std::vector<float> y; ///< empty after findings
  std::vector<KernelTraffic> traffic;
  int64_t mappings = 0; ///< of memory, that the device kept after the launch

  /// The finding of a kind; null if there is none.
  const Finding *find(FindingKind kind) const;
  /// All findings as text, for messages.
  std::string print() const;
};

/// Lowers, loads and runs.
Outcome run(const Example &example);

/// Whether there is exactly one finding, of the kind, at `line` of k.mlir, and
/// with `part` in its text.
testing::AssertionResult isOnly(const Outcome &outcome, FindingKind kind,
                                unsigned line, llvm::StringRef part);

} // namespace norm::test

#endif // NORM_TEST_UNIT_EMULATED_HARNESS_H
