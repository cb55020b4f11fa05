//===- Codegen.h - From an LLVM dialect module to code ----------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the targets share: translation to LLVM IR, its optimization, and code
// generation, with all failures as values.
//
//===----------------------------------------------------------------------===//

#ifndef NORM_LIB_TARGET_CODEGEN_H
#define NORM_LIB_TARGET_CODEGEN_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/CodeGen.h"
#include "llvm/Support/Error.h"
#include <string>

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace mlir {
class Operation;

namespace norm {

/// The machine that code is generated for.
struct MachineOptions {
  std::string triple;
  std::string cpu;
  std::string features;
};

enum class CodeForm { LLVM, Assembly, Object };

/// Registers NVPTX and the host's own architecture with LLVM.
void initializeTargets();

/// `module` (an op whose region is in the LLVM dialect) as optimized LLVM IR
/// text, assembly or an object. `prepare` changes the LLVM module before it's
/// optimized. Functions that are called but nowhere defined are an error unless
/// `allowExternal`.
llvm::Expected<std::string>
generateCode(Operation *module, const MachineOptions &options, CodeForm form,
             bool allowExternal,
             llvm::function_ref<void(llvm::Module &)> prepare);

} // namespace norm
} // namespace mlir

#endif // NORM_LIB_TARGET_CODEGEN_H
