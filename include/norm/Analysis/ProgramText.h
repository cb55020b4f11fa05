//===- ProgramText.h - A program as a text that identifies it ---*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_ANALYSIS_PROGRAMTEXT_H
#define NORM_ANALYSIS_PROGRAMTEXT_H

#include "norm/Dialect/Norm/IR/Norm.h"

namespace mlir::norm {

/// The program without what doesn't matter to how fast it is: names, places,
/// its schedule, and whether it is on tensors or buffers. Dims and values have
/// numbers. Two programs have one text if and only if they have the same
/// operands' maps, element types and extents (`?` where dynamic) and the same
/// body.
std::string printProgramText(GenericOp program);

/// The program in a few words: `bf16[?x4096], bf16[4096] -> bf16[?x4096], 12
/// ops`.
std::string summarizeProgram(GenericOp program);

/// `leaf=8,lanes=1024`, and `,inner=1` where that isn't 0.
std::string printOrder(OrderAttr order);

} // namespace mlir::norm

#endif // NORM_ANALYSIS_PROGRAMTEXT_H
