//===- Assemble.h - From PTX to a cubin -------------------------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_COMPILER_ASSEMBLE_H
#define NORM_COMPILER_ASSEMBLE_H

#include "norm/Compiler/Compiler.h"

namespace norm {

/// Replaces an artifact's PTX by a cubin for the target `target`, and notes in
/// its manifests what the assembler tells of registers, spills and shared
/// memory. An error where there is no assembler, or it fails.
llvm::Error assemble(Artifact &artifact, llvm::StringRef target);

} // namespace norm

#endif // NORM_COMPILER_ASSEMBLE_H
