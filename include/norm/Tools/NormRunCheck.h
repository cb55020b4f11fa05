//===- NormRunCheck.h - Comparisons of results ------------------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_TOOLS_NORMRUNCHECK_H
#define NORM_TOOLS_NORMRUNCHECK_H

#include "norm/Tools/NormRunData.h"

namespace norm::tools {

/// How one result compares with something.
struct ResultCheck {
  std::string line; ///< for the report, one line
  bool passed = true;
  double ulps = 0; ///< largest difference in units of the last place
};

/// Compares the results with the reference evaluator's, one check per result.
/// Of a large call (more than 2^22 elements) only 4 to 64 indices of the
/// leading dim are evaluated, the first and the last among them, where that dim
/// is dynamic, every result has it, and no kernel's row reaches across it; else
/// a call of more than 2^26 elements is an error. Results must also have been
/// written completely, and nothing beside them.
llvm::Expected<std::vector<ResultCheck>>
checkReference(llvm::StringRef text, llvm::StringRef fileName,
               llvm::StringRef entry, const Manifest &manifest,
               const CallData &data, llvm::ArrayRef<HostTensor> results);

/// Compares one result with a file.
llvm::Expected<ResultCheck> checkExpectation(const Expectation &expectation,
                                             const HostTensor &result,
                                             Workers &workers);

/// Compares two results of one type bit for bit; NaNs are equal whatever their
/// bits.
ResultCheck checkBits(const HostTensor &result, const HostTensor &other);

/// The index of a flat element, for messages: `[3, 17]`.
std::string printIndex(llvm::ArrayRef<int64_t> shape, int64_t flat);

} // namespace norm::tools

#endif // NORM_TOOLS_NORMRUNCHECK_H
