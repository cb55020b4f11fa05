//===- SumScheduleTest.cpp - Schedules of kernels that sum rows -----------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Analysis/TilePlan.h"
#include "norm/Support/Targets.h"

#include "gtest/gtest.h"

using namespace norm;

namespace {
/// Layer norm backward: x and the cotangent are read, two sums are kept.
ProgramFacts factsOf(int64_t columns, int64_t bytes = 2) {
  ProgramFacts facts;
  facts.columns = columns;
  facts.leaf = leafFor(bytes);
  facts.inputBytes = facts.heldBytes = facts.slotBytes = 2 * bytes;
  facts.columnBytes = 3 * bytes;
  facts.stateBytes = 8;
  facts.phases = 2;
  facts.strands = strandsFor(columns);
  facts.sumBytes = 8;
  return facts;
}

TargetLimits limitsOf(llvm::StringRef name) {
  const GPUTarget *target = findGPUTarget(name);
  TargetLimits limits;
  limits.isHost = !target;
  limits.sharedPerCta = target ? target->sharedPerCta : 0;
  return limits;
}

std::string check(llvm::StringRef text, const ProgramFacts &facts,
                  llvm::StringRef target) {
  Schedule schedule = chooseSchedule(facts, limitsOf(target));
  llvm::Error error = overrideSchedule(schedule, text);
  if (!error)
    error = checkSchedule(schedule, facts, limitsOf(target), target);
  return llvm::toString(std::move(error));
}
} // namespace

TEST(SumSchedule, WorkersAndStrandsFollowFromTheColumns) {
  EXPECT_EQ(workersFor(1), 264);
  EXPECT_EQ(workersFor(4096), 264);
  EXPECT_EQ(workersFor(4097), 132);
  EXPECT_EQ(strandsFor(1), 32);
  EXPECT_EQ(strandsFor(128), 32);
  EXPECT_EQ(strandsFor(129), 16);
  EXPECT_EQ(strandsFor(1000), 4);
  EXPECT_EQ(strandsFor(2049), 1);
  EXPECT_EQ(strandsFor(16384), 1);
}

TEST(SumSchedule, WhatIsChosenIsAllowed) {
  for (llvm::StringRef target : {"sm_80", "sm_86", "sm_90", "sm_120", "host"})
    for (int64_t bytes : {1, 2, 4, 8})
      for (int64_t columns = 1; columns <= maxSummedColumns;
           columns = columns * 5 / 4 + 1)
        EXPECT_EQ(check("", factsOf(columns, bytes), target), "")
            << target.str() << ", " << columns << " columns of " << bytes;
}

TEST(SumSchedule, CopiesAheadWhatFits) {
  TargetLimits limits = limitsOf("sm_90");
  // 16 KB of each row; two CTAs share an SM.
  Schedule schedule = chooseSchedule(factsOf(4096), limits);
  EXPECT_EQ(schedule.threads, 256);
  EXPECT_EQ(schedule.rowsPerCta, 1);
  EXPECT_EQ(schedule.stages, 4);
  schedule = chooseSchedule(factsOf(64), limits);
  EXPECT_EQ(schedule.threads, 8);
  EXPECT_EQ(schedule.rowsPerCta, 32);
  EXPECT_EQ(schedule.stages, 8);
  // No two rows fit.
  schedule = chooseSchedule(factsOf(16384, 4), limitsOf("sm_86"));
  EXPECT_EQ(schedule.stages, 0);
}

TEST(SumSchedule, NamesWhatIsNotAllowed) {
  EXPECT_EQ(check("rows_per_cta=8", factsOf(1024), "sm_90"),
            "expects 'rows_per_cta' to be 4, the strands of a worker that sums "
            "rows, but got 8");
  EXPECT_EQ(check("residency=stream", factsOf(1024), "sm_90"),
            "expects residency registers where rows are summed but got stream");
  EXPECT_EQ(check("stages=16", factsOf(8192), "sm_90"),
            "schedule needs 524288 bytes of shared memory per CTA but sm_90 "
            "allows 232448");
  ProgramFacts wide = factsOf(16385);
  EXPECT_EQ(check("", wide, "sm_90"),
            "expects at most 16384 static columns whose rows are summed but "
            "got 16385");
  ProgramFacts plain = factsOf(1024);
  plain.strands = 0;
  EXPECT_EQ(check("stages=2", plain, "sm_90"),
            "expects 'stages' only where a kernel of a GPU sums rows but got "
            "2");
}
