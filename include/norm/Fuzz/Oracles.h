//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs a case and compares: the first run with the reference, every variant
// with the first run.
//
//===----------------------------------------------------------------------===//

#ifndef NORM_FUZZ_ORACLES_H
#define NORM_FUZZ_ORACLES_H

#include "norm/Fuzz/Case.h"
#include "norm/Runtime/Device.h"
#include "llvm/ADT/StringMap.h"
#include <map>

namespace norm::fuzz {

struct Outcome {
  enum class Kind : uint8_t {
    Passed,
    Refused,  ///< the compiler or runtime says no to a legal program
    Differed, ///< wrong values or wrong bits
    Faulty,   ///< a finding of the emulated device
    Crashed,
    TimedOut,
  };
  Kind kind = Kind::Passed;
  /// The variant that failed, -1 for the first run.
  int variant = -1;
  std::string text;
  unsigned runs = 0;      ///< launches whose results were compared
  unsigned skipped = 0;   ///< variants that a target has no room for
  bool underived = false; ///< nothing ran: the function has no backward
  double seconds = 0;
  /// Where they went: seconds by device and step.
  std::map<std::string, double> steps;

  bool failed() const { return kind != Kind::Passed; }
};

llvm::StringRef toString(Outcome::Kind kind);

/// Runs cases in this process. Compiler and devices are kept between cases.
/// `hostThreads` are those of the host and the emulated device where a case
/// doesn't say; 0 for all cores.
class Oracles {
public:
  explicit Oracles(unsigned hostThreads = 0);
  ~Oracles();

  /// `tell` hears of each execution before it starts, as what variant.
  Outcome run(const Case &made,
              llvm::function_ref<void(llvm::StringRef)> tell = {});

private:
  class Impl;
  std::unique_ptr<Impl> impl;
};

/// The device `name`. `hostThreads` are those of the host and the emulated
/// device, 0 for all cores.
llvm::Expected<std::unique_ptr<Device>> openNamedDevice(llvm::StringRef name,
                                                        unsigned hostThreads);

/// Everything needed to run what a variant runs (the first run, without one).
struct Execution {
  Graph graph;
  Space space;
  std::vector<ArgumentData> data;
  std::vector<Layout> layouts;
  std::string device;
  std::string schedule;
  uint64_t steps = 0;
  int64_t firstRow = 0; ///< leading index of the data that is row 0 here
  unsigned launches = 1;
  unsigned hostThreads = 0;
  /// What is compiled, and what the function `entry` of it takes and gives.
  std::string text, entry = "main";
  std::vector<Value> arguments, results;
  /// By result, whether an element of it depends on several rows.
  std::vector<bool> sumsRows;
};
/// The function of the graph; `Case::backward` is a matter of who runs it.
Execution makeExecution(const Case &made, const Rerun *variant);

} // namespace norm::fuzz

#endif // NORM_FUZZ_ORACLES_H
