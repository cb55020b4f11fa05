//===- Version.h - Version of norm ------------------------------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_SUPPORT_VERSION_H
#define NORM_SUPPORT_VERSION_H

#include "llvm/ADT/StringRef.h"

namespace norm {

/// The version of this library, `major.minor.patch`. It is also what a
/// manifest's `norm` field carries.
llvm::StringRef versionString();

/// The one line a tool prints for `--version`: name, version, LLVM version.
llvm::StringRef versionLine();

} // namespace norm

#endif // NORM_SUPPORT_VERSION_H
