//===- TunedScheduleTest.cpp - Schedules of shipped tuning files ----------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Dialect/Norm/IR/Norm.h"
#include "norm/Dialect/Norm/Transforms/SchedulePass.h"
#include "norm/Support/Version.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "gtest/gtest.h"

using ::norm::ScheduleDecision;
using ::norm::ScheduleSource;
using ::norm::ScheduleSources;
using ::norm::TuningEntry;
using ::norm::TuningFile;

namespace {

constexpr const char *kText = R"(
func.func @f(%x: tensor<?x512xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
  %0 = norm.generic (row, col)
      ins(%a = %x[row, col] : tensor<?x512xf32>)
      outs(%o = %y[row] : tensor<?xf32>) {
    %m = norm.reduce max %a over [col] : f32
    norm.yield %m : f32
  }
  return %0 : tensor<?xf32>
})";

/// Schedules `kText` for an H200.
ScheduleDecision schedule(ScheduleSources sources,
                          llvm::StringRef fields = "") {
  mlir::DialectRegistry registry;
  registry.insert<mlir::norm::NormDialect, mlir::func::FuncDialect>();
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(
      kText, mlir::ParserConfig(&context));
  ScheduleDecision found;
  unsigned count = 0;
  sources.device = "NVIDIA H200";
  sources.listener = [&](const ScheduleDecision &decision) {
    found = decision;
    ++count;
  };
  mlir::norm::NormSchedulePassOptions options;
  options.target = "sm_90";
  options.schedule = fields.str();
  mlir::PassManager pm(&context);
  pm.addNestedPass<mlir::func::FuncOp>(
      mlir::norm::createNormSchedulePass(options, sources));
  EXPECT_TRUE(module && succeeded(pm.run(*module)));
  EXPECT_EQ(count, 1u);
  return found;
}

/// A file with a schedule for the program of `decision`.
TuningFile fileFor(const ScheduleDecision &decision, llvm::StringRef schedule) {
  TuningEntry entry;
  entry.device = "NVIDIA H200";
  entry.target = "sm_90";
  entry.norm = ::norm::versionString().str();
  entry.program = decision.program;
  entry.what = decision.what;
  entry.order = decision.order;
  entry.model = toString(decision.model);
  entry.schedule = schedule.str();
  TuningFile file;
  file.add(entry);
  return file;
}

} // namespace

TEST(TunedSchedule, FilesThatAreNamedGoBeforeShippedOnesBeforeTheModel) {
  ScheduleSources sources;
  sources.shipped.clear();
  ScheduleDecision model = schedule(sources);
  EXPECT_EQ(model.source, ScheduleSource::Model);
  EXPECT_EQ(toString(model.schedule), toString(model.model));

  std::string other = TuningFile().print();
  std::string shipped = fileFor(model, "threads=128").print();
  sources.shipped = {other, shipped};
  ScheduleDecision found = schedule(sources);
  EXPECT_EQ(found.source, ScheduleSource::Shipped);
  EXPECT_EQ(found.schedule.threads, 128);
  EXPECT_EQ(found.program, model.program);

  sources.tuning =
      std::make_shared<const TuningFile>(fileFor(model, "threads=256"));
  found = schedule(sources);
  EXPECT_EQ(found.source, ScheduleSource::File);
  EXPECT_EQ(found.schedule.threads, 256);

  found = schedule(sources, "threads=512");
  EXPECT_EQ(found.source, ScheduleSource::File);
  EXPECT_EQ(found.schedule.threads, 512);

  // What a file has of other programs is nothing.
  ScheduleDecision another = model;
  another.program = "0123456789abcdef";
  sources.tuning =
      std::make_shared<const TuningFile>(fileFor(another, "threads=256"));
  EXPECT_EQ(schedule(sources).source, ScheduleSource::Shipped);
}
