//===- SynchronizationTest.cpp - Barriers and shuffles --------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Harness.h"

using namespace norm;
using namespace norm::test;

namespace {

/// Lines 2 to 9 of k.mlir.
constexpr const char *kHead = R"(
%t = gpu.thread_id x
%i = arith.index_cast %t : index to i64
%c40 = arith.constant 40 : index
%isLow = arith.cmpi ult, %t, %c40 : index
%p = llvm.getelementptr %x[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
%v = llvm.load %p : !llvm.ptr<1> -> f32
%q = llvm.getelementptr %y[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32)";
constexpr unsigned kHeadEnd = 9;
const std::string kWrite = "\nllvm.store %v, %q : f32, !llvm.ptr<1>";

Example example(const std::string &body) {
  Example example;
  example.body = kHead + body;
  return example;
}

/// A shuffle of the threads' elements, whose results are stored.
Outcome shuffled(const std::string &mode, int offset, int width = 32) {
  return run(example("\n%o = arith.constant " + std::to_string(offset) +
                     " : i32\n%w = arith.constant " + std::to_string(width) +
                     " : i32\n%r, %ok = gpu.shuffle " + mode +
                     R"( %v, %o, %w : f32
%minus = arith.constant -1.0 : f32
%z = arith.select %ok, %r, %minus : f32
llvm.store %z, %q : f32, !llvm.ptr<1>)"));
}

} // namespace

TEST(EmulatedSynchronization, ShufflesInEachMode) {
  struct Case {
    const char *mode;
    int offset;
    int (*expected)(int thread);
  };
  const Case cases[] = {
      {"xor", 5, [](int t) { return t ^ 5; }},
      {"up", 3, [](int t) { return t % 32 < 3 ? -1 : t - 3; }},
      {"down", 4, [](int t) { return t % 32 > 27 ? -1 : t + 4; }},
      {"idx", 7, [](int t) { return t / 32 * 32 + 7; }}};
  for (const Case &c : cases) {
    Outcome outcome = shuffled(c.mode, c.offset);
    ASSERT_EQ(outcome.print(), "") << c.mode;
    for (int t = 0; t < 64; ++t)
      EXPECT_EQ(outcome.y[size_t(t)], float(c.expected(t)))
          << c.mode << " in thread " << t;
  }
}

TEST(EmulatedSynchronization, ShufflesSmallAndLargeNumbers) {
  Outcome outcome = run(example(R"(
%o = arith.constant 1 : i32
%w = arith.constant 32 : i32
%d = arith.extf %v : f32 to f64
%h = arith.truncf %v : f32 to bf16
%rd, %ok0 = gpu.shuffle xor %d, %o, %w : f64
%rh, %ok1 = gpu.shuffle xor %h, %o, %w : bf16
%fd = arith.truncf %rd : f64 to f32
%fh = arith.extf %rh : bf16 to f32
%sum = arith.addf %fd, %fh : f32
llvm.store %sum, %q : f32, !llvm.ptr<1>)"));
  ASSERT_EQ(outcome.print(), "");
  for (int t = 0; t < 64; ++t)
    EXPECT_EQ(outcome.y[size_t(t)], float(2 * (t ^ 1)));
}

TEST(EmulatedSynchronization, FindsAShuffleFromALaneThatExited) {
  // Threads 40 to 63 leave: lanes 8 to 31 of the second warp.
  Outcome outcome = run(example(kWrite + R"(
cf.cond_br %isLow, ^go, ^out
^go:
%o = arith.constant 8 : i32
%w = arith.constant 32 : i32
%r, %ok = gpu.shuffle xor %v, %o, %w : f32
llvm.store %r, %q : f32, !llvm.ptr<1>
cf.br ^out
^out:)"));
  EXPECT_TRUE(isOnly(outcome, FindingKind::InactiveLane, kHeadEnd + 6,
                     ", which has exited by 'gpu.shuffle'"));
  EXPECT_EQ(outcome.findings[0].count, 8u);
}

TEST(EmulatedSynchronization, FindsAShuffleFromALaneThatIsNotThere) {
  Example few = example(R"(
%o = arith.constant 16 : i32
%w = arith.constant 32 : i32
%r, %ok = gpu.shuffle xor %v, %o, %w : f32
llvm.store %r, %q : f32, !llvm.ptr<1>)");
  few.threads = 40;
  few.columns = 40;
  EXPECT_TRUE(isOnly(run(few), FindingKind::InactiveLane, kHeadEnd + 3,
                     "which the CTA doesn't have"));
}

TEST(EmulatedSynchronization, FindsAShuffleOfTooFewLanes) {
  Outcome outcome = shuffled("xor", 1, 16);
  EXPECT_TRUE(isOnly(outcome, FindingKind::InactiveLane, kHeadEnd + 3,
                     "takes part in a shuffle of 16 lanes"));
}

TEST(EmulatedSynchronization, FindsABarrierThatSomeThreadsMiss) {
  Outcome outcome = run(example(kWrite + R"(
scf.if %isLow {
  gpu.barrier
})"));
  EXPECT_TRUE(isOnly(outcome, FindingKind::BarrierDivergence, kHeadEnd + 3,
                     "threads 0-39 wait in 'gpu.barrier' at k.mlir:12:3; "
                     "threads 40-63 have exited"));
}

TEST(EmulatedSynchronization, FindsTwoBarriersThatMeet) {
  Outcome outcome = run(example(kWrite + R"(
scf.if %isLow {
  gpu.barrier
} else {
  gpu.barrier
})"));
  EXPECT_TRUE(isOnly(outcome, FindingKind::BarrierDivergence, kHeadEnd + 3,
                     "threads 40-63 wait in 'gpu.barrier' at k.mlir:14:3"));
}

TEST(EmulatedSynchronization, FindsADeadlock) {
  // A part of the second warp shuffles while the others wait for it.
  Outcome outcome = run(example(kWrite + R"(
scf.if %isLow {
  gpu.barrier
} else {
  %o = arith.constant 1 : i32
  %w = arith.constant 32 : i32
  %r, %ok = gpu.shuffle xor %v, %o, %w : f32
  llvm.store %r, %q : f32, !llvm.ptr<1>
})"));
  EXPECT_TRUE(isOnly(outcome, FindingKind::Deadlock, kHeadEnd + 3,
                     "threads 40-63 wait in 'gpu.shuffle' at k.mlir:16:13"));
}

TEST(EmulatedSynchronization, ThreadsMayExitAfterTheLastBarrier) {
  Outcome outcome = run(example("\ngpu.barrier" + kWrite + R"(
cf.cond_br %isLow, ^more, ^out
^more:
llvm.store %v, %q : f32, !llvm.ptr<1>
cf.br ^out
^out:)"));
  EXPECT_EQ(outcome.print(), "");
}

TEST(EmulatedSynchronization, ManyThreadsAndCtas) {
  Example large = example("\ngpu.barrier" + kWrite);
  large.threads = 1024;
  large.columns = 1024;
  Outcome outcome = run(large);
  EXPECT_EQ(outcome.print(), "");
}

TEST(EmulatedSynchronization, RefusesWhatTheHardwareWouldNotLaunch) {
  Example large = example(kWrite);
  large.threads = 1025;
  EXPECT_EQ(run(large).failure,
            "manifest: kernels[0].variants[0].block: expects 1 to 1024 threads "
            "but got 1025");
  large.threads = 64;
  large.dynamicShared = 232449;
  EXPECT_EQ(run(large).failure,
            "kernel 'k' needs 232449 bytes of shared memory per CTA but sm_90 "
            "allows 232448");
}
