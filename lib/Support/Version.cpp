//===- Version.cpp - Version of norm --------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Support/Version.h"
#include "llvm/Config/llvm-config.h"

// The build passes the project's version; the fallback keeps the file usable
// on its own.
#ifndef NORM_VERSION
#define NORM_VERSION "0.1.0"
#endif

llvm::StringRef norm::versionString() { return NORM_VERSION; }

llvm::StringRef norm::versionLine() {
  return "norm " NORM_VERSION " (LLVM " LLVM_VERSION_STRING ")";
}
