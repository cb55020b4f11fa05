//===- TuneReport.h - What a search tells -----------------------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_TOOLS_TUNEREPORT_H
#define NORM_TOOLS_TUNEREPORT_H

#include "norm/Tune/Tune.h"
#include "llvm/Support/raw_ostream.h"

namespace norm::tools {

/// A bar on stderr that shows how far a search is; nothing where stderr is no
/// terminal, unless `always`.
class TuneBar {
public:
  explicit TuneBar(bool always);
  ~TuneBar() { clear(); }
  TuneBar(const TuneBar &) = delete;
  TuneBar &operator=(const TuneBar &) = delete;

  /// `done` of `total` searches have ended; `what` is the one that is running.
  void draw(const TuneProgress &progress, size_t done, size_t total,
            llvm::StringRef what);
  void clear();

private:
  bool isShown, isDrawn = false;
};

/// Prints what was found for each program, a few lines each.
void printOutcome(llvm::raw_ostream &os, const TuneOutcome &outcome,
                  const Device &device);

/// One line: `1.8% faster with threads=64,...; 34 schedules tried`.
std::string summarizeOutcome(const TuneOutcome &outcome);

/// Prints the faults, each as an error of norm's.
void printFaults(llvm::raw_ostream &os, llvm::StringRef tool,
                 const TuneOutcome &outcome);

/// Checks that a tuning file can be written, before time is spent; success
/// without a name.
llvm::Error checkTuningOut(llvm::StringRef path);

} // namespace norm::tools

#endif // NORM_TOOLS_TUNEREPORT_H
