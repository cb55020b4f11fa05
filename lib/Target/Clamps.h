//===- Clamps.h - What a conversion may saturate by itself ------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_LIB_TARGET_CLAMPS_H
#define NORM_LIB_TARGET_CLAMPS_H

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace mlir::norm {

/// Whether `x`, a float or a vector of floats, is a number everywhere.
bool isNumber(Value x, double number);

/// What is clamped to [least, most], a NaN staying one, in `x`; null if nothing
/// is.
Value findClamped(Value x, double least, double most);

/// Has GPUs convert floats to the nearest 8-bit integers by one instruction,
/// where they are clamped to them and a NaN is made 0: it does both.
void convertToSaturatedBytes(Operation *root);

} // namespace mlir::norm

#endif // NORM_LIB_TARGET_CLAMPS_H
