//===- EmulatedRoutines.h - What emulated code calls ------------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_LIB_RUNTIME_EMULATEDROUTINES_H
#define NORM_LIB_RUNTIME_EMULATEDROUTINES_H

#include "SupportRoutines.h"

namespace norm::emulated {

/// The routines `norm_emulated_...` that convert-gpu-to-emulated calls.
llvm::ArrayRef<SupportRoutine> emulatedRoutines();

} // namespace norm::emulated

#endif // NORM_LIB_RUNTIME_EMULATEDROUTINES_H
