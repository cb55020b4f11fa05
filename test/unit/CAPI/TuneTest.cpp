//===- TuneTest.cpp - Tests of the autotuner through the C API ------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Harness.h"
#include <limits>

using namespace norm::test;

namespace {

/// Tunes a softmax of 64 columns.
Result tune(const Device &device, const char *calls, double seconds,
            const char *file, std::string *found = nullptr,
            const NormcOptions *options = nullptr) {
  std::string text = build("softmax", "dtype=f32,columns=64");
  char *made = nullptr;
  Result result = call([&](char **message) {
    return normcTune(device.get(), text.data(), text.size(), "p.mlir", options,
                     calls, seconds, file, found ? &made : nullptr, message);
  });
  if (found)
    *found = made ? made : "";
  normcFree(made);
  return result;
}

} // namespace

TEST(TuneCAPITest, GivesATuningFile) {
  Device device = openDevice("emulated");
  EXPECT_STREQ(normcDeviceGetProduct(device.get()), "emulated");
  EXPECT_EQ(normcDeviceGetProduct(nullptr), nullptr);
  std::string found;
  Result result = tune(device, "2x64,2x64;5x64,5x64", 1, nullptr, &found);
  EXPECT_EQ(result.text, "");
  EXPECT_EQ(result.status, NORMC_SUCCESS);
  EXPECT_EQ(found.find("{\"format\": \"norm-tuning\", \"version\": 1, "), 0u)
      << found;
  // Whether a schedule is faster is up to the machine.
  if (found.find("\"program\"") != std::string::npos) {
    EXPECT_NE(found.find("\"device\": \"emulated\""), std::string::npos);
    EXPECT_NE(found.find("{\"call\": \"5x64\""), std::string::npos) << found;
  }
  Options options = makeOptions({{"schedule", "threads=32"}});
  result = tune(device, "2x64,2x64", 1, nullptr, &found, options.get());
  EXPECT_EQ(result.text, "");
}

TEST(TuneCAPITest, WrongUsesAreErrors) {
  Device device = openDevice("emulated"), host = openDevice("host");
  Result result = tune(host, "2x64,2x64", 1, nullptr);
  EXPECT_EQ(result.status, NORMC_INVALID_PROGRAM);
  EXPECT_EQ(result.text, "expects a GPU or the emulated device for tuning but "
                         "got host, whose schedules have nothing to tune");
  result = tune(device, "2x64", 1, nullptr);
  EXPECT_EQ(result.status, NORMC_INVALID_PROGRAM);
  EXPECT_EQ(result.text, "expects a shape for each of the 2 arguments and "
                         "results but got 1");
  result = tune(device, "2x64,2y64", 1, nullptr);
  EXPECT_EQ(result.status, NORMC_INVALID_ARGUMENT);
  EXPECT_EQ(result.text.find("calls: "), 0u) << result.text;
  result = tune(device, "", 1, nullptr);
  EXPECT_EQ(result.status, NORMC_INVALID_ARGUMENT);
  for (double seconds : {0.0, -1.0, std::numeric_limits<double>::infinity(),
                         std::numeric_limits<double>::quiet_NaN()}) {
    result = tune(device, "2x64,2x64", seconds, nullptr);
    EXPECT_EQ(result.status, NORMC_INVALID_ARGUMENT);
    EXPECT_EQ(result.text.find("expects seconds above 0 but got "), 0u)
        << result.text;
  }
  result = tune(device, "2x64,2x64", 1, "/nowhere/t.json");
  EXPECT_EQ(result.status, NORMC_INVALID_ARGUMENT);
  EXPECT_EQ(result.text,
            "/nowhere/t.json: cannot write: No such file or directory");
  result = tune(device, nullptr, 1, nullptr);
  EXPECT_EQ(result.status, NORMC_INVALID_ARGUMENT);
  EXPECT_EQ(result.text, "expects calls but got a null pointer");
  std::string wrong = "func.func @f(";
  result = call([&](char **message) {
    return normcTune(device.get(), wrong.data(), wrong.size(), nullptr, nullptr,
                     "2x64", 1, nullptr, nullptr, message);
  });
  EXPECT_EQ(result.status, NORMC_INVALID_PROGRAM);
  EXPECT_EQ(result.text.find("program:1:"), 0u) << result.text;
}
