//===- Session.h - The measurements -----------------------------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_BENCH_SESSION_H
#define NORM_BENCH_SESSION_H

#include "norm/Bench/Baseline.h"
#include "norm/Bench/Ceiling.h"
#include "norm/Bench/ForeignKernel.h"
#include "norm/Bench/Results.h"
#include "norm/JIT/JIT.h"
#include "norm/Tune/Tune.h"

namespace norm::bench {

/// What a fresh process took to its first result, in milliseconds.
struct FreshTimes {
  double start = 0;  ///< from exec to main, where that is known
  double device = 0; ///< opening the device: the driver and its context
  double passes = 0;
  double codegen = 0;
  double load = 0;   ///< the driver's compiler, or linking
  double launch = 0; ///< memory, arguments, the first launch and its end
  double total = 0;
};

struct SessionOptions {
  unsigned repeats = 25; ///< rounds that are timed
  unsigned warmups = 3;
  /// Milliseconds that the rounds of one cell take at most.
  double budget = 2000;
  std::string schedule; ///< fields that are set
  /// As in `CompileOptions`.
  std::shared_ptr<const TuningFile> tuning;
  bool usesShippedTuning = true;
  MathMode math = MathMode::Exact;
  std::vector<BaselineTime> baseline;
  std::vector<ForeignKernel> kernels;
  /// Measures a cell of the compile suite in a new process; empty where the
  /// caller can't start one.
  std::function<llvm::Expected<FreshTimes>(const Cell &)> fresh;
};

/// A compiled op.
struct BenchProgram {
  const Op *op = nullptr;
  std::string text;
  jit::LoadedProgram loaded;
  double operationsPerElement = 0;

  const Manifest &manifest() const { return loaded.artifact.manifest; }
};

/// A program whose schedule is to be found, with the rows that count.
struct TuneJob {
  std::string op;
  DType dtype = DType::BF16;
  int64_t columns = 1;
  std::vector<int64_t> rows; ///< rising, each once

  /// `rms_norm/bf16/512,65536x4096`
  std::string id() const;
};

/// The programs of cells in whose suites kernels are what takes the time, in
/// their order, each once.
std::vector<TuneJob> makeTuneJobs(llvm::ArrayRef<Cell> cells);

/// The text of a module that is compiled for an op, and in `options`, which
/// function of it.
llvm::Expected<std::string> sourceOf(Compiler &compiler, const Op &op,
                                     DType dtype, int64_t columns,
                                     CompileOptions &options);

/// Measures cells, one after the other, on one device.
class Session {
public:
  Session(Device &device, SessionOptions options);
  ~Session();

  /// Measures. Whatever goes wrong is in the result, but an error for a device
  /// that doesn't work any more.
  llvm::Expected<Result> measure(const Cell &cell);

  /// Searches for the fastest schedule of a program, over all its rows. Results
  /// are compared with the reference first, as those of cells are. Of the
  /// options, what isn't set here counts.
  llvm::Expected<TuneOutcome> tune(const TuneJob &job, TuneOptions tuning);

private:
  friend class CellRun;

  /// `forward`, `fused`, `backward`, `prefill`, `published`.
  llvm::Error measureStream(Result &result);
  llvm::Error measureDecode(Result &result);
  llvm::Error measureCompile(Result &result);
  llvm::Error measureLaunch(Result &result);

  /// For the device, with the options of the session.
  CompileOptions compileOptions() const;
  /// The op of a cell, compiled; the last one is kept.
  llvm::Expected<std::shared_ptr<BenchProgram>>
  compile(const Cell &cell, llvm::StringRef schedule);
  llvm::Expected<std::vector<Timing>> time(llvm::ArrayRef<DeviceWork> works,
                                           bool flush);

  Device &device;
  SessionOptions options;
  Workers workers;
  Compiler compiler;
  Operands operands;
  Ceiling ceiling;
  std::string compiledKey;
  std::shared_ptr<BenchProgram> compiled;
};

/// The steps of measuring one cell that suites have in common.
class CellRun {
public:
  CellRun(Session &session, Result &result)
      : session(session), result(result) {}

  /// Compiles, makes memory, calls once, and compares with the reference. A
  /// result of another status than Ok ends the measurement.
  llvm::Error prepare(unsigned sets, llvm::StringRef schedule);
  bool isRight() const { return result.status == Result::Status::Ok; }

  /// A call on the memory of a set.
  llvm::Expected<DeviceWork> call(unsigned set);
  /// `count` pieces of work, of `works` in turns, as one.
  llvm::Expected<DeviceWork> repeat(std::vector<DeviceWork> works,
                                    unsigned count);
  /// Loads and checks the kernels to compare with; `works` gets the calls of
  /// each that is right, by set, and the result a peer for each. An error only
  /// if the device doesn't work any more.
  llvm::Error addKernels(std::vector<std::vector<DeviceWork>> &works);

  const BenchProgram &program() const { return *compiled; }
  const CallSets &calls() const { return *sets; }

private:
  llvm::Error addKernel(const ForeignKernel &kernel, Peer &peer,
                        std::vector<DeviceWork> &calls);
  llvm::Error checkSums();
  llvm::Error check(llvm::StringRef what, Result::Status &status,
                    std::string &message, double &ulps);

  Session &session;
  Result &result;
  std::shared_ptr<BenchProgram> compiled;
  std::optional<CallSets> sets;
};

/// Times a cell of the compile suite in this process, which should have done
/// nothing before: opens the device, compiles, and gets the first result.
llvm::Expected<FreshTimes>
measureFresh(llvm::StringRef device, const Cell &cell, CompileOptions options);

} // namespace norm::bench

#endif // NORM_BENCH_SESSION_H
