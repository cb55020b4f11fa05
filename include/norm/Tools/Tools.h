//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The command-line tools as functions. An executable is a thin main over one of
// them, or over all of them.
//
//===----------------------------------------------------------------------===//

#ifndef NORM_TOOLS_TOOLS_H
#define NORM_TOOLS_TOOLS_H

namespace norm::tools {

/// What a tool's process returns.
enum ExitStatus : int {
  /// The result is right.
  ExitSuccess = 0,
  /// The input or the command line is wrong; a diagnostic is on stderr.
  ExitBadInput = 1,
  /// The result differs from the reference by more than rounding allows.
  ExitCheckFailed = 2,
  /// The device or its driver is missing.
  ExitNoDevice = 3,
};

/// norm-cache: shows and clears the directory of compiled programs.
int normCacheMain(int argc, char **argv);

/// norm-opt: runs passes on MLIR text.
int normOptMain(int argc, char **argv);

/// norm-compile: compiles MLIR text to one of the levels, PTX or an object.
int normCompileMain(int argc, char **argv);

/// norm-run: compiles MLIR text and runs it on a device or on the host.
int normRunMain(int argc, char **argv);

/// norm-bench: measures kernels; see docs/Benchmarking.md.
int normBenchMain(int argc, char **argv);

/// Runs the fuzzers; see docs/Fuzzing.md.
int normFuzzMain(int argc, char **argv);

} // namespace norm::tools

#endif // NORM_TOOLS_TOOLS_H
