//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Work in forked children, so that a crash or a hang is a result. The calling
// process must be single-threaded.
//
//===----------------------------------------------------------------------===//

#ifndef NORM_FUZZ_ISOLATION_H
#define NORM_FUZZ_ISOLATION_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <functional>
#include <string>

namespace norm::fuzz {

struct JobReport {
  enum class Status : uint8_t { Done, Crashed, TimedOut };
  uint64_t index = 0;
  Status status = Status::Done;
  /// What the job returned; else the signal and the end of what it printed.
  std::string text;
};

/// What a child does for the job of an index.
using Worker = std::function<std::string(uint64_t)>;

struct IsolationOptions {
  unsigned jobs = 1;         ///< children at a time
  double secondsPerJob = 60; ///< until a child is ended
  unsigned jobsPerChild = 200;
  /// Whether a child that gave this answer gets no further job: what it holds,
  /// such as a device, may be spoilt.
  std::function<bool(const JobReport &)> endsChild;
};

/// Runs the jobs `begin` to `end - 1`, each once. `makeWorker` is called in
/// every new child. `report` gets each report, in the order of their ends; no
/// further job is started once it has returned false. An error where no child
/// can be made.
llvm::Error runIsolated(uint64_t begin, uint64_t end,
                        const IsolationOptions &options,
                        llvm::function_ref<Worker()> makeWorker,
                        llvm::function_ref<bool(const JobReport &)> report);

} // namespace norm::fuzz

#endif // NORM_FUZZ_ISOLATION_H
