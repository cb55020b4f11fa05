//===- AcrossTest.cpp - Slices and schedules across memory ----------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Analysis/TilePlan.h"
#include "norm/Support/Targets.h"

#include "llvm/ADT/bit.h"
#include "gtest/gtest.h"

using namespace norm;

namespace {

TargetLimits limitsOf(llvm::StringRef target) {
  TargetLimits limits;
  const GPUTarget *gpu = findGPUTarget(target);
  limits.isHost = !gpu;
  limits.sharedPerCta = gpu ? gpu->sharedPerCta : 0;
  return limits;
}

std::string check(const Schedule &schedule, const ProgramFacts &facts,
                  llvm::StringRef target = "sm_90") {
  llvm::Error error =
      checkSchedule(schedule, facts, limitsOf(target), target);
  return error ? llvm::toString(std::move(error)) : std::string();
}

/// Rows of 4096 columns that are all apart; 256 positions, neighbours in memory.
ProgramFacts factsAcross() {
  ProgramFacts facts;
  facts.columns = 4096;
  facts.leaf = leafAcross;
  facts.lanes = lanesAcross;
  facts.phases = 2;
  facts.inner = 1;
  facts.run = facts.positions = 256;
  return facts;
}

/// 4 lanes of 32 positions, streamed.
Schedule streamed() {
  Schedule schedule;
  schedule.threads = 4;
  schedule.rowsPerCta = 32;
  schedule.residency = Residency::Stream;
  return schedule;
}

TEST(Slices, Count) {
  EXPECT_EQ(countSlices(0), 1);
  EXPECT_EQ(countSlices(1), 1);
  EXPECT_EQ(countSlices(255), 1);
  EXPECT_EQ(countSlices(256), 2);
  EXPECT_EQ(countSlices(511), 2);
  EXPECT_EQ(countSlices(512), 4);
  EXPECT_EQ(countSlices(1000), 4);
  EXPECT_EQ(countSlices(columnsPerSlice * maxSlices - 1), maxSlices / 2);
  EXPECT_EQ(countSlices(columnsPerSlice * maxSlices), maxSlices);
  EXPECT_EQ(countSlices(maxColumns), maxSlices);
}

TEST(Slices, Size) {
  EXPECT_EQ(sliceSize(0), 4);
  EXPECT_EQ(sliceSize(1), 4);
  EXPECT_EQ(sliceSize(64), 64);
  EXPECT_EQ(sliceSize(65), 68);
  EXPECT_EQ(sliceSize(255), 256);
  EXPECT_EQ(sliceSize(256), 128);
  EXPECT_EQ(sliceSize(257), 132);
  EXPECT_EQ(sliceSize(maxColumns), maxColumns / maxSlices);
}

TEST(Slices, HoldAllColumnsInWholeLeaves) {
  for (int64_t walked = 0; walked <= 70000; ++walked) {
    int64_t count = countSlices(walked), size = sliceSize(walked);
    ASSERT_TRUE(llvm::has_single_bit(uint64_t(count))) << walked;
    ASSERT_LE(count, maxSlices);
    ASSERT_EQ(size % leafAcross, 0) << walked;
    ASSERT_GE(count * size, walked);
    // A leaf less per slice wouldn't do.
    ASSERT_LT(count * (size - leafAcross), std::max<int64_t>(walked, 1));
    ASSERT_EQ(isWholeAcross(walked),
              walked == count * size && size % (leafAcross * lanesAcross) == 0)
        << walked;
  }
  EXPECT_FALSE(isWholeAcross(64));
  EXPECT_TRUE(isWholeAcross(128));
  EXPECT_TRUE(isWholeAcross(4096));
  EXPECT_FALSE(isWholeAcross(4095));
}

TEST(ChooseAcross, IsAllowed) {
  int64_t chosen = 0, held = 0, shared = 0;
  for (int64_t inner : {1, 2, 3, 5, 8, 10, 40, 48})
    for (int64_t walked :
         {-1, 0, 1, 2, 3, 63, 64, 65, 127, 128, 129, 256, 1000, 4096, 65536})
      for (int64_t rows : {-1, 0, 1, 2, 7, 8, 9, 320, 4096})
        for (int64_t bytes : {1, 2, 4, 8})
          for (int64_t state : {4, 8, 12, 20, 40})
            for (llvm::StringRef target : {"sm_80", "sm_90", "sm_121", "host"}) {
              ProgramFacts facts = factsAcross();
              facts.inner = inner;
              facts.columns = walked < 0 ? -1 : walked * inner;
              facts.positions = rows < 0 ? -1 : rows * inner;
              facts.run = rows < 0 ? inner : rows * inner;
              facts.narrowest = facts.heldBytes = bytes;
              facts.stateBytes = state;
              Schedule schedule = chooseSchedule(facts, limitsOf(target));
              ASSERT_EQ(check(schedule, facts, target), "")
                  << target.str() << ", inner " << inner << ", walked "
                  << walked << ", rows " << rows << ", bytes " << bytes
                  << ", state " << state << ": " << toString(schedule);
              ++chosen;
              held += schedule.residency == Residency::Registers;
              shared += schedule.split != 1;
            }
  EXPECT_GT(held, chosen / 50);
  EXPECT_GT(shared, chosen / 50);
}

TEST(ChooseAcross, Host) {
  ProgramFacts facts = factsAcross();
  auto vectorOf = [&](int64_t inner, int64_t run) {
    facts.inner = inner;
    facts.run = run;
    Schedule schedule = chooseSchedule(facts, limitsOf("host"));
    EXPECT_EQ(schedule.rowsPerCta, schedule.vector);
    EXPECT_EQ(schedule.threads, 1);
    return schedule.vector;
  };
  EXPECT_EQ(vectorOf(1, 256), 16);
  EXPECT_EQ(vectorOf(1, 12), 4);
  EXPECT_EQ(vectorOf(1, 7), 1);
  EXPECT_EQ(vectorOf(10, 320), 10);
  EXPECT_EQ(vectorOf(3, 96), 12);
  EXPECT_EQ(vectorOf(40, 320), 40);
}

TEST(ChooseAcross, Fields) {
  ProgramFacts facts = factsAcross();
  TargetLimits limits = limitsOf("sm_90");
  Schedule schedule = chooseSchedule(facts, limits);
  // 16 bytes at once of what is narrowest.
  EXPECT_EQ(schedule.vector, 4);
  facts.narrowest = 2;
  EXPECT_EQ(chooseSchedule(facts, limits).vector, 8);
  facts.run = 12;
  EXPECT_EQ(chooseSchedule(facts, limits).vector, 4);
  facts.run = 1;
  EXPECT_EQ(chooseSchedule(facts, limits).vector, 1);
  // How many share a row is chosen at launch where the row's length is known
  // then; one slice is nobody's to share.
  facts.columns = -1;
  schedule = chooseSchedule(facts, limits);
  EXPECT_EQ(schedule.residency, Residency::Stream);
  EXPECT_EQ(schedule.split, 0);
  facts.columns = 100;
  EXPECT_EQ(chooseSchedule(facts, limits).split, 1);
}

TEST(CheckAcross, Threads) {
  ProgramFacts facts = factsAcross();
  Schedule schedule = streamed();
  EXPECT_EQ(check(schedule, facts), "");
  for (int64_t threads : {0, -1, 3, 64}) {
    schedule.threads = threads;
    EXPECT_EQ(check(schedule, facts),
              "expects 'threads' to be a power of two from 1 to 32 but got " +
                  std::to_string(threads));
  }
}

TEST(CheckAcross, Positions) {
  ProgramFacts facts = factsAcross();
  facts.inner = 10;
  facts.run = facts.positions = 320;
  Schedule schedule = streamed();
  schedule.vector = 8;
  // Whole groups of 10 and whole chunks of 8.
  for (int64_t positions : {0, -40, 8, 10, 1040}) {
    schedule.rowsPerCta = positions;
    EXPECT_EQ(check(schedule, facts),
              "expects 'rows_per_cta' to be a multiple of 40 up to 1024 but "
              "got " +
                  std::to_string(positions));
  }
  schedule.rowsPerCta = 40;
  EXPECT_EQ(check(schedule, facts), "");
  schedule.rowsPerCta = 1000;
  schedule.threads = 16;
  EXPECT_EQ(check(schedule, facts),
            "expects at most 1024 threads per CTA but got 2000");
  schedule.threads = 4;
  schedule.rowsPerCta = 320;
  EXPECT_EQ(check(schedule, facts), "");
  schedule.vector = 3;
  EXPECT_EQ(check(schedule, facts),
            "expects 'vector' to divide the 320 neighbours in memory but got "
            "3");
  schedule.vector = 0;
  EXPECT_EQ(check(schedule, facts),
            "expects 'vector' to divide the 320 neighbours in memory but got "
            "0");
  schedule.vector = 5;
  EXPECT_EQ(check(schedule, facts),
            "expects 'vector' to be a power of two up to 16 but got 5");
}

TEST(CheckAcross, Split) {
  ProgramFacts facts = factsAcross();
  Schedule schedule = streamed();
  for (int64_t split : {0, 1, 2, 32}) {
    schedule.split = split;
    EXPECT_EQ(check(schedule, facts), "");
  }
  for (int64_t split : {-1, 3, 64, 256}) {
    schedule.split = split;
    EXPECT_EQ(check(schedule, facts),
              "expects 'split' to be 0 or a power of two, at most the row's 32 "
              "slices, but got " +
                  std::to_string(split));
  }
  facts.columns = -1;
  schedule.split = 2;
  EXPECT_EQ(check(schedule, facts),
            "expects 'split' to be 0 or a power of two, at most the row's 1 "
            "slices, but got 2");
  facts.inner = 0;
  facts.columns = 64;
  schedule.threads = 32;
  EXPECT_EQ(check(schedule, facts),
            "expects 'split' to be 1 along memory but got 2");
}

TEST(CheckAcross, SharedMemory) {
  ProgramFacts facts = factsAcross();
  Schedule schedule = streamed();
  schedule.threads = 16;
  // States of half of the lanes' 512 positions, and of 512 threads.
  facts.stateBytes = 64;
  EXPECT_EQ(check(schedule, facts), "");
  facts.stateBytes = 65;
  EXPECT_EQ(check(schedule, facts),
            "schedule needs 49920 bytes of static shared memory per CTA but "
            "sm_90 allows 49152");
}

TEST(CheckAcross, Held) {
  ProgramFacts facts = factsAcross();
  Schedule schedule = streamed();
  schedule.residency = Residency::Registers;
  schedule.threads = 16;
  schedule.split = 8;
  // 4 slices of 128 columns on 16 lanes.
  EXPECT_EQ(check(schedule, facts), "");
  schedule.split = 1;
  EXPECT_EQ(check(schedule, facts),
            "schedule needs 256 chunks per thread to be held but at most 128 "
            "are allowed");
  auto refusal = [](std::string got) {
    return "expects residency stream, or a split and whole leaves of static "
           "columns, but got " +
           got;
  };
  schedule.split = 0;
  EXPECT_EQ(check(schedule, facts), refusal("registers"));
  schedule.split = 8;
  facts.columns = 4092;
  EXPECT_EQ(check(schedule, facts), "");
  facts.columns = 4097;
  EXPECT_EQ(check(schedule, facts), refusal("registers"));
  schedule.split = 1;
  for (int64_t columns : {-1, 0}) {
    facts.columns = columns;
    EXPECT_EQ(check(schedule, facts), refusal("registers"));
  }
}

TEST(CheckAcross, HeldInSharedMemory) {
  ProgramFacts facts = factsAcross();
  Schedule schedule = streamed();
  schedule.residency = Residency::Shared;
  schedule.threads = 16;
  schedule.split = 8;
  // 512 columns of 32 positions, and the states.
  EXPECT_EQ(check(schedule, facts, "sm_90"), "");
  facts.slotBytes = 13;
  EXPECT_EQ(check(schedule, facts, "sm_90"), "");
  EXPECT_EQ(check(schedule, facts, "sm_121"),
            "schedule needs 216064 bytes of shared memory per CTA but sm_121 "
            "allows 101376");
}

TEST(CheckAcross, Host) {
  ProgramFacts facts = factsAcross();
  facts.inner = 10;
  facts.run = 320;
  Schedule schedule;
  schedule.residency = Residency::Stream;
  schedule.vector = schedule.rowsPerCta = 20;
  EXPECT_EQ(check(schedule, facts, "host"), "");
  schedule.rowsPerCta = 40;
  EXPECT_EQ(check(schedule, facts, "host"),
            "expects one thread, and whole groups of 10 as vector and "
            "'rows_per_cta', but got 1, 20 and 40");
  schedule.vector = schedule.rowsPerCta = 16;
  EXPECT_EQ(check(schedule, facts, "host"),
            "expects one thread, and whole groups of 10 as vector and "
            "'rows_per_cta', but got 1, 16 and 16");
  schedule.vector = schedule.rowsPerCta = 10;
  schedule.threads = 2;
  EXPECT_EQ(check(schedule, facts, "host"),
            "expects one thread, and whole groups of 10 as vector and "
            "'rows_per_cta', but got 2, 10 and 10");
}

} // namespace
