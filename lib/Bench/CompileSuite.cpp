//===- CompileSuite.cpp - Time before the first result, and of launches ---===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Bench/Session.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <chrono>

using namespace norm;
using namespace norm::bench;

namespace {

/// Fresh processes, and compilations of a kernel, at most.
constexpr unsigned kMostProcesses = 5, kMostCompilations = 7;
/// Launches that a driver's queue holds for sure.
constexpr unsigned kQueuedLaunches = 64;

class Stopwatch {
public:
  /// Milliseconds since the last call, or since this exists.
  double lap() {
    Clock::time_point now = Clock::now();
    double milliseconds =
        std::chrono::duration<double, std::milli>(now - last).count();
    last = now;
    return milliseconds;
  }

private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point last = Clock::now();
};

/// Collects the parts of several runs, by name.
class Stages {
public:
  explicit Stages(std::vector<std::string> names)
      : names(std::move(names)), samples(this->names.size()) {}

  void add(llvm::ArrayRef<double> milliseconds) {
    for (auto [sample, value] : llvm::zip(samples, milliseconds))
      sample.push_back(value);
  }
  std::vector<std::pair<std::string, Summary>> take() const {
    std::vector<std::pair<std::string, Summary>> stages;
    for (auto [name, sample] : llvm::zip(names, samples))
      stages.emplace_back(name, summarize(sample));
    return stages;
  }

private:
  std::vector<std::string> names;
  std::vector<std::vector<double>> samples;
};

} // namespace

llvm::Expected<FreshTimes> bench::measureFresh(llvm::StringRef deviceName,
                                               const Cell &cell,
                                               CompileOptions options) {
  const Op *op = findOp(cell.op);
  if (!op)
    return llvm::createStringError("expects one of " + listOps() +
                                   " but got '" + cell.op + "'");
  FreshTimes times;
  Stopwatch watch;
  llvm::Expected<std::unique_ptr<Device>> device = openDevice(deviceName);
  if (!device)
    return device.takeError();
  times.device = watch.lap();
  Compiler compiler;
  options.target = (*device)->target();
  options.device = (*device)->product();
  options.driverVersion = (*device)->driverVersion();
  options.emulate = (*device)->isEmulated();
  llvm::Expected<std::string> text =
      sourceOf(compiler, *op, cell.dtype, cell.columns, options);
  if (!text)
    return text.takeError();
  llvm::Expected<Artifact> artifact =
      compiler.compile(*text, "<norm-bench>", options);
  if (!artifact)
    return artifact.takeError();
  times.codegen = artifact->times.codegen;
  // Dialects are loaded by whoever compiles first.
  times.passes = watch.lap() - times.codegen;
  llvm::Expected<std::unique_ptr<Executable>> executable =
      (*device)->load(artifact->code, artifact->manifest);
  if (!executable)
    return executable.takeError();
  times.load = watch.lap();

  Workers workers;
  Operands operands(**device, workers);
  llvm::Expected<CallSets> calls =
      CallSets::create(operands, artifact->manifest, op->roles(), cell.rows, 1);
  if (!calls)
    return calls.takeError();
  // Making the numbers is the benchmark's own work.
  watch.lap();
  if (llvm::Error error = (*executable)->launch(calls->arguments(0)))
    return error;
  times.launch = watch.lap();
  times.total =
      times.device + times.passes + times.codegen + times.load + times.launch;
  return times;
}

llvm::Error Session::measureCompile(Result &result) {
  const Op *op = findOp(result.cell.op);
  std::vector<double> totals;
  if (result.cell.variant == "process") {
    if (!options.fresh) {
      result.status = Result::Status::Skipped;
      result.message = "no processes can be started";
      return llvm::Error::success();
    }
    Stages stages({"start", "device", "passes", "llvm", "load", "launch"});
    for (unsigned i = 0; i < std::min(options.repeats, kMostProcesses); ++i) {
      llvm::Expected<FreshTimes> times = options.fresh(result.cell);
      if (!times)
        return times.takeError();
      stages.add({times->start, times->device, times->passes, times->codegen,
                  times->load, times->launch});
      totals.push_back(1e3 * (times->start + times->total));
    }
    result.stages = stages.take();
    result.microseconds = summarize(totals);
    return llvm::Error::success();
  }
  // Something was compiled before: the next kernel is meant.
  Cell other = result.cell;
  other.columns = 256;
  if (llvm::Error error = compile(other, "").takeError())
    return error;
  CompileOptions compileOptions = this->compileOptions();
  std::string text;
  if (llvm::Error error = sourceOf(compiler, *op, result.cell.dtype,
                                   result.cell.columns, compileOptions)
                              .moveInto(text))
    return error;
  Stages stages({"passes", "llvm", "load"});
  for (unsigned i = 0; i < std::min(options.repeats, kMostCompilations); ++i) {
    Stopwatch watch;
    llvm::Expected<Artifact> artifact =
        compiler.compile(text, "<norm-bench>", compileOptions);
    if (!artifact)
      return artifact.takeError();
    double codegen = artifact->times.codegen;
    double passes = watch.lap() - codegen;
    llvm::Expected<std::unique_ptr<Executable>> executable =
        device.load(artifact->code, artifact->manifest);
    if (!executable)
      return executable.takeError();
    double load = watch.lap();
    stages.add({passes, codegen, load});
    totals.push_back(1e3 * (passes + codegen + load));
    if (!artifact->manifest.kernels.empty())
      result.schedule = artifact->manifest.kernels.front().schedule;
    result.kernels = unsigned(artifact->manifest.kernels.size());
  }
  result.stages = stages.take();
  result.microseconds = summarize(totals);
  return llvm::Error::success();
}

llvm::Error Session::measureLaunch(Result &result) {
  CellRun run(*this, result);
  if (llvm::Error error = run.prepare(1, ""))
    return error;
  if (!run.isRight())
    return llvm::Error::success();
  Executable &executable = *run.program().loaded.executable;
  // As in a program that uses the device by itself.
  llvm::Expected<std::unique_ptr<ThreadScope>> scope = device.makeCurrent();
  if (!scope)
    return scope.takeError();
  std::vector<double> prepares, launches;
  for (unsigned i = 0; i < options.warmups + options.repeats; ++i) {
    Stopwatch watch;
    llvm::Expected<std::unique_ptr<PreparedLaunch>> prepared =
        executable.prepare(run.calls().arguments(0));
    if (!prepared)
      return prepared.takeError();
    double prepare = watch.lap();
    for (unsigned call = 0; call < kQueuedLaunches; ++call)
      if (llvm::Error error = (*prepared)->run())
        return error;
    double microseconds = 1e3 * watch.lap() / kQueuedLaunches;
    if (llvm::Error error = device.synchronize())
      return error;
    if (i < options.warmups)
      continue;
    prepares.push_back(prepare);
    launches.push_back(microseconds);
  }
  result.microseconds = summarize(launches);
  result.stages = {{"prepare", summarize(prepares)}};
  // The host's time says nothing of bytes.
  result.traffic = {};
  return llvm::Error::success();
}
