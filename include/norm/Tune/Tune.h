//===- Tune.h - The schedule that is fastest on a device --------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The autotuner as one call. It tries legal schedules around the model's, each
// of which must give the bits of the model's before it is timed.
//
//===----------------------------------------------------------------------===//

#ifndef NORM_TUNE_TUNE_H
#define NORM_TUNE_TUNE_H

#include "norm/Compiler/Compiler.h"
#include "norm/Runtime/Device.h"

namespace norm {

/// A call that is to be fast, with its memory on the device.
class TunedCall {
public:
  virtual ~TunedCall();

  /// The shapes of its tensors, `65536x4096, 4096`.
  virtual std::string describe() const = 0;
  /// Sets of tensors that differ in memory alone, 1 or more: calls that follow
  /// each other on one set after the other find nothing of theirs in a cache.
  virtual unsigned sets() const { return 1; }
  /// The arguments, then the results.
  virtual llvm::ArrayRef<BoundArgument> arguments(unsigned set) const = 0;
  /// Makes the memory of set 0 what it is before a first call: arguments that a
  /// call changes are as they were, and every result has bytes that none is
  /// likely to have.
  virtual llvm::Error reset() = 0;
  /// The bytes of all results of set 0, one result after the other.
  virtual llvm::Expected<std::vector<uint8_t>> results() = 0;
};

/// Sets that a call of `bytes` takes, so that they don't fit a device's cache
/// together: three times its size, at most 64 sets; 1 for a call that evicts
/// its own traces, and where the cache's size isn't known.
unsigned coldSets(const DeviceFacts &facts, uint64_t bytes);

/// The shape of each tensor of a call, arguments before results; scalars, and
/// tensors of rank 0, have none.
using CallShapes = std::vector<llvm::SmallVector<int64_t, 4>>;

/// A call on random numbers between 0 and 2, in several sets where the device
/// has a cache. An error for another number of shapes than the manifest has
/// arguments, and where there is no memory; shapes that don't suit it are an
/// error of the search.
llvm::Expected<std::unique_ptr<TunedCall>>
makeRandomCall(Device &device, const Manifest &manifest,
               const CallShapes &shapes);

/// How far a search is.
struct TuneProgress {
  unsigned program = 0;  ///< that is being tuned, from 0
  unsigned programs = 1; ///< of the text
  unsigned tried = 0;    ///< schedules of it
  unsigned most = 0;     ///< of them
  double seconds = 0;    ///< since its search began
  double limit = 0;      ///< of them
  double gain = 0;       ///< of the best so far; 0.1 is 10% less time
  /// Of all that is to be done, as far as it can be told.
  double share() const;
};

struct TuneOptions {
  /// Of these `target`, `driverVersion` and `device` are the device's where
  /// nothing else is said, and `emulate` always. Fields of `schedule` stay fixed.
  /// Schedules of `tuning`, and shipped ones, are tried too.
  CompileOptions compile;
  double seconds = 30;      ///< for a text; what was begun is ended
  unsigned candidates = 64; ///< schedules that are tried for each program
  /// The model's schedule stays unless another takes less time by this share:
  /// what a repeated measurement may differ by.
  double leastGain = 0.015;
  unsigned shortRounds = 7, longRounds = 25;
  std::function<void(const TuneProgress &)> progress;
};

/// What was found out about one program.
struct TunedProgram {
  /// With the model's schedule where no other is faster.
  TuningEntry entry;
  bool isFaster = false;
  /// Whether a file should have it: it's faster, or a shipped entry isn't.
  bool isKept = false;
  /// The share of time that is saved, as a geometric mean over the calls.
  double gain = 0;
};

struct TuneOutcome {
  std::vector<TunedProgram> programs;
  unsigned tried = 0;   ///< schedules that were compiled and run
  unsigned refused = 0; ///< that couldn't be compiled, loaded or launched
  /// Schedules that gave other bits, or that the emulated device found a fault
  /// in: an error in norm, each a line. Nothing was chosen of them.
  std::vector<std::string> faults;
  bool hasTimedOut = false;

  /// The entries that are worth a file, and those that a file shouldn't have
  /// any more: of programs whose model's schedule is the fastest.
  TuningFile found() const;
  TuningFile superseded() const;
};

/// Searches for the fastest schedules of a text's programs, one program after
/// the other. `makeCalls` makes the calls that count, from what the text is
/// compiled to; their shapes and arguments are those of the manifest.
///
/// An error for a text that doesn't compile, calls that the compiled code
/// refuses, a device that has failed, and where there is nothing to tune: on
/// the host, and for programs that have a schedule in the text.
llvm::Expected<TuneOutcome>
tune(Device &device, llvm::StringRef text, llvm::StringRef fileName,
     llvm::function_ref<llvm::Expected<std::vector<std::unique_ptr<TunedCall>>>(
         const Manifest &)>
         makeCalls,
     const TuneOptions &options);

/// The same for calls on random numbers, of these shapes each.
llvm::Expected<TuneOutcome> tune(Device &device, llvm::StringRef text,
                                 llvm::StringRef fileName,
                                 llvm::ArrayRef<CallShapes> calls,
                                 const TuneOptions &options);

/// `expects a GPU or the emulated device ...` for the host, success for other
/// devices.
llvm::Error checkTunable(const Device &device);

} // namespace norm

#endif // NORM_TUNE_TUNE_H
