//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What an execution is compiled from.
//
//===----------------------------------------------------------------------===//

#ifndef NORM_LIB_FUZZ_EXECUTION_H
#define NORM_LIB_FUZZ_EXECUTION_H

#include "norm/Compiler/Compiler.h"
#include "norm/Fuzz/Oracles.h"
#include "norm/Support/TuningFile.h"

namespace norm::fuzz {

/// Puts the backward in the place of the function, with the same data and
/// layouts for what it has of the function's values. False, with nothing
/// changed, where an op on the way has no derivative; an error where the
/// function isn't taken for another reason.
llvm::Expected<bool> takeBackward(Compiler &compiler, Execution &execution);

/// The text with what `norm-rewrite-welford` makes of its means: deviations
/// from them are nearer to the true ones. The text itself if it can't be had.
std::string rewriteMeans(llvm::StringRef text);

/// Without `Execution::steps`.
CompileOptions optionsFor(const Execution &execution, const Device &device);

/// The schedules of `Execution::steps`. `artifact` is what `optionsFor` gives.
TuningFile drawSchedules(const Execution &execution, const Device &device,
                         const Artifact &artifact);

} // namespace norm::fuzz

#endif // NORM_LIB_FUZZ_EXECUTION_H
