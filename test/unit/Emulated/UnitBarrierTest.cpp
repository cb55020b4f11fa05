//===- UnitBarrierTest.cpp - CTAs that share rows -------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Harness.h"

using namespace norm;
using namespace norm::test;

namespace {

/// CTA `%s` of the `%k` that share row `%u` has `%per` of its 256 columns. The
/// row's counter is at `%counter`, its data at `%data`, of which `%mine` is the
/// thread's word.
constexpr const char *kHead = R"(
%ti = gpu.thread_id x
%bi = gpu.block_id x
%t = arith.index_cast %ti : index to i64
%b = arith.index_cast %bi : index to i64
%c0 = arith.constant 0 : i64
%c1 = arith.constant 1 : i64
%c8 = arith.constant 8 : i64
%c32 = arith.constant 32 : i64
%c255 = arith.constant 255 : i64
%c256 = arith.constant 256 : i64
%c1024 = arith.constant 1024 : i64
%zero = arith.constant 0.0 : f32
%u = arith.divui %b, %k : i64
%s = arith.remui %b, %k : i64
%k32 = arith.trunci %k : i64 to i32
%per = arith.divui %c256, %k : i64
%o0 = arith.muli %u, %c8 : i64
%counter = llvm.getelementptr %ws[%o0] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
%o1 = arith.muli %rows, %c8 : i64
%o2 = arith.addi %o1, %c255 : i64
%o3 = arith.divui %o2, %c256 : i64
%o4 = arith.muli %o3, %c256 : i64
%o5 = arith.muli %u, %c1024 : i64
%o6 = arith.addi %o4, %o5 : i64
%data = llvm.getelementptr %ws[%o6] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
%m0 = arith.muli %s, %c32 : i64
%m1 = arith.addi %m0, %t : i64
%mine = llvm.getelementptr %data[%m1] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
%r0 = arith.muli %u, %c256 : i64
%r1 = arith.muli %s, %per : i64
%begin = arith.addi %r0, %r1 : i64
%first = arith.addi %begin, %t : i64
%end = arith.addi %begin, %per : i64)";

/// The line of k.mlir that follows.
constexpr unsigned kBody = 36;

/// The thread's share of the row is summed and left in its word.
constexpr const char *kSum = R"(
%sum = scf.for %e = %first to %end step %c32 iter_args(%a = %zero) -> f32 : i64 {
  %p = llvm.getelementptr %x[%e] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
  %v = llvm.load %p : !llvm.ptr<1> -> f32
  %w = arith.addf %a, %v : f32
  scf.yield %w : f32
}
llvm.store %sum, %mine : f32, !llvm.ptr<1>)";

constexpr const char *kMeet = R"(
norm_tile.unit_barrier %counter, %k32 phase 0 : !llvm.ptr<1>)";

/// The words of all CTAs are summed, and the sum is the whole row of y.
constexpr const char *kSpread = R"(
%words = arith.muli %k, %c32 : i64
%all = scf.for %e = %c0 to %words step %c1 iter_args(%a = %zero) -> f32 : i64 {
  %p = llvm.getelementptr %data[%e] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
  %v = llvm.load %p : !llvm.ptr<1> -> f32
  %w = arith.addf %a, %v : f32
  scf.yield %w : f32
}
scf.for %e = %first to %end step %c32 : i64 {
  %p = llvm.getelementptr %y[%e] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
  llvm.store %all, %p : f32, !llvm.ptr<1>
})";

constexpr const char *kMeetAgain = R"(
norm_tile.unit_barrier %counter, %k32 phase 1 last : !llvm.ptr<1>)";

Example example(const std::string &body) {
  Example example;
  example.body = kHead + body;
  example.threads = 32;
  example.rows = 5;
  example.columns = 256;
  example.split = 4;
  return example;
}

Example sums() {
  return example(std::string(kSum) + kMeet + kSpread + kMeetAgain);
}

/// Whether each row of y holds the sum of that row of x everywhere.
testing::AssertionResult isSummed(const Outcome &outcome) {
  if (outcome.y.empty())
    return testing::AssertionFailure() << outcome.print();
  for (size_t i = 0; i < outcome.y.size(); ++i) {
    float row = float(i / 256);
    float want = 256 * 256 * row + 255 * 128;
    if (outcome.y[i] != want)
      return testing::AssertionFailure() << "expects " << want << " at " << i
                                         << " but got " << outcome.y[i];
  }
  return testing::AssertionSuccess();
}

} // namespace

TEST(EmulatedUnitBarrier, CtasSumARowTogether) {
  for (uint64_t split : {2, 4, 8})
    for (uint64_t seed : {1, 2, 3}) {
      Example example = sums();
      example.split = split;
      example.seed = seed;
      example.hostThreads = seed == 3 ? 1 : 2;
      EXPECT_TRUE(isSummed(run(example))) << split << " " << seed;
    }
}

TEST(EmulatedUnitBarrier, ManyCtasShareEachOfManyRows) {
  Example example = sums();
  example.rows = 64;
  example.split = 8;
  example.residentCtas = 512;
  EXPECT_TRUE(isSummed(run(example)));
}

// A stack takes two mappings, of which a process has 65530.
TEST(EmulatedUnitBarrier, StacksGoWithTheLaunch) {
  Example example = sums();
  example.split = 8;
  example.hostThreads = 2;
  Outcome outcome = run(example);
  EXPECT_TRUE(isSummed(outcome));
  EXPECT_LT(outcome.mappings, int64_t(3 * 2 * example.threads));
}

TEST(EmulatedUnitBarrier, TheSplitIsChosenAtLaunch) {
  // Every element of y is the number of CTAs.
  const char *count = R"(
%kf = arith.uitofp %k : i64 to f32
scf.for %e = %first to %end step %c32 : i64 {
  %p = llvm.getelementptr %y[%e] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
  llvm.store %kf, %p : f32, !llvm.ptr<1>
})";
  auto splitOf = [&](int64_t rows, unsigned residentCtas) {
    Example counts = example(std::string(kSum) + count);
    counts.rows = rows;
    counts.split = 0;
    counts.residentCtas = residentCtas;
    Outcome outcome = run(counts);
    EXPECT_FALSE(outcome.y.empty()) << outcome.print();
    return outcome.y.empty() ? 0 : int(outcome.y.front());
  };
  EXPECT_EQ(splitOf(1, 64), 8);
  EXPECT_EQ(splitOf(9, 64), 4);
  EXPECT_EQ(splitOf(16, 64), 4);
  EXPECT_EQ(splitOf(17, 64), 2);
  EXPECT_EQ(splitOf(33, 64), 1);
  EXPECT_EQ(splitOf(65, 64), 1);
}

TEST(EmulatedUnitBarrier, AloneACtaSumsTheRowToo) {
  Example example = sums();
  example.split = 0;
  example.rows = 65;
  EXPECT_TRUE(isSummed(run(example)));
}

TEST(EmulatedUnitBarrier, MoreCtasThanFitAreRefused) {
  Example example = sums();
  example.rows = 17;
  EXPECT_EQ(run(example).failure,
            "kernel 0 'example': expects all CTAs to be resident at once but "
            "17 rows take more of them than the device runs");
}

TEST(EmulatedUnitBarrier, WithoutItTheWorkspaceHasRaces) {
  // The CTAs' own barrier orders one CTA only.
  Outcome outcome = run(example(std::string(kSum) + "\ngpu.barrier" + kSpread));
  const Finding *race = outcome.find(FindingKind::GlobalRace);
  ASSERT_NE(race, nullptr) << outcome.print();
  EXPECT_NE(race->text.find("of the workspace"), std::string::npos);
  EXPECT_NE(race->text.find("with no order between CTAs"), std::string::npos);
}

TEST(EmulatedUnitBarrier, RowsDoNotMeet) {
  // All rows have their data at one place.
  Outcome outcome =
      run(example(std::string(kSum) + kMeet + kMeetAgain +
                  "\n%d = llvm.getelementptr %ws[%o4] : (!llvm.ptr<1>, i64) -> "
                  "!llvm.ptr<1>, i8\nllvm.store %u, %d : i64, !llvm.ptr<1>"));
  const Finding *race = outcome.find(FindingKind::GlobalRace);
  ASSERT_NE(race, nullptr) << outcome.print();
}

TEST(EmulatedUnitBarrier, ReuseAfterMeetingNeedsAnotherMeeting) {
  // A word is overwritten while others may still read it.
  Outcome outcome = run(
      example(std::string(kSum) + kMeet + kSpread +
              "\nllvm.store %zero, %mine : f32, !llvm.ptr<1>" + kMeetAgain));
  EXPECT_NE(outcome.find(FindingKind::GlobalRace), nullptr) << outcome.print();
  outcome = run(example(std::string(kSum) + kMeet + kSpread + kMeetAgain +
                        "\nllvm.store %zero, %mine : f32, !llvm.ptr<1>"));
  EXPECT_TRUE(isSummed(outcome));
}

TEST(EmulatedUnitBarrier, DataIsUndefinedBeforeItIsWritten) {
  Outcome outcome = run(example(std::string(kSpread)));
  EXPECT_NE(outcome.find(FindingKind::UnwrittenOutput), nullptr)
      << outcome.print();
}

TEST(EmulatedUnitBarrier, ACtaThatStaysAwayIsADeadlock) {
  Outcome outcome = run(example(R"(
%some = arith.cmpi ne, %s, %c1 : i64
scf.if %some {
  norm_tile.unit_barrier %counter, %k32 phase 0 last : !llvm.ptr<1>
})"));
  EXPECT_TRUE(isOnly(outcome, FindingKind::Deadlock, kBody + 2,
                     "waits for the 4 CTAs that share a row, but CTA 1 has "
                     "exited"));
}

TEST(EmulatedUnitBarrier, AllThreadsOfACtaMeet) {
  Outcome outcome = run(example(R"(
%some = arith.cmpi ne, %t, %c8 : i64
scf.if %some {
  norm_tile.unit_barrier %counter, %k32 phase 0 last : !llvm.ptr<1>
})"));
  EXPECT_TRUE(isOnly(outcome, FindingKind::BarrierDivergence, kBody + 2,
                     "threads 0-7, 9-31 wait in"));
  outcome = run(example(R"(
%n = arith.trunci %t : i64 to i32
norm_tile.unit_barrier %counter, %n phase 0 last : !llvm.ptr<1>)"));
  EXPECT_TRUE(isOnly(outcome, FindingKind::BarrierDivergence, kBody + 1,
                     "with the same counter, number of CTAs and phase"));
}

TEST(EmulatedUnitBarrier, CountersAreOnesOwn) {
  auto meetAt = [](const std::string &address) {
    return run(example("\n%at = " + address +
                       "\nnorm_tile.unit_barrier %at, %k32 phase 0 last : "
                       "!llvm.ptr<1>"));
  };
  EXPECT_TRUE(isOnly(meetAt("llvm.getelementptr %ws[0] : (!llvm.ptr<1>) -> "
                            "!llvm.ptr<1>, i8"),
                     FindingKind::UnitBarrier, kBody + 1,
                     "meets at a counter of CTA 0, with which it shares no "
                     "row"));
  EXPECT_TRUE(isOnly(meetAt("llvm.getelementptr %ws[%t] : (!llvm.ptr<1>, i64) "
                            "-> !llvm.ptr<1>, i8"),
                     FindingKind::BarrierDivergence, kBody + 1,
                     "the same counter"));
  EXPECT_TRUE(isOnly(meetAt("llvm.getelementptr %counter[%s] : (!llvm.ptr<1>, "
                            "i64) -> !llvm.ptr<1>, i64"),
                     FindingKind::UnitBarrier, kBody + 1,
                     "share a row but meet at different counters"));
  for (const char *place : {"%data[0]", "%counter[2]", "%x[0]", "%ws[1000000]"})
    EXPECT_TRUE(isOnly(meetAt("llvm.getelementptr " + std::string(place) +
                              " : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8"),
                       FindingKind::UnitBarrier, kBody + 1,
                       "expects the address of a counter in the workspace"))
        << place;
}

TEST(EmulatedUnitBarrier, NumbersMustBeThoseOfTheLaunch) {
  auto meet = [](const std::string &lines) {
    return run(example("\n%c2 = arith.constant 2 : i32\n" + lines));
  };
  EXPECT_TRUE(isOnly(meet("norm_tile.unit_barrier %counter, %c2 phase 0 last : "
                          "!llvm.ptr<1>"),
                     FindingKind::UnitBarrier, kBody + 1,
                     "waits for 2 CTAs but 4 share a row"));
  EXPECT_TRUE(isOnly(meet("norm_tile.unit_barrier %counter, %k32 phase 1 last "
                          ": !llvm.ptr<1>"),
                     FindingKind::UnitBarrier, kBody + 1,
                     "has phase 1 but 0 barriers were passed before"));
  EXPECT_TRUE(isOnly(meet("norm_tile.unit_barrier %counter, %k32 phase 0 : "
                          "!llvm.ptr<1>"),
                     FindingKind::UnitBarrier, kBody + 1,
                     "exits without a last barrier"));
  EXPECT_TRUE(isOnly(meet("norm_tile.unit_barrier %counter, %k32 phase 0 last "
                          ": !llvm.ptr<1>\nnorm_tile.unit_barrier %counter, "
                          "%k32 phase 1 last : !llvm.ptr<1>"),
                     FindingKind::UnitBarrier, kBody + 2,
                     "comes after the last barrier"));
  EXPECT_TRUE(isOnly(meet("scf.for %i = %c0 to %c8 step %c1 : i64 {\n"
                          "norm_tile.unit_barrier %counter, %k32 phase 0 : "
                          "!llvm.ptr<1>\n}"),
                     FindingKind::UnitBarrier, kBody + 2,
                     "has phase 0 but 1 barriers were passed before"));
}

TEST(EmulatedUnitBarrier, CountersStayZero) {
  Outcome outcome = run(example(std::string(R"(
%is = arith.cmpi eq, %first, %c0 : i64
scf.if %is {
  llvm.store %c1, %counter : i64, !llvm.ptr<1>
})") + kMeet + kMeetAgain));
  EXPECT_TRUE(isOnly(outcome, FindingKind::UnitBarrier, 0,
                     "doesn't leave the counters zero: byte 0 of the "
                     "workspace"));
}
