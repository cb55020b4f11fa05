//===- EnqueueTest.cpp - Tests of calls on borrowed things ----------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Calls with a context, a stream and a workspace of the caller's.
//
//===----------------------------------------------------------------------===//

#include "FakeCuda.h"
#include "RowManifest.h"
#include "norm/Runtime/CudaDevice.h"
#include "gtest/gtest.h"
#include <dlfcn.h>

using namespace norm;
using norm::test::FakeCuda;
using norm::test::splitRowManifest;

namespace {

constexpr llvm::StringLiteral kImage = "ptx with main_0";
constexpr uint64_t kX = 0x10000, kY = 0x20000, kSpace = 0x30000;

std::vector<BoundArgument> rowsOf(int64_t rows) {
  return {BoundArgument::contiguous(DType::F32, kX, {rows, 8}),
          BoundArgument::contiguous(DType::F32, kY, {rows, 8})};
}

class EnqueueTest : public testing::Test {
protected:
  void SetUp() override {
    void *handle = dlopen(NORM_FAKE_CUDA, RTLD_NOW | RTLD_LOCAL);
    ASSERT_TRUE(handle) << dlerror();
    fake = reinterpret_cast<FakeCuda *(*)()>(dlsym(handle, "fakeCuda"))();
    *fake = FakeCuda();
    fake->paramsPerKernel = 4;
    fake->borrowed = &context;
    fake->borrowedStream = &stream;
    llvm::Expected<std::unique_ptr<Device>> opened =
        openCudaContext(uint64_t(uintptr_t(&context)), NORM_FAKE_CUDA);
    ASSERT_TRUE(bool(opened)) << llvm::toString(opened.takeError());
    device = std::move(*opened);
    llvm::Expected<std::unique_ptr<Executable>> loaded =
        device->load(kImage, splitRowManifest());
    ASSERT_TRUE(bool(loaded)) << llvm::toString(loaded.takeError());
    executable = std::move(*loaded);
    options.stream = uint64_t(uintptr_t(&stream));
  }
  void TearDown() override {
    executable.reset();
    device.reset();
    EXPECT_EQ(fake->memory, 0);
    EXPECT_EQ(fake->modules, 0);
    EXPECT_EQ(fake->streams, 0);
    EXPECT_EQ(fake->contexts, 0);
    EXPECT_EQ(fake->current, nullptr);
  }

  std::string enqueue(int64_t rows) {
    return llvm::toString(executable->enqueue(rowsOf(rows), options));
  }

  int context = 0, stream = 0;
  FakeCuda *fake = nullptr;
  std::unique_ptr<Device> device;
  std::unique_ptr<Executable> executable;
  LaunchOptions options;
};

TEST_F(EnqueueTest, LeavesTheThreadsContextAsItWas) {
  EXPECT_EQ(fake->contexts, 0) << "a borrowed context isn't retained";
  EXPECT_EQ(fake->current, nullptr);
  EXPECT_EQ(enqueue(3), "");
  ASSERT_EQ(fake->launchContexts.size(), 1u);
  EXPECT_EQ(fake->launchContexts[0], &context);
  EXPECT_EQ(fake->current, nullptr);

  // Another context of the caller's, and one that is right already.
  fake->current = fake;
  EXPECT_EQ(enqueue(3), "");
  EXPECT_EQ(fake->launchContexts[1], &context);
  EXPECT_EQ(fake->current, fake);
  fake->current = &context;
  EXPECT_EQ(enqueue(3), "");
  EXPECT_EQ(fake->current, &context);
  fake->current = nullptr;

  // The same after a failure.
  fake->launchStatus = 700;
  EXPECT_NE(enqueue(3), "");
  EXPECT_EQ(fake->current, nullptr);
}

TEST_F(EnqueueTest, OwnWorkspacesAreOnesOfAStream) {
  int before = fake->memory;
  EXPECT_EQ(enqueue(3), "");
  EXPECT_EQ(fake->memory, before + 1);
  EXPECT_EQ(fake->memsets, (std::vector<size_t>{24}));
  // The same extents again: the counters were left zero.
  EXPECT_EQ(enqueue(3), "");
  EXPECT_EQ(fake->memsets.size(), 1u);
  uint64_t first = fake->launches[0].params[3];
  EXPECT_EQ(fake->launches[1].params[3], first);

  options.stream = uint64_t(uintptr_t(&fake->streams));
  EXPECT_EQ(enqueue(3), "");
  EXPECT_EQ(fake->memory, before + 2);
  EXPECT_NE(fake->launches[2].params[3], first);

  // After a failure nothing is known of the counters.
  fake->launchStatus = 700;
  EXPECT_NE(enqueue(3), "");
  fake->launchStatus = 0;
  fake->memsets.clear();
  EXPECT_EQ(enqueue(3), "");
  EXPECT_EQ(fake->memsets, (std::vector<size_t>{24}));
}

TEST_F(EnqueueTest, GivenWorkspacesAreChecked) {
  llvm::Expected<uint64_t> size = executable->workspaceSize(rowsOf(3));
  ASSERT_TRUE(bool(size)) << llvm::toString(size.takeError());
  EXPECT_EQ(*size, 512u);
  options.workspace = kSpace;
  options.workspaceBytes = 511;
  EXPECT_EQ(enqueue(3), "expects a workspace of 512 bytes but got 511");
  options.workspaceBytes = 512;
  options.workspace = kSpace + 8;
  EXPECT_EQ(enqueue(3),
            "expects a workspace aligned to 256 bytes but got 0x30008");
  EXPECT_TRUE(fake->launches.empty());

  std::vector<uint8_t> memory(1024, 0xff);
  options.workspace = (uint64_t(uintptr_t(memory.data())) + 255) / 256 * 256;
  int before = fake->memory;
  EXPECT_EQ(enqueue(3), "");
  EXPECT_EQ(fake->memory, before);
  EXPECT_EQ(fake->launches[0].params[3], options.workspace);
  EXPECT_EQ(fake->memsets, (std::vector<size_t>{24}));
  options.isCleared = true;
  EXPECT_EQ(enqueue(3), "");
  EXPECT_EQ(fake->memsets.size(), 1u);
}

TEST_F(EnqueueTest, CapsCtas) {
  EXPECT_EQ(enqueue(3), "");
  EXPECT_EQ(fake->launches[0].grid[0], 48u);
  options.maxCtas = 13;
  EXPECT_EQ(enqueue(3), "");
  // The largest power of two.
  EXPECT_EQ(fake->launches[1].grid[0], 12u);
  options.maxCtas = 3;
  EXPECT_EQ(enqueue(3), "");
  EXPECT_EQ(fake->launches[2].grid[0], 3u);
  EXPECT_EQ(enqueue(4), "kernel 0 'test': expects at most 3 CTAs but 4 rows "
                        "take more of them at once");
}

TEST_F(EnqueueTest, ArgumentsAreChecked) {
  std::vector<BoundArgument> arguments = rowsOf(3);
  arguments[1].shape[0] = 4;
  EXPECT_EQ(llvm::toString(executable->enqueue(arguments, options)),
            "argument 1 'y': expects extent 3 in dim 0, that of dim 0 of "
            "argument 0 'x', but got 4");
  EXPECT_EQ(llvm::toString(executable->workspaceSize(arguments).takeError()),
            "argument 1 'y': expects extent 3 in dim 0, that of dim 0 of "
            "argument 0 'x', but got 4");
}

TEST(BorrowedContextTest, NullIsRefused) {
  EXPECT_EQ(llvm::toString(openCudaContext(0, NORM_FAKE_CUDA).takeError()),
            "expects a CUDA context but got null");
}

} // namespace
