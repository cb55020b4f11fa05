//===- NormRunReport.h - The report of a run --------------------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_TOOLS_NORMRUNREPORT_H
#define NORM_TOOLS_NORMRUNREPORT_H

#include "norm/Runtime/Device.h"
#include "llvm/Support/raw_ostream.h"

namespace norm::tools {

/// What is known of one kernel after a run.
struct KernelReport {
  std::string program;
  std::string shape; ///< rows x columns, and the element type
  std::string schedule;
  uint64_t bytes = 0;
  std::optional<Timing> timing;
  std::optional<double> ulps; ///< the largest error of what it wrote
};

/// Prints the kernels as one table; the columns that nothing is known for are
/// left out. `copy`, if measured, is what a kernel's rate is compared with.
void printTable(llvm::raw_ostream &os, llvm::ArrayRef<KernelReport> kernels,
                const std::optional<CopyRate> &copy);

/// `12.6 MB` (powers of ten).
std::string printBytes(uint64_t bytes);

/// `0.253 ms` or `3.1 us`.
std::string printDuration(double milliseconds);

/// `0.502 ulp`.
std::string printUlps(double ulps);

} // namespace norm::tools

#endif // NORM_TOOLS_NORMRUNREPORT_H
