//===- RingPlan.h - Rows in the shared memory of a cluster ------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_ANALYSIS_RINGPLAN_H
#define NORM_ANALYSIS_RINGPLAN_H

#include "norm/Analysis/TilePlan.h"

#include <optional>

namespace norm {

/// How a CTA of a cluster keeps its part of rows: the threads of a row are
/// spread over the CTAs in their order, so that a CTA has `threads / cluster`
/// neighbouring chunks of each step. A slot holds those of some steps, of all
/// streamed inputs; slots are filled and given back one after the other, rows
/// following each other without a gap.
///
/// A row needs all of its slots, since its last phase begins when the first one
/// has ended. What a ring has beyond is filled with the next row meanwhile. A
/// slot whose result is stored by a copy is filled again when that has been
/// read, which is waited for when `pending` more have been started.
struct RingPlan {
  int64_t slotSteps = 1; ///< steps of a slot, a power of two
  int64_t rowSlots = 1;  ///< slots that a row takes; the last may have less
  int64_t slots = 1;     ///< of the ring
  int64_t pending = 1;
  int64_t slotBytes = 0;

  int64_t ringBytes() const { return slots * slotBytes; }
};

/// Measured on an H200 for slices of 16 to 128 KB: 1.75 to 2.25 rows' slots of
/// 4 to 16 KB, or what there is room for.
/// `bytesPerColumn`: of all streamed inputs.
RingPlan planRing(const TilePlan &plan, int64_t bytesPerColumn);

/// Rows that a CTA may have been told of before it asks for them: more than the
/// first CTA of a cluster gets ahead of others, by the rows in its ring and two.
constexpr int64_t ringMails = 8;

/// Threads of a CTA that work on a row.
inline int64_t ringThreads(const Schedule &s) { return s.threads / s.cluster; }
/// Threads of a CTA: those, and a warp that starts the copies.
inline int64_t ringBlock(const Schedule &s) { return ringThreads(s) + 32; }

/// Bytes of dynamic shared memory: the ring, exchanges of states of
/// `stateBytes`, the rows of slots and to come, and mbarriers.
int64_t ringSharedBytes(const RingPlan &ring, const Schedule &schedule,
                        int64_t stateBytes);

/// The schedule of rows that registers can't hold, or hold badly, on a target
/// with clusters; nothing for others.
std::optional<Schedule> chooseRing(const ProgramFacts &facts,
                                   const TargetLimits &limits);

/// Why a schedule with a cluster can't run on a target.
llvm::Error checkRing(const Schedule &schedule, const ProgramFacts &facts,
                      const TargetLimits &limits, llvm::StringRef target);

} // namespace norm

#endif // NORM_ANALYSIS_RINGPLAN_H
