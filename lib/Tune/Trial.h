//===- Trial.h - One schedule, compiled and timed ---------------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_LIB_TUNE_TRIAL_H
#define NORM_LIB_TUNE_TRIAL_H

#include "norm/JIT/Session.h"
#include "norm/Tune/Tune.h"

namespace norm {

/// A text compiled with schedules of somebody's choice.
struct Trial {
  std::shared_ptr<Executable> executable;
  /// By call: what is timed.
  std::vector<DeviceWork> works;
  /// By call, of the last measurement: microseconds, and the ratio to what the
  /// model's schedules take.
  std::vector<double> microseconds;
  std::vector<double> ratios;

  /// The geometric mean of the ratios.
  double ratio() const;
};

/// Makes trials of one text on one device, and measures them.
class TrialBench {
public:
  TrialBench(Device &device, llvm::StringRef text, llvm::StringRef fileName,
             CompileOptions options)
      : device(device), text(text), fileName(fileName),
        options(std::move(options)) {}

  const CompileOptions &compileOptions() const { return options; }

  /// Compiles with the schedules of `files`, on all cores. An element is empty
  /// where that isn't possible.
  std::vector<std::optional<Artifact>>
  compile(llvm::ArrayRef<TuningFile> files);
  /// With the model's schedules.
  llvm::Expected<Artifact> compileModel();

  /// Loads the model's, and keeps what its calls give.
  llvm::Error begin(const Artifact &artifact,
                    std::vector<std::unique_ptr<TunedCall>> calls);
  /// Loads another one's. In `fault`, how its results differ from the model's;
  /// null where the device refuses it. An error for a device that has failed.
  llvm::Expected<std::unique_ptr<Trial>> load(const Artifact &artifact,
                                              std::string &fault);
  /// Compares with another one's time from now on.
  void rebase(std::unique_ptr<Trial> trial) { modelTrial = std::move(trial); }
  /// Times trials and the model's in turns; sets their times.
  llvm::Error time(llvm::ArrayRef<Trial *> trials, unsigned rounds,
                   double budget);

  const Trial &model() const { return *modelTrial; }
  std::string describeCall(unsigned index) const {
    return calls[index]->describe();
  }
  unsigned numCalls() const { return unsigned(calls.size()); }
  /// Whether a call takes so long that another one is no small thing: on the
  /// emulated device.
  bool isSlow() const { return slow; }

private:
  llvm::Expected<std::unique_ptr<Trial>> prepare(const Artifact &artifact);
  llvm::Error makeWorks(Trial &trial);
  llvm::Expected<DeviceWork> makeWork(Trial &trial, unsigned call);
  llvm::Expected<std::vector<uint8_t>> run(Trial &trial, unsigned call);
  llvm::Error check(Trial &trial, std::string &fault);

  Device &device;
  llvm::StringRef text, fileName;
  CompileOptions options;
  jit::CompilerPool compilers;
  std::vector<std::unique_ptr<TunedCall>> calls;
  /// By call: results of the model's schedules, and calls of one `DeviceWork`.
  std::vector<std::vector<uint8_t>> wanted;
  std::vector<unsigned> repeats;
  bool slow = false;
  std::unique_ptr<Trial> modelTrial;
};

} // namespace norm

#endif // NORM_LIB_TUNE_TRIAL_H
