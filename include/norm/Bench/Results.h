//===- Results.h - What was measured ----------------------------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_BENCH_RESULTS_H
#define NORM_BENCH_RESULTS_H

#include "norm/Analysis/ScheduleChoice.h"
#include "norm/Bench/ByteModel.h"
#include "norm/Bench/Cells.h"
#include "norm/Bench/Statistics.h"
#include "norm/Runtime/Device.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <map>

namespace norm::bench {

/// Somebody else's time for a cell.
struct Peer {
  std::string name;
  Summary microseconds;
  /// Empty, or why there is no time.
  std::string problem;
};

/// What is known of a cell.
struct Result {
  enum class Status {
    Ok,
    Wrong,   ///< a result isn't the reference's; nothing was timed
    Failed,  ///< it couldn't be compiled or run
    Skipped, ///< the device or the compiler doesn't have what it takes
  };

  Cell cell;
  Status status = Status::Ok;
  std::string message; ///< of another status than Ok
  Traffic traffic;
  /// A call: of decode, one norm of a chain, or what a norm adds between two
  /// products. Of compile, what stands in `stages` together.
  Summary microseconds;
  /// The copy of the same mix and size, and its share: the copy's time for a
  /// byte in that of the call, by rounds.
  std::optional<Summary> ceiling;
  uint64_t ceilingBytes = 0;
  std::string ceilingShape;
  Summary share;
  /// The largest error in units of the last place, over the rows looked at.
  double ulps = 0;
  int64_t checkedRows = 0;
  std::string schedule;
  ScheduleSource scheduleSource = ScheduleSource::Model;
  unsigned kernels = 0;
  /// Arithmetic operations of the call; 0 if not known.
  double operations = 0;
  /// Parts of the time, in milliseconds (compile).
  std::vector<std::pair<std::string, Summary>> stages;
  std::vector<Peer> peers;

  /// 10^9 bytes of the least traffic a second, at the median.
  double gigabytesPerSecond() const;
  double ceilingGigabytesPerSecond() const;
  /// Whether the share of the copy means something: of calls that move bytes.
  bool hasShare() const { return ceiling.has_value() && share.count > 0; }
};

/// `ok`, `wrong`, `failed` or `skipped`.
llvm::StringRef toString(Result::Status status);

/// The clocks, or why they aren't known.
struct ClockReading {
  std::optional<DeviceClocks> clocks;
  std::string problem;
};

/// Reads them.
ClockReading readClocks(const Device &device);

/// One run of the tool.
struct Report {
  std::string device; ///< `cuda:0`
  std::string description;
  std::string target;
  unsigned driver = 0;
  DeviceFacts facts;
  ClockReading before, after;
  unsigned repeats = 0;
  std::string schedule; ///< fields that were set
  std::vector<Result> results;

  /// Whether nothing is wrong or failed, no kernel compared with either.
  bool passed() const;
};

/// The share of the copy by suite, op and band.
struct BandSummary {
  std::string suite, op, band;
  unsigned cells = 0;
  double geometricMean = 0;
  double least = 0;
  int64_t leastColumns = 0;
};
std::vector<BandSummary> summarizeBands(const Report &report);

/// Why cells were skipped, and how many of them.
std::map<std::string, unsigned> summarizeSkipped(const Report &report);

/// For programs; docs/Benchmarking.md describes it.
llvm::json::Value toJSON(const Report &report);

/// One line on a result, without its id.
std::string describe(const Result &result);

/// The device, the results by suite, the summary by band.
void printReport(llvm::raw_ostream &os, const Report &report);

} // namespace norm::bench

#endif // NORM_BENCH_RESULTS_H
