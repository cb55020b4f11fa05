//===- NormRun.cpp - Compiles and runs a program --------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/JIT/JIT.h"
#include "norm/Runtime/EmulatedDevice.h"
#include "norm/Runtime/HostDevice.h"
#include "norm/Runtime/Npy.h"
#include "norm/Runtime/Workers.h"
#include "norm/Tools/NormRunCheck.h"
#include "norm/Tools/NormRunData.h"
#include "norm/Tools/NormRunOptions.h"
#include "norm/Tools/NormRunReport.h"
#include "norm/Tools/NormRunTune.h"
#include "norm/Tools/Tools.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

using namespace norm;
using namespace norm::tools;

namespace {

/// One run of the tool. The steps are called in order; each needs what the ones
/// before have made.
class Run {
public:
  explicit Run(const RunOptions &options) : options(options) {}

  llvm::Error execute();
  bool passed() const { return report.passed() && hasTuned; }

private:
  llvm::Error readText();
  /// Puts the backward of the entry in the place of the entry.
  llvm::Error differentiate();
  /// Opens the device, and tells how to compile for it.
  llvm::Error open();
  /// Searches for the fastest schedules, which are used from then on.
  llvm::Error tune();
  llvm::Error compile();
  llvm::Error checkOptions();
  llvm::Error launch();
  llvm::Error writeResults();
  llvm::Error check();
  llvm::Error compareFiles();
  llvm::Error compareWithHost();
  llvm::Error time();
  void explain();
  void describe();
  llvm::Error writeReport();
  void note(const char *kind, unsigned result, const ResultCheck &check);

  const Manifest &manifest() const { return program.artifact.manifest; }

  const RunOptions &options;
  Workers workers;
  Compiler compiler;
  std::unique_ptr<llvm::MemoryBuffer> text;
  std::string entry;
  std::optional<Derivative> derivative;
  std::unique_ptr<Device> device;
  jit::LoadedProgram program;
  CallData data;
  std::optional<DeviceCall> call;
  std::unique_ptr<PreparedLaunch> prepared;
  std::vector<HostTensor> results;
  RunReport report;
  CompileOptions compileOptions;
  bool hasTuned = true;
};

llvm::Error Run::readText() {
  auto file = llvm::MemoryBuffer::getFileOrSTDIN(options.input,
                                                 /*IsText=*/true);
  if (!file)
    return llvm::createStringError(
        options.input + ": cannot read: " + file.getError().message());
  text = std::move(*file);
  entry = options.entry;
  return llvm::Error::success();
}

llvm::Error Run::differentiate() {
  DerivativeOptions wanted = *options.backward;
  if (wanted.function.empty())
    wanted.function = options.entry;
  if (llvm::Error error =
          compiler
              .differentiate(text->getBuffer(), text->getBufferIdentifier(),
                             wanted)
              .moveInto(derivative))
    return error;
  text = llvm::MemoryBuffer::getMemBufferCopy(derivative->text,
                                              text->getBufferIdentifier());
  entry = derivative->backward.name;
  return llvm::Error::success();
}

llvm::Error Run::open() {
  if (llvm::Error error = openDevice(options.device).moveInto(device))
    return error;
  compileOptions.target = options.target;
  compileOptions.entry = entry;
  compileOptions.schedule = options.schedule;
  compileOptions.math = options.math;
  compileOptions.explain = options.explain;
  if (llvm::Error error = setTuning(compileOptions, options.tuning))
    return error;
  return makeLaunchOptions(options).moveInto(compileOptions.launch);
}

llvm::Error Run::tune() {
  llvm::Expected<TuneOutcome> outcome =
      tuneRun(*device, text->getBuffer(), text->getBufferIdentifier(),
              compileOptions, options, workers);
  if (!outcome)
    return outcome.takeError();
  hasTuned = outcome->faults.empty();
  TuningFile all =
      compileOptions.tuning ? *compileOptions.tuning : TuningFile();
  all.remove(outcome->superseded());
  all.merge(outcome->found());
  compileOptions.usesShippedTuning = false;
  compileOptions.tuning = std::make_shared<const TuningFile>(std::move(all));
  return llvm::Error::success();
}

llvm::Error Run::compile() {
  return jit::compileAndLoad(compiler, text->getBuffer(),
                             text->getBufferIdentifier(), compileOptions,
                             *device)
      .moveInto(program);
}

/// What compares with a program needs one.
llvm::Error Run::checkOptions() {
  if (program.artifact.isProgram || !(options.check || options.hostBits))
    return llvm::Error::success();
  return llvm::createStringError(
      llvm::Twine(options.check ? "--check" : "--bits") +
      ": expects a program to compare with but got kernels");
}

llvm::Error Run::launch() {
  if (llvm::Error error =
          makeCallData(manifest(), options, workers).moveInto(data))
    return error;
  if (llvm::Error error =
          DeviceCall::create(*device, manifest(), data).moveInto(call))
    return error;
  if (llvm::Error error =
          program.executable->prepare(call->arguments()).moveInto(prepared))
    return error;
  if (llvm::Error error = prepared->run())
    return error;
  return call->readResults(workers).moveInto(results);
}

llvm::Error Run::writeResults() {
  for (const auto &[index, path] : options.outputs)
    if (llvm::Error error = writeNpy(path, results[index]))
      return error;
  return llvm::Error::success();
}

void Run::note(const char *kind, unsigned result, const ResultCheck &check) {
  report.checks.push_back({kind, result, check});
}

llvm::Error Run::check() {
  llvm::Expected<std::vector<ResultCheck>> checks =
      checkReference(text->getBuffer(), text->getBufferIdentifier(),
                     manifest().entry, manifest(), data, results);
  if (!checks)
    return checks.takeError();
  for (unsigned i = 0; i < checks->size(); ++i) {
    const ResultCheck &check = (*checks)[i];
    note("reference", i, check);
    for (auto [kernel, described] :
         llvm::zip(manifest().kernels, report.kernels))
      if (llvm::is_contained(kernel.writes, data.results[i]))
        described.ulps = std::max(described.ulps.value_or(0), check.ulps);
  }
  return llvm::Error::success();
}

llvm::Error Run::compareFiles() {
  for (const auto &[index, expectation] : options.expectations) {
    llvm::Expected<ResultCheck> check =
        checkExpectation(expectation, results[index], workers);
    if (!check)
      return check.takeError();
    note("file", index, *check);
  }
  return llvm::Error::success();
}

llvm::Error Run::compareWithHost() {
  llvm::Expected<std::unique_ptr<Device>> host = openHostDevice();
  if (!host)
    return host.takeError();
  CompileOptions compileOptions;
  compileOptions.entry = manifest().entry;
  compileOptions.math = options.math;
  llvm::Expected<jit::LoadedProgram> other =
      jit::compileAndLoad(compiler, text->getBuffer(),
                          text->getBufferIdentifier(), compileOptions, **host);
  if (!other)
    return other.takeError();
  llvm::Expected<DeviceCall> hostCall =
      DeviceCall::create(**host, other->artifact.manifest, data);
  if (!hostCall)
    return hostCall.takeError();
  if (llvm::Error error = other->executable->launch(hostCall->arguments()))
    return error;
  llvm::Expected<std::vector<HostTensor>> others =
      hostCall->readResults(workers);
  if (!others)
    return others.takeError();
  for (unsigned i = 0; i < results.size(); ++i)
    note("bits", i, checkBits(results[i], (*others)[i]));
  return llvm::Error::success();
}

llvm::Error Run::time() {
  TimingOptions timingOptions;
  timingOptions.warmups = options.warmups;
  timingOptions.launches = options.launches;
  uint64_t largest = 0;
  for (auto [index, kernel] : llvm::enumerate(prepared->plan().kernels)) {
    largest = std::max(largest, kernel.minimalBytes);
    llvm::Expected<Timing> timing =
        prepared->time(unsigned(index), timingOptions);
    if (!timing)
      return timing.takeError();
    report.kernels[index].timing = std::move(*timing);
  }
  return device->measureCopyRate(largest).moveInto(report.copy);
}

void Run::describe() {
  report.device = device->name();
  report.description = device->description();
  report.target = manifest().target;
  llvm::ArrayRef<KernelTraffic> moved = prepared->traffic();
  for (auto [kernel, launch] :
       llvm::zip(manifest().kernels, prepared->plan().kernels)) {
    KernelReport described;
    described.program = kernel.program;
    described.order = kernel.order;
    described.schedule = kernel.schedule;
    if (!launch.empty())
      described.symbol = kernel.variants[launch.variant].symbol;
    described.dtype = manifest().dtype(kernel.columns.buffer);
    described.rows = launch.rows;
    described.columns = launch.columns;
    described.grid = kernel.grid.value_or(0);
    described.bytes = launch.minimalBytes;
    if (launch.kernel < moved.size())
      for (const BufferTraffic &traffic : moved[launch.kernel].buffers)
        described.traffic.emplace_back(manifest().describe(traffic.buffer),
                                       traffic);
    report.kernels.push_back(std::move(described));
  }
}

void Run::explain() {
  llvm::raw_ostream &os = llvm::outs();
  for (const std::string &remark : program.artifact.remarks)
    os << remark << "\n";
  if (derivative) {
    os << derivative->backward.name << "\n";
    for (auto [i, value] : llvm::enumerate(derivative->backward.arguments))
      os << "  argument " << i << " is " << value.name << ", " << value.type
         << "\n";
    for (auto [i, value] : llvm::enumerate(derivative->backward.results))
      os << "  result " << i << " is " << value.name << ", " << value.type
         << "\n";
  }
  for (auto [kernel, launch] :
       llvm::zip(manifest().kernels, prepared->plan().kernels)) {
    os << "kernel " << kernel.program << ": ";
    if (launch.empty())
      os << "not launched, there is nothing to do\n";
    else
      os << kernel.variants[launch.variant].symbol << ", variant "
         << launch.variant + 1 << " of " << kernel.variants.size() << "\n";
    if (!kernel.order.empty())
      os << "  order    " << kernel.order << "\n";
    os << "  schedule " << kernel.schedule << "\n";
  }
  for (const std::string &line : program.executable->notes())
    os << "  " << line << "\n";
}

llvm::Error Run::writeReport() {
  llvm::raw_ostream &os = llvm::outs();
  if (options.explain)
    explain();
  printReport(os, report);
  if (options.json.empty())
    return llvm::Error::success();
  std::error_code failed;
  llvm::raw_fd_ostream file(options.json, failed, llvm::sys::fs::OF_Text);
  if (failed)
    return llvm::createStringError(options.json +
                                   ": cannot write: " + failed.message());
  file << llvm::formatv("{0:2}\n", toJSON(report));
  return llvm::Error::success();
}

llvm::Error Run::execute() {
  if (llvm::Error error = readText())
    return error;
  if (options.backward)
    if (llvm::Error error = differentiate())
      return error;
  if (llvm::Error error = open())
    return error;
  if (options.tune)
    if (llvm::Error error = tune())
      return error;
  if (llvm::Error error = compile())
    return error;
  if (llvm::Error error = checkOptions())
    return error;
  if (llvm::Error error = launch())
    return error;
  describe();
  if (llvm::Error error = writeResults())
    return error;
  if (options.check)
    if (llvm::Error error = check())
      return error;
  if (llvm::Error error = compareFiles())
    return error;
  if (options.hostBits)
    if (llvm::Error error = compareWithHost())
      return error;
  if (options.time)
    if (llvm::Error error = time())
      return error;
  return writeReport();
}

/// Prints the diagnostic and gives the exit status it stands for.
int reportError(llvm::Error error) {
  int status = ExitBadInput;
  if (error.isA<NoDeviceError>())
    status = ExitNoDevice;
  if (error.isA<EmulationError>())
    status = ExitCheckFailed;
  std::string message = llvm::toString(std::move(error));
  if (message.empty())
    return status;
  // The compiler's diagnostics say where and how bad by themselves.
  bool complete = llvm::StringRef(message).contains(": error: ");
  llvm::errs() << (complete ? "" : "norm-run: error: ")
               << llvm::StringRef(message).rtrim() << "\n";
  return status;
}

} // namespace

int tools::normRunMain(int argc, char **argv) {
  llvm::Expected<RunOptions> options = parseRunOptions(argc, argv);
  if (!options)
    return reportError(options.takeError());
  Run run(*options);
  if (llvm::Error error = run.execute())
    return reportError(std::move(error));
  if (run.passed())
    return ExitSuccess;
  llvm::errs() << "norm-run: error: a check failed\n";
  return ExitCheckFailed;
}
