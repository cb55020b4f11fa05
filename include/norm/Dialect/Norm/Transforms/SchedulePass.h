//===- SchedulePass.h - norm-schedule with values ---------------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_DIALECT_NORM_TRANSFORMS_SCHEDULEPASS_H
#define NORM_DIALECT_NORM_TRANSFORMS_SCHEDULEPASS_H

#include "norm/Analysis/ScheduleChoice.h"
#include "norm/Dialect/Norm/Transforms/Passes.h"

namespace mlir::norm {

/// norm-schedule with more than options can say. What `sources` doesn't say, the
/// options do.
std::unique_ptr<Pass>
createNormSchedulePass(const NormSchedulePassOptions &options,
                       ::norm::ScheduleSources sources);

} // namespace mlir::norm

#endif // NORM_DIALECT_NORM_TRANSFORMS_SCHEDULEPASS_H
