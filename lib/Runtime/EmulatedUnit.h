//===- EmulatedUnit.h - CTAs that share rows --------------------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_LIB_RUNTIME_EMULATEDUNIT_H
#define NORM_LIB_RUNTIME_EMULATEDUNIT_H

#include "EmulatedCta.h"

namespace norm::emulated {

/// A counter at which CTAs met.
struct UsedCounter {
  uint64_t address = 0;
  int64_t unit = 0;
  uint32_t site = 0;
};

/// Runs the CTAs that share rows, on the calling host thread: each until it
/// waits for the others, in a random order.
class Unit {
public:
  /// `ctas` are as many as share rows, and have entered the launch.
  Unit(const KernelRun &launch, llvm::ArrayRef<Cta *> ctas);

  /// Runs CTAs `unit * K` to `unit * K + K - 1` until all have exited or none
  /// can go on.
  void run(int64_t unit);

  llvm::ArrayRef<UsedCounter> counters() const { return used; }

private:
  void proceed();
  bool meet();
  bool checkCounter(const UnitBarrier &barrier);
  bool checkOrder(const UnitBarrier &barrier);
  void reportMissing();
  void checkEnd();
  bool reject(FindingKind kind, llvm::function_ref<std::string()> text);
  std::string describe(size_t cta) const;

  const KernelRun &kernel;
  struct Member {
    Cta *cta;
    Cta::Progress progress;
  };
  std::vector<Member> members;
  uint64_t random = 0;
  int64_t current = 0;
  uint32_t phase = 0; ///< barriers passed
  bool ended = false; ///< the last barrier was passed
  std::vector<UsedCounter> used;
};

/// Adds what is wrong where CTAs of different rows met at one counter.
void reportSharedCounters(const KernelRun &kernel,
                          std::vector<UsedCounter> counters,
                          Findings &findings);

} // namespace norm::emulated

#endif // NORM_LIB_RUNTIME_EMULATEDUNIT_H
