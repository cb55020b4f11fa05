//===- NormRunTest.cpp - Tests of norm-run's parts ------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Runtime/HostDevice.h"
#include "norm/Runtime/Npy.h"
#include "norm/Runtime/Workers.h"
#include "norm/Tools/NormRunCheck.h"
#include "norm/Tools/NormRunData.h"
#include "norm/Tools/NormRunReport.h"
#include "gtest/gtest.h"
#include <cmath>
#include <cstring>

using namespace norm;
using namespace norm::tools;

namespace {

/// y = x + x; the manifest is written by hand, so that nothing needs to run.
constexpr llvm::StringLiteral kProgram = R"(
func.func @f(%x: tensor<?x512xf32>) -> tensor<?x512xf32> {
  %y = arith.addf %x, %x : tensor<?x512xf32>
  return %y : tensor<?x512xf32>
}
)";

Manifest programManifest() {
  Manifest m;
  m.norm = "0.1.0";
  m.entry = "f";
  m.target = "host";
  m.arguments = {
      {"x",
       ArgumentRole::Input,
       DType::F32,
       {kDynamic, 512},
       {kDynamic, 1},
       4,
       {},
       {}},
      {"y",
       ArgumentRole::Output,
       DType::F32,
       {kDynamic, 512},
       {kDynamic, 1},
       4,
       {0},
       {BufferDim{0, 0}, std::nullopt}},
  };
  Kernel kernel;
  kernel.program = "add";
  kernel.reads = {0};
  kernel.writes = {1};
  kernel.rows = {0, {0}};
  kernel.columns = {0, {1}};
  kernel.params = {Param::pointer(0), Param::pointer(1)};
  Variant variant;
  variant.symbol = "f_0";
  kernel.variants = {variant};
  m.kernels = {kernel};
  return m;
}

class NormRunTest : public testing::Test {
protected:
  /// Makes the data of a call on `rows` rows, and its right result.
  void makeCall(int64_t rows, llvm::StringRef more = "") {
    llvm::Expected<DataSpec> spec =
        DataSpec::parse(("random:" + llvm::Twine(rows) + "x512" + more).str());
    ASSERT_TRUE(bool(spec)) << llvm::toString(spec.takeError());
    options.arguments[0] = *spec;
    llvm::Expected<CallData> made = makeCallData(manifest, options, workers);
    ASSERT_TRUE(bool(made)) << llvm::toString(made.takeError());
    data = std::move(*made);
    llvm::Expected<HostTensor> result =
        HostTensor::create(DType::F32, {rows, 512}, {}, workers);
    ASSERT_TRUE(bool(result)) << llvm::toString(result.takeError());
    results.clear();
    results.push_back(std::move(*result));
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t column = 0; column < 512; ++column)
        set(row, column, 2 * data.values[0].tensor.value(row, column));
  }
  void set(int64_t row, int64_t column, double value) {
    encode(DType::F32, value, results[0].row(row) + 4 * column);
  }
  ResultCheck check() {
    llvm::Expected<std::vector<ResultCheck>> checks =
        checkReference(kProgram, "test.mlir", "f", manifest, data, results);
    if (!checks) {
      ADD_FAILURE() << llvm::toString(checks.takeError());
      return {};
    }
    return checks->front();
  }

  Manifest manifest = programManifest();
  Workers workers{1};
  RunOptions options;
  CallData data;
  std::vector<HostTensor> results;
};

TEST_F(NormRunTest, RightResultsPass) {
  makeCall(5);
  ResultCheck right = check();
  EXPECT_TRUE(right.passed) << right.line;
  EXPECT_EQ(right.ulps, 0.0);
  EXPECT_EQ(right.line, "f32 5x512: largest error 0.000 ulp, within the bound "
                        "(0.00 of it)");
}

TEST_F(NormRunTest, OneWrongElementFails) {
  makeCall(5);
  double right = results[0].value(3, 17);
  set(3, 17, std::nextafterf(float(right), 1e9f));
  ResultCheck wrong = check();
  EXPECT_FALSE(wrong.passed);
  EXPECT_NEAR(wrong.ulps, 1.0, 1e-9);
  EXPECT_NE(wrong.line.find("1 elements beyond the bound, first [3, 17]"),
            std::string::npos)
      << wrong.line;
}

TEST_F(NormRunTest, UnwrittenElementsFail) {
  makeCall(5);
  std::memset(results[0].row(4), HostTensor::kPoison, 512 * 4);
  ResultCheck wrong = check();
  EXPECT_FALSE(wrong.passed);
  EXPECT_NE(wrong.line.find("512 elements were not written"), std::string::npos)
      << wrong.line;
}

TEST_F(NormRunTest, WritesBesideTheElementsFail) {
  makeCall(5);
  results[0].row(4)[512 * 4] = 0;
  ResultCheck wrong = check();
  EXPECT_FALSE(wrong.passed);
  EXPECT_NE(wrong.line.find("bytes beside its elements were written"),
            std::string::npos)
      << wrong.line;
}

TEST_F(NormRunTest, LargeCallsAreSampled) {
  constexpr int64_t kRows = 9000;
  makeCall(kRows);
  ResultCheck right = check();
  EXPECT_TRUE(right.passed) << right.line;
  EXPECT_NE(right.line.find("64 of 9000 leading indices checked"),
            std::string::npos)
      << right.line;
  // The last row is always looked at, and named by its index in the result.
  set(kRows - 1, 5, 1e9);
  ResultCheck wrong = check();
  EXPECT_FALSE(wrong.passed);
  EXPECT_NE(wrong.line.find("first [8999, 5]: expects"), std::string::npos)
      << wrong.line;
  // What isn't evaluated must at least have been written.
  makeCall(kRows);
  std::memset(results[0].row(1), HostTensor::kPoison, 4);
  wrong = check();
  EXPECT_FALSE(wrong.passed);
  EXPECT_NE(wrong.line.find("1 elements were not written"), std::string::npos)
      << wrong.line;
}

TEST_F(NormRunTest, ReductionsOverTheLeadingDimAreNotSampled) {
  makeCall(9000);
  manifest.kernels[0].columns = {0, {0, 1}};
  ResultCheck right = check();
  EXPECT_TRUE(right.passed) << right.line;
  EXPECT_EQ(right.line.find("leading indices"), std::string::npos)
      << right.line;
}

TEST_F(NormRunTest, DevicesGiveBackWhatTheyGot) {
  makeCall(3, ":pitch=600:offset=1");
  // In place, the result starts as the argument.
  options.placements[0].aliasOf = 0;
  llvm::Expected<CallData> made = makeCallData(manifest, options, workers);
  ASSERT_TRUE(bool(made)) << llvm::toString(made.takeError());
  llvm::Expected<std::unique_ptr<Device>> device = openHostDevice(1);
  ASSERT_TRUE(bool(device));
  llvm::Expected<DeviceCall> call =
      DeviceCall::create(**device, manifest, *made);
  ASSERT_TRUE(bool(call)) << llvm::toString(call.takeError());
  ASSERT_EQ(call->arguments().size(), 2u);
  EXPECT_EQ(call->arguments()[0].address, call->arguments()[1].address);
  EXPECT_EQ(call->arguments()[0].address % 8, 4u);
  EXPECT_EQ(call->arguments()[1].strides[0], 600);
  llvm::Expected<std::vector<HostTensor>> read = call->readResults(workers);
  ASSERT_TRUE(bool(read)) << llvm::toString(read.takeError());
  EXPECT_TRUE(read->front().guardsIntact());
  EXPECT_TRUE(checkBits(read->front(), made->values[0].tensor).passed);
}

TEST_F(NormRunTest, ExtentsCarryOverBothWays) {
  // A second input, of which the first one's extent is known.
  manifest.arguments.insert(manifest.arguments.begin() + 1,
                            {"r",
                             ArgumentRole::Input,
                             DType::F32,
                             {kDynamic, 512},
                             {kDynamic, 1},
                             4,
                             {},
                             {BufferDim{0, 0}, std::nullopt}});
  options.arguments[1] = DataSpec::random({6, 512}, 1);
  llvm::Expected<CallData> made = makeCallData(manifest, options, workers);
  ASSERT_TRUE(bool(made)) << llvm::toString(made.takeError());
  for (const CallArgument &value : made->values)
    EXPECT_EQ(value.tensor.shape(), llvm::ArrayRef<int64_t>({6, 512}));
  // Data that disagrees is left to the checks before the launch.
  options.arguments[0] = DataSpec::random({5, 512}, 1);
  made = makeCallData(manifest, options, workers);
  ASSERT_TRUE(bool(made)) << llvm::toString(made.takeError());
  EXPECT_EQ(made->values[0].tensor.shape()[0], 5);
  EXPECT_EQ(made->values[1].tensor.shape()[0], 6);
}

TEST_F(NormRunTest, BitsOfNaNsDoNotCount) {
  makeCall(1);
  std::vector<HostTensor> first = std::move(results);
  makeCall(1);
  EXPECT_TRUE(checkBits(first[0], results[0]).passed);
  uint32_t nan = 0x7fc00001, other = 0xffc00000;
  std::memcpy(first[0].row(0), &nan, 4);
  std::memcpy(results[0].row(0), &other, 4);
  EXPECT_TRUE(checkBits(first[0], results[0]).passed);
  // Zeros of different sign do.
  float zero = 0.0f, negative = -0.0f;
  std::memcpy(first[0].row(0) + 8, &zero, 4);
  std::memcpy(results[0].row(0) + 8, &negative, 4);
  ResultCheck check = checkBits(first[0], results[0]);
  EXPECT_FALSE(check.passed);
  EXPECT_EQ(check.line, "f32 1x512: 1 of 512 elements differ from the host's, "
                        "first [0, 2]: 0 but the host got -0");
}

TEST(NormRunReportTest, PrintsOneTable) {
  RunReport report;
  report.device = "cuda:0";
  report.description = "a GPU";
  report.target = "sm_90";
  report.copy = CopyRate{4000, 512 << 20};
  KernelReport kernel;
  kernel.program = "rms_norm";
  kernel.schedule = "#norm.schedule<threads = 512>";
  kernel.dtype = DType::BF16;
  kernel.rows = 16;
  kernel.columns = 4096;
  kernel.bytes = 300000000;
  kernel.timing = Timing{{0.1, 0.1, 0.1}};
  kernel.ulps = 0.5;
  report.kernels = {kernel};
  report.checks = {{"reference", 0, {"fine", true, 0.5}},
                   {"bits", 0, {"different", false, 0}}};
  std::string text;
  llvm::raw_string_ostream stream(text);
  printReport(stream, report);
  EXPECT_EQ(text,
            "device cuda:0: a GPU, copies 536.9 MB at 4000.0 GB/s\n"
            "kernel    shape         schedule          bytes      time       "
            "p10       p90    GB/s  of copy      error\n"
            "rms_norm  16x4096 bf16  threads = 512  300.0 MB  0.100 ms  0.100 "
            "ms  0.100 ms  3000.0    75.0%  0.500 ulp\n"
            "ok    result 0 reference: fine\n"
            "WRONG result 0 bits: different\n");
  EXPECT_FALSE(report.passed());
  llvm::json::Value value = toJSON(report);
  const llvm::json::Object &object = *value.getAsObject();
  EXPECT_EQ(object.getBoolean("passed"), false);
  const llvm::json::Object &first =
      *object.getArray("kernels")->front().getAsObject();
  EXPECT_EQ(first.getInteger("rows"), 16);
  EXPECT_NEAR(*first.getNumber("share_of_copy"), 0.75, 1e-12);
}

TEST(NormRunReportTest, UnitsFollowTheSize) {
  EXPECT_EQ(printBytes(0), "0 B");
  EXPECT_EQ(printBytes(999), "999 B");
  EXPECT_EQ(printBytes(1000), "1.0 kB");
  EXPECT_EQ(printBytes(12600000), "12.6 MB");
  EXPECT_EQ(printDuration(0.0031), "3.10 us");
  EXPECT_EQ(printDuration(0.253), "0.253 ms");
  EXPECT_EQ(printUlps(0.5), "0.500 ulp");
  EXPECT_EQ(printIndex({4, 5, 6}, 29), "[0, 4, 5]");
  EXPECT_EQ(printIndex({}, 0), "[]");
}

} // namespace
