//===- Baseline.h - Times of somebody else's kernels ------------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_BENCH_BASELINE_H
#define NORM_BENCH_BASELINE_H

#include "norm/Bench/Results.h"

namespace norm::bench {

/// One time of a baseline. Fields that the file leaves out fit any cell, and
/// rows may differ by one in a thousand.
struct BaselineTime {
  std::string name;
  std::string op;
  DType dtype = DType::BF16;
  int64_t rows = 0, columns = 0;
  std::optional<std::string> suite, variant;
  Summary microseconds;

  bool fits(const Cell &cell) const;
};

/// Reads times, in the form that docs/Benchmarking.md describes; a report that
/// norm-bench wrote is in this form as well. Entries of ops or dtypes that
/// aren't known, and those with a status other than `ok`, are left out. An
/// error for text that isn't JSON, and one that names the entry and the field
/// for an entry without its fields.
llvm::Expected<std::vector<BaselineTime>>
parseBaseline(llvm::StringRef text, llvm::StringRef fileName);

/// Adds what fits a result to its peers.
void addBaseline(llvm::ArrayRef<BaselineTime> baseline, Result &result);

} // namespace norm::bench

#endif // NORM_BENCH_BASELINE_H
