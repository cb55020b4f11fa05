//===- ScheduleChoice.h - How a program got its schedule --------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where schedules come from, and those that are worth trying beside one. Free
// of IR.
//
//===----------------------------------------------------------------------===//

#ifndef NORM_ANALYSIS_SCHEDULECHOICE_H
#define NORM_ANALYSIS_SCHEDULECHOICE_H

#include "norm/Analysis/TilePlan.h"
#include "norm/Support/TuningFile.h"

#include <functional>
#include <memory>

namespace norm {

/// Who chose a schedule; each goes before those above it.
enum class ScheduleSource {
  Model,   ///< the cost model
  Shipped, ///< a tuning file that is a part of the library
  File,    ///< a tuning file that was named
  Given,   ///< the IR
};

/// `the model`, `the shipped tuning`, `the tuning file`, `the input`.
llvm::StringRef toString(ScheduleSource source);

/// The schedule of one program.
struct ScheduleDecision {
  std::string program; ///< the hash of its text
  std::string what;    ///< the program, for people
  std::string order;   ///< `leaf=8,lanes=1024`
  ProgramFacts facts;
  TargetLimits limits;
  Schedule model;    ///< what the cost model chooses, with the fields set
  Schedule schedule; ///< what it got
  ScheduleSource source = ScheduleSource::Model;
};

/// What schedules come from besides the model.
struct ScheduleSources {
  /// The file that was named, if one was.
  std::shared_ptr<const TuningFile> tuning;
  /// The texts of files that are used without being named: those that are a
  /// part of the library.
  std::vector<llvm::StringRef> shipped = shippedTunings();
  /// See `TuningKey::device`.
  std::string device;
  /// Is told of each program that is scheduled.
  std::function<void(const ScheduleDecision &)> listener;
};

/// The schedules that differ from `base` by one step of one field, or of two
/// where one alone makes little sense, and that the target can run with the
/// fields of `fixed` set (`threads=256`, as `overrideSchedule` takes them).
/// Each once, without `base`; the ones that matter most come first. An error
/// where `fixed` can't be read.
llvm::Expected<std::vector<Schedule>>
neighbouringSchedules(const Schedule &base, const ProgramFacts &facts,
                      const TargetLimits &limits, llvm::StringRef target,
                      llvm::StringRef fixed);

} // namespace norm

#endif // NORM_ANALYSIS_SCHEDULECHOICE_H
