//===- Assemble.cpp - From PTX to a cubin ---------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Compiler/Assemble.h"
#include "norm/Target/Cubin.h"

using namespace norm;

/// What the assembler says of each variant.
static void addUsage(Manifest &manifest, const Cubin &cubin) {
  for (Kernel &kernel : manifest.kernels)
    for (Variant &variant : kernel.variants)
      if (const KernelUsage *usage = cubin.find(variant.symbol)) {
        variant.registers = usage->registers;
        variant.spillBytes = usage->spillBytes;
        variant.staticShared = usage->staticShared;
      }
}

llvm::Error norm::assemble(Artifact &artifact, llvm::StringRef target) {
  llvm::Expected<Cubin> cubin = assembleCubin(artifact.code, target);
  if (!cubin)
    return cubin.takeError();
  addUsage(artifact.manifest, *cubin);
  for (Manifest &outlined : artifact.outlined)
    addUsage(outlined, *cubin);
  artifact.code = std::move(cubin->code);
  return llvm::Error::success();
}
