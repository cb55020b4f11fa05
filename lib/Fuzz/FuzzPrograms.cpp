//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Fuzz/Fuzz.h"
#include "norm/Fuzz/Isolation.h"
#include "norm/Fuzz/Oracles.h"
#include "norm/Fuzz/Shrink.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>
#include <cstdlib>
#include <thread>

using namespace norm;
using namespace norm::fuzz;

namespace {

std::string encode(const Outcome &outcome) {
  std::string steps;
  for (const auto &[name, seconds] : outcome.steps)
    steps += llvm::formatv("{0}={1:F6};", name, seconds);
  return llvm::formatv("{0} {1} {2} {3} {4} {5} {6}\n{7}", int(outcome.kind),
                       outcome.variant, outcome.runs, outcome.skipped,
                       int(outcome.underived), outcome.seconds, steps,
                       outcome.text);
}

Outcome decode(llvm::StringRef text) {
  Outcome outcome;
  llvm::StringRef field;
  auto next = [&] {
    std::tie(field, text) = text.split(' ');
    return field;
  };
  int kind = 0;
  (void)next().getAsInteger(10, kind);
  outcome.kind = Outcome::Kind(kind);
  (void)next().getAsInteger(10, outcome.variant);
  (void)next().getAsInteger(10, outcome.runs);
  (void)next().getAsInteger(10, outcome.skipped);
  outcome.underived = next() == "1";
  (void)next().getAsDouble(outcome.seconds);
  llvm::StringRef steps;
  std::tie(steps, text) = text.split('\n');
  for (llvm::StringRef step : llvm::split(steps, ';')) {
    auto [name, value] = step.split('=');
    double seconds = 0;
    if (!value.empty() && !value.getAsDouble(seconds))
      outcome.steps[name.str()] = seconds;
  }
  outcome.text = text.str();
  return outcome;
}

/// Starts the lines in which a child prints what it is about to run.
constexpr llvm::StringLiteral kStep = "running: ";

/// What a child printed, of the steps only the last one, in front.
std::string lastStepFirst(llvm::StringRef printed) {
  std::string step, rest;
  for (llvm::StringRef line : llvm::split(printed, '\n'))
    if (line.consume_front(kStep))
      step = line.str();
    else if (!line.empty())
      rest += ("\n" + line).str();
  return step + rest;
}

Outcome toOutcome(const JobReport &report) {
  if (report.status == JobReport::Status::Done)
    return decode(report.text);
  Outcome outcome;
  outcome.kind = report.status == JobReport::Status::Crashed
                     ? Outcome::Kind::Crashed
                     : Outcome::Kind::TimedOut;
  outcome.text = lastStepFirst(report.text);
  return outcome;
}

/// In a child: runs a case and prints the steps.
std::string runCase(Oracles &oracles, const Case &made) {
  return encode(oracles.run(made, [](llvm::StringRef step) {
    llvm::errs() << kStep << step << "\n";
  }));
}

/// The first lines of a text.
std::string shorten(llvm::StringRef text) {
  constexpr size_t kLines = 5;
  llvm::SmallVector<llvm::StringRef> lines;
  text.rtrim().split(lines, '\n');
  if (lines.size() <= kLines)
    return text.rtrim().str();
  return llvm::formatv(
      "{0}\n... {1} lines more",
      llvm::join(llvm::ArrayRef(lines).take_front(kLines), "\n"),
      lines.size() - kLines);
}

class ProgramFuzzer {
public:
  ProgramFuzzer(const FuzzOptions &options, Tell tell)
      : options(options), tell(tell) {}

  llvm::Expected<FuzzSummary> run();

private:
  llvm::Error openTargets();
  Outcome evaluate(const Case &made);
  bool note(const JobReport &report);
  void reduce(uint64_t index, Outcome outcome);
  void write(const Case &failing, const Outcome &outcome, llvm::StringRef name);
  /// Children share the cores.
  unsigned threadsPerChild() const {
    unsigned cores = std::thread::hardware_concurrency();
    return std::max(1u, cores / std::max(options.jobs, 1u));
  }
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() -
                                         start)
        .count();
  }

  const FuzzOptions &options;
  Tell tell;
  std::vector<Target> targets;
  FuzzSummary summary;
  std::vector<std::pair<uint64_t, Outcome>> failures;
  std::chrono::steady_clock::time_point start =
      std::chrono::steady_clock::now();
};

/// The target of each device, asked in a child: a device may have threads, and
/// a driver doesn't survive a fork.
llvm::Error ProgramFuzzer::openTargets() {
  std::string problem;
  bool missing = false;
  llvm::Error error = runIsolated(
      0, options.devices.size(), {},
      [&]() -> Worker {
        return [&](uint64_t index) -> std::string {
          llvm::Expected<std::unique_ptr<Device>> device =
              openNamedDevice(options.devices[index], 0);
          if (device)
            return "+" + (*device)->target();
          bool isMissing = device.errorIsA<NoDeviceError>();
          return (isMissing ? "?" : "-") + llvm::toString(device.takeError());
        };
      },
      [&](const JobReport &report) {
        llvm::StringRef text = report.text;
        if (report.status == JobReport::Status::Done &&
            text.consume_front("+")) {
          targets.push_back({options.devices[report.index], text.str()});
          return true;
        }
        missing = text.consume_front("?");
        text.consume_front("-");
        problem = text.str();
        return false;
      });
  if (error)
    return error;
  if (missing)
    return llvm::make_error<NoDeviceError>(problem);
  if (!problem.empty())
    return llvm::createStringError(problem);
  return llvm::Error::success();
}

/// In a child of its own.
Outcome ProgramFuzzer::evaluate(const Case &made) {
  Outcome outcome;
  IsolationOptions isolation;
  isolation.secondsPerJob = options.timeout;
  llvm::Error error = runIsolated(
      0, 1, isolation,
      [&]() -> Worker {
        return [&](uint64_t) {
          Oracles oracles(1);
          return runCase(oracles, made);
        };
      },
      [&](const JobReport &report) {
        outcome = toOutcome(report);
        return true;
      });
  if (error)
    outcome.text = llvm::toString(std::move(error));
  return outcome;
}

bool ProgramFuzzer::note(const JobReport &report) {
  Outcome outcome = toOutcome(report);
  ++summary.programs;
  summary.runs += outcome.runs;
  summary.skipped += outcome.skipped;
  summary.underived += outcome.underived;
  summary.seconds = seconds();
  for (const auto &[name, seconds] : outcome.steps)
    summary.steps[name] += seconds;
  if (outcome.seconds > summary.slowest) {
    summary.slowest = outcome.seconds;
    summary.slowestIndex = report.index;
  }
  if (outcome.failed()) {
    ++summary.failures;
    tell(summary, llvm::formatv("program {0} {1}: {2}", report.index,
                                toString(outcome.kind), shorten(outcome.text))
                      .str());
    failures.emplace_back(report.index, std::move(outcome));
  }
  tell(summary, "");
  return failures.size() < options.maxFailures &&
         (options.timeLimit == 0 || seconds() < options.timeLimit);
}

void ProgramFuzzer::reduce(uint64_t index, Outcome outcome) {
  Case failing = makeCase(options.seed, index, targets, options.limits);
  if (outcome.kind != Outcome::Kind::TimedOut)
    failing = shrink(
        std::move(failing), outcome,
        [&](const Case &made) { return evaluate(made); }, options.shrinkTime);
  tell(summary, llvm::formatv("program {0} {1}, reduced: {2}\n{3}", index,
                              toString(outcome.kind), shorten(outcome.text),
                              print(failing.graph, failing.space))
                    .str());
  if (options.folder.empty())
    return;
  write(failing, outcome,
        llvm::formatv("seed{0}-program{1}", options.seed, index).str());
}

/// In a child: what fails may do so when it is compiled for its schedules.
void ProgramFuzzer::write(const Case &failing, const Outcome &outcome,
                          llvm::StringRef name) {
  std::string text = "no child can be made";
  bool written = false;
  IsolationOptions isolation;
  isolation.secondsPerJob = options.timeout;
  llvm::Error error = runIsolated(
      0, 1, isolation,
      [&]() -> Worker {
        return [&](uint64_t) -> std::string {
          llvm::Expected<std::string> path =
              writeCase(failing, outcome, options.folder, name);
          return path ? "+" + *path : llvm::toString(path.takeError());
        };
      },
      [&](const JobReport &report) {
        llvm::StringRef said = report.text;
        written = said.consume_front("+");
        text = said.str();
        return true;
      });
  if (error)
    text = llvm::toString(std::move(error));
  summary.unwritten += !written;
  tell(summary, (written ? "written to " : "not written: ") + text);
}

llvm::Expected<FuzzSummary> ProgramFuzzer::run() {
  if (llvm::Error error = openTargets())
    return std::move(error);
  IsolationOptions isolation;
  isolation.jobs = options.jobs;
  isolation.secondsPerJob = options.timeout;
  isolation.endsChild = [](const JobReport &report) {
    return toOutcome(report).failed();
  };
  llvm::Error error = runIsolated(
      options.first, options.first + options.count, isolation,
      [&]() -> Worker {
        // A cache of kernels that are compiled once only fills the disk.
        setenv("CUDA_CACHE_DISABLE", "1", /*overwrite=*/0);
        auto oracles = std::make_shared<Oracles>(threadsPerChild());
        return [this, oracles](uint64_t index) {
          return runCase(
              *oracles, makeCase(options.seed, index, targets, options.limits));
        };
      },
      [&](const JobReport &report) { return note(report); });
  if (error)
    return std::move(error);
  summary.unstarted = options.count - summary.programs;
  llvm::sort(failures, llvm::less_first());
  for (auto &[index, outcome] : failures)
    reduce(index, outcome);
  summary.seconds = seconds();
  return summary;
}

} // namespace

llvm::Expected<FuzzSummary> fuzz::fuzzPrograms(const FuzzOptions &options,
                                               Tell tell) {
  return ProgramFuzzer(options, tell).run();
}
