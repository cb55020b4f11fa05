//===- MemoryTest.cpp - Global memory of the emulated device --------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Harness.h"

using namespace norm;
using namespace norm::test;

namespace {

/// y[row, t] = x[row, t] + 1, with `%i` as the element's index.
constexpr const char *kIndex = R"(
%t = gpu.thread_id x
%b = gpu.block_id x
%n = gpu.block_dim x
%r = arith.muli %b, %n : index
%e = arith.addi %r, %t : index
%i = arith.index_cast %e : index to i64
%one = arith.constant 1.0 : f32)";
constexpr const char *kCopy = R"(
%p = llvm.getelementptr %x[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
%v = llvm.load %p : !llvm.ptr<1> -> f32
%w = arith.addf %v, %one : f32
%q = llvm.getelementptr %y[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
llvm.store %w, %q : f32, !llvm.ptr<1>)";
// Lines of k.mlir: the text above is empty in its first line, 2.
constexpr unsigned kAfterIndex = 9;
constexpr unsigned kAfterCopy = 14;

Example example(const std::string &body) {
  Example example;
  example.body = std::string(kIndex) + body;
  return example;
}

} // namespace

TEST(EmulatedMemory, RunsAKernelWithoutFaults) {
  Example good = example(kCopy);
  good.rows = 5;
  Outcome outcome = run(good);
  ASSERT_EQ(outcome.print(), "");
  ASSERT_EQ(outcome.y.size(), 320u);
  for (size_t i = 0; i < outcome.y.size(); ++i)
    EXPECT_EQ(outcome.y[i], float(i) + 1);
}

TEST(EmulatedMemory, CountsBytes) {
  // Every thread reads element 0 as well.
  Example twice = example(std::string(kCopy) +
                          "\n%again = llvm.load %x : !llvm.ptr<1> -> f32");
  twice.rows = 3;
  Outcome outcome = run(twice);
  ASSERT_EQ(outcome.print(), "");
  ASSERT_EQ(outcome.traffic.size(), 1u);
  ASSERT_EQ(outcome.traffic[0].buffers.size(), 2u);
  const BufferTraffic &x = outcome.traffic[0].buffers[0];
  EXPECT_EQ(x.distinct.read, 768u);
  EXPECT_EQ(x.minimal.read, 768u);
  EXPECT_EQ(x.accessed.read, 1536u);
  EXPECT_EQ(x.accessed.written, 0u);
  const BufferTraffic &y = outcome.traffic[0].buffers[1];
  EXPECT_EQ(y.distinct.written, 768u);
  EXPECT_EQ(y.minimal.written, 768u);
  EXPECT_EQ(y.accessed.read, 0u);
}

TEST(EmulatedMemory, FindsReadsBeyondABuffer) {
  Outcome outcome = run(example(std::string(kCopy) + R"(
%beyond = llvm.getelementptr %p[1] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
%bad = llvm.load %beyond : !llvm.ptr<1> -> f32)"));
  EXPECT_TRUE(isOnly(outcome, FindingKind::OutOfBounds, kAfterCopy + 2,
                     "byte 256 of argument 0 'x', which spans 256 bytes"));
  EXPECT_EQ(outcome.findings[0].thread, 63);
  EXPECT_EQ(outcome.findings[0].block, 0);
  EXPECT_EQ(outcome.findings[0].count, 1u);
}

TEST(EmulatedMemory, FindsReadsBeforeABuffer) {
  Outcome outcome = run(example(std::string(kCopy) + R"(
%before = llvm.getelementptr %p[-1] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
%bad = llvm.load %before : !llvm.ptr<1> -> f32)"));
  EXPECT_TRUE(isOnly(outcome, FindingKind::OutOfBounds, kAfterCopy + 2,
                     "byte -4 of argument 0 'x'"));
  EXPECT_EQ(outcome.findings[0].thread, 0);
}

TEST(EmulatedMemory, FindsWritesBesideAnOutput) {
  Outcome outcome = run(example(std::string(kCopy) + R"(
%beyond = llvm.getelementptr %q[64] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
llvm.store %w, %beyond : f32, !llvm.ptr<1>)"));
  EXPECT_TRUE(isOnly(outcome, FindingKind::OutOfBounds, kAfterCopy + 2,
                     "writes 4 bytes"));
}

TEST(EmulatedMemory, FindsAccessesBetweenRows) {
  Example gaps = example(kCopy);
  gaps.columns = 64;
  gaps.rows = 2;
  gaps.pitch = 70;
  // Row 1 begins at element 70: 64 to 69 are no elements.
  Outcome outcome = run(gaps);
  const Finding *finding = outcome.find(FindingKind::OutOfBounds);
  ASSERT_NE(finding, nullptr) << outcome.print();
  EXPECT_EQ(finding->count, 6u);
  EXPECT_EQ(finding->block, 1);
  EXPECT_NE(finding->text.find("outside its rows"), std::string::npos)
      << finding->text;
}

TEST(EmulatedMemory, FindsMisalignedAccesses) {
  Outcome outcome = run(example(std::string(kCopy) + R"(
%first = arith.constant 0 : index
%is = arith.cmpi eq, %t, %first : index
scf.if %is {
  %odd = llvm.getelementptr %x[1] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
  %bad = llvm.load %odd {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
})"));
  EXPECT_TRUE(isOnly(outcome, FindingKind::Misaligned, kAfterCopy + 5,
                     "needs alignment 16"));
}

TEST(EmulatedMemory, FindsWritesIntoInputs) {
  Outcome outcome = run(
      example(std::string(kCopy) + "\nllvm.store %w, %p : f32, !llvm.ptr<1>"));
  EXPECT_TRUE(isOnly(outcome, FindingKind::ReadOnly, kAfterCopy + 1,
                     "argument 0 'x', which is no output"));
  EXPECT_EQ(outcome.findings[0].count, 64u);
}

TEST(EmulatedMemory, FindsReadsThatTheManifestDoesNotList) {
  Example undeclared = example(kCopy);
  undeclared.declaresRead = false;
  EXPECT_TRUE(isOnly(run(undeclared), FindingKind::UndeclaredRead,
                     kAfterIndex + 2, "argument 0 'x'"));
}

TEST(EmulatedMemory, FindsReadsOfUnwrittenOutputs) {
  Outcome outcome = run(example(R"(
%q0 = llvm.getelementptr %y[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
%bad = llvm.load %q0 : !llvm.ptr<1> -> f32)" +
                                std::string(kCopy)));
  EXPECT_TRUE(isOnly(outcome, FindingKind::UnwrittenOutput, kAfterIndex + 2,
                     "argument 1 'y', which nothing was written to"));
}

TEST(EmulatedMemory, ReadsWhatItWrote) {
  Outcome outcome = run(example(std::string(kCopy) +
                                "\n%own = llvm.load %q : !llvm.ptr<1> -> f32"));
  EXPECT_EQ(outcome.print(), "");
}

TEST(EmulatedMemory, FindsElementsThatNothingWrote) {
  Example partial = example(kCopy);
  partial.columns = 65;
  partial.rows = 1;
  Outcome outcome = run(partial);
  const Finding *finding = outcome.find(FindingKind::IncompleteOutput);
  ASSERT_NE(finding, nullptr) << outcome.print();
  EXPECT_EQ(finding->text,
            "writes 256 of the 260 bytes of argument 1 'y', not byte 256");
  // The input's last element wasn't read either.
  finding = outcome.find(FindingKind::Traffic);
  ASSERT_NE(finding, nullptr) << outcome.print();
  EXPECT_EQ(finding->text, "reads 256 of the 260 bytes of argument 0 'x'");
  EXPECT_EQ(outcome.findings.size(), 2u);
}

TEST(EmulatedMemory, FindingsDoNotDependOnHostThreads) {
  Example many = example(std::string(kCopy) + R"(
%beyond = llvm.getelementptr %p[3] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
%bad = llvm.load %beyond : !llvm.ptr<1> -> f32)");
  many.rows = 40;
  many.hostThreads = 1;
  std::string one = run(many).print();
  many.hostThreads = 2;
  // Addresses differ between runs; what follows them is the same.
  auto tail = [](const std::string &text) {
    return text.substr(0, text.find("0x"));
  };
  EXPECT_NE(one.find("(seen 3 times)"), std::string::npos) << one;
  EXPECT_NE(one.find("CTA 39"), std::string::npos) << one;
  EXPECT_EQ(tail(run(many).print()), tail(one));
}
