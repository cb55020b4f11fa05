//===- CacheFolder.h - A folder for a test ----------------------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_TEST_UNIT_CACHE_CACHEFOLDER_H
#define NORM_TEST_UNIT_CACHE_CACHEFOLDER_H

#include "llvm/Support/FileSystem.h"

namespace norm::test {

/// A new folder, removed with all that is in it.
struct CacheFolder {
  CacheFolder() {
    llvm::SmallString<128> made;
    if (!llvm::sys::fs::createUniqueDirectory("norm-cache", made))
      path = std::string(made);
  }
  ~CacheFolder() { (void)llvm::sys::fs::remove_directories(path); }
  CacheFolder(const CacheFolder &) = delete;

  std::string path;
};

} // namespace norm::test

#endif // NORM_TEST_UNIT_CACHE_CACHEFOLDER_H
