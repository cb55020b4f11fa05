//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Makes a failing case small.
//
//===----------------------------------------------------------------------===//

#ifndef NORM_FUZZ_SHRINK_H
#define NORM_FUZZ_SHRINK_H

#include "norm/Fuzz/Oracles.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace norm::fuzz {

/// Runs a case so that a crash is an outcome.
using Evaluate = llvm::function_ref<Outcome(const Case &)>;

/// The smallest case found within `seconds` that fails as `failure` does, of
/// which `failure` becomes the outcome.
Case shrink(Case failing, Outcome &failure, Evaluate evaluate, double seconds);

/// Writes `NAME.mlir` and its data for the first run (and, for a variant,
/// `NAME-variant.mlir`) into a folder, and a script with the norm-run commands
/// that show the failure. Gives the script's path.
llvm::Expected<std::string> writeCase(const Case &failing,
                                      const Outcome &failure,
                                      llvm::StringRef folder,
                                      llvm::StringRef name);

} // namespace norm::fuzz

#endif // NORM_FUZZ_SHRINK_H
