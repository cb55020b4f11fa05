//===- GlobalRaceTest.cpp - Accesses of global memory in no order ---------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Harness.h"

using namespace norm;
using namespace norm::test;

namespace {

/// `%i` is the thread's element of its row, `%e` that of the tensor, `%v` its
/// value in x. The text takes lines 2 to 13 of k.mlir.
constexpr const char *kHead = R"(
%t = gpu.thread_id x
%b = gpu.block_id x
%n = gpu.block_dim x
%i = arith.index_cast %t : index to i64
%r = arith.muli %b, %n : index
%ei = arith.addi %r, %t : index
%e = arith.index_cast %ei : index to i64
%p = llvm.getelementptr %x[%e] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
%v = llvm.load %p : !llvm.ptr<1> -> f32
%q = llvm.getelementptr %y[%e] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
llvm.store %v, %q : f32, !llvm.ptr<1>)";

Example example(const std::string &body) {
  Example example;
  example.body = kHead + body;
  example.rows = 4;
  return example;
}

/// Findings without the addresses, which differ between runs.
std::string printWithoutAddresses(const Outcome &outcome) {
  std::string text = outcome.print();
  for (size_t at; (at = text.find("0x")) != std::string::npos;)
    text.erase(at, text.find_first_not_of("0123456789abcdef", at + 2) - at);
  return text;
}

} // namespace

TEST(EmulatedGlobalRace, OwnElementsMayBeReadAndWrittenAgain) {
  Outcome outcome = run(example(R"(
%w = llvm.load %q : !llvm.ptr<1> -> f32
%z = arith.addf %w, %w : f32
llvm.store %z, %q : f32, !llvm.ptr<1>)"));
  EXPECT_EQ(outcome.print(), "");
}

TEST(EmulatedGlobalRace, ABarrierOrdersTheThreadsOfACta) {
  const std::string readMirror = R"(
%c63 = arith.constant 63 : i64
%first = arith.subi %e, %i : i64
%mi = arith.subi %c63, %i : i64
%m = arith.addi %first, %mi : i64
%o = llvm.getelementptr %y[%m] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
%w = llvm.load %o : !llvm.ptr<1> -> f32)";
  EXPECT_EQ(run(example("\ngpu.barrier" + readMirror)).print(), "");
  Outcome outcome = run(example(readMirror));
  const Finding *race = outcome.find(FindingKind::GlobalRace);
  ASSERT_NE(race, nullptr) << outcome.print();
  EXPECT_NE(race->text.find("with no barrier between"), std::string::npos);
}

TEST(EmulatedGlobalRace, OverlapsInPartAreFound) {
  // CTA 1 also writes bytes 254 to 257: the end of CTA 0's row, and the begin
  // of its own, which thread 0 wrote.
  Outcome outcome = run(example(R"(
gpu.barrier
%c64 = arith.constant 64 : index
%is = arith.cmpi eq, %ei, %c64 : index
scf.if %is {
  %half = llvm.getelementptr %q[-2] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
  llvm.store %v, %half {alignment = 1 : i64} : f32, !llvm.ptr<1>
})"));
  EXPECT_EQ(outcome.findings.size(), 1u) << outcome.print();
  const Finding *race = outcome.find(FindingKind::GlobalRace);
  ASSERT_NE(race, nullptr) << outcome.print();
  EXPECT_EQ(race->block, 1);
  EXPECT_EQ(race->thread, 0);
  EXPECT_NE(race->text.find("byte 254 of argument 1 'y', but CTA 0, thread 63 "
                            "wrote it in 'llvm.store' at k.mlir:13:1"),
            std::string::npos)
      << race->text;
}

TEST(EmulatedGlobalRace, FindsAReaderBeforeTheWriter) {
  // The order in which CTAs run doesn't matter: CTA 0 reads what CTA 3 writes.
  Outcome outcome = run(example(R"(
%c0 = arith.constant 0 : index
%is = arith.cmpi eq, %b, %c0 : index
scf.if %is {
  %far = llvm.getelementptr %q[192] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
  %w = llvm.load %far : !llvm.ptr<1> -> f32
})"));
  const Finding *race = outcome.find(FindingKind::GlobalRace);
  ASSERT_NE(race, nullptr) << outcome.print();
  EXPECT_EQ(race->count, 1u);
}

TEST(EmulatedGlobalRace, FindingsDoNotDependOnHostThreads) {
  // All CTAs write the first row as well, and each second one row 3.
  Example racy = example(R"(
%first = llvm.getelementptr %y[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
llvm.store %v, %first : f32, !llvm.ptr<1>
%c2 = arith.constant 2 : index
%c0 = arith.constant 0 : index
%rest = arith.remui %b, %c2 : index
%is = arith.cmpi eq, %rest, %c0 : index
scf.if %is {
  %third = llvm.getelementptr %first[192] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
  llvm.store %v, %third : f32, !llvm.ptr<1>
})");
  racy.rows = 40;
  racy.hostThreads = 1;
  Outcome one = run(racy);
  EXPECT_EQ(one.findings.size(), 3u) << one.print();
  for (int repeat = 0; repeat < 5; ++repeat) {
    racy.hostThreads = 4;
    EXPECT_EQ(printWithoutAddresses(run(racy)), printWithoutAddresses(one));
  }
}

TEST(EmulatedGlobalRace, ThreadsOfASpanAreTold) {
  // Thread 5 of CTA 2 writes the element that thread 9 of CTA 1 wrote.
  Outcome outcome = run(example(R"(
%c133 = arith.constant 133 : index
%is = arith.cmpi eq, %ei, %c133 : index
scf.if %is {
  %other = llvm.getelementptr %q[-60] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
  llvm.store %v, %other : f32, !llvm.ptr<1>
})"));
  ASSERT_EQ(outcome.findings.size(), 1u) << outcome.print();
  EXPECT_EQ(outcome.findings[0].kind, FindingKind::GlobalRace);
  EXPECT_EQ(outcome.findings[0].block, 2);
  EXPECT_EQ(outcome.findings[0].thread, 5);
  EXPECT_NE(outcome.findings[0].text.find("but CTA 1, thread 9 wrote it"),
            std::string::npos)
      << outcome.findings[0].text;
}
