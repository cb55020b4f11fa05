//===- PreparedLaunchTest.cpp - Tests of what a launch costs --------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What prepared launches call the driver with, and that they do nothing else.
// Memory from `operator new` is counted, in this program as a whole.
//
//===----------------------------------------------------------------------===//

#include "FakeCuda.h"
#include "RowManifest.h"
#include "norm/Runtime/CudaDevice.h"
#include "gtest/gtest.h"
#include <atomic>
#include <cstdlib>
#include <dlfcn.h>
#include <new>

using namespace norm;
using norm::test::FakeCuda;
using norm::test::rowManifest;
using norm::test::splitRowManifest;

namespace {
std::atomic<unsigned> numAllocations = 0;

void *allocate(size_t bytes) {
  ++numAllocations;
  return std::malloc(bytes ? bytes : 1);
}
} // namespace

// Nothing here handles a lack of memory.
void *operator new(size_t bytes) { return allocate(bytes); }
void *operator new[](size_t bytes) { return allocate(bytes); }
void *operator new(size_t bytes, const std::nothrow_t &) noexcept {
  return allocate(bytes);
}
void *operator new[](size_t bytes, const std::nothrow_t &) noexcept {
  return allocate(bytes);
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete[](void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, size_t) noexcept { std::free(memory); }
void operator delete[](void *memory, size_t) noexcept { std::free(memory); }

namespace {

/// Too long to be kept in a string without memory of its own.
constexpr const char *kSymbol = "main_0_of_a_program_with_a_rather_long_name";
constexpr llvm::StringLiteral kImage =
    "ptx with main_0_of_a_program_with_a_rather_long_name";

/// Far apart.
constexpr uint64_t kX = 0x10000, kY = uint64_t(1) << 40;

class PreparedLaunchTest : public testing::Test {
protected:
  void SetUp() override { use(NORM_FAKE_CUDA); }
  void TearDown() override {
    prepared.reset();
    executable.reset();
    device.reset();
    EXPECT_EQ(fake->memory, 0);
    EXPECT_EQ(fake->current, nullptr);
  }

  void use(const char *path) {
    library = path;
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    ASSERT_TRUE(handle) << dlerror();
    fake = reinterpret_cast<FakeCuda *(*)()>(dlsym(handle, "fakeCuda"))();
    *fake = FakeCuda();
  }

  /// Loads a kernel over rows and prepares a launch of 3 of them.
  void prepare(Manifest manifest) {
    manifest.kernels[0].variants[0].symbol = kSymbol;
    fake->paramsPerKernel = manifest.kernels[0].params.size();
    llvm::Expected<std::unique_ptr<Device>> opened = openCudaDevice(0, library);
    ASSERT_TRUE(bool(opened)) << llvm::toString(opened.takeError());
    device = std::move(*opened);
    auto loaded = device->load(kImage, manifest);
    ASSERT_TRUE(bool(loaded)) << llvm::toString(loaded.takeError());
    executable = std::move(*loaded);
    ASSERT_EQ(prepareRows(3), "");
  }

  std::string prepareRows(int64_t rows) {
    return llvm::toString(
        executable
            ->prepare({BoundArgument::contiguous(DType::F32, kX, {rows, 8}),
                       BoundArgument::contiguous(DType::F32, kY, {rows, 8})})
            .moveInto(prepared));
  }

  /// The driver's functions that one run calls, and the allocations in it.
  std::string cost() {
    fake->isForgetful = true;
    fake->numCalls = 0;
    unsigned before = numAllocations;
    llvm::Error error = prepared->run();
    unsigned allocations = numAllocations - before;
    fake->isForgetful = false;
    EXPECT_EQ(llvm::toString(std::move(error)), "");
    std::string text;
    for (unsigned i = 0; i < fake->numCalls; ++i)
      text += std::string(fake->calls[i]) + " ";
    return text + std::to_string(allocations);
  }

  /// One launch as the driver gets it.
  test::FakeLaunch launch(Manifest manifest) {
    prepare(std::move(manifest));
    EXPECT_EQ(llvm::toString(prepared->run()), "");
    EXPECT_EQ(fake->launches.size(), 1u);
    return fake->launches.empty() ? test::FakeLaunch() : fake->launches[0];
  }

  const char *library = nullptr;
  FakeCuda *fake = nullptr;
  std::unique_ptr<Device> device;
  std::unique_ptr<Executable> executable;
  std::unique_ptr<PreparedLaunch> prepared;
};

Manifest waiting(Manifest manifest) {
  manifest.kernels[0].variants[0].waits = 32;
  return manifest;
}

TEST_F(PreparedLaunchTest, AllocationsAreCounted) {
  unsigned before = numAllocations;
  std::string text(1000, 'x');
  EXPECT_EQ(text.size(), 1000u);
  EXPECT_GT(numAllocations, before);
}

TEST_F(PreparedLaunchTest, IsOneCallWhereTheContextIsCurrent) {
  prepare(rowManifest());
  {
    llvm::Expected<std::unique_ptr<ThreadScope>> scope = device->makeCurrent();
    ASSERT_TRUE(bool(scope)) << llvm::toString(scope.takeError());
    EXPECT_EQ(cost(), "cuCtxGetCurrent cuLaunchKernel 0");
    EXPECT_EQ(fake->current, fake);
  }
  // Where it isn't, the thread gets back what it had.
  EXPECT_EQ(cost(),
            "cuCtxGetCurrent cuCtxSetCurrent cuLaunchKernel cuCtxSetCurrent 0");
  ASSERT_EQ(prepareRows(0), "");
  fake->current = fake;
  EXPECT_EQ(cost(), "cuCtxGetCurrent 0");
  fake->current = nullptr;
}

TEST_F(PreparedLaunchTest, IsOneCallWithAttributes) {
  prepare(waiting(rowManifest()));
  fake->current = fake;
  EXPECT_EQ(cost(), "cuCtxGetCurrent cuLaunchKernelEx 0");
  fake->current = nullptr;
}

TEST_F(PreparedLaunchTest, CountersAreZeroedOnce) {
  prepare(splitRowManifest());
  fake->current = fake;
  EXPECT_EQ(llvm::toString(prepared->run()), "");
  EXPECT_EQ(fake->memsets, (std::vector<size_t>{24}));
  EXPECT_EQ(cost(), "cuCtxGetCurrent cuStreamIsCapturing "
                    "cuLaunchCooperativeKernel 0");
  fake->current = nullptr;
}

TEST_F(PreparedLaunchTest, FailuresAreToldAndPoisonNothing) {
  prepare(rowManifest());
  fake->launchStatus = 700;
  EXPECT_EQ(llvm::toString(prepared->run()),
            "cuLaunchKernel of 'main_0_of_a_program_with_a_rather_long_name' "
            "failed: an illegal memory access was encountered "
            "(CUDA_ERROR_ILLEGAL_ADDRESS)");
  fake->launchStatus = 0;
  EXPECT_EQ(llvm::toString(prepared->run()), "");
}

TEST_F(PreparedLaunchTest, ChecksAreDoneWhenPrepared) {
  prepare(rowManifest());
  EXPECT_EQ(prepareRows((int64_t(1) << 31) - 1), "");
  EXPECT_EQ(prepareRows(int64_t(1) << 31),
            "kernel 'main_0_of_a_program_with_a_rather_long_name': expects a "
            "grid of at most 2147483647 CTAs but got 2147483648 times a "
            "cluster of 1");
}

TEST_F(PreparedLaunchTest, KernelsThatWaitMayStartEarly) {
  test::FakeLaunch seen = launch(waiting(rowManifest()));
  EXPECT_TRUE(seen.dependent);
  EXPECT_EQ(seen.symbol, kSymbol);
  EXPECT_EQ(seen.grid[0], 3u);
  EXPECT_EQ(seen.block[0], 128u);
  EXPECT_EQ(seen.params, (std::vector<uint64_t>{kX, kY}));
}

TEST_F(PreparedLaunchTest, LargerGridsFollowInOrder) {
  prepare(waiting(rowManifest()));
  for (int64_t rows : {31, 32, 33}) {
    ASSERT_EQ(prepareRows(rows), "");
    EXPECT_EQ(llvm::toString(prepared->run()), "");
    EXPECT_EQ(fake->launches.back().dependent, rows <= 32) << rows;
  }
}

TEST_F(PreparedLaunchTest, OthersFollowInOrder) {
  EXPECT_FALSE(launch(rowManifest()).dependent);
}

TEST_F(PreparedLaunchTest, ClustersMayStartEarly) {
  Manifest manifest = waiting(rowManifest());
  manifest.kernels[0].variants[0].cluster = 4;
  test::FakeLaunch seen = launch(manifest);
  EXPECT_TRUE(seen.dependent);
  EXPECT_EQ(seen.cluster, 4u);
  EXPECT_EQ(seen.grid[0], 12u);
}

TEST_F(PreparedLaunchTest, PersistentGridsAreWhatIsResident) {
  Manifest manifest = rowManifest();
  Variant &variant = manifest.kernels[0].variants[0];
  variant.cluster = 4;
  variant.persistent = true;
  variant.dynamicShared = 1000;
  test::FakeLaunch seen = launch(manifest);
  EXPECT_EQ(seen.cluster, 4u);
  EXPECT_EQ(seen.grid[0], 12u);
  ASSERT_FALSE(fake->occupancies.empty());
  EXPECT_TRUE(
      llvm::StringRef(fake->occupancies[0]).ends_with(" 1000 cluster 4"))
      << fake->occupancies[0];
}

TEST_F(PreparedLaunchTest, PersistentGridsDontWaitForPlaces) {
  Manifest manifest = rowManifest();
  manifest.kernels[0].variants[0].cluster = 4;
  manifest.kernels[0].variants[0].persistent = true;
  fake->clusters = 2;
  EXPECT_EQ(launch(manifest).grid[0], 8u);
}

TEST_F(PreparedLaunchTest, CooperativeLaunchesFollowInOrder) {
  test::FakeLaunch seen = launch(waiting(splitRowManifest()));
  EXPECT_TRUE(seen.cooperative);
  EXPECT_FALSE(seen.dependent);
}

TEST_F(PreparedLaunchTest, SplitKernelsWithoutASplitMayStartEarly) {
  fake->cooperative = 0;
  test::FakeLaunch seen = launch(waiting(splitRowManifest()));
  EXPECT_FALSE(seen.cooperative);
  EXPECT_TRUE(seen.dependent);
}

TEST_F(PreparedLaunchTest, DriversBefore12FollowInOrder) {
  fake->driverVersion = 11080;
  EXPECT_FALSE(launch(waiting(rowManifest())).dependent);
}

TEST_F(PreparedLaunchTest, DriversOf12StartEarly) {
  fake->driverVersion = 12000;
  EXPECT_TRUE(launch(waiting(rowManifest())).dependent);
}

TEST_F(PreparedLaunchTest, DriversWithoutAttributesFollowInOrder) {
  use(NORM_FAKE_CUDA_OLD);
  EXPECT_FALSE(launch(waiting(rowManifest())).dependent);
}

} // namespace
