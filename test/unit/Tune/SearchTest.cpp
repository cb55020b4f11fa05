//===- SearchTest.cpp - What the autotuner finds --------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestDevice.h"
#include "norm/Runtime/HostDevice.h"
#include "norm/Support/Version.h"
#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"

using namespace norm;
using namespace norm::test;

namespace {

constexpr llvm::StringLiteral kRmsNorm = R"(
func.func @rms_norm(%x: tensor<?x512xbf16>, %w: tensor<512xbf16>) -> tensor<?x512xbf16> {
  %y = norm.rms_norm %x scale(%w) axes = [1] eps = 1.0e-6 : tensor<?x512xbf16>, tensor<512xbf16> -> tensor<?x512xbf16>
  return %y : tensor<?x512xbf16>
})";

constexpr llvm::StringLiteral kLayerNorm = R"(
func.func @layer_norm(%x: tensor<?x300xf32>, %g: tensor<300xf32>, %b: tensor<300xf32>) -> (tensor<?x300xf32>, tensor<?xf32>, tensor<?xf32>) {
  %y, %m, %r = norm.layer_norm %x scale(%g) bias(%b) stats(mean, rstd) axes = [1] eps = 1.0e-5
    : tensor<?x300xf32>, tensor<300xf32>, tensor<300xf32> -> tensor<?x300xf32>, tensor<?xf32>, tensor<?xf32>
  return %y, %m, %r : tensor<?x300xf32>, tensor<?xf32>, tensor<?xf32>
})";

constexpr llvm::StringLiteral kSoftmax = R"(
func.func @softmax(%x: tensor<?x1000xf32>) -> tensor<?x1000xf32> {
  %y = norm.softmax %x axes = [1] : tensor<?x1000xf32> -> tensor<?x1000xf32>
  return %y : tensor<?x1000xf32>
})";

// Reduced across memory.
constexpr llvm::StringLiteral kAcross = R"(
func.func @across(%x: tensor<512x64xf32>) -> tensor<512x64xf32> {
  %y = norm.rms_norm %x axes = [0] eps = 1.0e-6 : tensor<512x64xf32> -> tensor<512x64xf32>
  return %y : tensor<512x64xf32>
})";

// Two kernels.
constexpr llvm::StringLiteral kTwo = R"(
func.func @two(%x: tensor<?x256xf32>, %z: tensor<?x96xf32>) -> (tensor<?x256xf32>, tensor<?x96xf32>) {
  %y = norm.softmax %x axes = [1] : tensor<?x256xf32> -> tensor<?x256xf32>
  %s = norm.rms_norm %z axes = [1] eps = 1.0e-6 : tensor<?x96xf32> -> tensor<?x96xf32>
  return %y, %s : tensor<?x256xf32>, tensor<?x96xf32>
})";

llvm::Expected<TuneOutcome> tuneText(llvm::StringRef text, Behaviour behaviour,
                                     TuneOptions options = {},
                                     llvm::ArrayRef<int64_t> rows = {3}) {
  llvm::Expected<std::unique_ptr<Device>> device =
      openTestDevice(std::move(behaviour));
  if (!device)
    return device.takeError();
  options.compile.target.clear();
  options.seconds = 240;
  return tune(
      **device, text, "test.mlir",
      [&](const Manifest &manifest) {
        return makeCalls(**device, manifest, rows);
      },
      options);
}

/// How a schedule's field stands in an attribute.
bool has(llvm::StringRef schedule, llvm::StringRef field) {
  return schedule.contains(field);
}

} // namespace

/// The promise: a schedule never changes a bit. Every candidate is compared.
TEST(Tune, SchedulesNeverChangeBits) {
  for (llvm::StringRef text : {kRmsNorm, kLayerNorm, kSoftmax, kAcross, kTwo}) {
    TuneOptions options;
    options.candidates = 14;
    // The search goes away from the model's.
    Behaviour behaviour;
    behaviour.cost = [](llvm::StringRef schedule) {
      return has(schedule, "threads = 128") ? 0.5 : 1.0;
    };
    llvm::Expected<TuneOutcome> outcome = tuneText(text, behaviour, options);
    ASSERT_TRUE(bool(outcome)) << llvm::toString(outcome.takeError());
    EXPECT_TRUE(outcome->faults.empty()) << outcome->faults.front();
    EXPECT_GE(outcome->tried, 10u) << text.str();
  }
}

TEST(Tune, FindsTheFastest) {
  Behaviour behaviour;
  behaviour.cost = [](llvm::StringRef schedule) {
    return (has(schedule, "threads = 128") ? 0.6 : 1.0) *
           (has(schedule, "residency = stream") ? 0.8 : 1.0) *
           (has(schedule, "prefetch = false") ? 0.9 : 1.0);
  };
  TuneOptions options;
  options.candidates = 44;
  llvm::Expected<TuneOutcome> outcome =
      tuneText(kRmsNorm, behaviour, options, {1, 5});
  ASSERT_TRUE(bool(outcome)) << llvm::toString(outcome.takeError());
  ASSERT_EQ(outcome->programs.size(), 1u);
  const TunedProgram &program = outcome->programs.front();
  EXPECT_TRUE(program.isFaster);
  const TuningEntry &entry = program.entry;
  llvm::StringRef schedule = entry.schedule;
  EXPECT_TRUE(schedule.contains("threads=128")) << entry.schedule;
  EXPECT_TRUE(schedule.contains("residency=stream")) << entry.schedule;
  EXPECT_EQ(entry.device, "emulated");
  EXPECT_EQ(entry.target, "sm_90");
  EXPECT_EQ(entry.norm, versionString().str());
  EXPECT_EQ(entry.order, "leaf=8,lanes=1024");
  EXPECT_EQ(
      llvm::StringRef(entry.what).take_until([](char c) { return c == '-'; }),
      "bf16[?x512], bf16[512] ");
  ASSERT_EQ(entry.times.size(), 2u);
  EXPECT_EQ(entry.times[0].call, "1x512");
  EXPECT_EQ(entry.times[1].call, "5x512");
  EXPECT_LT(entry.times[0].tuned, entry.times[0].model);
  EXPECT_GT(program.gain, 0.5);
  EXPECT_EQ(outcome->found().size(), 1u);
  EXPECT_TRUE(outcome->superseded().empty());
}

TEST(Tune, TheModelStaysWithinNoise) {
  Behaviour behaviour;
  behaviour.cost = [](llvm::StringRef schedule) {
    return has(schedule, "threads = 128") ? 0.99 : 1.0;
  };
  TuneOptions options;
  options.candidates = 12;
  llvm::Expected<TuneOutcome> outcome = tuneText(kRmsNorm, behaviour, options);
  ASSERT_TRUE(bool(outcome)) << llvm::toString(outcome.takeError());
  EXPECT_FALSE(outcome->programs.front().isFaster);
  EXPECT_EQ(outcome->programs.front().entry.schedule,
            outcome->programs.front().entry.model);
  EXPECT_TRUE(outcome->found().empty());
  EXPECT_EQ(outcome->superseded().size(), 1u);
  // With less noise to be expected it's another.
  options.leastGain = 0.005;
  outcome = tuneText(kRmsNorm, behaviour, options);
  ASSERT_TRUE(bool(outcome)) << llvm::toString(outcome.takeError());
  EXPECT_TRUE(outcome->programs.front().isFaster);
}

TEST(Tune, OtherBitsAreAFault) {
  Behaviour behaviour;
  behaviour.cost = [](llvm::StringRef schedule) {
    return has(schedule, "threads = 128") ? 0.5 : 1.0;
  };
  // The fastest ones are wrong.
  behaviour.isWrong = [](llvm::StringRef schedule) {
    return has(schedule, "threads = 128");
  };
  TuneOptions options;
  options.candidates = 16;
  llvm::Expected<TuneOutcome> outcome = tuneText(kRmsNorm, behaviour, options);
  ASSERT_TRUE(bool(outcome)) << llvm::toString(outcome.takeError());
  ASSERT_FALSE(outcome->faults.empty());
  llvm::StringRef fault = outcome->faults.front();
  EXPECT_TRUE(fault.contains("threads=128")) << fault.str();
  EXPECT_TRUE(fault.contains("other bits than with the model's schedule, from "
                             "byte 0 of the results of 3x512"))
      << fault.str();
  EXPECT_FALSE(outcome->programs.front().isFaster);
}

TEST(Tune, WhatIsRefusedIsLeftOut) {
  Behaviour behaviour;
  behaviour.cost = [](llvm::StringRef schedule) {
    return has(schedule, "threads = 128") ? 0.5 : 1.0;
  };
  behaviour.isRefused = [](llvm::StringRef schedule) {
    return has(schedule, "threads = 128");
  };
  TuneOptions options;
  options.candidates = 16;
  llvm::Expected<TuneOutcome> outcome = tuneText(kRmsNorm, behaviour, options);
  ASSERT_TRUE(bool(outcome)) << llvm::toString(outcome.takeError());
  EXPECT_TRUE(outcome->faults.empty());
  EXPECT_GT(outcome->refused, 0u);
  EXPECT_FALSE(outcome->programs.front().isFaster);
  // But the model's own must run.
  behaviour.isRefused = [](llvm::StringRef) { return true; };
  outcome = tuneText(kRmsNorm, behaviour, options);
  ASSERT_FALSE(bool(outcome));
  EXPECT_EQ(llvm::toString(outcome.takeError()), "too many registers");
}

TEST(Tune, EachProgramHasItsOwn) {
  Behaviour behaviour;
  // Of all kernels together: the first one with 128 threads, the second one
  // that streams.
  behaviour.cost = [](llvm::StringRef schedules) {
    auto [first, second] = schedules.drop_front().split('#');
    return (has(first, "threads = 128") ? 0.5 : 1.0) *
           (has(second, "residency = stream") ? 0.7 : 1.0);
  };
  TuneOptions options;
  options.candidates = 24;
  llvm::Expected<TuneOutcome> outcome = tuneText(kTwo, behaviour, options);
  ASSERT_TRUE(bool(outcome)) << llvm::toString(outcome.takeError());
  ASSERT_EQ(outcome->programs.size(), 2u);
  EXPECT_TRUE(outcome->programs[0].isFaster);
  EXPECT_TRUE(outcome->programs[1].isFaster);
  EXPECT_NEAR(outcome->programs[0].gain, 0.5, 1e-6);
  EXPECT_NEAR(outcome->programs[1].gain, 0.3, 1e-6);
  EXPECT_EQ(outcome->found().size(), 2u);
}

TEST(Tune, LimitsHold) {
  TuneOptions options;
  options.candidates = 3;
  unsigned calls = 0;
  options.progress = [&](const TuneProgress &progress) {
    ++calls;
    EXPECT_LE(progress.tried, 3u);
    EXPECT_EQ(progress.most, 3u);
    EXPECT_LE(progress.share(), 1.0);
  };
  llvm::Expected<TuneOutcome> outcome = tuneText(kRmsNorm, {}, options);
  ASSERT_TRUE(bool(outcome)) << llvm::toString(outcome.takeError());
  EXPECT_LE(outcome->tried, 3u);
  EXPECT_GE(calls, 2u);
}

TEST(Tune, FixedFieldsStay) {
  TuneOptions options;
  options.candidates = 12;
  options.compile.schedule = "threads=64";
  Behaviour behaviour;
  behaviour.cost = [](llvm::StringRef schedule) {
    EXPECT_TRUE(has(schedule, "threads = 64")) << schedule.str();
    return has(schedule, "residency = stream") ? 0.5 : 1.0;
  };
  llvm::Expected<TuneOutcome> outcome = tuneText(kRmsNorm, behaviour, options);
  ASSERT_TRUE(bool(outcome)) << llvm::toString(outcome.takeError());
  EXPECT_TRUE(outcome->programs.front().isFaster);
}

TEST(Tune, WhatWasFoundBeforeIsTriedFirst) {
  Behaviour behaviour;
  behaviour.cost = [](llvm::StringRef schedule) {
    return has(schedule, "threads = 1024") ? 0.5 : 1.0;
  };
  TuneOptions options;
  options.candidates = 1;
  llvm::Expected<TuneOutcome> outcome = tuneText(kSoftmax, behaviour, options);
  ASSERT_TRUE(bool(outcome)) << llvm::toString(outcome.takeError());
  EXPECT_FALSE(outcome->programs.front().isFaster);
  TuningFile file;
  TuningEntry entry = outcome->programs.front().entry;
  entry.schedule = "threads=1024,residency=stream";
  file.add(entry);
  options.compile.tuning = std::make_shared<const TuningFile>(file);
  outcome = tuneText(kSoftmax, behaviour, options);
  ASSERT_TRUE(bool(outcome)) << llvm::toString(outcome.takeError());
  EXPECT_TRUE(outcome->programs.front().isFaster);
}

TEST(Tune, CallsOnRandomNumbers) {
  llvm::Expected<std::unique_ptr<Device>> device = openTestDevice({});
  ASSERT_TRUE(bool(device));
  TuneOptions options;
  options.candidates = 4;
  std::vector<CallShapes> calls = {{{3, 512}, {512}, {3, 512}},
                                   {{1, 512}, {512}, {1, 512}}};
  llvm::Expected<TuneOutcome> outcome =
      tune(**device, kRmsNorm, "test.mlir", calls, options);
  ASSERT_TRUE(bool(outcome)) << llvm::toString(outcome.takeError());
  EXPECT_TRUE(outcome->faults.empty());
  ASSERT_EQ(outcome->programs.size(), 1u);
  const std::vector<TuningTime> &times = outcome->programs[0].entry.times;
  ASSERT_EQ(times.size(), 2u);
  EXPECT_EQ(times[0].call, "3x512, 512");
  EXPECT_EQ(times[1].call, "1x512, 512");
  calls[0].pop_back();
  outcome = tune(**device, kRmsNorm, "test.mlir", calls, options);
  ASSERT_FALSE(bool(outcome));
  EXPECT_EQ(
      llvm::toString(outcome.takeError()),
      "expects a shape for each of the 3 arguments and results but got 2");
  outcome =
      tune(**device, kRmsNorm, "test.mlir", std::vector<CallShapes>(), options);
  ASSERT_FALSE(bool(outcome));
  EXPECT_EQ(llvm::toString(outcome.takeError()),
            "expects a call to be tuned but got none");
}

// What a call writes in place is put back before the next one.
TEST(Tune, CallsInPlace) {
  constexpr llvm::StringLiteral kInPlace = R"(
func.func @add_norm(%x: tensor<?x256xbf16>, %res: tensor<?x256xbf16> {norm.in_place = 1})
    -> (tensor<?x256xbf16>, tensor<?x256xbf16>) {
  %sum = arith.addf %x, %res : tensor<?x256xbf16>
  %y = norm.rms_norm %sum axes = [1] eps = 1.0e-6 : tensor<?x256xbf16> -> tensor<?x256xbf16>
  return %y, %sum : tensor<?x256xbf16>, tensor<?x256xbf16>
})";
  llvm::Expected<std::unique_ptr<Device>> device = openTestDevice({});
  ASSERT_TRUE(bool(device));
  TuneOptions options;
  options.candidates = 6;
  options.compile.target.clear();
  std::vector<CallShapes> calls = {{{3, 256}, {3, 256}, {3, 256}, {3, 256}}};
  llvm::Expected<TuneOutcome> outcome =
      tune(**device, kInPlace, "test.mlir", calls, options);
  ASSERT_TRUE(bool(outcome)) << llvm::toString(outcome.takeError());
  EXPECT_TRUE(outcome->faults.empty()) << outcome->faults.front();
  EXPECT_GE(outcome->tried, 4u);
}

TEST(Tune, NothingToTuneIsAnError) {
  llvm::Expected<std::unique_ptr<Device>> host = openHostDevice(1);
  ASSERT_TRUE(bool(host));
  llvm::Expected<TuneOutcome> outcome =
      tune(**host, kRmsNorm, "test.mlir",
           [&](const Manifest &manifest) {
             return makeCalls(**host, manifest, {1});
           },
           {});
  ASSERT_FALSE(bool(outcome));
  EXPECT_EQ(llvm::toString(outcome.takeError()),
            "expects a GPU or the emulated device for tuning but got host, "
            "whose schedules have nothing to tune");
  constexpr llvm::StringLiteral kGiven = R"(
func.func @given(%x: tensor<?x64xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
  %0 = norm.generic (row, col)
      ins(%a = %x[row, col] : tensor<?x64xf32>)
      outs(%o = %y[row] : tensor<?xf32>)
      attributes {schedule = #norm.schedule<threads = 32>} {
    %s = norm.reduce add %a over [col] : f32
    norm.yield %s : f32
  }
  return %0 : tensor<?xf32>
})";
  outcome = tuneText(kGiven, {});
  ASSERT_FALSE(bool(outcome));
  EXPECT_EQ(llvm::toString(outcome.takeError()),
            "expects a program without a schedule for tuning but got none");
  outcome = tuneText("func.func @f(", {});
  ASSERT_FALSE(bool(outcome));
  EXPECT_TRUE(llvm::StringRef(llvm::toString(outcome.takeError()))
                  .starts_with("test.mlir:1:"));
}
