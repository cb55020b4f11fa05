//===- CudaDeviceTest.cpp - Tests of CUDA devices -------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Runtime/CudaDevice.h"
#include "FakeCuda.h"
#include "gtest/gtest.h"
#include <cstring>
#include <dlfcn.h>

using namespace norm;
using norm::test::FakeCuda;
using norm::test::FakeLaunch;

namespace {

constexpr llvm::StringLiteral kImage = "ptx with main_0 and main_1";

/// `y = f(x)` by rows; a fast variant with a cluster for aligned memory.
Manifest cudaManifest() {
  Manifest m;
  m.norm = "0.1.0";
  m.entry = "main";
  m.target = "sm_90";
  m.ptx = "8.0";
  m.minDriver = 12000;
  m.arguments = {
      {"x",
       ArgumentRole::Input,
       DType::F32,
       {kDynamic, 8},
       {kDynamic, 1},
       4,
       {},
       {}},
      {"y",
       ArgumentRole::Output,
       DType::F32,
       {kDynamic, 8},
       {kDynamic, 1},
       4,
       {},
       {BufferDim{0, 0}, std::nullopt}},
  };
  m.temporaries = {{DType::F32, {TemporaryExtent(BufferDim{0, 0})}}};
  Variant fast, slow;
  fast.symbol = "main_0";
  fast.requirements = {{0, 16}, {1, 16}};
  fast.block = 256;
  fast.rowsPerCta = 4;
  fast.cluster = 16;
  fast.dynamicShared = 100000;
  slow.symbol = "main_1";
  slow.block = 128;
  slow.rowsPerCta = 2;
  Kernel kernel;
  kernel.program = "test";
  kernel.reads = {0};
  kernel.writes = {1};
  kernel.rows = {0, {0}};
  kernel.columns = {0, {1}};
  kernel.params = {Param::pointer(0), Param::pointer(1), Param::pointer(2),
                   Param::extent(0, {0}), Param::workspace()};
  kernel.variants = {fast, slow};
  m.kernels = {kernel};
  m.workspace = {512, {{0, 512}}};
  return m;
}

class CudaDeviceTest : public testing::Test {
protected:
  void SetUp() override { use(NORM_FAKE_CUDA); }
  void TearDown() override {
    device.reset();
    if (!fake)
      return;
    EXPECT_EQ(fake->memory, 0);
    EXPECT_EQ(fake->modules, 0);
    EXPECT_EQ(fake->streams, 0);
    EXPECT_EQ(fake->events, 0);
    EXPECT_EQ(fake->contexts, 0);
  }

  void use(const char *path) {
    library = path;
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    ASSERT_TRUE(handle) << dlerror();
    auto get = reinterpret_cast<FakeCuda *(*)()>(dlsym(handle, "fakeCuda"));
    ASSERT_TRUE(get);
    fake = get();
    *fake = FakeCuda();
    fake->paramsPerKernel = 5;
  }

  void open() {
    llvm::Expected<std::unique_ptr<Device>> opened = openCudaDevice(0, library);
    ASSERT_TRUE(bool(opened)) << llvm::toString(opened.takeError());
    device = std::move(*opened);
  }

  std::string loadError(const Manifest &manifest,
                        llvm::StringRef image = kImage) {
    auto executable = device->load(image, manifest);
    return executable ? "" : llvm::toString(executable.takeError());
  }

  const char *library = nullptr;
  FakeCuda *fake = nullptr;
  std::unique_ptr<Device> device;
};

/// The message of the error that says there is no device, else an empty text.
std::string noDevice(llvm::Expected<std::unique_ptr<Device>> device) {
  std::string message;
  if (!device)
    llvm::handleAllErrors(
        device.takeError(),
        [&](const NoDeviceError &error) { message = error.message(); },
        [](const llvm::ErrorInfoBase &) {});
  return message;
}

TEST_F(CudaDeviceTest, MissingDriversAndDevicesAreTold) {
  EXPECT_NE(noDevice(openCudaDevice(0, "libnorm-no-such-driver.so"))
                .find("no CUDA driver: libnorm-no-such-driver.so"),
            std::string::npos);
  EXPECT_EQ(noDevice(openCudaDevice(1, library)),
            "no device cuda:1: the driver has 1 device");
  fake->initStatus = 100;
  EXPECT_EQ(noDevice(openCudaDevice(0, library)),
            "no CUDA device: cuInit failed: no CUDA-capable device is detected "
            "(CUDA_ERROR_NO_DEVICE)");
  // A library without the driver's entry points.
  EXPECT_NE(noDevice(openCudaDevice(0, "libm.so.6"))
                .find("no usable CUDA driver: libm.so.6 lacks cuInit"),
            std::string::npos);
}

TEST_F(CudaDeviceTest, DescribesItself) {
  open();
  EXPECT_EQ(device->name(), "cuda:0");
  EXPECT_EQ(device->target(), "sm_90");
  EXPECT_EQ(device->driverVersion(), 13000u);
  EXPECT_EQ(device->description(), "Fake GPU, sm_90, 132 SMs at 1980 MHz, L2 1 "
                                   "MiB, driver CUDA 13.0");
}

TEST_F(CudaDeviceTest, CopiesAndFills) {
  open();
  llvm::Expected<std::unique_ptr<Buffer>> buffer = device->allocate(16, 6);
  ASSERT_TRUE(bool(buffer)) << llvm::toString(buffer.takeError());
  EXPECT_EQ((*buffer)->address() % 256, 6u);
  EXPECT_FALSE(bool(device->fill(**buffer, 0xff)));
  uint8_t in[4] = {1, 2, 3, 4}, out[16] = {};
  EXPECT_FALSE(bool(device->copyIn(**buffer, 8, in)));
  EXPECT_FALSE(bool(device->copyOut(out, **buffer, 0)));
  EXPECT_EQ(out[7], 0xff);
  EXPECT_EQ(out[8], 1);
  EXPECT_EQ(out[12], 0xff);
  EXPECT_EQ(llvm::toString(device->copyIn(**buffer, 13, in)),
            "expects a copy within 16 bytes but got 4 bytes at 13");
  EXPECT_EQ(llvm::toString(device->copyOut(out, **buffer, ~uint64_t(0))),
            "expects a copy within 16 bytes but got 16 bytes at "
            "18446744073709551615");
  EXPECT_EQ(llvm::toString(device->allocate(uint64_t(1) << 40).takeError()),
            "cuMemAlloc of 1099511628032 bytes failed: out of memory "
            "(CUDA_ERROR_OUT_OF_MEMORY)");
  llvm::Expected<std::unique_ptr<Buffer>> empty = device->allocate(0);
  ASSERT_TRUE(bool(empty)) << llvm::toString(empty.takeError());
  EXPECT_FALSE(bool(device->fill(**empty, 1)));
  EXPECT_FALSE(bool(device->copyIn(**empty, 0, {})));
}

TEST_F(CudaDeviceTest, LaunchesTheVariantThatFits) {
  open();
  auto executable = device->load(kImage, cudaManifest());
  ASSERT_TRUE(bool(executable)) << llvm::toString(executable.takeError());
  EXPECT_EQ(fake->image, kImage.str());
  EXPECT_EQ(fake->attributes,
            (std::vector<std::string>{"main_0 8=100000", "main_0 14=1"}));
  EXPECT_EQ((*executable)->notes(),
            (std::vector<std::string>{
                "main_0: 40 registers, 0 bytes of local memory",
                "main_1: 40 registers, 0 bytes of local memory"}));
  auto x = device->allocate(1024), y = device->allocate(1024);
  ASSERT_TRUE(x && y);
  int seen = 0;
  fake->onLaunch = [&](const FakeLaunch &) { ++seen; };
  auto run = [&](uint64_t offset, int64_t rows) {
    llvm::Error error =
        (*executable)
            ->launch({BoundArgument::contiguous(
                          DType::F32, (*x)->address() + offset, {rows, 8}),
                      BoundArgument::contiguous(DType::F32, (*y)->address(),
                                                {rows, 8})});
    EXPECT_FALSE(bool(error)) << llvm::toString(std::move(error));
  };
  run(0, 9);
  run(4, 9);
  run(0, 0);
  EXPECT_EQ(seen, 2);
  ASSERT_EQ(fake->launches.size(), 2u);
  const FakeLaunch &fast = fake->launches[0], &slow = fake->launches[1];
  EXPECT_EQ(fast.symbol, "main_0");
  EXPECT_EQ(fast.grid[0], 3u * 16);
  EXPECT_EQ(fast.grid[1], 1u);
  EXPECT_EQ(fast.grid[2], 1u);
  EXPECT_EQ(fast.block[0], 256u);
  EXPECT_EQ(fast.shared, 100000u);
  EXPECT_EQ(fast.cluster, 16u);
  EXPECT_EQ(fast.params[0], (*x)->address());
  EXPECT_EQ(fast.params[1], (*y)->address());
  EXPECT_NE(fast.params[2], 0u);
  EXPECT_EQ(fast.params[3], 9u);
  EXPECT_NE(fast.params[4], 0u);
  EXPECT_EQ(slow.symbol, "main_1");
  EXPECT_EQ(slow.grid[0], 5u);
  EXPECT_EQ(slow.block[0], 128u);
  EXPECT_EQ(slow.shared, 0u);
  EXPECT_EQ(slow.cluster, 1u);
  EXPECT_EQ(slow.params[0], (*x)->address() + 4);
}

TEST_F(CudaDeviceTest, OldDriversLaunchWithoutClusters) {
  use(NORM_FAKE_CUDA_OLD);
  open();
  Manifest manifest = cudaManifest();
  auto executable = device->load(kImage, manifest);
  ASSERT_TRUE(bool(executable)) << llvm::toString(executable.takeError());
  auto x = device->allocate(1024), y = device->allocate(1024);
  ASSERT_TRUE(x && y);
  auto run = [&](uint64_t offset) {
    return llvm::toString(
        (*executable)
            ->launch({BoundArgument::contiguous(
                          DType::F32, (*x)->address() + offset, {9, 8}),
                      BoundArgument::contiguous(DType::F32, (*y)->address(),
                                                {9, 8})}));
  };
  EXPECT_EQ(run(4), "");
  ASSERT_EQ(fake->launches.size(), 1u);
  EXPECT_EQ(fake->launches[0].grid[0], 5u);
  EXPECT_EQ(run(0), "kernel 'main_0': expects a driver with clusters (CUDA "
                    "11.8) but got 13000");
}

/// Rows shared by 2 CTAs where memory is aligned, else by as many as fit.
Manifest splitManifest() {
  Manifest m = cudaManifest();
  Kernel &kernel = m.kernels[0];
  kernel.params[4] = Param::split();
  kernel.params.push_back(Param::workspace());
  kernel.slices = 16;
  kernel.counterBytes = 8;
  kernel.unitBytes = 64;
  kernel.variants[0].cluster = 1;
  kernel.variants[0].split = 2;
  kernel.variants[1].split = 0;
  m.workspace = {};
  return m;
}

/// Runs an executable on rows of 8 columns.
class SplitCudaTest : public CudaDeviceTest {
protected:
  void load(const Manifest &manifest) {
    fake->paramsPerKernel = 6;
    auto loaded = device->load(kImage, manifest);
    ASSERT_TRUE(bool(loaded)) << llvm::toString(loaded.takeError());
    executable = std::move(*loaded);
    auto memory = device->allocate(1 << 20);
    ASSERT_TRUE(bool(memory)) << llvm::toString(memory.takeError());
    x = std::move(*memory);
    memory = device->allocate(1 << 20);
    ASSERT_TRUE(bool(memory)) << llvm::toString(memory.takeError());
    y = std::move(*memory);
    fake->memsets.clear();
  }
  void TearDown() override {
    executable.reset();
    x.reset();
    y.reset();
    CudaDeviceTest::TearDown();
  }

  std::string run(int64_t rows, uint64_t offset = 0) {
    return llvm::toString(executable->launch(
        {BoundArgument::contiguous(DType::F32, x->address() + offset,
                                   {rows, 8}),
         BoundArgument::contiguous(DType::F32, y->address(), {rows, 8})}));
  }

  std::unique_ptr<Executable> executable;
  std::unique_ptr<Buffer> x, y;
};

TEST_F(SplitCudaTest, SharedRowsAreLaunchedCooperatively) {
  open();
  load(splitManifest());
  EXPECT_EQ(fake->occupancies,
            (std::vector<std::string>{"main_0 256 100000", "main_1 128 0"}));
  EXPECT_EQ(run(9), "");
  EXPECT_EQ(run(9, 4), "");
  // 264 CTAs are resident: too few for 2 in each of 133 groups of 4 rows.
  EXPECT_EQ(run(4 * 133), "");
  ASSERT_EQ(fake->launches.size(), 3u);
  EXPECT_EQ(fake->launches[0].symbol, "main_0");
  EXPECT_EQ(fake->launches[0].grid[0], 3u * 2);
  EXPECT_TRUE(fake->launches[0].cooperative);
  EXPECT_EQ(fake->launches[0].cluster, 1u);
  EXPECT_EQ(fake->launches[0].params[4], 2u);
  EXPECT_EQ(fake->launches[1].symbol, "main_1");
  EXPECT_EQ(fake->launches[1].grid[0], 5u * 16);
  EXPECT_TRUE(fake->launches[1].cooperative);
  EXPECT_EQ(fake->launches[1].params[4], 16u);
  EXPECT_EQ(fake->launches[2].symbol, "main_1");
  EXPECT_EQ(fake->launches[2].grid[0], 266u);
  EXPECT_FALSE(fake->launches[2].cooperative);
  EXPECT_EQ(fake->launches[2].params[4], 1u);
}

TEST_F(SplitCudaTest, OldDriversLaunchCooperativelyToo) {
  use(NORM_FAKE_CUDA_OLD);
  open();
  load(splitManifest());
  EXPECT_EQ(run(9), "");
  ASSERT_EQ(fake->launches.size(), 1u);
  EXPECT_TRUE(fake->launches[0].cooperative);
  EXPECT_EQ(fake->launches[0].grid[0], 3u * 2);
}

TEST_F(SplitCudaTest, WithoutCooperativeLaunchesNobodyWaits) {
  fake->cooperative = 0;
  open();
  load(splitManifest());
  EXPECT_TRUE(fake->occupancies.empty());
  EXPECT_EQ(run(9), "");
  ASSERT_EQ(fake->launches.size(), 1u);
  EXPECT_EQ(fake->launches[0].symbol, "main_1");
  EXPECT_EQ(fake->launches[0].grid[0], 5u);
  EXPECT_FALSE(fake->launches[0].cooperative);
}

TEST_F(SplitCudaTest, CountersAreZeroWhereTheyLie) {
  open();
  load(splitManifest());
  using Memsets = std::vector<size_t>;
  EXPECT_EQ(run(9), "");
  // 3 groups of 4 rows, of which the last has fewer.
  EXPECT_EQ(fake->memsets, Memsets({3 * 8}));
  uint64_t small = fake->launches.back().params[5];
  EXPECT_EQ(small % 256, 0u);
  // The same place: the launch before left them zero.
  EXPECT_EQ(run(9), "");
  EXPECT_EQ(fake->memsets, Memsets({3 * 8}));
  // Other rows, where data was before.
  EXPECT_EQ(run(5), "");
  EXPECT_EQ(fake->memsets, Memsets({3 * 8, 2 * 8}));
  EXPECT_EQ(fake->launches.back().params[5], small);
  // More than there is memory for.
  EXPECT_EQ(run(200), "");
  EXPECT_EQ(fake->memsets, Memsets({3 * 8, 2 * 8, 50 * 8}));
  // The larger one stays.
  uint64_t large = fake->launches.back().params[5];
  EXPECT_EQ(run(9), "");
  EXPECT_EQ(fake->launches.back().params[5], large);
  EXPECT_EQ(fake->memsets, Memsets({3 * 8, 2 * 8, 50 * 8, 3 * 8}));
  EXPECT_EQ(run(0), "");
  EXPECT_EQ(fake->memsets.size(), 4u);
}

TEST_F(SplitCudaTest, AFailedLaunchPoisonsNoCounters) {
  open();
  load(splitManifest());
  EXPECT_EQ(run(9), "");
  fake->launchStatus = 700;
  EXPECT_NE(run(9), "");
  fake->launchStatus = 0;
  fake->memsets.clear();
  EXPECT_EQ(run(9), "");
  EXPECT_EQ(fake->memsets, (std::vector<size_t>{3 * 8}));
  // One that fails while it runs is noticed later.
  fake->syncStatus = 700;
  EXPECT_NE(run(9), "");
  fake->syncStatus = 0;
  fake->memsets.clear();
  EXPECT_EQ(run(9), "");
  EXPECT_EQ(fake->memsets, (std::vector<size_t>{3 * 8}));
}

TEST_F(SplitCudaTest, LaunchesKeepTheirWorkspace) {
  open();
  load(splitManifest());
  auto prepare = [&](int64_t rows) {
    auto prepared = executable->prepare(
        {BoundArgument::contiguous(DType::F32, x->address(), {rows, 8}),
         BoundArgument::contiguous(DType::F32, y->address(), {rows, 8})});
    EXPECT_TRUE(bool(prepared)) << llvm::toString(prepared.takeError());
    return std::move(*prepared);
  };
  std::unique_ptr<PreparedLaunch> small = prepare(9), large = prepare(200);
  EXPECT_FALSE(bool(small->run()));
  EXPECT_FALSE(bool(large->run()));
  EXPECT_FALSE(bool(small->run()));
  ASSERT_EQ(fake->launches.size(), 3u);
  EXPECT_NE(fake->launches[0].params[5], fake->launches[1].params[5]);
  EXPECT_EQ(fake->launches[0].params[5], fake->launches[2].params[5]);
  EXPECT_EQ(fake->memsets.size(), 2u);
}

TEST_F(CudaDeviceTest, FailuresNameTheCall) {
  open();
  EXPECT_EQ(loadError(cudaManifest(), "wrong"),
            "cuModuleLoadDataEx failed: a PTX JIT compilation failed "
            "(CUDA_ERROR_INVALID_PTX)\nptxas line 3: syntax error near "
            "'wrong'");
  EXPECT_EQ(loadError(cudaManifest(), "ptx with main_0"),
            "cuModuleGetFunction of 'main_1' failed: named symbol not found "
            "(CUDA_ERROR_NOT_FOUND)");
  auto executable = device->load(kImage, cudaManifest());
  ASSERT_TRUE(bool(executable)) << llvm::toString(executable.takeError());
  auto x = device->allocate(1024), y = device->allocate(1024);
  ASSERT_TRUE(x && y);
  fake->launchStatus = 700;
  EXPECT_EQ(
      llvm::toString((*executable)
                         ->launch({BoundArgument::contiguous(
                                       DType::F32, (*x)->address(), {9, 8}),
                                   BoundArgument::contiguous(
                                       DType::F32, (*y)->address(), {9, 8})})),
      "cuLaunchKernelEx of 'main_0' failed: an illegal memory access was "
      "encountered (CUDA_ERROR_ILLEGAL_ADDRESS)");
  fake->launchStatus = 12345;
  EXPECT_EQ(
      llvm::toString((*executable)
                         ->launch({BoundArgument::contiguous(
                                       DType::F32, (*x)->address(), {9, 8}),
                                   BoundArgument::contiguous(
                                       DType::F32, (*y)->address(), {9, 8})})),
      "cuLaunchKernelEx of 'main_0' failed: unknown error (status "
      "12345)");
}

TEST_F(CudaDeviceTest, CodeMustSuitTheDevice) {
  open();
  auto broken = [&](auto change) {
    Manifest manifest = cudaManifest();
    change(manifest);
    return loadError(manifest);
  };
  EXPECT_EQ(broken([](Manifest &m) { m.target = "sm_80"; }), "");
  EXPECT_EQ(broken([](Manifest &m) { m.target = "sm_90a"; }), "");
  EXPECT_EQ(broken([](Manifest &m) { m.target = "sm_100"; }),
            "device cuda:0 expects code for sm_90 but got sm_100");
  EXPECT_EQ(broken([](Manifest &m) { m.target = "sm_80a"; }),
            "device cuda:0 expects code for sm_90 but got sm_80a");
  EXPECT_EQ(broken([](Manifest &m) { m.target = "host"; }),
            "device cuda:0 expects code for sm_90 but got host");
  EXPECT_EQ(broken([](Manifest &m) { m.minDriver = 13010; }),
            "device cuda:0 expects code for driver 13000 or older but got "
            "13010");
  EXPECT_EQ(broken([](Manifest &m) { m.kernels[0].variants[1].block = 1024; }),
            "kernel 'main_1': expects at most 512 threads per CTA but got "
            "1024");
  EXPECT_EQ(broken([](Manifest &m) {
              m.kernels[0].variants[0].dynamicShared = 262144;
            }),
            "kernel 'main_0': expects at most 232448 bytes of shared memory "
            "per CTA but got 262144");
  EXPECT_EQ(broken([](Manifest &m) { m.kernels[0].rows.buffer = 77; }),
            "manifest: kernels[0].rows.buffer: expects a buffer index below 3 "
            "but got 77");
}

TEST_F(CudaDeviceTest, CappedRegistersMustSuffice) {
  open();
  fake->localBytes = 2600;
  Manifest manifest = cudaManifest();
  EXPECT_EQ(loadError(manifest), "");
  manifest.kernels[0].schedule = "#norm.schedule<max_registers = 32>";
  EXPECT_EQ(loadError(manifest),
            "kernel 'main_0': schedule needs more registers than its "
            "max_registers, 2600 bytes of local memory per thread, but at most "
            "1024 are allowed");
}

TEST_F(CudaDeviceTest, TimesLaunches) {
  open();
  auto executable = device->load(kImage, cudaManifest());
  ASSERT_TRUE(bool(executable)) << llvm::toString(executable.takeError());
  auto x = device->allocate(1024), y = device->allocate(1024);
  ASSERT_TRUE(x && y);
  auto prepared =
      (*executable)
          ->prepare(
              {BoundArgument::contiguous(DType::F32, (*x)->address(), {9, 8}),
               BoundArgument::contiguous(DType::F32, (*y)->address(), {9, 8})});
  ASSERT_TRUE(bool(prepared)) << llvm::toString(prepared.takeError());
  fake->image += " norm_read_all";
  TimingOptions options;
  options.warmups = 2;
  options.launches = 40;
  llvm::Expected<Timing> timing = (*prepared)->time(0, options);
  ASSERT_TRUE(bool(timing)) << llvm::toString(timing.takeError());
  EXPECT_EQ(timing->milliseconds.size(), 40u);
  EXPECT_EQ(timing->median(), 0.5);
  // Every launch follows a flush of the cache, so none is needed to lead in.
  EXPECT_EQ(fake->launches.size(), 42u);
}

TEST_F(CudaDeviceTest, WorksTakeTurns) {
  open();
  std::string order;
  std::vector<DeviceWork> works;
  for (char letter : {'a', 'b', 'c'})
    works.push_back([&order, letter] {
      order += letter;
      return llvm::Error::success();
    });
  TurnOptions options;
  options.warmups = 1;
  options.launches = 5;
  auto timings = device->timeInTurns(works, options);
  ASSERT_TRUE(bool(timings)) << llvm::toString(timings.takeError());
  ASSERT_EQ(timings->size(), 3u);
  for (const Timing &timing : *timings)
    EXPECT_EQ(timing.milliseconds, std::vector<double>(5, 0.5));
  // A warm-up; before each batch the last, which keeps the device busy.
  EXPECT_EQ(order, "abc"
                   "cabcabcabc"
                   "cabcabc");
  works[1] = [] { return llvm::createStringError("it broke"); };
  auto failed = device->timeInTurns(works, options);
  ASSERT_FALSE(bool(failed));
  EXPECT_EQ(llvm::toString(failed.takeError()), "it broke");
}

TEST_F(CudaDeviceTest, RecordsAGraph) {
  open();
  auto executable = device->load(kImage, cudaManifest());
  ASSERT_TRUE(bool(executable)) << llvm::toString(executable.takeError());
  auto x = device->allocate(1024), y = device->allocate(1024);
  ASSERT_TRUE(x && y);
  auto prepared =
      (*executable)
          ->prepare(
              {BoundArgument::contiguous(DType::F32, (*x)->address(), {9, 8}),
               BoundArgument::contiguous(DType::F32, (*y)->address(), {9, 8})});
  ASSERT_TRUE(bool(prepared)) << llvm::toString(prepared.takeError());
  unsigned runs = 0;
  auto twice = [&]() -> llvm::Error {
    ++runs;
    if (llvm::Error error = (*prepared)->run())
      return error;
    return (*prepared)->run();
  };
  {
    auto recorded = device->record(twice);
    ASSERT_TRUE(bool(recorded)) << llvm::toString(recorded.takeError());
    EXPECT_EQ(fake->launches.size(), 0u);
    // Before each launch its counters are zeroed, for nobody knows when the
    // graph will run.
    ASSERT_EQ(fake->captured.size(), 4u);
    EXPECT_EQ(fake->captured[0].symbol, "memset");
    EXPECT_EQ(fake->captured[1].symbol, "main_0");
    EXPECT_EQ(fake->captured[2].symbol, "memset");
    for (int i = 0; i < 3; ++i)
      ASSERT_FALSE(bool((*recorded)()));
    EXPECT_EQ(fake->launches.size(), 6u);
    EXPECT_EQ(runs, 1u);
    EXPECT_EQ(fake->graphExecs, 1);
  }
  EXPECT_EQ(fake->graphs, 0);
  EXPECT_EQ(fake->graphExecs, 0);
  // Work that fails ends the capture.
  auto failed = device->record([] { return llvm::createStringError("no"); });
  ASSERT_FALSE(bool(failed));
  EXPECT_EQ(llvm::toString(failed.takeError()), "no");
  EXPECT_EQ(fake->capturing, nullptr);
  EXPECT_EQ(fake->graphs, 0);
}

TEST_F(CudaDeviceTest, GraphsNeedADriverThatHasThem) {
  use(NORM_FAKE_CUDA_OLD);
  open();
  auto recorded = device->record([] { return llvm::Error::success(); });
  ASSERT_FALSE(bool(recorded));
  EXPECT_EQ(llvm::toString(recorded.takeError()),
            "expects a driver with graphs (CUDA 11.4) but got 13000");
}

TEST_F(CudaDeviceTest, BudgetEndsTiming) {
  open();
  auto executable = device->load(kImage, cudaManifest());
  ASSERT_TRUE(bool(executable)) << llvm::toString(executable.takeError());
  auto x = device->allocate(1024), y = device->allocate(1024);
  ASSERT_TRUE(x && y);
  auto prepared =
      (*executable)
          ->prepare(
              {BoundArgument::contiguous(DType::F32, (*x)->address(), {9, 8}),
               BoundArgument::contiguous(DType::F32, (*y)->address(), {9, 8})});
  ASSERT_TRUE(bool(prepared)) << llvm::toString(prepared.takeError());
  TimingOptions options;
  options.budget = 5.0; // ten launches of half a millisecond
  llvm::Expected<Timing> timing = (*prepared)->time(0, options);
  ASSERT_TRUE(bool(timing)) << llvm::toString(timing.takeError());
  EXPECT_EQ(timing->milliseconds.size(), 10u);
}

TEST_F(CudaDeviceTest, MeasuresCopiesWithinMemory) {
  open();
  llvm::Expected<CopyRate> rate = device->measureCopyRate(1000);
  ASSERT_TRUE(bool(rate)) << llvm::toString(rate.takeError());
  // A quarter of the free 16 MiB: two such buffers must fit.
  EXPECT_EQ(rate->bytes, uint64_t(4) << 20);
  EXPECT_NEAR(rate->gigabytesPerSecond, 2 * 4.194304e6 / 0.5e6, 1e-6);
}

} // namespace
