//===- LaunchTest.cpp - Tests of launches through the C API ---------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FakeCuda.h"
#include "Harness.h"
#include <cmath>
#include <cstring>
#include <dlfcn.h>

using namespace norm::test;

namespace {

class LaunchCAPITest : public testing::Test {
protected:
  Executable softmaxOn(const char *name, const char *target, bool isEmulated) {
    device = openDevice(name);
    Options options = makeOptions(
        {{"target", target}, {"emulate", isEmulated ? "yes" : "no"}});
    Artifact artifact =
        compile(compiler.get(), build("softmax", "columns=96,dtype=f32"),
                options.get());
    return load(device.get(), artifact.get());
  }

  Compiler compiler = makeCompiler();
  Device device;
};

TEST_F(LaunchCAPITest, HostAndEmulatedHaveTheSameBits) {
  Executable host = softmaxOn("host", "host", false);
  EXPECT_STREQ(normcDeviceGetTarget(device.get()), "host");
  MatrixLaunch first(5, 96), second(5, 96);
  NORMC_EXPECT_SUCCESS(
      normcExecutableLaunch(host.get(), &first.launch, message));
  EXPECT_TRUE(first.sumsToOne());
  Device hostDevice = std::move(device);
  Executable emulated = softmaxOn("emulated:3", "sm_90", true);
  NORMC_EXPECT_SUCCESS(
      normcExecutableLaunch(emulated.get(), &second.launch, message));
  EXPECT_EQ(std::memcmp(first.y.data(), second.y.data(), 5 * 96 * 4), 0);
}

TEST_F(LaunchCAPITest, TheDeviceMayGoFirst) {
  Executable executable = softmaxOn("host", "host", false);
  device.reset();
  compiler.reset();
  MatrixLaunch launch(3, 96);
  NORMC_EXPECT_SUCCESS(
      normcExecutableLaunch(executable.get(), &launch.launch, message));
  EXPECT_TRUE(launch.sumsToOne());
}

TEST_F(LaunchCAPITest, ArgumentsAreDescribed) {
  Executable executable = softmaxOn("host", "host", false);
  ASSERT_EQ(normcExecutableGetNumArguments(executable.get()), 2u);
  NormcArgumentInfo info = {};
  info.structSize = sizeof(info);
  NORMC_EXPECT_SUCCESS(
      normcExecutableGetArgumentInfo(executable.get(), 1, &info, message));
  EXPECT_STREQ(info.name, "result");
  EXPECT_EQ(info.role, NORMC_OUTPUT);
  EXPECT_EQ(info.dtype, NORMC_F32);
  ASSERT_EQ(info.rank, 2);
  EXPECT_EQ(info.shape[0], NORMC_ANY);
  EXPECT_EQ(info.shape[1], 96);
  EXPECT_EQ(info.strides[1], 1);
  EXPECT_EQ(info.inPlaceOf, -1);
  EXPECT_EQ(info.structSize, sizeof(info));
  NORMC_EXPECT_FAILURE(
      NORMC_INVALID_ARGUMENT, "expects an index below 2 but got 2",
      normcExecutableGetArgumentInfo(executable.get(), 2, &info, message));
}

TEST_F(LaunchCAPITest, WrongLaunchesDontRun) {
  Executable executable = softmaxOn("host", "host", false);
  MatrixLaunch launch(5, 96);
  auto run = [&](char **message) {
    return normcExecutableLaunch(executable.get(), &launch.launch, message);
  };
  auto expect = [&](NormcStatus status, const std::string &text) {
    Result result = call(run);
    EXPECT_EQ(result.status, status);
    EXPECT_EQ(result.text, text);
  };
  launch.launch.numArguments = 1;
  expect(NORMC_INVALID_LAUNCH, "expects 2 arguments but got 1");
  launch.launch.numArguments = 2;
  launch.arguments[1].dtype = 99;
  expect(NORMC_INVALID_LAUNCH,
         "argument 1: expects a dtype of 0 to 12 but got 99");
  launch.arguments[1].dtype = NORMC_F32;
  launch.arguments[1].data = launch.x.data() + 1;
  expect(NORMC_INVALID_LAUNCH, "argument 1 'result': expects memory of its own "
                               "but overlaps argument 0 'x'");
  launch.arguments[1].data = launch.y.data();
  launch.arguments[0].shape = nullptr;
  expect(NORMC_INVALID_LAUNCH,
         "argument 0: expects a shape but got a null pointer");
  launch.arguments[0].shape = launch.shape;
  launch.launch.structSize = 8;
  expect(NORMC_INVALID_ARGUMENT,
         "expects a NormcLaunch of 72 bytes or more but "
         "its structSize is 8");
  launch.launch.structSize = sizeof(NormcLaunch);
  launch.launch.flags = 2;
  expect(NORMC_INVALID_ARGUMENT, "expects flags of 0 or 1 but got 2");
  for (float value : launch.y)
    ASSERT_EQ(value, 0);
}

TEST_F(LaunchCAPITest, LargerStructsOfLaterVersionsAreRead) {
  Executable executable = softmaxOn("host", "host", false);
  MatrixLaunch matrix(5, 96);
  struct LaterArgument {
    NormcArgument known;
    uint64_t more = ~uint64_t(0);
  } arguments[2] = {{matrix.arguments[0]}, {matrix.arguments[1]}};
  struct LaterLaunch {
    NormcLaunch known;
    uint64_t more = ~uint64_t(0);
  } launch = {matrix.launch};
  launch.known.structSize = sizeof(launch);
  launch.known.argumentSize = sizeof(LaterArgument);
  launch.known.arguments = &arguments[0].known;
  NORMC_EXPECT_SUCCESS(
      normcExecutableLaunch(executable.get(), &launch.known, message));
  EXPECT_TRUE(matrix.sumsToOne());
}

TEST_F(LaunchCAPITest, MissingDevicesAreTold) {
  NormcDeviceOptions options = {};
  options.structSize = sizeof(options);
  options.name = "cuda:0";
  options.cudaLibrary = "libnorm-no-such-driver.so";
  NormcDevice *none = nullptr;
  Result result = call([&](char **message) {
    return normcDeviceOpen(&options, &none, message);
  });
  EXPECT_EQ(result.status, NORMC_NO_DEVICE) << result.text;
  options.name = "abacus";
  NORMC_EXPECT_FAILURE(
      NORMC_INVALID_ARGUMENT,
      "expects device auto, host, emulated or cuda:N but got 'abacus'",
      normcDeviceOpen(&options, &none, message));
  options.name = nullptr;
  NORMC_EXPECT_FAILURE(
      NORMC_INVALID_ARGUMENT,
      "expects the name of a device or a CUDA context but got neither",
      normcDeviceOpen(&options, &none, message));
  EXPECT_EQ(none, nullptr);
}

TEST_F(LaunchCAPITest, BorrowsContextAndStream) {
  void *handle = dlopen(NORM_FAKE_CUDA, RTLD_NOW | RTLD_LOCAL);
  ASSERT_TRUE(handle) << dlerror();
  FakeCuda *fake =
      reinterpret_cast<FakeCuda *(*)()>(dlsym(handle, "fakeCuda"))();
  *fake = FakeCuda();
  int context = 0, stream = 0;
  fake->borrowed = &context;
  fake->borrowedStream = &stream;
  NormcDeviceOptions options = {};
  options.structSize = sizeof(options);
  options.cudaContext = &context;
  options.cudaLibrary = NORM_FAKE_CUDA;
  NormcDevice *opened = nullptr;
  NORMC_EXPECT_SUCCESS(normcDeviceOpen(&options, &opened, message));
  device.reset(opened);
  EXPECT_STREQ(normcDeviceGetTarget(opened), "sm_90");
  Options compileOptions = makeOptions({{"target", "sm_90"}});
  Artifact artifact =
      compile(compiler.get(), build("softmax", "columns=96,dtype=f32"),
              compileOptions.get());
  Executable executable = load(opened, artifact.get());
  MatrixLaunch launch(5, 96);
  launch.launch.stream = &stream;
  uint64_t size = 1;
  NORMC_EXPECT_SUCCESS(normcExecutableGetWorkspaceSize(
      executable.get(), &launch.launch, &size, message));
  EXPECT_EQ(size, 0u);
  fake->current = fake;
  NORMC_EXPECT_SUCCESS(
      normcExecutableLaunch(executable.get(), &launch.launch, message));
  ASSERT_EQ(fake->launchContexts.size(), 1u);
  EXPECT_EQ(fake->launchContexts[0], &context);
  EXPECT_EQ(fake->current, fake);

  // Without enough CTAs nothing is launched.
  launch.launch.maxCtas = fake->launches[0].grid[0];
  NORMC_EXPECT_SUCCESS(
      normcExecutableLaunch(executable.get(), &launch.launch, message));
  EXPECT_EQ(fake->launches.size(), 2u);

  fake->launchStatus = 700;
  Result failed = call([&](char **message) {
    return normcExecutableLaunch(executable.get(), &launch.launch, message);
  });
  EXPECT_EQ(failed.status, NORMC_DEVICE_ERROR);
  EXPECT_NE(failed.text.find("CUDA_ERROR_ILLEGAL_ADDRESS"), std::string::npos);
  executable.reset();
  device.reset();
  EXPECT_EQ(fake->modules + fake->streams + fake->memory, 0);
  EXPECT_EQ(fake->current, fake);
}

} // namespace
