//===- Object.h - From functions to host objects ----------------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_TARGET_OBJECT_H
#define NORM_TARGET_OBJECT_H

#include "llvm/Support/Error.h"
#include <string>

namespace mlir {
class ModuleOp;

namespace norm {

struct HostOptions {
  /// `x86-64-v3`, `znver4`; empty for this machine's own, whose features are
  /// then added.
  std::string cpu;
  /// `+fma,-avx512f`; added to what the CPU has.
  std::string features;
};

/// A relocatable ELF object of the functions of `module`, which must be in the
/// LLVM dialect. Position-independent; arithmetic is kept as written. An
/// unknown CPU and a failure inside of LLVM are errors.
llvm::Expected<std::string> translateToObject(ModuleOp module,
                                              const HostOptions &options = {});

/// The LLVM IR that `translateToObject` generates code from, as text.
llvm::Expected<std::string> translateToLLVM(ModuleOp module,
                                            const HostOptions &options = {});

/// The assembly of the object, as text.
llvm::Expected<std::string>
translateToAssembly(ModuleOp module, const HostOptions &options = {});

} // namespace norm
} // namespace mlir

#endif // NORM_TARGET_OBJECT_H
