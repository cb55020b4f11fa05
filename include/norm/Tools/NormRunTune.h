//===- NormRunTune.h - The fastest schedules for a run ----------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_TOOLS_NORMRUNTUNE_H
#define NORM_TOOLS_NORMRUNTUNE_H

#include "norm/Tools/NormRunData.h"
#include "norm/Tune/Tune.h"

namespace norm::tools {

/// Searches for the fastest schedules of the call that the options describe,
/// prints what was found, and adds it to `options.tuningOut`. Faults are
/// printed as errors.
llvm::Expected<TuneOutcome> tuneRun(Device &device, llvm::StringRef text,
                                    llvm::StringRef fileName,
                                    const CompileOptions &compile,
                                    const RunOptions &options,
                                    Workers &workers);

} // namespace norm::tools

#endif // NORM_TOOLS_NORMRUNTUNE_H
