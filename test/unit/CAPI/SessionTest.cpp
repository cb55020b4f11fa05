//===- SessionTest.cpp - Tests of sessions through the C API --------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Harness.h"
#include <atomic>
#include <chrono>
#include <thread>

using namespace norm::test;

namespace {

class SessionCAPITest : public testing::Test {
protected:
  SessionCAPITest() {
    NormcSession *made = nullptr;
    NORMC_EXPECT_SUCCESS(
        normcSessionCreate(compiler.get(), device.get(), &made, message));
    session.reset(made);
  }

  std::string softmax(unsigned columns) {
    return build("softmax",
                 ("dtype=f32,columns=" + std::to_string(columns)).c_str());
  }
  Result get(const std::string &text, Executable &executable) {
    NormcExecutable *made = nullptr;
    Result result = call([&](char **message) {
      return normcSessionGetExecutable(session.get(), text.data(), text.size(),
                                       "p.mlir", nullptr, &made, message);
    });
    executable.reset(made);
    return result;
  }
  void setPolicy(NormcMissPolicy policy) {
    NORMC_EXPECT_SUCCESS(
        normcSessionSetMissPolicy(session.get(), policy, message));
  }
  uint64_t count() { return normcSessionGetCompileCount(session.get()); }

  Compiler compiler = makeCompiler();
  Device device = openDevice("host");
  Session session;
};

TEST_F(SessionCAPITest, CompilesOnce) {
  Executable first, second;
  EXPECT_EQ(get(softmax(32), first).text, "");
  EXPECT_EQ(get(softmax(32), second).text, "");
  EXPECT_EQ(count(), 1u);
  EXPECT_NE(first.get(), second.get());
  first.reset();
  session.reset();
  device.reset();
  compiler.reset();
  MatrixLaunch launch(3, 32);
  NORMC_EXPECT_SUCCESS(
      normcExecutableLaunch(second.get(), &launch.launch, message));
  EXPECT_TRUE(launch.sumsToOne());
}

TEST_F(SessionCAPITest, OtherOptionsAreAnotherProgram) {
  Executable first, second;
  EXPECT_EQ(get(softmax(32), first).text, "");
  Options options = makeOptions({{"math", "hardware"}});
  NormcExecutable *made = nullptr;
  std::string text = softmax(32);
  NORMC_EXPECT_SUCCESS(
      normcSessionGetExecutable(session.get(), text.data(), text.size(),
                                nullptr, options.get(), &made, message));
  second.reset(made);
  EXPECT_EQ(count(), 2u);
}

TEST_F(SessionCAPITest, ErrorPolicyCompilesNothing) {
  setPolicy(NORMC_MISS_ERROR);
  Executable executable;
  Result miss = get(softmax(32), executable);
  EXPECT_EQ(miss.status, NORMC_MISS);
  EXPECT_EQ(miss.text, "p.mlir: expects a program that was compiled before but "
                       "got a new one");
  EXPECT_EQ(count(), 0u);
  std::string text = softmax(32);
  NORMC_EXPECT_SUCCESS(normcSessionPrewarm(
      session.get(), text.data(), text.size(), nullptr, nullptr, message));
  EXPECT_EQ(get(text, executable).status, NORMC_SUCCESS);
  EXPECT_EQ(count(), 1u);
}

TEST_F(SessionCAPITest, FallbackCompilesInTheBackground) {
  setPolicy(NORMC_MISS_FALLBACK);
  Executable executable;
  Result miss = get(softmax(32), executable);
  EXPECT_EQ(miss.status, NORMC_PENDING);
  EXPECT_EQ(miss.text, "p.mlir: the program is being compiled");
  EXPECT_EQ(executable, nullptr);
  auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (get(softmax(32), executable).status == NORMC_PENDING &&
         std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_NE(executable, nullptr);
  EXPECT_EQ(count(), 1u);
}

TEST_F(SessionCAPITest, PoliciesAreChecked) {
  NORMC_EXPECT_FAILURE(NORMC_INVALID_ARGUMENT,
                       "expects a miss policy of 0, 1 or 2 but got 3",
                       normcSessionSetMissPolicy(session.get(), 3, message));
}

TEST_F(SessionCAPITest, FailuresAreToldEachTime) {
  Executable executable;
  for (unsigned i = 0; i < 2; ++i) {
    Result result = get("not mlir", executable);
    EXPECT_EQ(result.status, NORMC_INVALID_PROGRAM);
    EXPECT_EQ(result.text.find("p.mlir:1:1: error:"), 0u) << result.text;
  }
}

/// 64 threads that compile and launch 8 programs.
TEST_F(SessionCAPITest, ManyThreads) {
  constexpr unsigned kThreads = 64, kPrograms = 8;
  std::vector<std::string> programs;
  for (unsigned i = 0; i < kPrograms; ++i)
    programs.push_back(softmax(16 * (i + 1)));
  std::atomic<unsigned> right = 0;
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < kThreads; ++i)
    threads.emplace_back([&, i] {
      unsigned program = i % kPrograms;
      Executable executable;
      if (get(programs[program], executable).status != NORMC_SUCCESS)
        return;
      MatrixLaunch launch(1 + i, 16 * (program + 1));
      if (normcExecutableLaunch(executable.get(), &launch.launch, nullptr) ==
              NORMC_SUCCESS &&
          launch.sumsToOne())
        ++right;
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(right, kThreads);
  EXPECT_EQ(count(), kPrograms);
}

} // namespace
