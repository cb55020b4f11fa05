//===- TuneSuite.cpp - Schedules that are faster
//---------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Bench/Session.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace norm;
using namespace norm::bench;

namespace {

/// Calls of an op, checked against the reference before anything else is.
class BenchCall final : public TunedCall {
public:
  BenchCall(CallSets calls, std::string text)
      : calls(std::move(calls)), text(std::move(text)) {}

  std::string describe() const override;
  unsigned sets() const override { return calls.count(); }
  llvm::ArrayRef<BoundArgument> arguments(unsigned set) const override {
    return calls.arguments(set);
  }
  // Ops write nothing but results.
  llvm::Error reset() override { return calls.poisonResults(); }
  llvm::Expected<std::vector<uint8_t>> results() override;

private:
  llvm::Error check();

  CallSets calls;
  std::string text;
  bool isChecked = false;
};

} // namespace

std::string BenchCall::describe() const {
  return printShape(calls.arguments(0).front().shape);
}

llvm::Error BenchCall::check() {
  llvm::Expected<std::vector<tools::ResultCheck>> checks = calls.check(text, 0);
  if (!checks)
    return checks.takeError();
  for (const auto &[index, check] : llvm::enumerate(*checks))
    if (!check.passed)
      return llvm::createStringError(
          "result " + llvm::Twine(index) +
          " with the model's schedule: " + check.line);
  return llvm::Error::success();
}

llvm::Expected<std::vector<uint8_t>> BenchCall::results() {
  // What comes first are the results that others are compared with.
  if (!isChecked)
    if (llvm::Error error = check())
      return std::move(error);
  isChecked = true;
  return calls.readResults(0);
}

std::string TuneJob::id() const {
  return llvm::formatv(
      "{0}/{1}/{2}x{3}", op, name(dtype),
      llvm::join(llvm::map_range(
                     rows, [](int64_t count) { return std::to_string(count); }),
                 ","),
      columns);
}

std::vector<TuneJob> bench::makeTuneJobs(llvm::ArrayRef<Cell> cells) {
  std::vector<TuneJob> jobs;
  for (const Cell &cell : cells) {
    if (cell.suite == "compile" || cell.suite == "launch")
      continue;
    auto job = llvm::find_if(jobs, [&](const TuneJob &other) {
      return other.op == cell.op && other.dtype == cell.dtype &&
             other.columns == cell.columns;
    });
    if (job == jobs.end()) {
      jobs.push_back({cell.op, cell.dtype, cell.columns, {}});
      job = std::prev(jobs.end());
    }
    if (!llvm::is_contained(job->rows, cell.rows))
      job->rows.push_back(cell.rows);
  }
  for (TuneJob &job : jobs)
    llvm::sort(job.rows);
  return jobs;
}

llvm::Expected<TuneOutcome> Session::tune(const TuneJob &job,
                                          TuneOptions tuning) {
  const Op *op = findOp(job.op);
  if (!op)
    return llvm::createStringError("expects one of " + listOps() +
                                   " but got '" + job.op + "'");
  // The code of a cell that was measured before may go.
  compiledKey.clear();
  compiled = nullptr;
  tuning.compile = compileOptions();
  std::string text;
  if (llvm::Error error =
          sourceOf(compiler, *op, job.dtype, job.columns, tuning.compile)
              .moveInto(text))
    return error;
  Manifest described;
  auto makeCalls = [&](const Manifest &manifest)
      -> llvm::Expected<std::vector<std::unique_ptr<TunedCall>>> {
    described = manifest;
    std::vector<std::unique_ptr<TunedCall>> calls;
    // Memory grows while it's made for the first time; the second time it has
    // the addresses that it keeps.
    for (bool isLast : {false, true})
      for (int64_t rows : job.rows) {
        llvm::Expected<CallSets> one =
            CallSets::create(operands, described, op->roles(), rows, 1);
        if (!one)
          return one.takeError();
        Traffic traffic = minimalTraffic(described, one->arguments(0));
        llvm::Expected<CallSets> sets =
            CallSets::create(operands, described, op->roles(), rows,
                             coldSets(device.facts(), traffic.total()));
        if (!sets)
          return sets.takeError();
        if (isLast)
          calls.push_back(std::make_unique<BenchCall>(std::move(*sets), text));
      }
    return calls;
  };
  return norm::tune(device, text, "<norm-bench>", makeCalls, tuning);
}
