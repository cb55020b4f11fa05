//===- JIT.cpp - Text in, loaded code out ---------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/JIT/JIT.h"

using namespace norm;

llvm::Expected<jit::LoadedProgram> jit::compileAndLoad(Compiler &compiler,
                                                       llvm::StringRef text,
                                                       llvm::StringRef fileName,
                                                       CompileOptions options,
                                                       Device &device) {
  if (options.target.empty())
    options.target = device.target();
  if (options.driverVersion == 0)
    options.driverVersion = device.driverVersion();
  if (options.device.empty())
    options.device = device.product();
  options.emulate = device.isEmulated();
  llvm::Expected<Artifact> artifact = compiler.compile(text, fileName, options);
  if (!artifact)
    return artifact.takeError();
  llvm::Expected<std::unique_ptr<Executable>> executable =
      device.load(artifact->code, artifact->manifest);
  if (!executable)
    return executable.takeError();
  return LoadedProgram{std::move(*artifact), std::move(*executable)};
}
