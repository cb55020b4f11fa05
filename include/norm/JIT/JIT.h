//===- JIT.h - Text in, loaded code out -------------------------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_JIT_JIT_H
#define NORM_JIT_JIT_H

#include "norm/Compiler/Compiler.h"
#include "norm/Runtime/Device.h"
#include <memory>

namespace norm::jit {

/// A compiled program on a device.
struct LoadedProgram {
  Artifact artifact;
  std::unique_ptr<Executable> executable;
};

/// Compiles `text` for `device` and loads it there. An empty `options.target`
/// means the device's own, a `driverVersion` of 0 its driver's, and an empty
/// `options.device` its product. The error is the compiler's diagnostic, or that
/// of the device which refused the code; `fileName` is for diagnostics.
llvm::Expected<LoadedProgram> compileAndLoad(Compiler &compiler,
                                             llvm::StringRef text,
                                             llvm::StringRef fileName,
                                             CompileOptions options,
                                             Device &device);

} // namespace norm::jit

#endif // NORM_JIT_JIT_H
