//===- Guard.h - LLVM's fatal errors as values ------------------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_LIB_TARGET_GUARD_H
#define NORM_LIB_TARGET_GUARD_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"

namespace mlir::norm {

/// Runs `body`. A fatal error that LLVM raises within, and a crash, end `body`
/// and become an error. What `body` owned at that moment is leaked.
llvm::Error runGuarded(llvm::function_ref<llvm::Error()> body);

} // namespace mlir::norm

#endif // NORM_LIB_TARGET_GUARD_H
