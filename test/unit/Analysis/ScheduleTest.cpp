//===- ScheduleTest.cpp - What the cost model may pick --------------------===//
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
TargetLimits limitsOf(const GPUTarget &target) {
  TargetLimits limits;
  limits.sharedPerCta = target.sharedPerCta;
  return limits;
}

TargetLimits hostLimits() {
  TargetLimits limits;
  limits.isHost = true;
  return limits;
}

/// The message of `error`, empty for success.
std::string messageOf(llvm::Error error) {
  return error ? llvm::toString(std::move(error)) : std::string();
}

std::string check(const Schedule &schedule, const ProgramFacts &facts = {},
                  const TargetLimits &limits = limitsOf(gpuTargets().front()),
                  llvm::StringRef target = "sm_80") {
  return messageOf(checkSchedule(schedule, facts, limits, target));
}

std::string override(llvm::StringRef text, Schedule &schedule) {
  return messageOf(overrideSchedule(schedule, text));
}

/// Calls `fn` with facts of many programs over `columns` columns.
template <typename Fn>
void forEachProgram(int64_t columns, Fn fn) {
  for (int64_t bytes : {1, 2, 4, 8})
    for (int64_t held : {0, 1, 2, 4, 8, 12, 24, 64})
      for (int64_t phases = 1; phases <= 3; ++phases)
        for (int64_t lanes : {1024, 32, 1}) {
          ProgramFacts facts;
          facts.columns = columns;
          facts.leaf = leafFor(bytes);
          facts.lanes = lanes;
          facts.heldBytes = held;
          facts.slotBytes = 2 * held;
          facts.phases = phases;
          for (int64_t state : {0, 4, 60, 500}) {
            facts.stateBytes = state;
            // Bound by memory, by several streams of it, by arithmetic.
            for (auto [bytes, work] : {std::pair(3, 0), {16, 0}, {4, 100}}) {
              facts.columnBytes = bytes;
              facts.work = work;
              fn(facts);
            }
          }
        }
}

void expectChoiceIsAllowed(int64_t columns) {
  forEachProgram(columns, [&](const ProgramFacts &facts) {
    for (const GPUTarget &target : gpuTargets()) {
      TargetLimits limits = limitsOf(target);
      Schedule schedule = chooseSchedule(facts, limits);
      ASSERT_EQ(check(schedule, facts, limits, target.name), "")
          << target.name.str() << ", " << columns << " columns, leaf "
          << facts.leaf << ", " << facts.heldBytes << " bytes held, "
          << facts.phases << " phases: " << toString(schedule);
    }
    Schedule schedule = chooseSchedule(facts, hostLimits());
    ASSERT_EQ(check(schedule, facts, hostLimits(), "host"), "")
        << columns << " columns: " << toString(schedule);
  });
}
} // namespace

TEST(ChooseSchedule, IsAllowedForEveryNarrowRow) {
  for (int64_t columns = 0; columns <= 600; ++columns)
    expectChoiceIsAllowed(columns);
}

TEST(ChooseSchedule, IsAllowedForWideRows) {
  for (int64_t columns = 512; columns <= 1048576; columns *= 2)
    for (int64_t difference : {-1, 0, 1, 100})
      expectChoiceIsAllowed(columns + difference);
  expectChoiceIsAllowed(maxColumns);
}

TEST(ChooseSchedule, IsAllowedForColumnsKnownAtLaunch) {
  expectChoiceIsAllowed(-1);
}

// A step beyond the order's lanes would have no block.
TEST(ChooseSchedule, LeavesEachThreadABlock) {
  for (int64_t columns : {-1, 0, 1, 1000, 65536, 1048576})
    forEachProgram(columns, [&](const ProgramFacts &facts) {
      for (const TargetLimits &limits :
           {limitsOf(gpuTargets().front()), hostLimits()}) {
        TilePlan plan;
        plan.columns = facts.columns;
        plan.leaf = facts.leaf;
        plan.lanes = facts.lanes;
        plan.schedule = chooseSchedule(facts, limits);
        ASSERT_GE(plan.blocks(), 1) << toString(plan.schedule);
      }
    });
}

TEST(ChooseSchedule, Ladder) {
  TargetLimits limits = limitsOf(*findGPUTarget("sm_90"));
  ProgramFacts facts;
  facts.leaf = 8;
  facts.heldBytes = 2;
  facts.phases = 2;
  facts.columnBytes = 4;
  facts.columns = 128; // many rows per CTA
  EXPECT_EQ(chooseSchedule(facts, limits).threads, 8);
  EXPECT_EQ(chooseSchedule(facts, limits).rowsPerCta, 8);
  facts.columns = 384; // 48 leaves are 3 for each of 16 threads
  EXPECT_EQ(chooseSchedule(facts, limits).threads, 16);
  facts.columns = 4096; // 4 accesses per thread
  EXPECT_EQ(chooseSchedule(facts, limits).threads, 128);
  EXPECT_EQ(chooseSchedule(facts, limits).rowsPerCta, 1);
  EXPECT_EQ(chooseSchedule(facts, limits).residency, Residency::Registers);
  facts.columns = 1048576;
  EXPECT_EQ(chooseSchedule(facts, limits).residency, Residency::Stream);
}

// 4096 columns of 16 bits.
TEST(ChooseSchedule, ThreadsFollowWhatTakesTheTime) {
  TargetLimits limits = limitsOf(*findGPUTarget("sm_90"));
  ProgramFacts facts;
  facts.leaf = 8;
  facts.heldBytes = 2;
  facts.phases = 2;
  facts.columns = 4096;
  facts.columnBytes = 8; // two inputs and two outputs: one access of each
  EXPECT_EQ(chooseSchedule(facts, limits).threads, 512);
  facts.columns = 5120; // of which 512 threads would leave many idle
  EXPECT_EQ(chooseSchedule(facts, limits).threads, 128);
  facts.columns = 4096;
  facts.columnBytes = 4;
  facts.work = 25; // as many leaves per thread as stay in registers
  EXPECT_EQ(chooseSchedule(facts, limits).threads, 64);
  facts.group = 128; // neighbours that meet are in a few threads
  EXPECT_EQ(chooseSchedule(facts, limits).threads, 128);
}

TEST(LeafFor, IsSixteenBytes) {
  EXPECT_EQ(leafFor(1), 16);
  EXPECT_EQ(leafFor(2), 8);
  EXPECT_EQ(leafFor(4), 4);
  EXPECT_EQ(leafFor(8), 2);
  EXPECT_EQ(leafFor(16), 1);
  EXPECT_EQ(leafFor(32), 1);
}

TEST(OverrideSchedule, SetsTheFieldsItNames) {
  Schedule schedule;
  EXPECT_EQ(override(" threads = 256, residency=shared,prefetch=false,"
                     "rows_per_cta=2,vector=4,max_registers=64",
                     schedule),
            "");
  EXPECT_EQ(toString(schedule),
            "threads=256,rows_per_cta=2,residency=shared,prefetch=false,"
            "vector=4,max_registers=64");
  EXPECT_EQ(override("residency=stream", schedule), "");
  EXPECT_EQ(schedule.residency, Residency::Stream);
  EXPECT_EQ(schedule.threads, 256);
}

TEST(OverrideSchedule, TakesWhatToStringWrites) {
  Schedule schedule, copy;
  schedule.threads = 64;
  schedule.rowsPerCta = 2;
  schedule.residency = Residency::Registers;
  schedule.prefetch = false;
  EXPECT_EQ(override(toString(schedule), copy), "");
  EXPECT_EQ(toString(copy), toString(schedule));
  EXPECT_EQ(override("", copy), "");
  EXPECT_EQ(toString(copy), toString(schedule));
}

TEST(OverrideSchedule, NamesWhatIsWrong) {
  Schedule schedule;
  EXPECT_EQ(override("warps=4", schedule),
            "expects a field of the schedule (threads, rows_per_cta, "
            "residency, prefetch, vector, max_registers, split, pdl, "
            "stages, cluster) but got 'warps'");
  EXPECT_EQ(override("threads=many", schedule),
            "expects 'threads' to be a number but got 'many'");
  EXPECT_EQ(override("threads", schedule),
            "expects 'threads' to be a number but got ''");
  EXPECT_EQ(override("vector=99999999999999999999", schedule),
            "expects 'vector' to be a number but got '99999999999999999999'");
  EXPECT_EQ(override("residency=disk", schedule),
            "expects 'residency' to be registers, shared or stream but got "
            "'disk'");
  EXPECT_EQ(override("prefetch=1", schedule),
            "expects 'prefetch' to be true or false but got '1'");
  EXPECT_EQ(override("pdl=yes", schedule),
            "expects 'pdl' to be true or false but got 'yes'");
  EXPECT_EQ(toString(schedule), toString(Schedule()));
}

TEST(CheckSchedule, Threads) {
  for (int64_t threads : {-32, 0, 48, 2048}) {
    Schedule schedule;
    schedule.threads = threads;
    EXPECT_EQ(check(schedule),
              "expects 'threads' to be a power of two from 1 to 1024 but got " +
                  std::to_string(threads));
  }
}

TEST(CheckSchedule, ThreadsPerCta) {
  Schedule schedule;
  schedule.threads = 1024;
  for (int64_t rows : {int64_t(0), int64_t(2), int64_t(1) << 54}) {
    schedule.rowsPerCta = rows;
    EXPECT_EQ(check(schedule),
              "expects at most 1024 threads per CTA but got 1024 x " +
                  std::to_string(rows));
  }
}

TEST(CheckSchedule, WholeWarps) {
  Schedule schedule;
  schedule.threads = 4;
  for (int64_t rows : {1, 9, 100}) {
    schedule.rowsPerCta = rows;
    EXPECT_EQ(check(schedule), "expects whole warps per CTA but got 4 x " +
                                   std::to_string(rows) + " threads");
  }
  schedule.rowsPerCta = 8;
  schedule.residency = Residency::Stream;
  EXPECT_EQ(check(schedule),
            "schedule needs 256 lanes per thread but at most 32 are allowed");
  schedule.threads = 32;
  EXPECT_EQ(check(schedule), "");
}

TEST(CheckSchedule, SlicesAcross) {
  ProgramFacts facts;
  facts.inner = 1;
  facts.lanes = lanesAcross;
  facts.leaf = leafAcross;
  facts.run = 16;
  facts.stateBytes = 12;
  Schedule schedule;
  schedule.residency = Residency::Stream;
  schedule.split = 0;
  schedule.vector = 4;
  schedule.rowsPerCta = 128;
  schedule.threads = 1;
  EXPECT_EQ(check(schedule, facts),
            "schedule needs 1024 slices per thread to be combined but at most "
            "256 are allowed");
  schedule.threads = 4;
  EXPECT_EQ(check(schedule, facts), "");
  // Few columns are few slices, and without a reduction there is no state.
  schedule.threads = 1;
  facts.columns = 256;
  EXPECT_EQ(check(schedule, facts), "");
  facts.columns = -1;
  facts.stateBytes = 0;
  EXPECT_EQ(check(schedule, facts), "");
}

TEST(CheckSchedule, Vector) {
  Schedule schedule;
  schedule.threads = 512;
  for (int64_t vector :
       {int64_t(0), int64_t(3), int64_t(4), int64_t(1) << 55}) {
    schedule.vector = vector;
    EXPECT_EQ(check(schedule),
              "expects 'vector' to be a power of two with at most 1024 lanes "
              "per step but got 512 x " +
                  std::to_string(vector));
  }
  schedule.vector = 2;
  EXPECT_EQ(check(schedule), "expects 'vector' to be 1 on sm_80 but got 2");
}

TEST(CheckSchedule, LanesOfTheOrder) {
  Schedule schedule;
  schedule.threads = 128;
  ProgramFacts facts;
  facts.lanes = 64;
  EXPECT_EQ(check(schedule, facts),
            "expects 'vector' to be a power of two with at most 64 lanes per "
            "step but got 128 x 1");
}

TEST(CheckSchedule, MaxRegisters) {
  Schedule schedule;
  schedule.threads = 32;
  for (int64_t registers : {-1, 256}) {
    schedule.maxRegisters = registers;
    EXPECT_EQ(check(schedule),
              "expects 'max_registers' from 0 to 255 but got " +
                  std::to_string(registers));
  }
}

TEST(CheckSchedule, Host) {
  Schedule schedule;
  schedule.threads = 2;
  EXPECT_EQ(check(schedule, {}, hostLimits(), "host"),
            "expects 'threads' and 'rows_per_cta' to be 1 on the host but got "
            "2 and 1");
  schedule.threads = 1;
  EXPECT_EQ(check(schedule, {}, hostLimits(), "host"),
            "expects 'residency' to be stream on the host but got registers");
}

TEST(CheckSchedule, DynamicColumnsAreStreamed) {
  Schedule schedule;
  schedule.threads = 128;
  schedule.residency = Residency::Shared;
  EXPECT_EQ(check(schedule),
            "expects residency stream where the columns are known at launch "
            "only but got shared");
}

TEST(CheckSchedule, ChunksInRegisters) {
  Schedule schedule;
  schedule.threads = 32;
  ProgramFacts facts;
  facts.leaf = 8;
  facts.columns = 32 * 32 * 8;
  EXPECT_EQ(check(schedule, facts), "");
  ++facts.columns;
  EXPECT_EQ(check(schedule, facts),
            "schedule needs 33 chunks per thread in registers but at most 32 "
            "are allowed");
}

TEST(CheckSchedule, SharedMemory) {
  Schedule schedule;
  schedule.threads = 512;
  schedule.residency = Residency::Shared;
  ProgramFacts facts;
  facts.leaf = 8;
  facts.columns = 65536;
  facts.heldBytes = 2;
  facts.slotBytes = 4;
  facts.stateBytes = 8;
  TargetLimits limits = limitsOf(*findGPUTarget("sm_90"));
  // What all phases keep, and where warps meet: 65536 * 4 + 512 * 8.
  EXPECT_EQ(check(schedule, facts, limits, "sm_90"),
            "schedule needs 266240 bytes of shared memory per CTA but sm_90 "
            "allows 232448");
  facts.slotBytes = 2;
  EXPECT_EQ(check(schedule, facts, limits, "sm_90"), "");
}

TEST(CheckSchedule, SharedMemoryOfExchanges) {
  Schedule schedule;
  schedule.threads = 1024;
  ProgramFacts facts;
  facts.columns = 4096;
  facts.stateBytes = 48;
  TargetLimits limits = limitsOf(*findGPUTarget("sm_90"));
  EXPECT_EQ(check(schedule, facts, limits, "sm_90"), "");
  facts.stateBytes = 52;
  EXPECT_EQ(check(schedule, facts, limits, "sm_90"),
            "schedule needs 53248 bytes of shared memory for exchanges but at "
            "most 49152 are allowed");
  // Rows of one warp exchange by shuffles alone.
  schedule.threads = 32;
  schedule.rowsPerCta = 32;
  EXPECT_EQ(check(schedule, facts, limits, "sm_90"), "");
}

TEST(CheckSchedule, RegistersOfACta) {
  Schedule schedule;
  schedule.threads = 512;
  schedule.rowsPerCta = 2;
  schedule.maxRegisters = 64;
  ProgramFacts facts;
  facts.columns = 4096;
  TargetLimits limits = limitsOf(*findGPUTarget("sm_90"));
  EXPECT_EQ(check(schedule, facts, limits, "sm_90"), "");
  schedule.maxRegisters = 65;
  EXPECT_EQ(check(schedule, facts, limits, "sm_90"),
            "schedule needs up to 65 registers for each of 1024 threads but "
            "sm_90 allows 65536 per CTA");
}

TEST(OverrideSchedule, DependentLaunch) {
  Schedule schedule;
  EXPECT_TRUE(schedule.pdl);
  EXPECT_EQ(override("pdl=false", schedule), "");
  EXPECT_FALSE(schedule.pdl);
  // The text is read back.
  Schedule again;
  EXPECT_EQ(override(toString(schedule), again), "");
  EXPECT_FALSE(again.pdl);
  EXPECT_EQ(override("pdl=true", schedule), "");
  EXPECT_EQ(toString(schedule), toString(Schedule()));
}

TEST(OverrideSchedule, RegistersGoWithThreads) {
  Schedule schedule;
  schedule.threads = 256;
  schedule.maxRegisters = 128;
  EXPECT_EQ(override("prefetch=false", schedule), "");
  EXPECT_EQ(schedule.maxRegisters, 128);
  EXPECT_EQ(override("threads=512,max_registers=100", schedule), "");
  EXPECT_EQ(schedule.maxRegisters, 100);
  EXPECT_EQ(override("threads=1024", schedule), "");
  EXPECT_EQ(schedule.maxRegisters, 0);
}
