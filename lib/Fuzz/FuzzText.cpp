//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Execution.h"
#include "Mutate.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "norm/Compiler/Compiler.h"
#include "norm/Conversion/Passes.h"
#include "norm/Dialect/Norm/Transforms/Passes.h"
#include "norm/Fuzz/Fuzz.h"
#include "norm/Fuzz/Isolation.h"
#include "norm/Pipelines/Pipelines.h"
#include "norm/Target/Passes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>
#include <unistd.h>

using namespace norm;
using namespace norm::fuzz;

/// What each text that parses goes through, on a copy of its own.
static const char *const kPipelines[] = {
    "norm-generalize",
    "norm-fuse",
    "norm-rewrite-welford",
    "norm-expand-math",
    "norm-schedule{target=host}",
    "norm-schedule{target=sm_90}",
    "norm-results-to-destinations",
    "norm-bufferize",
    "norm-tile",
    "norm-generalize,norm-fuse,norm-rewrite-welford,norm-expand-math,"
    "norm-schedule{target=sm_80},norm-results-to-destinations,norm-bufferize,"
    "norm-tile",
    "convert-norm-tile-to-gpu",
    "convert-norm-tile-to-host",
    "convert-gpu-to-emulated",
    "norm-legalize-math{target=host}",
    "norm-legalize-math{target=sm_90}",
    "norm-translate-to-ptx{target=sm_90}",
    "norm-to-gpu-pipeline{target=sm_90}",
    "norm-to-ptx-pipeline{target=sm_90}",
    "norm-to-emulated-pipeline{target=sm_90}",
    "norm-to-host-pipeline",
};

namespace {

/// The compiler as seen by one child.
class TextRunner {
public:
  TextRunner() {
    llvm::sys::PrintStackTraceOnErrorSignal("norm-fuzz");
    mlir::norm::registerNormTransformsPasses();
    mlir::norm::registerNormConversionPasses();
    mlir::norm::registerNormTargetPasses();
    mlir::norm::registerPipelines();
    mlir::DialectRegistry registry;
    mlir::norm::registerDialects(registry);
    context.appendDialectRegistry(registry);
    context.disableMultithreading();
  }

  /// The number of pipelines run; 0 for a text that doesn't parse.
  unsigned run(const std::string &text);

private:
  void runPipeline(mlir::ModuleOp module, llvm::StringRef pipeline);

  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  Compiler compiler;
};

void TextRunner::runPipeline(mlir::ModuleOp module, llvm::StringRef pipeline) {
  mlir::OwningOpRef<mlir::ModuleOp> copy = module.clone();
  mlir::PassManager pm(&context, "builtin.module");
  std::string ignored;
  llvm::raw_string_ostream os(ignored);
  // The step is the last line of what a crashed child has printed.
  llvm::errs() << "pipeline " << pipeline << "\n";
  if (mlir::succeeded(mlir::parsePassPipeline(pipeline, pm, os)))
    (void)pm.run(*copy);
}

unsigned TextRunner::run(const std::string &text) {
  mlir::ScopedDiagnosticHandler handler(
      &context, [](mlir::Diagnostic &) { return mlir::success(); });
  llvm::errs() << "parser\n";
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::parseSourceString<mlir::ModuleOp>(
          text, mlir::ParserConfig(&context), "fuzz.mlir");
  if (!module)
    return 0;
  // What prints must be read again.
  std::string printed;
  llvm::raw_string_ostream(printed) << *module;
  llvm::errs() << "printed text\n";
  if (!mlir::parseSourceString<mlir::ModuleOp>(
          printed, mlir::ParserConfig(&context), "printed.mlir")) {
    llvm::errs() << "expects the printed module to parse\n" << printed;
    _exit(3);
  }
  for (const char *pipeline : kPipelines)
    runPipeline(*module, pipeline);
  for (const char *target : {"host", "sm_90"}) {
    llvm::errs() << "compiler for " << target << "\n";
    CompileOptions options;
    options.target = target;
    llvm::consumeError(
        compiler.compile(text, "fuzz.mlir", options).takeError());
  }
  return unsigned(std::size(kPipelines)) + 2;
}

llvm::Error writeText(const FuzzOptions &options, uint64_t index,
                      llvm::StringRef text) {
  if (std::error_code failed =
          llvm::sys::fs::create_directories(options.folder))
    return llvm::createStringError(options.folder +
                                   ": cannot make: " + failed.message());
  llvm::SmallString<128> path(options.folder);
  llvm::sys::path::append(
      path, llvm::formatv("seed{0}-text{1}.mlir", options.seed, index).str());
  std::error_code failed;
  llvm::raw_fd_ostream os(path, failed);
  if (failed)
    return llvm::createStringError(path +
                                   ": cannot write: " + failed.message());
  os << text;
  return llvm::Error::success();
}

/// The reason and the last step that a crashed child has told.
std::string summarize(const JobReport &report) {
  if (report.status == JobReport::Status::Done)
    return "";
  return (report.status == JobReport::Status::TimedOut ? "timed out\n"
                                                       : "crashed: ") +
         report.text;
}

} // namespace

llvm::Expected<FuzzSummary> fuzz::fuzzText(const FuzzOptions &options,
                                           Tell tell) {
  auto start = std::chrono::steady_clock::now();
  std::vector<std::string> corpus = loadCorpus(options.corpus);
  if (corpus.empty())
    return llvm::createStringError("expects .mlir files in " + options.corpus +
                                   " but found none");
  auto makeText = [&](uint64_t index) {
    Chooser choose(options.seed, index);
    return mutate(choose, corpus);
  };
  FuzzSummary summary;
  IsolationOptions isolation;
  isolation.jobs = options.jobs;
  isolation.secondsPerJob = options.timeout;
  llvm::Error problem = llvm::Error::success();
  llvm::Error error = runIsolated(
      options.first, options.first + options.count, isolation,
      [&]() -> Worker {
        auto runner = std::make_shared<TextRunner>();
        return [&makeText, runner](uint64_t index) {
          return std::to_string(runner->run(makeText(index)));
        };
      },
      [&](const JobReport &report) {
        ++summary.programs;
        summary.seconds = std::chrono::duration<double>(
                              std::chrono::steady_clock::now() - start)
                              .count();
        unsigned runs = 0;
        std::string failure = summarize(report);
        if (failure.empty()) {
          (void)llvm::StringRef(report.text).getAsInteger(10, runs);
          summary.runs += runs;
          tell(summary, "");
        } else {
          ++summary.failures;
          tell(summary,
               llvm::formatv("text {0} {1}", report.index, failure).str());
          if (!options.folder.empty())
            if (llvm::Error failed =
                    writeText(options, report.index, makeText(report.index))) {
              ++summary.unwritten;
              problem = llvm::joinErrors(std::move(problem), std::move(failed));
            }
        }
        return summary.failures < options.maxFailures &&
               (options.timeLimit == 0 || summary.seconds < options.timeLimit);
      });
  if (llvm::Error both = llvm::joinErrors(std::move(error), std::move(problem)))
    return std::move(both);
  summary.unstarted = options.count - summary.programs;
  return summary;
}

std::string fuzz::showPrograms(const FuzzOptions &options) {
  std::vector<std::string> corpus;
  if (!options.corpus.empty())
    corpus = loadCorpus(options.corpus);
  std::string text;
  Compiler compiler;
  for (uint64_t i = options.first; i < options.first + options.count; ++i) {
    text += "// " + std::to_string(i) + "\n";
    if (!corpus.empty()) {
      Chooser choose(options.seed, i);
      text += mutate(choose, corpus) + "\n";
      continue;
    }
    Case made = makeCase(options.seed, i, {{"host", "host"}}, options.limits);
    Execution execution = makeExecution(made, nullptr);
    if (made.backward) {
      llvm::Expected<bool> derived = takeBackward(compiler, execution);
      if (!derived)
        text += "// " + llvm::toString(derived.takeError()) + "\n";
      else if (!*derived)
        text += "// without a derivative\n";
    }
    text += execution.text + "\n";
  }
  return text;
}
