//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The two fuzzers as functions: differential runs of random programs, and
// mutated text for parser, verifiers and passes.
//
//===----------------------------------------------------------------------===//

#ifndef NORM_FUZZ_FUZZ_H
#define NORM_FUZZ_FUZZ_H

#include "norm/Fuzz/Case.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include <map>

namespace norm::fuzz {

struct FuzzOptions {
  uint64_t seed = 1;
  uint64_t first = 0;   ///< index of the first program
  uint64_t count = 100; ///< programs, or mutated texts
  unsigned jobs = 1;    ///< processes
  double timeLimit = 0; ///< seconds after which none is started; 0 for none
  double timeout = 120; ///< seconds for one
  unsigned maxFailures = 10; ///< after which none is started
  double shrinkTime = 60;    ///< seconds for each failure
  std::string folder;        ///< for failures; empty to write none
  std::vector<std::string> devices = {"host"};
  Limits limits;
  std::string corpus; ///< folder of .mlir files to mutate
};

struct FuzzSummary {
  uint64_t programs = 0;
  uint64_t runs = 0;
  uint64_t skipped = 0;   ///< variants that a target has no room for
  uint64_t underived = 0; ///< programs whose function has no backward
  uint64_t failures = 0;
  uint64_t unstarted = 0; ///< for lack of time, or after too many failures
  uint64_t unwritten = 0; ///< failures that could not be written
  double seconds = 0;
  double slowest = 0;
  uint64_t slowestIndex = 0;
  /// Seconds of all children by device and step.
  std::map<std::string, double> steps;
};

/// What a run tells while it goes on. `detail` is empty for progress.
using Tell = llvm::function_ref<void(const FuzzSummary &, llvm::StringRef)>;

/// Runs random programs; see docs/Fuzzing.md. An error where a device can't be
/// opened. The process must be single-threaded.
llvm::Expected<FuzzSummary> fuzzPrograms(const FuzzOptions &options, Tell tell);

/// The programs as text, or with a corpus the mutated texts, each after a line
/// that tells its number. Devices play no part in a program's text.
std::string showPrograms(const FuzzOptions &options);

/// Feeds mutated texts; a crash or a hang is a failure.
llvm::Expected<FuzzSummary> fuzzText(const FuzzOptions &options, Tell tell);

} // namespace norm::fuzz

#endif // NORM_FUZZ_FUZZ_H
