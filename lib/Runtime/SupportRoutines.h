//===- SupportRoutines.h - Routines that host code may call -----*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_LIB_RUNTIME_SUPPORTROUTINES_H
#define NORM_LIB_RUNTIME_SUPPORTROUTINES_H

#include "llvm/ADT/ArrayRef.h"

namespace norm {

struct SupportRoutine {
  const char *name;
  void *address;
};

/// What LLVM's host code generators call without being asked: memory copies,
/// and conversions of 16-bit floating point types on processors without them.
/// They are listed here because a compiler's support library, if linked into
/// the process at all, doesn't export them.
llvm::ArrayRef<SupportRoutine> supportRoutines();

} // namespace norm

#endif // NORM_LIB_RUNTIME_SUPPORTROUTINES_H
