//===- Session.cpp - The measurements -------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Bench/Session.h"
#include "norm/Bench/Intensity.h"
#include "llvm/ADT/STLExtras.h"

using namespace norm;
using namespace norm::bench;

Session::Session(Device &device, SessionOptions options)
    : device(device), options(std::move(options)), operands(device, workers),
      ceiling(operands) {}

Session::~Session() = default;

llvm::Expected<Result> Session::measure(const Cell &cell) {
  Result result;
  result.cell = cell;
  llvm::Error error = cell.suite == "decode"    ? measureDecode(result)
                      : cell.suite == "compile" ? measureCompile(result)
                      : cell.suite == "launch"  ? measureLaunch(result)
                                                : measureStream(result);
  if (error) {
    result.status = Result::Status::Failed;
    result.message = llvm::toString(std::move(error));
    // The calls of a failed cell may still be running, and a device that has
    // failed fails every later one.
    if (llvm::Error broken = device.synchronize())
      return llvm::joinErrors(
          llvm::createStringError(cell.id() + ": " + result.message),
          std::move(broken));
  }
  if (result.status == Result::Status::Ok)
    addBaseline(options.baseline, result);
  return result;
}

CompileOptions Session::compileOptions() const {
  CompileOptions compile;
  compile.target = device.target();
  compile.driverVersion = device.driverVersion();
  compile.device = device.product();
  compile.emulate = device.isEmulated();
  compile.schedule = options.schedule;
  compile.math = options.math;
  compile.tuning = options.tuning;
  compile.usesShippedTuning = options.usesShippedTuning;
  return compile;
}

llvm::Expected<std::string> bench::sourceOf(Compiler &compiler, const Op &op,
                                            DType dtype, int64_t columns,
                                            CompileOptions &options) {
  std::string text = programText(op, dtype, columns);
  if (!op.isBackward())
    return text;
  llvm::Expected<DerivativeOptions> derivative =
      parseDerivativeOptions(op.derivative);
  if (!derivative)
    return derivative.takeError();
  llvm::Expected<Derivative> made =
      compiler.differentiate(text, "<norm-bench>", *derivative);
  if (!made)
    return made.takeError();
  options.entry = made->backward.name;
  return std::move(made->text);
}

llvm::Expected<std::shared_ptr<BenchProgram>>
Session::compile(const Cell &cell, llvm::StringRef schedule) {
  const Op *op = findOp(cell.op);
  if (!op)
    return llvm::createStringError("expects one of " + listOps() +
                                   " but got '" + cell.op + "'");
  CompileOptions compileOptions = this->compileOptions();
  std::string text;
  if (llvm::Error error =
          sourceOf(compiler, *op, cell.dtype, cell.columns, compileOptions)
              .moveInto(text))
    return error;
  std::string key = text + schedule.str();
  if (key == compiledKey)
    return compiled;
  if (!schedule.empty()) {
    compileOptions.schedule += compileOptions.schedule.empty() ? "" : ",";
    compileOptions.schedule += schedule;
  }
  auto program = std::make_shared<BenchProgram>();
  program->op = op;
  program->text = std::move(text);
  if (llvm::Error error =
          jit::compileAndLoad(compiler, program->text, "<norm-bench>",
                              compileOptions, device)
              .moveInto(program->loaded))
    return error;
  llvm::Expected<std::string> programs = compiler.print(
      program->text, "<norm-bench>", compileOptions, Level::Program);
  if (!programs)
    return programs.takeError();
  program->operationsPerElement = operationsPerElement(*programs);
  compiledKey = std::move(key);
  compiled = std::move(program);
  return compiled;
}

llvm::Expected<std::vector<Timing>>
Session::time(llvm::ArrayRef<DeviceWork> works, bool flush) {
  TurnOptions turns;
  turns.warmups = options.warmups;
  turns.launches = options.repeats;
  turns.budget = options.budget;
  turns.flush = flush;
  return device.timeInTurns(works, turns);
}

llvm::Error CellRun::prepare(unsigned count, llvm::StringRef schedule) {
  if (llvm::Error error =
          session.compile(result.cell, schedule).moveInto(compiled))
    return error;
  const Manifest &manifest = compiled->manifest();
  if (llvm::Error error =
          CallSets::create(session.operands, manifest, compiled->op->roles(),
                           result.cell.rows, count)
              .moveInto(sets))
    return error;
  if (llvm::Error error = checkSums())
    return error;
  result.traffic = minimalTraffic(manifest, sets->arguments(0));
  result.kernels = unsigned(manifest.kernels.size());
  result.operations =
      compiled->operationsPerElement * double(result.cell.elements());
  if (!manifest.kernels.empty())
    result.schedule = manifest.kernels.front().schedule;
  if (const auto &schedules = compiled->loaded.artifact.schedules;
      !schedules.empty())
    result.scheduleSource = schedules.front().source;
  if (llvm::Error error = sets->poisonResults())
    return error;
  for (unsigned set : {0u, count - 1}) {
    llvm::Expected<DeviceWork> work = call(set);
    if (!work)
      return work.takeError();
    if (llvm::Error error = (*work)())
      return error;
  }
  if (llvm::Error error = session.device.synchronize())
    return error;
  result.checkedRows = sets->checkedRows();
  return check("", result.status, result.message, result.ulps);
}

/// Compares all results of a call of some of the rows, where there are some
/// that all rows have a part in: of a call of all rows, only rows are compared.
llvm::Error CellRun::checkSums() {
  if (!sets->hasSums() || result.cell.rows <= CallSets::kWholeRows)
    return llvm::Error::success();
  llvm::Expected<CallSets> some =
      CallSets::create(session.operands, compiled->manifest(),
                       compiled->op->roles(), CallSets::kWholeRows, 1);
  if (!some)
    return some.takeError();
  std::swap(*sets, *some);
  llvm::Error error = sets->poisonResults();
  if (!error) {
    llvm::Expected<DeviceWork> work = call(0);
    error = work ? (*work)() : work.takeError();
  }
  if (!error)
    error = session.device.synchronize();
  if (!error)
    error = check("of " + std::to_string(CallSets::kWholeRows) + " rows, ",
                  result.status, result.message, result.ulps);
  std::swap(*sets, *some);
  return error;
}

/// Compares the results of the last set.
llvm::Error CellRun::check(llvm::StringRef what, Result::Status &status,
                           std::string &message, double &ulps) {
  llvm::Expected<std::vector<tools::ResultCheck>> checks =
      sets->check(compiled->text, sets->count() - 1);
  if (!checks)
    return checks.takeError();
  for (const auto &[index, check] : llvm::enumerate(*checks)) {
    ulps = std::max(ulps, check.ulps);
    if (check.passed)
      continue;
    status = Result::Status::Wrong;
    message = (what + "result " + llvm::Twine(index) + ": " + check.line).str();
  }
  return llvm::Error::success();
}

llvm::Expected<DeviceWork> CellRun::call(unsigned set) {
  llvm::Expected<std::unique_ptr<PreparedLaunch>> prepared =
      compiled->loaded.executable->prepare(sets->arguments(set));
  if (!prepared)
    return prepared.takeError();
  std::shared_ptr<PreparedLaunch> launch = std::move(*prepared);
  return DeviceWork([launch] { return launch->run(); });
}

llvm::Expected<DeviceWork> CellRun::repeat(std::vector<DeviceWork> works,
                                           unsigned count) {
  DeviceWork all = [works = std::move(works), count]() -> llvm::Error {
    for (unsigned i = 0; i < count; ++i)
      if (llvm::Error error = works[i % works.size()]())
        return error;
    return llvm::Error::success();
  };
  if (llvm::Error error = all())
    return error;
  if (llvm::Error error = session.device.synchronize())
    return error;
  return session.device.record(std::move(all));
}

llvm::Error CellRun::addKernels(std::vector<std::vector<DeviceWork>> &works) {
  for (const ForeignKernel &kernel : session.options.kernels) {
    Peer &peer = result.peers.emplace_back();
    peer.name = kernel.name();
    std::vector<DeviceWork> calls;
    if (llvm::Error error = addKernel(kernel, peer, calls)) {
      peer.problem = llvm::toString(std::move(error));
      // One that has broken the device ends everything.
      if (llvm::Error broken = session.device.synchronize())
        return broken;
    }
    if (peer.problem.empty())
      works.push_back(std::move(calls));
  }
  return llvm::Error::success();
}

llvm::Error CellRun::addKernel(const ForeignKernel &kernel, Peer &peer,
                               std::vector<DeviceWork> &calls) {
  llvm::Expected<std::unique_ptr<Executable>> loaded =
      kernel.load(session.device, compiled->manifest());
  if (!loaded)
    return loaded.takeError();
  std::shared_ptr<Executable> executable = std::move(*loaded);
  if (llvm::Error error = sets->poisonResults())
    return error;
  for (unsigned set = 0; set < sets->count(); ++set) {
    llvm::Expected<std::unique_ptr<PreparedLaunch>> prepared =
        executable->prepare(sets->arguments(set));
    if (!prepared)
      return prepared.takeError();
    std::shared_ptr<PreparedLaunch> launch = std::move(*prepared);
    // The code must outlive the launches.
    calls.push_back([launch, executable] { return launch->run(); });
  }
  if (llvm::Error error = calls.back()())
    return error;
  if (llvm::Error error = session.device.synchronize())
    return error;
  Result::Status status = Result::Status::Ok;
  double ulps = 0;
  std::string message;
  if (llvm::Error error = check("", status, message, ulps))
    return error;
  if (status != Result::Status::Ok)
    peer.problem = "wrong: " + message;
  return llvm::Error::success();
}
