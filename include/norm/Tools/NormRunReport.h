//===- NormRunReport.h - The report of a run --------------------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_TOOLS_NORMRUNREPORT_H
#define NORM_TOOLS_NORMRUNREPORT_H

#include "norm/Runtime/Device.h"
#include "norm/Tools/NormRunCheck.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace norm::tools {

/// What is known of one kernel after a run.
struct KernelReport {
  std::string program;
  std::string order;
  std::string schedule;
  std::string symbol; ///< of the launched variant; empty if none was
  DType dtype = DType::F32;
  int64_t rows = 0;
  int64_t columns = 0;
  uint64_t grid = 0; ///< CTAs, of a kernel that isn't one over rows; else 0
  uint64_t bytes = 0;
  std::optional<Timing> timing;
  std::optional<double> ulps; ///< the largest error of what it wrote
  /// What a device that counts them tells of the bytes moved, by buffer.
  std::vector<std::pair<std::string, BufferTraffic>> traffic;
};

/// One comparison of a result.
struct CheckReport {
  std::string kind; ///< `reference`, `file` or `bits`
  unsigned result = 0;
  ResultCheck check;
};

/// All that a run tells.
struct RunReport {
  std::string device;      ///< `cuda:0`
  std::string description; ///< of the device
  std::string target;
  std::optional<CopyRate> copy;
  std::vector<KernelReport> kernels;
  std::vector<CheckReport> checks;

  bool passed() const;
};

/// Prints the device, the kernels' table, and a line per check that starts
/// with `ok` or `WRONG`.
void printReport(llvm::raw_ostream &os, const RunReport &report);

/// The same for programs; durations are in milliseconds, rates in 10^9 bytes
/// per second. What isn't known is left out, and a difference without a
/// finite size is null.
llvm::json::Value toJSON(const RunReport &report);

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
