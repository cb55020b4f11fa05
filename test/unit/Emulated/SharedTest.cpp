//===- SharedTest.cpp - Shared memory of the emulated device --------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Harness.h"

using namespace norm;
using namespace norm::test;

namespace {

/// 64 threads; `%m` is the thread's mirror image, `%v` its element. The text
/// takes lines 2 to 11 of k.mlir.
constexpr const char *kHead = R"(
%t = gpu.thread_id x
%last = arith.constant 63 : index
%m = arith.subi %last, %t : index
%i = arith.index_cast %t : index to i64
%zero = arith.constant 0 : index
%isFirst = arith.cmpi eq, %t, %zero : index
%p = llvm.getelementptr %x[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
%v = llvm.load %p : !llvm.ptr<1> -> f32
%q = llvm.getelementptr %y[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32)";
constexpr unsigned kHeadEnd = 11;
constexpr const char *kShared =
    "%s : memref<64xf32, #gpu.address_space<workgroup>>";
const std::string kStore =
    "\nmemref.store %v, %s[%t] : memref<64xf32, #gpu.address_space<workgroup>>";
const std::string kLoadMirror =
    "\n%o = memref.load %s[%m] : memref<64xf32, #gpu.address_space<workgroup>>";
const std::string kWrite = "\nllvm.store %o, %q : f32, !llvm.ptr<1>";

Example example(const std::string &body) {
  Example example;
  example.body = kHead + body;
  example.shared = kShared;
  return example;
}

} // namespace

TEST(EmulatedShared, MirrorsThroughSharedMemory) {
  Outcome outcome =
      run(example(kStore + "\ngpu.barrier" + kLoadMirror + kWrite));
  ASSERT_EQ(outcome.print(), "");
  for (size_t i = 0; i < outcome.y.size(); ++i)
    EXPECT_EQ(outcome.y[i], float(63 - i));
}

TEST(EmulatedShared, FindsAMissingBarrier) {
  // Whatever the order of the threads: those that read first find nothing
  // written, or their reading is found by who writes.
  for (uint64_t seed : {1, 2, 3, 4, 5}) {
    Example racy = example(kStore + kLoadMirror + kWrite);
    racy.seed = seed;
    Outcome outcome = run(racy);
    const Finding *race = outcome.find(FindingKind::SharedRace);
    ASSERT_NE(race, nullptr) << outcome.print();
    EXPECT_NE(race->text.find("with no barrier between"), std::string::npos);
    EXPECT_NE(race->text.find("k.mlir:"), std::string::npos);
    EXPECT_NE(race->text.find("but thread "), std::string::npos);
    EXPECT_GE(race->thread, 0);
  }
}

TEST(EmulatedShared, FindsWriteAfterReadWithoutABarrier) {
  Outcome outcome =
      run(example(kStore + "\ngpu.barrier" + kLoadMirror + kStore + kWrite));
  EXPECT_NE(outcome.find(FindingKind::SharedRace), nullptr) << outcome.print();
  EXPECT_EQ(outcome.find(FindingKind::UninitializedShared), nullptr);
}

TEST(EmulatedShared, FindsTwoWriters) {
  Outcome outcome = run(example(
      R"(
memref.store %v, %s[%zero] : memref<64xf32, #gpu.address_space<workgroup>>
gpu.barrier
%o = memref.load %s[%zero] : memref<64xf32, #gpu.address_space<workgroup>>)" +
      kWrite));
  EXPECT_TRUE(isOnly(outcome, FindingKind::SharedRace, kHeadEnd + 1,
                     "byte 0 of static shared memory"));
  EXPECT_EQ(outcome.findings[0].count, 63u);
}

TEST(EmulatedShared, FindsReadsOfNothing) {
  // A CTA doesn't find what an earlier one left.
  Example uninitialized = example(R"(
scf.if %isFirst {
  memref.store %v, %s[%t] : memref<64xf32, #gpu.address_space<workgroup>>
}
gpu.barrier)" + kLoadMirror + kWrite);
  Outcome outcome = run(uninitialized);
  EXPECT_TRUE(isOnly(outcome, FindingKind::UninitializedShared, kHeadEnd + 5,
                     "of static shared memory, where nothing was written"));
  EXPECT_EQ(outcome.findings[0].count, 63u);
}

TEST(EmulatedShared, FindsIndicesBeyondABuffer) {
  // The bytes beyond are those of another buffer.
  Example beyond = example(R"(
%c1 = arith.constant 1 : index
%n = arith.addi %t, %c1 : index
memref.store %v, %s[%n] : memref<64xf32, #gpu.address_space<workgroup>>
llvm.store %v, %q : f32, !llvm.ptr<1>)");
  beyond.shared += ", %other : memref<64xf32, #gpu.address_space<workgroup>>";
  EXPECT_TRUE(isOnly(run(beyond), FindingKind::OutOfBounds, kHeadEnd + 3,
                     "byte 256 of a shared buffer, which has 256 bytes"));
}

namespace {
/// Elements of dynamic shared memory: `%d` the thread's.
const std::string kThroughDynamic = R"(
%base = llvm.mlir.addressof @norm_shared : !llvm.ptr<3>
%d = llvm.getelementptr %base[%i] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, f32
llvm.store %v, %d : f32, !llvm.ptr<3>
gpu.barrier
%mi = arith.index_cast %m : index to i64
%e = llvm.getelementptr %base[%mi] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, f32
%o = llvm.load %e : !llvm.ptr<3> -> f32)";
} // namespace

TEST(EmulatedShared, MirrorsThroughDynamicSharedMemory) {
  Example good = example(kThroughDynamic + kWrite);
  good.dynamicShared = 256;
  Outcome outcome = run(good);
  ASSERT_EQ(outcome.print(), "");
  EXPECT_EQ(outcome.y[3], 60.0f);
}

TEST(EmulatedShared, FindsAccessesBeyondDynamicSharedMemory) {
  Example bad = example(kThroughDynamic + kWrite);
  bad.dynamicShared = 252;
  Outcome outcome = run(bad);
  ASSERT_EQ(outcome.findings.size(), 2u) << outcome.print();
  EXPECT_EQ(outcome.findings[0].kind, FindingKind::OutOfBounds);
  EXPECT_EQ(outcome.findings[0].text,
            "writes 4 bytes at byte 252 of dynamic shared memory, which has "
            "252 bytes by 'llvm.store'");
  EXPECT_EQ(outcome.findings[1].thread, 0);
}

TEST(EmulatedShared, FindsMisalignedSharedAccesses) {
  Example odd = example(kThroughDynamic + kWrite + R"(
scf.if %isFirst {
  %byte = llvm.getelementptr %base[4] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
  %two = llvm.load %byte {alignment = 8 : i64} : !llvm.ptr<3> -> vector<2xf32>
})");
  odd.dynamicShared = 256;
  EXPECT_TRUE(isOnly(run(odd), FindingKind::Misaligned, kHeadEnd + 11,
                     "byte 4 of dynamic shared memory, but needs alignment 8"));
}
