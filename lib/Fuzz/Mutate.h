//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Mutations of MLIR text, as tokens and lines.
//
//===----------------------------------------------------------------------===//

#ifndef NORM_LIB_FUZZ_MUTATE_H
#define NORM_LIB_FUZZ_MUTATE_H

#include "norm/Fuzz/Chooser.h"
#include <string>
#include <vector>

namespace norm::fuzz {

/// The modules of all .mlir files below a folder, sorted by path; a file's
/// parts between `// -----` lines are modules of their own. Comments are
/// dropped.
std::vector<std::string> loadCorpus(const std::string &folder);

/// A text with one to five changes, some of them taken from another text.
std::string mutate(Chooser &choose, const std::vector<std::string> &corpus);

} // namespace norm::fuzz

#endif // NORM_LIB_FUZZ_MUTATE_H
