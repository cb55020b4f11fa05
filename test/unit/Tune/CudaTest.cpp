//===- CudaTest.cpp - The autotuner on a CUDA device ----------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A driver without a device: what is enqueued, captured and given back. Its
// kernels do nothing, and each measurement takes it the same time.
//
//===----------------------------------------------------------------------===//

#include "../Runtime/FakeCuda.h"
#include "norm/Runtime/CudaDevice.h"
#include "norm/Tune/Tune.h"
#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"
#include <dlfcn.h>

using namespace norm;
using norm::test::FakeCuda;
using norm::test::FakeLaunch;

namespace {

constexpr llvm::StringLiteral kText = R"(
func.func @rms_norm(%x: tensor<?x512xbf16>) -> tensor<?x512xbf16> {
  %y = norm.rms_norm %x axes = [1] eps = 1.0e-6 : tensor<?x512xbf16> -> tensor<?x512xbf16>
  return %y : tensor<?x512xbf16>
})";

class TuneCudaTest : public testing::Test {
protected:
  TuneCudaTest() {
    void *handle = dlopen(NORM_FAKE_CUDA, RTLD_NOW | RTLD_LOCAL);
    auto get = reinterpret_cast<FakeCuda *(*)()>(
        handle ? dlsym(handle, "fakeCuda") : nullptr);
    if (!get)
      return;
    fake = get();
    *fake = FakeCuda();
    llvm::Expected<std::unique_ptr<Device>> opened =
        openCudaDevice(0, NORM_FAKE_CUDA);
    EXPECT_TRUE(bool(opened));
    if (opened)
      device = std::move(*opened);
    else
      llvm::consumeError(opened.takeError());
    options.candidates = 12;
    options.compile.target.clear();
  }
  void SetUp() override { ASSERT_TRUE(device); }
  ~TuneCudaTest() override {
    device.reset();
    if (!fake)
      return;
    EXPECT_EQ(fake->memory, 0);
    EXPECT_EQ(fake->modules, 0);
    EXPECT_EQ(fake->events, 0);
    EXPECT_EQ(fake->streams, 0);
    EXPECT_EQ(fake->graphs, 0);
    EXPECT_EQ(fake->graphExecs, 0);
    EXPECT_EQ(fake->contexts, 0);
  }

  llvm::Expected<TuneOutcome> tuneRows(int64_t rows) {
    std::vector<CallShapes> calls = {{{rows, 512}, {rows, 512}}};
    return tune(*device, kText, "test.mlir", calls, options);
  }

  FakeCuda *fake = nullptr;
  std::unique_ptr<Device> device;
  TuneOptions options;
};

} // namespace

TEST_F(TuneCudaTest, ShortCallsAreTimedInGraphsOnSeveralSets) {
  llvm::Expected<TuneOutcome> outcome = tuneRows(64);
  ASSERT_TRUE(bool(outcome)) << llvm::toString(outcome.takeError());
  EXPECT_TRUE(outcome->faults.empty());
  // The driver takes no more than 512 threads.
  EXPECT_EQ(outcome->tried + outcome->refused, 12u);
  EXPECT_GE(outcome->tried, 6u);
  const TunedProgram &program = outcome->programs.front();
  // All take the same time.
  EXPECT_FALSE(program.isFaster);
  EXPECT_EQ(program.entry.device, "Fake GPU");
  EXPECT_EQ(program.entry.target, "sm_90");
  // 3 times the cache of 1 MB, of 128 KB each; each call of 0.5 ms in all.
  unsigned sets = coldSets(device->facts(), 2 * 64 * 512 * 2);
  EXPECT_EQ(sets, 24u);
  EXPECT_EQ(fake->captured.size(), sets);
  EXPECT_NEAR(program.entry.times.front().model, 500.0 / sets, 1e-3);
}

TEST_F(TuneCudaTest, LongCallsAreTimedByThemselves) {
  llvm::Expected<TuneOutcome> outcome = tuneRows(4096);
  ASSERT_TRUE(bool(outcome)) << llvm::toString(outcome.takeError());
  EXPECT_TRUE(fake->captured.empty());
  EXPECT_NEAR(outcome->programs.front().entry.times.front().model, 500, 1e-3);
}

TEST_F(TuneCudaTest, ADeviceThatFailsEndsTheSearch) {
  fake->launchStatus = 700;
  llvm::Expected<TuneOutcome> outcome = tuneRows(64);
  ASSERT_FALSE(bool(outcome));
  llvm::Error error = outcome.takeError();
  EXPECT_TRUE(error.isA<DeviceError>());
  EXPECT_NE(llvm::toString(std::move(error)).find("illegal memory access"),
            std::string::npos);
  fake->launchStatus = 0;
  // Later on, too: the fourth schedule breaks it.
  unsigned loads = 0;
  fake->onLaunch = [&](const FakeLaunch &launch) {
    if (unsigned(fake->modules) > 4 && ++loads == 1)
      fake->launchStatus = fake->syncStatus = 700;
  };
  outcome = tuneRows(64);
  ASSERT_FALSE(bool(outcome));
  error = outcome.takeError();
  EXPECT_TRUE(error.isA<DeviceError>());
  llvm::consumeError(std::move(error));
  fake->launchStatus = fake->syncStatus = 0;
}
