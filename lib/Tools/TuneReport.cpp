//===- TuneReport.cpp - What a search tells -------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Tools/TuneReport.h"

#include "norm/Tools/NormRunReport.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace norm;
using namespace norm::tools;

TuneBar::TuneBar(bool always)
    : isShown(always || llvm::errs().is_displayed()) {}

void TuneBar::draw(const TuneProgress &progress, size_t done, size_t total,
                   llvm::StringRef what) {
  if (!isShown)
    return;
  constexpr size_t kBar = 24;
  double share =
      (double(done) + progress.share()) / double(std::max<size_t>(total, 1));
  std::string bar(size_t(kBar * std::min(share, 1.0)), '#');
  bar.resize(kBar, '.');
  llvm::errs() << llvm::formatv("\r\033[K[{0}] {1,3}%  ", bar,
                                unsigned(100 * std::min(share, 1.0)));
  if (total > 1)
    llvm::errs() << llvm::formatv("{0} of {1}  ", done + 1, total);
  llvm::errs() << llvm::formatv("{0}: {1} schedules, {2:F1}% faster", what,
                                progress.tried, 100 * progress.gain);
  llvm::errs().flush();
  isDrawn = true;
}

void TuneBar::clear() {
  if (isDrawn)
    llvm::errs() << "\r\033[K";
  isDrawn = false;
}

static std::string printMicroseconds(double microseconds) {
  return printDuration(microseconds / 1e3);
}

void tools::printOutcome(llvm::raw_ostream &os, const TuneOutcome &outcome,
                         const Device &device) {
  for (const TunedProgram &program : outcome.programs) {
    const TuningEntry &entry = program.entry;
    os << "program " << entry.program << ": " << entry.what << "\n  model    "
       << entry.model << "\n";
    if (program.isFaster)
      os << "  tuned    " << entry.schedule << "\n";
    else
      os << "  tuned    none is faster\n";
    for (const TuningTime &time : entry.times) {
      os << "  " << time.call << ": " << printMicroseconds(time.model);
      if (program.isFaster)
        os << ", tuned " << printMicroseconds(time.tuned)
           << llvm::formatv(", {0:F1}% less",
                            100 * (1 - time.tuned / time.model));
      os << "\n";
    }
  }
  os << llvm::formatv("{0} schedules tried, {1} refused{2}\n", outcome.tried,
                      outcome.refused,
                      outcome.hasTimedOut ? ", until the time was up" : "");
  if (device.isEmulated())
    os << "times are the emulated device's, and say nothing of a GPU's\n";
}

std::string tools::summarizeOutcome(const TuneOutcome &outcome) {
  std::string text;
  for (const TunedProgram &program : outcome.programs) {
    text += text.empty() ? "" : "; ";
    if (program.isFaster)
      text += llvm::formatv("{0:F1}% faster with {1}", 100 * program.gain,
                            program.entry.schedule);
    else
      text += "none is faster than the model's " + program.entry.model;
  }
  return text + llvm::formatv("; {0} schedules tried", outcome.tried).str();
}

void tools::printFaults(llvm::raw_ostream &os, llvm::StringRef tool,
                        const TuneOutcome &outcome) {
  for (const std::string &fault : outcome.faults)
    os << tool << ": error: an error in norm, please report it: " << fault
       << "\n";
}

llvm::Error tools::checkTuningOut(llvm::StringRef path) {
  return path.empty() ? llvm::Error::success()
                      : mergeIntoFile(path, TuningFile());
}
