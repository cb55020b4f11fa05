//===- NormBench.cpp - Measures kernels -----------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Bench/HtmlReport.h"
#include "norm/Support/Version.h"
#include "norm/Tools/NormBenchOptions.h"
#include "norm/Tools/Tools.h"
#include "norm/Tools/TuneReport.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>
#include <cstdlib>

using namespace norm;
using namespace norm::tools;
using namespace norm::bench;
namespace json = llvm::json;
using Clock = std::chrono::steady_clock;

namespace {

/// Elements of a tensor where there is no GPU.
constexpr int64_t kHostElements = int64_t(1) << 22;

/// Nanoseconds of a clock that all processes of a machine share.
uint64_t now() {
  return uint64_t(std::chrono::duration_cast<std::chrono::nanoseconds>(
                      Clock::now().time_since_epoch())
                      .count());
}

/// Tells on stderr how far a run is: as a bar on a terminal, else by lines.
class Progress {
public:
  Progress(size_t total, bool asBar) : total(total), asBar(asBar) {}
  ~Progress() { clear(); }

  void begin(const Cell &cell) {
    if (asBar)
      draw(cell.id());
  }
  void end(const Result &result) {
    ++done;
    bool isGood = result.status == Result::Status::Ok ||
                  result.status == Result::Status::Skipped;
    if (asBar && isGood)
      return;
    clear();
    llvm::errs() << llvm::formatv("[{0}/{1}, {2}%] {3}  {4}\n", done, total,
                                  100 * done / total, result.cell.id(),
                                  describe(result));
  }

private:
  static std::string minutes(double seconds) {
    int whole = int(seconds + 0.5);
    return llvm::formatv("{0}:{1,0-2:d2}", whole / 60,
                         llvm::formatv("{0:d2}", whole % 60).str());
  }
  void draw(llvm::StringRef what);
  void clear() {
    if (asBar && isDrawn)
      llvm::errs() << "\r\033[K";
    isDrawn = false;
  }

  size_t total, done = 0;
  bool asBar, isDrawn = false;
  Clock::time_point start = Clock::now();
};

void Progress::draw(llvm::StringRef what) {
  constexpr size_t kBar = 24;
  double elapsed = std::chrono::duration<double>(Clock::now() - start).count();
  std::string bar(kBar * done / total, '#');
  bar.resize(kBar, '.');
  llvm::errs() << llvm::formatv("\r\033[K[{0}] {1,3}%  {2} elapsed", bar,
                                100 * done / total, minutes(elapsed));
  if (done > 0)
    llvm::errs() << llvm::formatv(
        ", about {0} left",
        minutes(elapsed / double(done) * double(total - done)));
  llvm::errs() << "  " << what;
  llvm::errs().flush();
  isDrawn = true;
}

llvm::Error writeFile(const std::string &path, llvm::StringRef content) {
  std::error_code failed;
  llvm::raw_fd_ostream file(path, failed, llvm::sys::fs::OF_Text);
  if (failed)
    return llvm::createStringError(path +
                                   ": cannot write: " + failed.message());
  file << content;
  file.close();
  if (file.has_error()) {
    failed = file.error();
    file.clear_error();
    return llvm::createStringError(path +
                                   ": cannot write: " + failed.message());
  }
  return llvm::Error::success();
}

/// Starts this executable again for one cell of the compile suite.
class FreshProcess {
public:
  FreshProcess(std::string executable, const BenchOptions &options,
               std::string device)
      : executable(std::move(executable)), options(options),
        device(std::move(device)) {}

  llvm::Expected<FreshTimes> operator()(const Cell &cell) const;

private:
  std::string executable;
  const BenchOptions &options;
  std::string device;
};

llvm::Expected<FreshTimes> FreshProcess::operator()(const Cell &cell) const {
  llvm::SmallString<128> path;
  if (std::error_code failed =
          llvm::sys::fs::createTemporaryFile("norm-bench", "json", path))
    return llvm::createStringError("cannot make a temporary file: " +
                                   failed.message());
  llvm::FileRemover remover(path);
  std::string fresh = "--fresh=" + printFresh(cell, now());
  std::string onDevice = "--device=" + device;
  std::string schedule = "--schedule=" + options.session.schedule;
  std::string tuning = "--tuning=" + options.tuning;
  // An executable that holds several tools goes by the name it is called by.
  llvm::SmallVector<llvm::StringRef, 5> arguments = {"norm-bench", fresh,
                                                     onDevice, schedule};
  if (!options.tuning.empty())
    arguments.push_back(tuning);
  std::optional<llvm::StringRef> streams[] = {"", llvm::StringRef(path),
                                              std::nullopt};
  std::string problem;
  int status = llvm::sys::ExecuteAndWait(executable, arguments, std::nullopt,
                                         streams, /*SecondsToWait=*/120,
                                         /*MemoryLimit=*/0, &problem);
  if (status != 0)
    return llvm::createStringError("a fresh process ended with status " +
                                   llvm::Twine(status) +
                                   (problem.empty() ? "" : ": ") + problem);
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return llvm::createStringError("cannot read what a fresh process wrote: " +
                                   buffer.getError().message());
  llvm::Expected<json::Value> value = json::parse((*buffer)->getBuffer());
  if (!value)
    return value.takeError();
  FreshTimes times;
  json::Path::Root root("fresh");
  json::ObjectMapper map(*value, root);
  if (!map || !map.map("start", times.start) ||
      !map.map("device", times.device) || !map.map("passes", times.passes) ||
      !map.map("llvm", times.codegen) || !map.map("load", times.load) ||
      !map.map("launch", times.launch) || !map.map("total", times.total))
    return root.getError();
  return times;
}

/// The other side: measures and prints.
llvm::Error runFresh(const BenchOptions &options, uint64_t entered) {
  CompileOptions compile;
  compile.schedule = options.session.schedule;
  if (llvm::Error error = setTuning(compile, options.tuning))
    return error;
  llvm::Expected<FreshTimes> times =
      measureFresh(options.device, *options.fresh, compile);
  if (!times)
    return times.takeError();
  if (entered > options.started)
    times->start = double(entered - options.started) * 1e-6;
  llvm::outs() << json::Value(json::Object{{"start", times->start},
                                           {"device", times->device},
                                           {"passes", times->passes},
                                           {"llvm", times->codegen},
                                           {"load", times->load},
                                           {"launch", times->launch},
                                           {"total", times->total}})
               << "\n";
  return llvm::Error::success();
}

/// One run of the tool.
class BenchMain {
public:
  BenchMain(BenchOptions options, std::string executable)
      : options(std::move(options)), executable(std::move(executable)) {}

  llvm::Error execute();
  bool passed() const { return report.passed() && !hasFaults; }

private:
  llvm::Error chooseCells();
  llvm::Error tune();
  llvm::Error measure();
  llvm::Error write();

  BenchOptions options;
  std::string executable;
  std::unique_ptr<Device> device;
  std::vector<Cell> cells;
  Report report;
  bool hasFaults = false;
};

llvm::Error BenchMain::chooseCells() {
  std::string text = defaultGridText().str();
  std::string name = options.grid.empty() ? "grid.json" : options.grid;
  if (!options.grid.empty()) {
    auto buffer = llvm::MemoryBuffer::getFile(options.grid);
    if (!buffer)
      return llvm::createStringError(
          options.grid + ": cannot read: " + buffer.getError().message());
    text = (*buffer)->getBuffer().str();
  }
  llvm::Expected<Grid> grid = parseGrid(text, name);
  if (!grid)
    return grid.takeError();
  if (!options.grid.empty())
    llvm::erase_if(options.choice.suites, [&](const std::string &suite) {
      return !grid->suites.count(suite);
    });
  bool onGpu = device && !device->isEmulated() && device->target() != "host";
  if (!options.choice.elements && !onGpu && device)
    options.choice.elements = kHostElements;
  return makeCells(*grid, options.choice).moveInto(cells);
}

llvm::Error BenchMain::measure() {
  report.device = device->name();
  report.description = device->description();
  report.target = device->target();
  report.driver = device->driverVersion();
  report.facts = device->facts();
  report.repeats = options.session.repeats;
  report.schedule = options.session.schedule;
  options.session.fresh = FreshProcess(executable, options, device->name());
  Session session(*device, options.session);
  Progress progress(cells.size(),
                    options.progress || llvm::errs().is_displayed());
  report.before = readClocks(*device);
  for (const Cell &cell : cells) {
    progress.begin(cell);
    llvm::Expected<Result> result = session.measure(cell);
    if (!result)
      return result.takeError();
    progress.end(*result);
    report.results.push_back(std::move(*result));
  }
  report.after = readClocks(*device);
  return llvm::Error::success();
}

llvm::Error BenchMain::tune() {
  if (llvm::Error error = checkTunable(*device))
    return error;
  std::vector<TuneJob> jobs = makeTuneJobs(cells);
  if (jobs.empty())
    return llvm::createStringError(
        "--tune: expects a suite of kernels but got none");
  if (llvm::Error error = checkTuningOut(options.tuningOut))
    return error;
  llvm::outs() << "device " << device->name() << ": " << device->description()
               << "\n";
  Session session(*device, options.session);
  TuneBar bar(options.progress);
  for (const auto &[index, job] : llvm::enumerate(jobs)) {
    std::string id = job.id();
    TuneOptions tuning;
    tuning.seconds = options.tuneSeconds;
    tuning.progress = [&, done = index](const TuneProgress &progress) {
      bar.draw(progress, done, jobs.size(), id);
    };
    llvm::Expected<TuneOutcome> outcome = session.tune(job, tuning);
    bar.clear();
    if (!outcome) {
      // A program that can't be tuned is no reason to leave out the others.
      llvm::errs() << "norm-bench: error: " << id << ": "
                   << llvm::toString(outcome.takeError()) << "\n";
      hasFaults = true;
      if (llvm::Error broken = device->synchronize())
        return broken;
      continue;
    }
    llvm::outs() << id << "  " << summarizeOutcome(*outcome) << "\n";
    llvm::outs().flush();
    printFaults(llvm::errs(), "norm-bench", *outcome);
    hasFaults |= !outcome->faults.empty();
    if (!options.tuningOut.empty())
      if (llvm::Error error = mergeIntoFile(options.tuningOut, outcome->found(),
                                            outcome->superseded()))
        return error;
  }
  if (device->isEmulated())
    llvm::outs()
        << "times are the emulated device's, and say nothing of a GPU's\n";
  return llvm::Error::success();
}

llvm::Error BenchMain::write() {
  printReport(llvm::outs(), report);
  llvm::outs().flush();
  if (!options.json.empty())
    if (llvm::Error error = writeFile(
            options.json, llvm::formatv("{0:2}\n", toJSON(report)).str()))
      return error;
  if (!options.report.empty())
    return writeFile(options.report, toHtml(report));
  return llvm::Error::success();
}

llvm::Error BenchMain::execute() {
  if (llvm::Error error = readAgainst(options))
    return error;
  CompileOptions compile;
  if (llvm::Error error = setTuning(compile, options.tuning))
    return error;
  options.session.tuning = compile.tuning;
  options.session.usesShippedTuning = compile.usesShippedTuning;
  if (!options.list)
    if (llvm::Error error = openDevice(options.device).moveInto(device))
      return error;
  if (llvm::Error error = chooseCells())
    return error;
  if (options.list) {
    for (const Cell &cell : cells)
      llvm::outs() << cell.id() << "\n";
    return llvm::Error::success();
  }
  if (!options.session.kernels.empty() && device->target() == "host")
    return llvm::createStringError(
        "--against: expects a CUDA device for a kernel but got " +
        device->name());
  if (options.tune)
    return tune();
  // What was measured before a device failed is worth having.
  llvm::Error failed = measure();
  return llvm::joinErrors(std::move(failed), write());
}

int fail(llvm::Error error) {
  int status = error.isA<NoDeviceError>() ? ExitNoDevice : ExitBadInput;
  llvm::errs() << "norm-bench: error: " << llvm::toString(std::move(error))
               << "\n";
  return status;
}

} // namespace

int tools::normBenchMain(int argc, char **argv) {
  uint64_t entered = now();
  llvm::Expected<BenchOptions> options = parseBenchOptions(argc, argv);
  if (!options)
    return fail(options.takeError());
  if (options->help) {
    llvm::outs() << benchUsage();
    return ExitSuccess;
  }
  if (options->version) {
    llvm::outs() << versionLine() << "\n";
    return ExitSuccess;
  }
  // The driver keeps code that it has compiled in files of its own.
  setenv("CUDA_CACHE_DISABLE", "1", /*overwrite=*/0);
  if (options->fresh) {
    if (llvm::Error error = runFresh(*options, entered))
      return fail(std::move(error));
    return ExitSuccess;
  }
  std::string executable = llvm::sys::fs::getMainExecutable(
      argv[0], reinterpret_cast<void *>(&normBenchMain));
  BenchMain main(std::move(*options), std::move(executable));
  if (llvm::Error error = main.execute())
    return fail(std::move(error));
  if (main.passed())
    return ExitSuccess;
  llvm::errs() << "norm-bench: error: a cell, or what it is compared with, is "
                  "wrong or failed\n";
  return ExitCheckFailed;
}
