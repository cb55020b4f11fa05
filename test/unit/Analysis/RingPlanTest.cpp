//===- RingPlanTest.cpp - Rows in the shared memory of a cluster ----------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Analysis/RingPlan.h"
#include "norm/Support/Targets.h"

#include "gtest/gtest.h"

using namespace norm;

namespace {
TargetLimits limitsOf(llvm::StringRef name) {
  const GPUTarget *target = findGPUTarget(name);
  TargetLimits limits;
  limits.isHost = !target;
  limits.sharedPerCta = target ? target->sharedPerCta : 0;
  limits.mostClusterCtas = target ? target->mostClusterCtas() : 1;
  return limits;
}

/// A program of 2-byte elements: `inputs` streams and one exchange, or two.
ProgramFacts factsOf(int64_t columns, int64_t inputs = 1, int64_t phases = 2) {
  ProgramFacts facts;
  facts.columns = columns;
  facts.leaf = 8;
  facts.inputBytes = 2 * inputs;
  facts.columnBytes = 2 * inputs + 2;
  facts.heldBytes = 2;
  facts.stateBytes = 4 * (phases - 1);
  facts.phases = phases;
  return facts;
}

TilePlan planOf(int64_t columns, int64_t cluster) {
  TilePlan plan;
  plan.columns = columns;
  plan.leaf = 8;
  plan.schedule.threads = 1024;
  plan.schedule.cluster = cluster;
  return plan;
}

std::string check(llvm::StringRef text, const ProgramFacts &facts,
                  llvm::StringRef target) {
  Schedule schedule;
  if (llvm::Error error = overrideSchedule(schedule, text))
    return llvm::toString(std::move(error));
  llvm::Error error = checkSchedule(schedule, facts, limitsOf(target), target);
  return error ? llvm::toString(std::move(error)) : std::string();
}
} // namespace

TEST(RingPlan, HoldsARowAndMore) {
  for (int64_t cluster : {2, 4, 8, 16})
    for (int64_t columns = 8; columns <= 1 << 20; columns = columns * 3 / 2 + 8)
      for (int64_t bytes : {1, 2, 4, 8, 24}) {
        TilePlan plan = planOf(columns / 8 * 8, cluster);
        RingPlan ring = planRing(plan, bytes);
        EXPECT_GE(ring.rowSlots * ring.slotSteps, plan.steps());
        EXPECT_LT((ring.rowSlots - 1) * ring.slotSteps, plan.steps());
        // Else the copies of a row would wait for that row.
        EXPECT_GT(ring.slots, ring.rowSlots + ring.pending);
        EXPECT_EQ(ring.slotBytes, ring.slotSteps * 1024 / cluster * 8 * bytes);
        EXPECT_EQ(ring.slotBytes % 16, 0);
      }
}

TEST(RingPlan, HasTwoRowsWhereThereIsRoom) {
  // 32 KB of a row of 256 KB, in slots of 8 KB.
  RingPlan ring = planRing(planOf(131072, 8), 2);
  EXPECT_EQ(ring.slotSteps, 4);
  EXPECT_EQ(ring.rowSlots, 4);
  EXPECT_EQ(ring.slots, 8);
  EXPECT_EQ(ring.slotBytes, 8 << 10);
  // 128 KB of one of 2 MB.
  ring = planRing(planOf(1 << 20, 16), 2);
  EXPECT_EQ(ring.rowSlots, 16);
  EXPECT_EQ(ring.slots, 26);
  Schedule schedule = planOf(1 << 20, 16).schedule;
  EXPECT_LE(ringSharedBytes(ring, schedule, 4), limitsOf("sm_90").sharedPerCta);
}

TEST(RingPlan, IsChosenWhereRegistersEnd) {
  auto cluster = [](const ProgramFacts &facts, llvm::StringRef target) {
    return chooseSchedule(facts, limitsOf(target)).cluster;
  };
  EXPECT_EQ(cluster(factsOf(65536), "sm_90"), 1);
  EXPECT_EQ(cluster(factsOf(65544), "sm_90"), 8);
  EXPECT_EQ(cluster(factsOf(131072), "sm_90"), 8);
  EXPECT_EQ(cluster(factsOf(262144), "sm_90"), 16);
  EXPECT_EQ(cluster(factsOf(524288), "sm_90"), 1);
  // Several walks, several streams.
  EXPECT_EQ(cluster(factsOf(32768, 1, 3), "sm_90"), 1);
  EXPECT_EQ(cluster(factsOf(40960, 1, 3), "sm_90"), 8);
  EXPECT_EQ(cluster(factsOf(131072, 2), "sm_90"), 16);
  EXPECT_EQ(cluster(factsOf(262144, 2), "sm_90"), 1);
  // Odd rows, dynamic ones, others than long ones that are read once.
  EXPECT_EQ(cluster(factsOf(131071), "sm_90"), 1);
  EXPECT_EQ(cluster(factsOf(-1), "sm_90"), 1);
  EXPECT_EQ(cluster(factsOf(131072, 1, 1), "sm_90"), 1);
  EXPECT_EQ(cluster(factsOf(131072), "sm_80"), 1);
  EXPECT_EQ(cluster(factsOf(131072), "host"), 1);
  EXPECT_EQ(cluster(factsOf(131072), "sm_120"), 8);
  EXPECT_EQ(cluster(factsOf(262144), "sm_120"), 1);
}

TEST(RingPlan, WhatIsChosenIsAllowed) {
  for (const GPUTarget &target : gpuTargets())
    for (int64_t columns = 4096; columns <= 1 << 20; columns += 4096)
      for (int64_t inputs : {1, 2, 3})
        for (int64_t phases : {2, 3}) {
          ProgramFacts facts = factsOf(columns, inputs, phases);
          Schedule schedule = chooseSchedule(facts, limitsOf(target.name));
          llvm::Error error = checkSchedule(schedule, facts,
                                            limitsOf(target.name), target.name);
          EXPECT_FALSE(bool(error)) << llvm::toString(std::move(error));
        }
}

TEST(RingPlan, TextSetsWhatGoesWithACluster) {
  Schedule schedule;
  schedule.threads = 256;
  schedule.rowsPerCta = 4;
  schedule.maxRegisters = 128;
  ASSERT_FALSE(bool(overrideSchedule(schedule, "cluster=4")));
  EXPECT_EQ(schedule.threads, 1024);
  EXPECT_EQ(schedule.rowsPerCta, 1);
  EXPECT_EQ(schedule.residency, Residency::Stream);
  EXPECT_EQ(schedule.maxRegisters, 0);
  Schedule again;
  ASSERT_FALSE(bool(overrideSchedule(again, toString(schedule))));
  EXPECT_EQ(toString(again), toString(schedule));
  EXPECT_EQ(again.cluster, 4);
}

TEST(RingPlan, NamesWhatATargetLacks) {
  ProgramFacts facts = factsOf(131072);
  EXPECT_EQ(check("cluster=8", facts, "sm_90"), "");
  EXPECT_EQ(check("cluster=8", facts, "sm_80"),
            "schedule needs clusters of 8 CTAs but sm_80 allows 1");
  EXPECT_EQ(check("cluster=16", facts, "sm_121"),
            "schedule needs clusters of 16 CTAs but sm_121 allows 8");
  EXPECT_EQ(check("cluster=8", facts, "host"),
            "expects 'cluster' to be 1 on the host but got 8");
  EXPECT_EQ(check("cluster=5", facts, "sm_90"),
            "expects 'cluster' to be a power of two from 1 to 16 but got 5");
  EXPECT_EQ(check("cluster=8,residency=shared", facts, "sm_90"),
            "expects residency stream in a cluster, where what is read again "
            "is in shared memory, but got shared");
  EXPECT_EQ(check("cluster=8", factsOf(131071), "sm_90"),
            "expects whole leaves of 8 static columns for a cluster but got "
            "131071 columns");
  EXPECT_EQ(check("cluster=8", factsOf(-1), "sm_90"),
            "expects whole leaves of 8 static columns for a cluster but got "
            "dynamic columns");
  EXPECT_EQ(check("cluster=2", factsOf(131072, 3), "sm_90"),
            "schedule needs 445008 bytes of shared memory per CTA but sm_90 "
            "allows 232448");
  EXPECT_EQ(check("cluster=8,max_registers=255", facts, "sm_90"), "");
  EXPECT_EQ(check("cluster=2,max_registers=128", facts, "sm_90"),
            "schedule needs up to 128 registers for each of 544 threads but "
            "sm_90 allows 65536 per CTA");
}
