//===- CompileTest.cpp - Which schedule a compilation takes ---------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/JIT/Session.h"
#include "norm/Support/Version.h"
#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"

using namespace norm;

namespace {

/// A text whose names and places are up to the caller.
std::string textWith(llvm::StringRef function, llvm::StringRef value,
                     llvm::StringRef columns = "512") {
  std::string type = ("tensor<?x" + columns + "xbf16>").str();
  return ("func.func @" + function + "(%" + value + ": " + type + ") -> " +
          type + " {\n  %" + value + "1 = norm.rms_norm %" + value +
          " axes = [1] eps = 1.0e-6 : " + type + " -> " + type +
          "\n  return %" + value + "1 : " + type + "\n}\n")
      .str();
}

Artifact compile(llvm::StringRef text, CompileOptions options) {
  options.target = "sm_90";
  options.device = "NVIDIA H200";
  llvm::Expected<Artifact> artifact =
      Compiler().compile(text, "t.mlir", options);
  EXPECT_TRUE(bool(artifact));
  if (artifact)
    return std::move(*artifact);
  ADD_FAILURE() << llvm::toString(artifact.takeError());
  return {};
}

/// A file with a schedule for what `decision` is about.
TuningFile fileFor(const ScheduleDecision &decision, llvm::StringRef schedule) {
  TuningEntry entry;
  entry.device = "NVIDIA H200";
  entry.target = "sm_90";
  entry.norm = versionString().str();
  entry.program = decision.program;
  entry.what = decision.what;
  entry.order = decision.order;
  entry.model = toString(decision.model);
  entry.schedule = schedule.str();
  TuningFile file;
  file.add(entry);
  return file;
}

CompileOptions withFile(TuningFile file) {
  CompileOptions options;
  options.tuning = std::make_shared<const TuningFile>(std::move(file));
  return options;
}

} // namespace

TEST(TunedCompile, AnEntryGoesBeforeTheModel) {
  std::string text = textWith("f", "x");
  Artifact model = compile(text, {});
  ASSERT_EQ(model.schedules.size(), 1u);
  EXPECT_EQ(model.schedules[0].source, ScheduleSource::Model);
  EXPECT_EQ(model.schedules[0].what.substr(0, 26),
            "bf16[?x512] -> bf16[?x512]");
  CompileOptions options =
      withFile(fileFor(model.schedules[0], "threads=256,residency=stream"));
  Artifact tuned = compile(text, options);
  ASSERT_EQ(tuned.schedules.size(), 1u);
  EXPECT_EQ(tuned.schedules[0].source, ScheduleSource::File);
  EXPECT_EQ(tuned.schedules[0].schedule.threads, 256);
  EXPECT_EQ(tuned.schedules[0].schedule.residency, Residency::Stream);
  // Fields that aren't named are at their defaults, not the model's.
  EXPECT_EQ(tuned.schedules[0].schedule.rowsPerCta, 1);
  EXPECT_NE(tuned.manifest.kernels[0].schedule,
            model.manifest.kernels[0].schedule);
  EXPECT_TRUE(tuned.remarks.empty());
  // Fields that are given go before it.
  options.schedule = "threads=128";
  Artifact given = compile(text, options);
  EXPECT_EQ(given.schedules[0].source, ScheduleSource::File);
  EXPECT_EQ(given.schedules[0].schedule.threads, 128);
  EXPECT_EQ(given.schedules[0].schedule.residency, Residency::Stream);
}

TEST(TunedCompile, NamesDontMatterButExtentsDo) {
  Artifact first = compile(textWith("f", "x"), {});
  Artifact named = compile(textWith("other", "input"), {});
  EXPECT_EQ(first.schedules[0].program, named.schedules[0].program);
  for (llvm::StringRef columns : {"513", "?"})
    EXPECT_NE(compile(textWith("f", "x", columns), {}).schedules[0].program,
              first.schedules[0].program);
}

TEST(TunedCompile, WhatCannotRunIsPassedOver) {
  std::string text = textWith("f", "x");
  Artifact model = compile(text, {});
  for (auto [schedule, why] :
       {std::pair<llvm::StringRef, llvm::StringRef>(
            "threads=2048", "expects 'threads' to be a power of two from 1 to "
                            "1024 but got 2048"),
        {"threads=3,speed=9", "but got 'speed'"},
        {"threads=32,vector=2", "expects 'vector' to be 1 on sm_90"}}) {
    Artifact artifact =
        compile(text, withFile(fileFor(model.schedules[0], schedule)));
    EXPECT_EQ(artifact.schedules[0].source, ScheduleSource::Model);
    EXPECT_EQ(artifact.code, model.code);
    ASSERT_EQ(artifact.remarks.size(), 1u);
    llvm::StringRef remark = artifact.remarks[0];
    EXPECT_TRUE(remark.starts_with("t.mlir:2:")) << remark.str();
    EXPECT_TRUE(remark.contains("remark: passes over '" + schedule.str() +
                                "' of the tuning file: "))
        << remark.str();
    EXPECT_TRUE(remark.contains(why)) << remark.str();
  }
  TuningFile file = fileFor(model.schedules[0], "threads=256");
  TuningEntry entry = file.list().front();
  entry.order = "leaf=4,lanes=1024";
  file.add(entry);
  Artifact artifact = compile(text, withFile(file));
  EXPECT_EQ(artifact.schedules[0].source, ScheduleSource::Model);
  ASSERT_EQ(artifact.remarks.size(), 1u);
  EXPECT_TRUE(llvm::StringRef(artifact.remarks[0])
                  .contains("expects order leaf=8,lanes=1024 but got "
                            "leaf=4,lanes=1024"));
}

TEST(TunedCompile, AScheduleInTheTextStays) {
  constexpr llvm::StringLiteral kText = R"(
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
  Artifact given = compile(kText, {});
  ASSERT_EQ(given.schedules.size(), 1u);
  EXPECT_EQ(given.schedules[0].source, ScheduleSource::Given);
  Artifact tuned =
      compile(kText, withFile(fileFor(given.schedules[0], "threads=64")));
  EXPECT_EQ(tuned.schedules[0].source, ScheduleSource::Given);
  EXPECT_EQ(tuned.schedules[0].schedule.threads, 32);
}

TEST(TunedCompile, KeysOfCachesDependOnTheContents) {
  ScheduleDecision decision;
  decision.program = "0123456789abcdef";
  CompileOptions none, first = withFile(fileFor(decision, "threads=64")),
                       same = withFile(fileFor(decision, "threads=64")),
                       other = withFile(fileFor(decision, "threads=128"));
  using jit::describeOptions;
  EXPECT_EQ(describeOptions(first), describeOptions(same));
  EXPECT_NE(describeOptions(first), describeOptions(other));
  EXPECT_NE(describeOptions(first), describeOptions(none));
  CompileOptions unshipped;
  unshipped.usesShippedTuning = false;
  EXPECT_NE(describeOptions(unshipped), describeOptions(none));
  CompileOptions device;
  device.device = "NVIDIA H200";
  EXPECT_NE(describeOptions(device), describeOptions(none));
}

TEST(TunedCompile, FilesAreNamed) {
  CompileOptions options;
  EXPECT_FALSE(bool(setTuning(options, "none")));
  EXPECT_FALSE(options.usesShippedTuning);
  EXPECT_FALSE(bool(setTuning(options, "")));
  EXPECT_TRUE(options.usesShippedTuning);
  EXPECT_EQ(llvm::toString(setTuning(options, "/nowhere/t.json")),
            "/nowhere/t.json: cannot read: No such file or directory");
}
