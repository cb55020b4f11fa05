//===- ScheduleChoiceTest.cpp - Schedules beside one ----------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Analysis/ScheduleChoice.h"
#include "norm/Support/Targets.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "gtest/gtest.h"

using namespace norm;

namespace {

TargetLimits limitsOf(llvm::StringRef target) {
  TargetLimits limits;
  limits.isHost = target == "host";
  if (const GPUTarget *gpu = findGPUTarget(target)) {
    limits.sharedPerCta = gpu->sharedPerCta;
    limits.mostClusterCtas = gpu->mostClusterCtas();
  }
  return limits;
}

ProgramFacts alongFacts(int64_t columns) {
  ProgramFacts facts;
  facts.columns = columns;
  facts.leaf = 8;
  facts.heldBytes = 2;
  facts.slotBytes = 2;
  facts.phases = 2;
  return facts;
}

ProgramFacts acrossFacts(int64_t columns, int64_t positions) {
  ProgramFacts facts;
  facts.columns = columns;
  facts.leaf = leafAcross;
  facts.lanes = lanesAcross;
  facts.inner = 1;
  facts.narrowest = 2;
  facts.run = 256;
  facts.positions = positions;
  facts.phases = 2;
  return facts;
}

std::vector<Schedule> neighbours(const Schedule &base,
                                 const ProgramFacts &facts,
                                 llvm::StringRef fixed = "",
                                 llvm::StringRef target = "sm_90") {
  llvm::Expected<std::vector<Schedule>> all =
      neighbouringSchedules(base, facts, limitsOf(target), target, fixed);
  EXPECT_TRUE(bool(all));
  if (all)
    return *all;
  llvm::consumeError(all.takeError());
  return {};
}

bool hasWith(llvm::ArrayRef<Schedule> all,
             llvm::function_ref<bool(const Schedule &)> isWanted) {
  return llvm::any_of(all, isWanted);
}

} // namespace

TEST(ScheduleChoice, NeighboursCanRunAndAreOthers) {
  for (llvm::StringRef target : {"sm_80", "sm_90", "sm_120"}) {
    std::vector<ProgramFacts> programs = {
        acrossFacts(2048, 256), acrossFacts(96, 100000), acrossFacts(-1, 256)};
    for (int64_t columns : {-1, 1, 64, 1000, 4096, 50257, 1 << 20})
      programs.push_back(alongFacts(columns));
    for (const ProgramFacts &facts : programs) {
      TargetLimits limits = limitsOf(target);
      Schedule base = chooseSchedule(facts, limits);
      llvm::StringSet<> seen;
      seen.insert(toString(base));
      std::vector<Schedule> all = neighbours(base, facts, "", target);
      EXPECT_FALSE(all.empty());
      for (const Schedule &schedule : all) {
        llvm::Error error = checkSchedule(schedule, facts, limits, target);
        EXPECT_FALSE(bool(error)) << toString(schedule);
        llvm::consumeError(std::move(error));
        EXPECT_TRUE(seen.insert(toString(schedule)).second)
            << toString(schedule);
        // What a file keeps is the schedule.
        Schedule again;
        ASSERT_FALSE(bool(overrideSchedule(again, toString(schedule))));
        EXPECT_EQ(toString(again), toString(schedule));
      }
    }
  }
}

TEST(ScheduleChoice, EachFieldIsTried) {
  ProgramFacts facts = alongFacts(4096);
  Schedule base = chooseSchedule(facts, limitsOf("sm_90"));
  std::vector<Schedule> all = neighbours(base, facts);
  EXPECT_TRUE(hasWith(
      all, [&](const Schedule &s) { return s.threads == 2 * base.threads; }));
  EXPECT_TRUE(hasWith(
      all, [&](const Schedule &s) { return s.threads == base.threads / 2; }));
  EXPECT_TRUE(hasWith(all, [&](const Schedule &s) {
    return s.threads == base.threads && s.rowsPerCta == 2 * base.rowsPerCta;
  }));
  for (Residency residency :
       {Residency::Registers, Residency::Shared, Residency::Stream})
    EXPECT_TRUE(residency == base.residency ||
                hasWith(all, [&](const Schedule &s) {
                  return s.residency == residency;
                }));
  EXPECT_TRUE(hasWith(
      all, [&](const Schedule &s) { return s.prefetch != base.prefetch; }));
  EXPECT_TRUE(hasWith(all, [&](const Schedule &s) {
    return s.maxRegisters != base.maxRegisters;
  }));
  EXPECT_TRUE(
      hasWith(all, [&](const Schedule &s) { return s.pdl != base.pdl; }));

  ProgramFacts across = acrossFacts(2048, 256);
  base = chooseSchedule(across, limitsOf("sm_90"));
  all = neighbours(base, across);
  EXPECT_TRUE(
      hasWith(all, [&](const Schedule &s) { return s.split != base.split; }));
  EXPECT_TRUE(
      hasWith(all, [&](const Schedule &s) { return s.vector != base.vector; }));
  EXPECT_TRUE(hasWith(
      all, [&](const Schedule &s) { return s.rowsPerCta != base.rowsPerCta; }));
}

TEST(ScheduleChoice, LongRowsAreTriedInClusters) {
  ProgramFacts facts = alongFacts(1 << 17);
  facts.rows = 4096;
  Schedule base = chooseSchedule(facts, limitsOf("sm_90"));
  EXPECT_TRUE(hasWith(neighbours(base, facts), [&](const Schedule &s) {
    return s.cluster != base.cluster;
  }));
  // Where there are none.
  base = chooseSchedule(facts, limitsOf("sm_80"));
  EXPECT_FALSE(hasWith(neighbours(base, facts, "", "sm_80"),
                       [&](const Schedule &s) { return s.cluster > 1; }));
}

TEST(ScheduleChoice, SumsOfRowsAreTriedWithOtherStages) {
  ProgramFacts facts = alongFacts(4096);
  facts.strands = strandsFor(4096);
  facts.sumBytes = 4;
  Schedule base = chooseSchedule(facts, limitsOf("sm_90"));
  std::vector<Schedule> all = neighbours(base, facts);
  EXPECT_TRUE(
      hasWith(all, [&](const Schedule &s) { return s.stages != base.stages; }));
  for (const Schedule &schedule : all)
    EXPECT_EQ(schedule.rowsPerCta, facts.strands);
}

TEST(ScheduleChoice, FixedFieldsStay) {
  ProgramFacts facts = alongFacts(4096);
  Schedule base;
  ASSERT_FALSE(bool(overrideSchedule(base, "threads=256,residency=stream")));
  std::vector<Schedule> all =
      neighbours(base, facts, "threads=256,residency=stream");
  EXPECT_FALSE(all.empty());
  for (const Schedule &schedule : all) {
    EXPECT_EQ(schedule.threads, 256);
    EXPECT_EQ(schedule.residency, Residency::Stream);
  }
  llvm::Expected<std::vector<Schedule>> wrong =
      neighbouringSchedules(base, facts, limitsOf("sm_90"), "sm_90", "speed=9");
  ASSERT_FALSE(bool(wrong));
  EXPECT_TRUE(llvm::StringRef(llvm::toString(wrong.takeError()))
                  .contains("but got 'speed'"));
}

TEST(ScheduleChoice, TheHostHasNone) {
  ProgramFacts facts = alongFacts(4096);
  EXPECT_TRUE(
      neighbours(chooseSchedule(facts, limitsOf("host")), facts, "", "host")
          .empty());
}
