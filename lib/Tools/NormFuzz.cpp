//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// norm-fuzz: random programs against each other, mutated text against the
// compiler.
//
//===----------------------------------------------------------------------===//

#include "norm/Fuzz/Fuzz.h"
#include "norm/Runtime/Device.h"
#include "norm/Tools/Tools.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <optional>

using namespace norm;
using namespace norm::fuzz;
using namespace norm::tools;

namespace {

constexpr char kUsage[] =
    R"(usage: norm-fuzz [--seed=N] [--programs=N] [--device=NAME,...] [options]
       norm-fuzz --text --corpus=DIR [--seed=N] [--iterations=N] [options]

Runs random programs and compares the results with the reference and, bit by
bit, with those of other schedules, layouts, rows, runs and devices. With
--text, feeds mutated .mlir files to the parser, the verifiers and the passes.

  --seed=N          chooses the programs (1)
  --first=N         number of the first program (0)
  --programs=N      how many, or --iterations=N for texts (100)
  --device=A,B,...  devices; the first one is what others are compared with (host)
  --time-limit=S    seconds after which no program is started
  --timeout=S       seconds for one program (120)
  --max-columns=N   longest row (65537)
  --max-elements=N  most elements of a tensor (131072)
  --kind=K          any programs, or plain, sums or backward ones only (any)
  --jobs=N          processes (1)
  --out=DIR         writes each failure, made small, with the commands to see it
  --shrink-time=S   seconds to make a failure small (60)
  --max-failures=N  failures after which no program is started (10)
  --corpus=DIR      the .mlir files to mutate
  --show            prints the programs instead of running them
  --progress        shows progress even where stderr is no terminal

exit status: 0 no difference, 1 wrong input, 2 a difference, 3 no such device
)";

struct CommandLine {
  FuzzOptions options;
  bool text = false, progress = false, show = false, help = false;
};

template <typename T>
llvm::Error readNumber(llvm::StringRef key, llvm::StringRef value, T &to) {
  if (value.getAsInteger(10, to))
    return llvm::createStringError(key +
                                   ": expects a number of 0 or more but "
                                   "got '" +
                                   value + "'");
  return llvm::Error::success();
}

llvm::Error readSeconds(llvm::StringRef key, llvm::StringRef value,
                        double &to) {
  if (value.getAsDouble(to) || !(to >= 0 && to < 1e9))
    return llvm::createStringError(key + ": expects seconds but got '" + value +
                                   "'");
  return llvm::Error::success();
}

llvm::Error readKind(llvm::StringRef value, CaseKind &to) {
  std::optional<CaseKind> kind =
      llvm::StringSwitch<std::optional<CaseKind>>(value)
          .Case("any", CaseKind::Any)
          .Case("plain", CaseKind::Plain)
          .Case("sums", CaseKind::Sums)
          .Case("backward", CaseKind::Backward)
          .Default(std::nullopt);
  if (!kind)
    return llvm::createStringError(
        "--kind: expects any, plain, sums or backward but got '" + value + "'");
  to = *kind;
  return llvm::Error::success();
}

llvm::Error readOption(llvm::StringRef key, llvm::StringRef value,
                       FuzzOptions &options) {
  uint64_t number = 0;
  if (key == "--seed")
    return readNumber(key, value, options.seed);
  if (key == "--first")
    return readNumber(key, value, options.first);
  if (key == "--programs" || key == "--iterations")
    return readNumber(key, value, options.count);
  if (key == "--jobs")
    return readNumber(key, value, options.jobs);
  if (key == "--max-failures")
    return readNumber(key, value, options.maxFailures);
  if (key == "--max-columns" || key == "--max-elements") {
    if (llvm::Error error = readNumber(key, value, number))
      return error;
    if (number < 1 || number > (uint64_t(1) << 30))
      return llvm::createStringError(key + ": expects 1 to 2^30 but got " +
                                     value);
    (key == "--max-columns" ? options.limits.maxColumns
                            : options.limits.maxElements) = int64_t(number);
    return llvm::Error::success();
  }
  if (key == "--kind")
    return readKind(value, options.limits.kind);
  if (key == "--time-limit")
    return readSeconds(key, value, options.timeLimit);
  if (key == "--timeout")
    return readSeconds(key, value, options.timeout);
  if (key == "--shrink-time")
    return readSeconds(key, value, options.shrinkTime);
  if (key == "--out" || key == "--corpus") {
    if (value.empty())
      return llvm::createStringError(key + ": expects a folder but got none");
    (key == "--out" ? options.folder : options.corpus) = value.str();
    return llvm::Error::success();
  }
  if (key == "--device") {
    options.devices.clear();
    for (llvm::StringRef name : llvm::split(value, ','))
      options.devices.push_back(name.str());
    return llvm::Error::success();
  }
  return llvm::createStringError("unknown option '" + key + "'");
}

llvm::Expected<CommandLine> parse(int argc, char **argv) {
  CommandLine line;
  for (int i = 1; i < argc; ++i) {
    llvm::StringRef argument = argv[i];
    if (argument == "--help" || argument == "-h") {
      line.help = true;
    } else if (argument == "--text") {
      line.text = true;
    } else if (argument == "--show") {
      line.show = true;
    } else if (argument == "--progress") {
      line.progress = true;
    } else {
      auto [key, value] = argument.split('=');
      // The value may be the next argument.
      if (!argument.contains('=') && i + 1 < argc)
        value = argv[++i];
      if (llvm::Error error = readOption(key, value, line.options))
        return std::move(error);
    }
  }
  if (line.text && line.options.corpus.empty() && !line.help)
    return llvm::createStringError("--text: expects --corpus=DIR but got none");
  return line;
}

int fail(llvm::Error error) {
  int status = error.isA<NoDeviceError>() ? ExitNoDevice : ExitBadInput;
  llvm::errs() << "norm-fuzz: error: " << llvm::toString(std::move(error))
               << "\n";
  return status;
}

} // namespace

int tools::normFuzzMain(int argc, char **argv) {
  llvm::Expected<CommandLine> line = parse(argc, argv);
  if (!line)
    return fail(line.takeError());
  if (line->help) {
    llvm::outs() << kUsage;
    return ExitSuccess;
  }
  const FuzzOptions &options = line->options;
  if (line->show) {
    llvm::outs() << showPrograms(options);
    return ExitSuccess;
  }
  llvm::StringRef what = line->text ? "texts" : "programs";
  bool progress = line->progress || llvm::errs().is_displayed();
  double told = 0;
  auto tell = [&](const FuzzSummary &summary, llvm::StringRef detail) {
    if (!detail.empty()) {
      llvm::errs() << (progress ? "\n" : "") << "norm-fuzz: " << detail << "\n";
    } else if (progress && summary.seconds - told >= 0.5) {
      told = summary.seconds;
      llvm::errs() << llvm::formatv(
          "\r{0} of {1} {2}, {3} runs, {4} failures, {5:F0} s",
          summary.programs, options.count, what, summary.runs, summary.failures,
          summary.seconds);
    }
  };
  llvm::Expected<FuzzSummary> summary =
      line->text ? fuzzText(options, tell) : fuzzPrograms(options, tell);
  if (!summary)
    return fail(summary.takeError());
  if (progress) {
    llvm::errs() << "\n";
    for (const auto &[name, seconds] : summary->steps)
      llvm::errs() << llvm::formatv("{0,8:F1} s {1}\n", seconds, name);
  }
  llvm::outs() << summary->programs << " " << what << ", " << summary->runs
               << " runs, " << summary->failures
               << (line->text ? " failures" : " differences");
  if (summary->unstarted)
    llvm::outs() << llvm::formatv(", {0} not started {1}", summary->unstarted,
                                  summary->failures < options.maxFailures
                                      ? "for lack of time"
                                      : "after so many failures");
  if (!line->text)
    llvm::outs() << llvm::formatv(
        " ({0} schedules skipped for lack of room; slowest program {1}: {2:F1} "
        "s)",
        summary->skipped, summary->slowestIndex, summary->slowest);
  if (summary->underived)
    llvm::outs() << ", " << summary->underived << " without a derivative";
  llvm::outs() << llvm::formatv(", {0:F0} s\n", summary->seconds);
  return summary->failures == 0 ? ExitSuccess : ExitCheckFailed;
}
