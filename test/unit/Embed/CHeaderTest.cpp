//===- CHeaderTest.cpp - Tests of embedded headers ------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Headers check and launch by C code of their own: here beside the runtime, on
// the same driver, which must see the same launches.
//
//===----------------------------------------------------------------------===//

#include "norm/Embed/CHeader.h"
#include "FakeCuda.h"
#include "across.h"
#include "add_rms_norm.h"
#include "few_rows.h"
#include "groups.h"
#include "norm/Runtime/CudaDevice.h"
#include "two_kernels.h"
#include "llvm/Support/MemoryBuffer.h"
#include "gtest/gtest.h"
#include <cstring>

using namespace norm;
using norm::test::FakeCuda;
using norm::test::FakeLaunch;

extern "C" FakeCuda *fakeCuda();

namespace {

/// The functions of a header.
struct Embedded {
  const char *name;
  CUresult (*load)(norm_program *);
  CUresult (*unload)(norm_program *);
  CUresult (*workspaceSize)(const norm_program *, const norm_tensor *, size_t *,
                            const char **);
  CUresult (*launch)(const norm_program *, const norm_tensor *, CUdeviceptr,
                     size_t, CUstream, const char **);
};
#define NORM_EMBEDDED(NAME)                                                    \
  {#NAME, NAME##_load, NAME##_unload, NAME##_workspace_size, NAME##_launch}

const Embedded kAddRmsNorm = NORM_EMBEDDED(add_rms_norm);
const Embedded kFewRows = NORM_EMBEDDED(few_rows);
const Embedded kAcross = NORM_EMBEDDED(across);
const Embedded kGroups = NORM_EMBEDDED(groups);
const Embedded kTwoKernels = NORM_EMBEDDED(two_kernels);

Manifest readManifest(const char *name) {
  auto file = llvm::MemoryBuffer::getFile(std::string(NORM_EMBEDDED_DIR "/") +
                                          name + ".json");
  if (!file)
    return {};
  llvm::Expected<Manifest> manifest = parseManifest((*file)->getBuffer());
  if (manifest)
    return std::move(*manifest);
  ADD_FAILURE() << llvm::toString(manifest.takeError());
  return {};
}

std::string print(const FakeLaunch &launch) {
  std::string text = launch.symbol + " grid " + std::to_string(launch.grid[0]) +
                     " block " + std::to_string(launch.block[0]) + " shared " +
                     std::to_string(launch.shared) +
                     (launch.cooperative ? " cooperative" : "") +
                     (launch.dependent ? " dependent" : "");
  for (uint64_t value : launch.params)
    text += " " + std::to_string(value);
  return text;
}

class CHeaderTest : public testing::Test {
protected:
  void SetUp() override {
    fake = fakeCuda();
    *fake = FakeCuda();
    fake->borrowedStream = &stream;
  }
  void open(const Embedded &which) {
    header = which;
    manifest = readManifest(which.name);
    fake->paramsPerKernel = ~0u;
    for (const Kernel &kernel : manifest.kernels)
      fake->paramsPerKernel =
          std::min<unsigned>(fake->paramsPerKernel, kernel.params.size());
    llvm::Expected<std::unique_ptr<Device>> opened =
        openCudaDevice(0, NORM_FAKE_CUDA);
    ASSERT_TRUE(bool(opened)) << llvm::toString(opened.takeError());
    device = std::move(*opened);
    fake->current = fake;
    ASSERT_EQ(header.load(&program), CUDA_SUCCESS);
    llvm::Expected<std::unique_ptr<Executable>> loaded = device->load(
        reinterpret_cast<const char *>(program.image->code), manifest);
    ASSERT_TRUE(bool(loaded)) << llvm::toString(loaded.takeError());
    executable = std::move(*loaded);
  }
  void TearDown() override {
    if (program.module)
      EXPECT_EQ(header.unload(&program), CUDA_SUCCESS);
    executable.reset();
    device.reset();
    EXPECT_EQ(fake->modules, 0);
  }

  /// Launches by both; the launches that the runtime did, one a line, and what
  /// is wrong with those of the header.
  std::string run(llvm::ArrayRef<BoundArgument> arguments) {
    std::vector<norm_tensor> tensors;
    for (const BoundArgument &argument : arguments)
      tensors.push_back(
          {argument.address, argument.shape.data(), argument.strides.data()});
    llvm::Expected<uint64_t> bytes = executable->workspaceSize(arguments);
    size_t size = 0;
    const char *why = nullptr;
    CUresult result =
        header.workspaceSize(&program, tensors.data(), &size, &why);
    if (!bytes) {
      std::string text = llvm::toString(bytes.takeError());
      EXPECT_EQ(result, CUDA_ERROR_INVALID_VALUE) << text;
      return why ? why : "no reason";
    }
    EXPECT_EQ(result, CUDA_SUCCESS) << why;
    EXPECT_EQ(size, *bytes);
    std::vector<uint8_t> memory(size + 256);
    uint64_t workspace = (uint64_t(uintptr_t(memory.data())) + 255) / 256 * 256;

    fake->launches.clear();
    fake->memsets.clear();
    EXPECT_EQ(header.launch(&program, tensors.data(), workspace, size,
                            reinterpret_cast<CUstream>(&stream), &why),
              CUDA_SUCCESS)
        << why;
    std::vector<FakeLaunch> ours = std::move(fake->launches);
    std::vector<size_t> memsets = std::move(fake->memsets);
    fake->launches.clear();
    fake->memsets.clear();
    LaunchOptions options;
    options.stream = uint64_t(uintptr_t(&stream));
    options.workspace = workspace;
    options.workspaceBytes = size;
    llvm::Error error = executable->enqueue(arguments, options);
    EXPECT_FALSE(bool(error)) << llvm::toString(std::move(error));
    EXPECT_EQ(memsets, fake->memsets);
    std::string text, wanted;
    for (const FakeLaunch &launch : ours)
      text += print(launch) + "\n";
    for (const FakeLaunch &launch : fake->launches)
      wanted += print(launch) + "\n";
    EXPECT_EQ(text, wanted);
    return wanted;
  }

  /// `shape` of f32 at an address.
  static BoundArgument f32(uint64_t address, llvm::ArrayRef<int64_t> shape) {
    return BoundArgument::contiguous(DType::F32, address, shape);
  }

  int stream = 0;
  FakeCuda *fake = nullptr;
  Embedded header = {};
  norm_program program = {};
  Manifest manifest;
  std::unique_ptr<Device> device;
  std::unique_ptr<Executable> executable;
};

TEST_F(CHeaderTest, PicksTheBestImage) {
  struct Case {
    int major, minor, driver, capability;
  };
  for (const Case &c :
       {Case{8, 6, 13000, 80}, Case{9, 0, 13000, 90}, Case{10, 0, 13000, 90}}) {
    *fake = FakeCuda();
    fake->current = fake;
    fake->major = c.major;
    fake->minor = c.minor;
    fake->driverVersion = c.driver;
    norm_program loaded;
    ASSERT_EQ(add_rms_norm_load(&loaded), CUDA_SUCCESS);
    EXPECT_EQ(loaded.image->capability, c.capability);
    EXPECT_EQ(add_rms_norm_unload(&loaded), CUDA_SUCCESS);
  }
  norm_program loaded;
  fake->major = 7;
  EXPECT_EQ(add_rms_norm_load(&loaded), CUDA_ERROR_NO_BINARY_FOR_GPU);
  fake->major = 9;
  fake->driverVersion = 11000;
  EXPECT_EQ(add_rms_norm_load(&loaded), CUDA_ERROR_NO_BINARY_FOR_GPU);
}

TEST_F(CHeaderTest, LaunchesAsTheRuntime) {
  open(kAddRmsNorm);
  for (uint64_t offset : {0, 2})
    for (int64_t rows : {0, 1, 7, 4096}) {
      auto matrix = [&](uint64_t address, int64_t pitch) {
        BoundArgument argument =
            BoundArgument::contiguous(DType::BF16, address, {rows, 4096});
        argument.strides[0] = pitch;
        return argument;
      };
      std::string launches =
          run({matrix(0x10000000 + offset, 4096), matrix(0x20000000, 5000),
               BoundArgument::contiguous(DType::BF16, 0x30000000, {4096}),
               matrix(0x40000000, 4100), matrix(0x20000000, 5000)});
      EXPECT_EQ(launches.empty(), rows == 0);
    }
}

TEST_F(CHeaderTest, KernelsThatWaitMayStartEarly) {
  std::vector<BoundArgument> arguments;
  for (uint64_t address :
       {0x10000000, 0x20000000, 0x30000000, 0x40000000, 0x20000000})
    arguments.push_back(
        BoundArgument::contiguous(DType::BF16, address, {3, 4096}));
  arguments[2] = BoundArgument::contiguous(DType::BF16, 0x30000000, {4096});
  open(kFewRows);
  EXPECT_NE(run(arguments).find(" dependent"), std::string::npos);
  // Not with a driver that doesn't know of it.
  program.driver = 11080;
  std::vector<norm_tensor> tensors;
  for (const BoundArgument &argument : arguments)
    tensors.push_back(
        {argument.address, argument.shape.data(), argument.strides.data()});
  fake->launches.clear();
  ASSERT_EQ(header.launch(&program, tensors.data(), 0, 0,
                          reinterpret_cast<CUstream>(&stream), nullptr),
            CUDA_SUCCESS);
  ASSERT_EQ(fake->launches.size(), 1u);
  EXPECT_FALSE(fake->launches[0].dependent);
}

TEST_F(CHeaderTest, SharedRowsAndWorkspaces) {
  open(kAcross);
  for (int64_t columns : {1, 7, 64, 1000, 4096, 100000})
    for (uint64_t offset : {0, 4})
      EXPECT_NE(run({f32(0x10000000 + offset, {16384, columns}),
                     f32(0x700000000, {16384, columns})}),
                "");
  fake->launches.clear();
  // Without cooperative launches.
  executable.reset();
  EXPECT_EQ(header.unload(&program), CUDA_SUCCESS);
  device.reset();
  fake->cooperative = 0;
  open(kAcross);
  EXPECT_NE(run({f32(0x10000000, {16384, 64}), f32(0x700000000, {16384, 64})}),
            "");
}

TEST_F(CHeaderTest, Temporaries) {
  open(kTwoKernels);
  for (int64_t batch : {0, 1, 50})
    run({f32(0x10000000, {batch, 64, 96}), f32(0x20000000, {batch, 64, 96})});
}

TEST_F(CHeaderTest, PartsOfADimMayBeUnaligned) {
  open(kGroups);
  auto call = [&](int64_t channels) {
    return run({BoundArgument::contiguous(DType::F16, 0x10000000,
                                          {3, 16, channels}),
                BoundArgument::contiguous(DType::F16, 0x20000000,
                                          {3, 16, channels})});
  };
  // Rows of 16 channels are aligned, groups of 2 are not.
  EXPECT_EQ(llvm::StringRef(call(64)).split(' ').first, "groups_0");
  EXPECT_EQ(llvm::StringRef(call(16)).split(' ').first, "groups_0_unaligned");
}

TEST_F(CHeaderTest, WrongArgumentsAreRefused) {
  open(kAcross);
  BoundArgument x = f32(0x10000000, {16384, 64});
  BoundArgument y = f32(0x20000000, {16384, 64});
  auto refuse = [&](BoundArgument first, BoundArgument second) {
    return run({std::move(first), std::move(second)});
  };
  BoundArgument wrong = y;
  wrong.shape[0] = 16383;
  EXPECT_EQ(refuse(x, wrong), "an extent isn't that of the program");
  wrong = y;
  wrong.shape[1] = 63;
  EXPECT_EQ(refuse(x, wrong), "two extents differ that must be equal");
  wrong = y;
  wrong.address += 2;
  EXPECT_EQ(refuse(x, wrong), "an address isn't aligned to its elements");
  wrong = y;
  wrong.address = 0;
  EXPECT_EQ(refuse(x, wrong), "an address is null");
  wrong = y;
  wrong.address = x.address + 64;
  EXPECT_EQ(refuse(x, wrong), "an output overlaps another argument");
  wrong = y;
  wrong.strides[1] = 3;
  EXPECT_EQ(refuse(x, wrong), "a stride isn't that of the program");

  // A workspace that is too small, or not aligned.
  norm_tensor tensors[] = {
      {x.address, x.shape.data(), nullptr},
      {y.address, y.shape.data(), nullptr},
  };
  size_t size = 0;
  const char *why = nullptr;
  ASSERT_EQ(across_workspace_size(&program, tensors, &size, &why),
            CUDA_SUCCESS);
  ASSERT_GT(size, 256u);
  EXPECT_EQ(across_launch(&program, tensors, 256, size - 1, nullptr, &why),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_STREQ(why, "the workspace is too small");
  EXPECT_EQ(across_launch(&program, tensors, 264, size, nullptr, nullptr),
            CUDA_ERROR_INVALID_VALUE);
}

TEST(PrintCHeaderTest, WhatItDoesntTake) {
  auto error = [](llvm::ArrayRef<EmbeddedImage> images) {
    return llvm::toString(printCHeader(images).takeError());
  };
  EXPECT_EQ(error({}), "c-header expects a target but got none");
  EmbeddedImage host;
  host.manifest.target = "host";
  host.manifest.entry = "f";
  EXPECT_EQ(error({host}), "c-header expects GPU targets but got host");
  EmbeddedImage first, second;
  first.manifest.entry = second.manifest.entry = "f";
  first.manifest.target = "sm_80";
  second.manifest.target = "sm_90";
  second.manifest.arguments.emplace_back();
  EXPECT_EQ(error({first, second}),
            "c-header expects one function with the same arguments for all "
            "targets but sm_90 differs from sm_80");
  Variant variant;
  variant.symbol = "f_0";
  variant.cluster = 2;
  first.manifest.kernels.emplace_back();
  first.manifest.kernels[0].variants = {variant};
  EXPECT_EQ(error({first}), "c-header expects kernels without clusters but "
                            "'f_0' has clusters of 2");
}

TEST(PrintCHeaderTest, LeavesOutVariantsWithClusters) {
  EmbeddedImage image;
  image.manifest.entry = "f";
  image.manifest.target = "sm_90";
  Variant fast, slow;
  fast.symbol = "f_fast";
  fast.cluster = 8;
  slow.symbol = "f_slow";
  image.manifest.kernels.emplace_back();
  image.manifest.kernels[0].variants = {fast, slow};
  llvm::Expected<std::string> text = printCHeader({image});
  ASSERT_TRUE(bool(text)) << llvm::toString(text.takeError());
  EXPECT_TRUE(llvm::StringRef(*text).contains("\"f_slow\""));
  EXPECT_FALSE(llvm::StringRef(*text).contains("\"f_fast\""));
}

} // namespace
