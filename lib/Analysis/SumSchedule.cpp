//===- SumSchedule.cpp - Schedules of kernels that sum rows ---------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SumSchedule.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace norm;

/// Columns of a thread: more need more registers, and fewer share what a row
/// costs besides its columns.
static constexpr int64_t columnsPerThread = 16;
/// The widest group of threads that has one row.
static constexpr int64_t mostThreads = 512;

int64_t norm::strandsFor(int64_t columns) {
  int64_t width = llvm::PowerOf2Ceil(std::max<int64_t>(columns, 1));
  return std::clamp<int64_t>(4096 / width, 1, 32);
}

static int64_t stepsOf(const Schedule &s, const ProgramFacts &facts) {
  return llvm::divideCeil(std::max<int64_t>(facts.columns, 1),
                          facts.leaf * s.threads);
}

/// Columns that the threads of a CTA have places for, those of all strands.
static int64_t placesOf(const Schedule &s, const ProgramFacts &facts) {
  return stepsOf(s, facts) * facts.leaf * s.threads * s.rowsPerCta;
}

/// Bytes of shared memory: of the rows on their way, whose place the strands'
/// sums take at the end, one after the other.
static int64_t sharedBytes(const Schedule &s, const ProgramFacts &facts) {
  constexpr int64_t widestSum = 8;
  int64_t rows = s.stages * placesOf(s, facts) * facts.inputBytes;
  int64_t sums = s.rowsPerCta > 1 ? placesOf(s, facts) / 2 * widestSum : 0;
  return std::max(rows, sums);
}

Schedule norm::chooseSumSchedule(const ProgramFacts &facts,
                                 const TargetLimits &limits) {
  Schedule schedule;
  int64_t leaves =
      llvm::divideCeil(std::max<int64_t>(facts.columns, 1), facts.leaf);
  int64_t wanted = llvm::PowerOf2Ceil(
      llvm::divideCeil(std::max<int64_t>(facts.columns, 1), columnsPerThread));
  int64_t most = std::min({static_cast<int64_t>(llvm::PowerOf2Ceil(leaves)),
                           facts.lanes, mostThreads});
  schedule.threads =
      std::clamp<int64_t>(wanted, std::min<int64_t>(8, most), most);
  schedule.rowsPerCta = facts.strands;
  schedule.prefetch = false;
  schedule.pdl = false;
  int64_t block = schedule.threads * schedule.rowsPerCta;
  schedule.maxRegisters = block <= 512 ? 128 : 64;
  // What has to be on its way to an SM for memory to be busy is some 40 KB; a
  // stage is being worked on, and CTAs of 256 threads are two to an SM.
  int64_t budget = block <= 256 ? 64 << 10 : 160 << 10;
  budget = std::min(budget, limits.sharedPerCta);
  int64_t stage = placesOf(schedule, facts) * facts.inputBytes;
  schedule.stages = std::min<int64_t>(8, budget / std::max<int64_t>(stage, 1));
  if (schedule.stages < 2)
    schedule.stages = 0;
  return schedule;
}

llvm::Error norm::checkSumSchedule(const Schedule &s, const ProgramFacts &facts,
                                   const TargetLimits &limits,
                                   llvm::StringRef target) {
  auto error = [](const char *format, auto &&...args) {
    return llvm::createStringError(llvm::formatv(format, args...).str());
  };
  if (facts.columns < 0 || facts.columns > maxSummedColumns)
    return error("expects at most {0} static columns whose rows are summed but "
                 "got {1}",
                 maxSummedColumns,
                 facts.columns < 0 ? std::string("a dynamic number")
                                   : std::to_string(facts.columns));
  if (limits.isHost)
    return llvm::Error::success();
  if (s.rowsPerCta != facts.strands)
    return error("expects 'rows_per_cta' to be {0}, the strands of a worker "
                 "that sums rows, but got {1}",
                 facts.strands, s.rowsPerCta);
  if (s.residency != Residency::Registers)
    return error("expects residency registers where rows are summed but got "
                 "{0}",
                 toString(s.residency));
  if (int64_t bytes = sharedBytes(s, facts); bytes > limits.sharedPerCta)
    return error("schedule needs {0} bytes of shared memory per CTA but {1} "
                 "allows {2}",
                 bytes, target, limits.sharedPerCta);
  return llvm::Error::success();
}
