//===- HostCode.h - Host objects linked into the process --------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_LIB_RUNTIME_HOSTCODE_H
#define NORM_LIB_RUNTIME_HOSTCODE_H

#include "SupportRoutines.h"
#include "norm/Support/Manifest.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <vector>

namespace norm {

/// A host kernel's entry: the parameter slots, and the range of rows to do.
using HostKernel = void(const uint64_t *params, int64_t rowBegin,
                        int64_t rowEnd);

/// The kernels of one ELF object, linked in the process by LLVM's JITLink.
class HostCode {
public:
  /// Links `object` and finds every variant's symbol. What the object leaves
  /// undefined is looked up among the compiler support routines known here,
  /// and in `routines`, then in the process.
  static llvm::Expected<std::shared_ptr<HostCode>>
  link(llvm::StringRef object, const Manifest &manifest,
       llvm::ArrayRef<SupportRoutine> routines = {});

  ~HostCode();

  HostKernel *kernel(unsigned kernel, unsigned variant) const {
    return entries[kernel][variant];
  }

  /// The address of another symbol of the object.
  llvm::Expected<void *> find(llvm::StringRef symbol) const;

private:
  struct Session;
  explicit HostCode(std::unique_ptr<Session> session);

  std::unique_ptr<Session> session;
  std::vector<std::vector<HostKernel *>> entries;
};

} // namespace norm

#endif // NORM_LIB_RUNTIME_HOSTCODE_H
