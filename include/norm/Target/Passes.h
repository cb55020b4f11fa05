//===- Passes.h - Passes just before code generation ------------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_TARGET_PASSES_H
#define NORM_TARGET_PASSES_H

#include "mlir/Pass/Pass.h"

namespace mlir {
class DialectRegistry;
class ModuleOp;

namespace norm {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "norm/Target/Passes.h.inc"

/// Registers the translations to LLVM IR that the functions of this library
/// need on the modules given to them.
void registerTargetTranslations(DialectRegistry &registry);

} // namespace norm
} // namespace mlir

#endif // NORM_TARGET_PASSES_H
