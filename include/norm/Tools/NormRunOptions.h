//===- NormRunOptions.h - Command line of norm-run --------------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_TOOLS_NORMRUNOPTIONS_H
#define NORM_TOOLS_NORMRUNOPTIONS_H

#include "norm/Compiler/Derivative.h"
#include "norm/Runtime/DataSpec.h"
#include "norm/Support/MathMode.h"
#include <map>
#include <string>

namespace norm::tools {

/// A file to compare an output with, and what is allowed to differ; without a
/// limit the difference is only printed.
struct Expectation {
  std::string path;
  std::optional<double> absolute;
  std::optional<double> ulps;
};

/// Where an output is put.
struct OutputPlacement {
  Placement placement;
  std::optional<unsigned> aliasOf; ///< the memory of this argument
};

/// What norm-run was asked to do.
struct RunOptions {
  std::string input;
  std::string device = "auto";
  std::string target;
  std::string entry;
  std::string schedule;
  std::string tuning;    ///< file, or `none`
  bool tune = false;
  std::string tuningOut; ///< file to write
  unsigned tuneSeconds = 30;
  MathMode math = MathMode::Exact;
  std::string json; ///< file for the report
  std::map<unsigned, DataSpec> arguments;
  std::map<unsigned, std::string> outputs;
  std::map<unsigned, Expectation> expectations;
  std::map<unsigned, OutputPlacement> placements;
  /// Runs the backward of the entry rather than the entry.
  std::optional<DerivativeOptions> backward;
  bool check = false;
  bool time = false;
  bool explain = false;
  bool hostBits = false;
  unsigned warmups = 5;
  unsigned launches = 50;
  // The launch of a kernel that nothing in the input launches.
  std::optional<uint64_t> grid;
  std::optional<unsigned> block;
  uint64_t sharedBytes = 0;
};

/// Reads the command line. An error quotes what isn't understood; its text is
/// empty if the diagnostic is on stderr already.
llvm::Expected<RunOptions> parseRunOptions(int argc, char **argv);

} // namespace norm::tools

#endif // NORM_TOOLS_NORMRUNOPTIONS_H
