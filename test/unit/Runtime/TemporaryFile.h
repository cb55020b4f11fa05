//===- TemporaryFile.h - Files for the time of a test -----------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_TEST_UNIT_RUNTIME_TEMPORARYFILE_H
#define NORM_TEST_UNIT_RUNTIME_TEMPORARYFILE_H

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

namespace norm::test {

/// A file that is removed with the object.
class TemporaryFile {
public:
  explicit TemporaryFile(llvm::StringRef content = "") {
    int descriptor = -1;
    std::error_code error = llvm::sys::fs::createTemporaryFile(
        "norm-test", "npy", descriptor, name);
    EXPECT_FALSE(error) << error.message();
    llvm::raw_fd_ostream stream(descriptor, /*shouldClose=*/true);
    stream << content;
  }
  ~TemporaryFile() { llvm::sys::fs::remove(name); }
  TemporaryFile(const TemporaryFile &) = delete;
  TemporaryFile &operator=(const TemporaryFile &) = delete;

  llvm::StringRef path() const { return name; }

private:
  llvm::SmallString<128> name;
};

} // namespace norm::test

#endif // NORM_TEST_UNIT_RUNTIME_TEMPORARYFILE_H
