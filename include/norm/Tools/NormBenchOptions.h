//===- NormBenchOptions.h - Command line of norm-bench ----------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_TOOLS_NORMBENCHOPTIONS_H
#define NORM_TOOLS_NORMBENCHOPTIONS_H

#include "norm/Bench/Session.h"

namespace norm::tools {

/// What norm-bench was asked to do.
struct BenchOptions {
  bench::CellChoice choice;
  bench::SessionOptions session;
  std::string device = "auto";
  std::string grid;   ///< file; empty for the default one
  std::string json;   ///< file to write
  std::string report; ///< file to write
  /// Files of times, and kernels: read by `readAgainst`.
  std::vector<std::string> against;
  std::string tuning; ///< file, or `none`
  /// Searches for schedules instead of measuring: the file that gets them, and
  /// the seconds for each program.
  bool tune = false;
  std::string tuningOut;
  unsigned tuneSeconds = 30;
  bool list = false;
  bool progress = false;
  bool help = false;
  bool version = false;
  /// Of a process that was started for the compile suite: the cell, and the
  /// steady clock's nanoseconds when it was started.
  std::optional<bench::Cell> fresh;
  uint64_t started = 0;
};

/// Reads the command line. An error quotes what isn't understood.
llvm::Expected<BenchOptions> parseBenchOptions(int argc, char **argv);

/// The text of `--help`.
llvm::StringRef benchUsage();

/// Reads what `--against` names into the options of the session.
llvm::Error readAgainst(BenchOptions &options);

/// `rms_norm:bf16:4x4096:12345`, what `--fresh` takes.
std::string printFresh(const bench::Cell &cell, uint64_t started);

} // namespace norm::tools

#endif // NORM_TOOLS_NORMBENCHOPTIONS_H
