//===- CopiesTest.cpp - Copies that a thread waits for --------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Harness.h"

using namespace norm;
using namespace norm::test;

namespace {

/// 64 threads; `%p` and `%q` are the addresses of the thread's elements of x
/// and y, `%a` and `%b` those of two words in shared memory. The text takes
/// lines 2 to 9 of k.mlir.
constexpr const char *kHead = R"(
%t = gpu.thread_id x
%i = arith.index_cast %t : index to i64
%p = llvm.getelementptr %x[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
%q = llvm.getelementptr %y[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
%base = llvm.mlir.addressof @norm_shared : !llvm.ptr<3>
%a = llvm.getelementptr %base[%i] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, f32
%b = llvm.getelementptr %a[64] : (!llvm.ptr<3>) -> !llvm.ptr<3>, f32)";
constexpr unsigned kHeadEnd = 9;
const std::string kTwoCopies = R"(
nvvm.cp.async.shared.global %a, %p, 4, cache = ca : !llvm.ptr<3>, !llvm.ptr<1>
nvvm.cp.async.commit.group
nvvm.cp.async.shared.global %b, %p, 4, cache = ca : !llvm.ptr<3>, !llvm.ptr<1>
nvvm.cp.async.commit.group)";
const std::string kWrite = R"(
%u = llvm.load %a : !llvm.ptr<3> -> f32
%v = llvm.load %b : !llvm.ptr<3> -> f32
%o = arith.addf %u, %v : f32
llvm.store %o, %q : f32, !llvm.ptr<1>)";

Example example(const std::string &body) {
  Example example;
  example.body = kHead + body;
  example.dynamicShared = 512;
  return example;
}

} // namespace

TEST(EmulatedCopies, ComeWhenTheyAreWaitedFor) {
  Outcome outcome =
      run(example(kTwoCopies + "\nnvvm.cp.async.wait.group 0" + kWrite));
  ASSERT_EQ(outcome.print(), "");
  Outcome other = run(example("\n%o = llvm.load %p : !llvm.ptr<1> -> f32"
                              "\nllvm.store %o, %q : f32, !llvm.ptr<1>"));
  ASSERT_EQ(other.print(), "");
  for (size_t i = 0; i < outcome.y.size(); ++i)
    EXPECT_EQ(outcome.y[i], 2 * other.y[i]);
}

TEST(EmulatedCopies, FindsAReadOfWhatIsOnItsWay) {
  // The wait leaves the last group out.
  EXPECT_TRUE(
      isOnly(run(example(kTwoCopies + "\nnvvm.cp.async.wait.group 1" + kWrite)),
             FindingKind::UninitializedShared, kHeadEnd + 7,
             "to which a copy of the thread is on its way"));
}

TEST(EmulatedCopies, FindsAMissingCommit) {
  // Groups that aren't committed are not waited for.
  EXPECT_TRUE(isOnly(run(example(R"(
nvvm.cp.async.shared.global %a, %p, 4, cache = ca : !llvm.ptr<3>, !llvm.ptr<1>
nvvm.cp.async.commit.group
nvvm.cp.async.shared.global %b, %p, 4, cache = ca : !llvm.ptr<3>, !llvm.ptr<1>
nvvm.cp.async.wait.group 0)" + kWrite)),
                     FindingKind::UninitializedShared, kHeadEnd + 6,
                     "to which a copy of the thread is on its way"));
}

TEST(EmulatedCopies, FindsACopyOverAnother) {
  EXPECT_TRUE(isOnly(run(example(R"(
nvvm.cp.async.shared.global %a, %p, 4, cache = ca : !llvm.ptr<3>, !llvm.ptr<1>
nvvm.cp.async.shared.global %a, %p, 4, cache = ca : !llvm.ptr<3>, !llvm.ptr<1>
nvvm.cp.async.commit.group
nvvm.cp.async.wait.group 0
%o = llvm.load %a : !llvm.ptr<3> -> f32
llvm.store %o, %q : f32, !llvm.ptr<1>)")),
                     FindingKind::UninitializedShared, kHeadEnd + 2,
                     "writes 4 bytes at byte"));
}

TEST(EmulatedCopies, FindsCopiesFromBeyondAnInput) {
  EXPECT_TRUE(isOnly(
      run(example("\n%far = llvm.getelementptr %p[4096] : (!llvm.ptr<1>) -> "
                  "!llvm.ptr<1>, f32"
                  "\nnvvm.cp.async.shared.global %a, %far, 4, cache = ca : "
                  "!llvm.ptr<3>, !llvm.ptr<1>\n%o = llvm.load %p : "
                  "!llvm.ptr<1> -> f32\nllvm.store %o, %q : f32, "
                  "!llvm.ptr<1>")),
      FindingKind::OutOfBounds, kHeadEnd + 2, "reads 4 bytes at"));
}
