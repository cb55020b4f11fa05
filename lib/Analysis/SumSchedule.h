//===- SumSchedule.h - Schedules of kernels that sum rows -------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_LIB_ANALYSIS_SUMSCHEDULE_H
#define NORM_LIB_ANALYSIS_SUMSCHEDULE_H

#include "norm/Analysis/TilePlan.h"

namespace norm {

/// The schedule of a program along memory, for a GPU, whose workers sum rows
/// (`facts.strands`).
Schedule chooseSumSchedule(const ProgramFacts &facts,
                           const TargetLimits &limits);

/// What `checkSchedule` checks of such a program only.
llvm::Error checkSumSchedule(const Schedule &schedule,
                             const ProgramFacts &facts,
                             const TargetLimits &limits,
                             llvm::StringRef target);

} // namespace norm

#endif // NORM_LIB_ANALYSIS_SUMSCHEDULE_H
