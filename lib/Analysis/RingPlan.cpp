//===- RingPlan.cpp - Rows in the shared memory of a cluster --------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Analysis/RingPlan.h"

#include "llvm/ADT/bit.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace norm;

RingPlan norm::planRing(const TilePlan &plan, int64_t bytesPerColumn) {
  constexpr int64_t kSlot = 4 << 10, kMostSteps = 8;
  /// A CTA may have 227 KB where there are such clusters; some is for what
  /// isn't a ring.
  constexpr int64_t kMostRing = 208 << 10;
  RingPlan ring;
  int64_t stepBytes = plan.stepSize() / plan.schedule.cluster * bytesPerColumn;
  int64_t steps = std::max<int64_t>(1, plan.steps());
  int64_t slice = steps * stepBytes;
  int64_t wanted = slice >= 8 * kSlot ? 2 * kSlot : kSlot;
  ring.slotSteps = std::clamp<int64_t>(
      llvm::bit_floor<uint64_t>(
          std::max<int64_t>(1, wanted / std::max<int64_t>(1, stepBytes))),
      1, std::min(kMostSteps, int64_t(llvm::bit_floor<uint64_t>(steps))));
  ring.rowSlots = llvm::divideCeil(steps, ring.slotSteps);
  ring.slotBytes = ring.slotSteps * stepBytes;
  ring.pending = ring.slotBytes >= 2 * kSlot ? 1 : 2;
  int64_t least = ring.rowSlots + ring.pending + 1;
  int64_t fitting = kMostRing / std::max<int64_t>(1, ring.slotBytes);
  ring.slots = std::max(least, std::min(2 * ring.rowSlots, fitting));
  return ring;
}

int64_t norm::ringSharedBytes(const RingPlan &ring, const Schedule &schedule,
                              int64_t stateBytes) {
  // The states of a CTA's share of the lanes, and twice those of each CTA.
  int64_t states = (ringThreads(schedule) + 2 * schedule.cluster) * stateBytes;
  return ring.ringBytes() + llvm::alignTo(states, 16) +
         8 * (3 * ring.slots + 2 + 2 * ringMails);
}

//===----------------------------------------------------------------------===//
// Schedules
//===----------------------------------------------------------------------===//

static TilePlan planOf(const Schedule &schedule, const ProgramFacts &facts) {
  TilePlan plan;
  plan.columns = facts.columns;
  plan.leaf = facts.leaf;
  plan.lanes = facts.lanes;
  plan.schedule = schedule;
  return plan;
}

static int64_t sharedBytes(const Schedule &schedule,
                           const ProgramFacts &facts) {
  return ringSharedBytes(planRing(planOf(schedule, facts), facts.inputBytes),
                         schedule, facts.stateBytes);
}

/// Registers that a thread can have beside those of `ctas` CTAs on an SM, whose
/// warps are spread over four parts of it.
static int64_t registersBeside(int64_t ctas, int64_t block) {
  constexpr int64_t parts = 4, registersPerPart = 16384;
  int64_t warps = llvm::divideCeil(ctas * block / 32, parts);
  return std::min<int64_t>(255, registersPerPart / (warps * 32) / 8 * 8);
}

std::optional<Schedule> norm::chooseRing(const ProgramFacts &facts,
                                         const TargetLimits &limits) {
  constexpr int64_t KiB = 1024;
  if (limits.isHost || limits.mostClusterCtas < 8 || facts.phases < 2 ||
      facts.columns <= 0)
    return std::nullopt;
  // Several sums or walks take registers that would hold the row. Measured on
  // an H200.
  bool isHeavy = facts.phases > 2 || facts.stateBytes >= 8;
  int64_t streamBytes = facts.columns * (16 / facts.leaf);
  if (streamBytes <= (isHeavy ? 64 : 128) * KiB)
    return std::nullopt;
  Schedule schedule;
  schedule.threads = facts.lanes;
  schedule.residency = Residency::Stream;
  schedule.prefetch = false;
  // Twice the slice of a CTA is a half of what an SM has, at most. Longer rows
  // leave an SM too few threads.
  constexpr int64_t mostSlice = 32 * KiB;
  int64_t rowBytes = facts.columns * facts.inputBytes;
  schedule.cluster = rowBytes <= 8 * mostSlice ? 8 : 16;
  if (rowBytes > schedule.cluster * mostSlice ||
      schedule.cluster > limits.mostClusterCtas)
    return std::nullopt;
  constexpr int64_t sharedPerSM = 228 * KiB, system = KiB, mostCtas = 4;
  int64_t ctas = std::clamp<int64_t>(
      sharedPerSM / (sharedBytes(schedule, facts) + system), 1, mostCtas);
  // Of slices this long, what the last phase needs for all rows fits into
  // registers only without a cap: 96% against 76% at 262144 columns.
  bool isLong = !isHeavy && rowBytes > 16 * KiB * schedule.cluster;
  int64_t registers =
      isLong ? 255 : registersBeside(ctas, ringBlock(schedule));
  schedule.maxRegisters = registers < 255 ? registers : 0;
  if (llvm::Error error = checkRing(schedule, facts, limits, "")) {
    llvm::consumeError(std::move(error));
    return std::nullopt;
  }
  return schedule;
}

template <typename... Ts>
static llvm::Error makeError(const char *format, Ts &&...args) {
  return llvm::createStringError(
      llvm::formatv(format, std::forward<Ts>(args)...).str());
}

llvm::Error norm::checkRing(const Schedule &s, const ProgramFacts &facts,
                            const TargetLimits &limits,
                            llvm::StringRef target) {
  if (s.cluster < 2 || s.cluster > 16 || !llvm::isPowerOf2_64(s.cluster))
    return makeError("expects 'cluster' to be a power of two from 1 to 16 but "
                     "got {0}",
                     s.cluster);
  if (limits.isHost || facts.inner || facts.strands)
    return makeError("expects 'cluster' to be 1 {0} but got {1}",
                     limits.isHost ? "on the host"
                     : facts.inner ? "across memory"
                                   : "where rows are summed",
                     s.cluster);
  if (s.cluster > limits.mostClusterCtas)
    return makeError("schedule needs clusters of {0} CTAs but {1} allows {2}",
                     s.cluster, target, limits.mostClusterCtas);
  if (facts.columns <= 0 || facts.columns % facts.leaf != 0)
    return makeError("expects whole leaves of {0} static columns for a cluster "
                     "but got {1} columns",
                     facts.leaf,
                     facts.columns < 0 ? "dynamic"
                                       : std::to_string(facts.columns));
  if (s.threads != facts.lanes || s.vector != 1 || s.rowsPerCta != 1)
    return makeError("expects a thread for each of the {0} lanes of one row in "
                     "a cluster but got {1} threads, 'vector' {2} and "
                     "'rows_per_cta' {3}",
                     facts.lanes, s.threads, s.vector, s.rowsPerCta);
  int64_t threads = ringThreads(s);
  if (threads < 32 || threads < s.cluster || ringBlock(s) > 1024)
    return makeError("expects from 32 to 992 threads of a row in each CTA of a "
                     "cluster but got {0}",
                     threads);
  if (s.residency != Residency::Stream)
    return makeError("expects residency stream in a cluster, where what is "
                     "read again is in shared memory, but got {0}",
                     toString(s.residency));
  if (s.maxRegisters * ringBlock(s) > limits.registersPerCta)
    return makeError("schedule needs up to {0} registers for each of {1} "
                     "threads but {2} allows {3} per CTA",
                     s.maxRegisters, ringBlock(s), target,
                     limits.registersPerCta);
  if (int64_t bytes = sharedBytes(s, facts); bytes > limits.sharedPerCta)
    return makeError("schedule needs {0} bytes of shared memory per CTA but "
                     "{1} allows {2}",
                     bytes, target, limits.sharedPerCta);
  return llvm::Error::success();
}
