//===- ArgumentChecks.h - Checks of a call's arguments ----------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_LIB_RUNTIME_ARGUMENTCHECKS_H
#define NORM_LIB_RUNTIME_ARGUMENTCHECKS_H

#include "norm/Runtime/LaunchPlan.h"

namespace norm {

/// The checks of `planLaunch` that concern the arguments alone.
llvm::Error checkArguments(const Manifest &manifest,
                           llvm::ArrayRef<BoundArgument> arguments);

/// Checks that no two rows of elements that share bytes share one, that is, that
/// the last extent, unless there are no elements, and the strides of other dims
/// are even. Anything goes for other types.
llvm::Error checkPacked(DType dtype, llvm::ArrayRef<int64_t> shape,
                        llvm::ArrayRef<int64_t> strides);

} // namespace norm

#endif // NORM_LIB_RUNTIME_ARGUMENTCHECKS_H
