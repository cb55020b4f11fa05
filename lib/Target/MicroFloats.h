//===- MicroFloats.h - f8E8M0FNU and f4E2M1FN as bytes ----------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The conversions of the two types of the OCP Microscaling Formats (MX) 1.0
// that no target computes with: integer arithmetic that is the same everywhere.
//
//===----------------------------------------------------------------------===//

#ifndef NORM_LIB_TARGET_MICROFLOATS_H
#define NORM_LIB_TARGET_MICROFLOATS_H

#include "mlir/IR/Value.h"

namespace mlir {
class OpBuilder;

namespace norm {
class ShapedEmitter;

/// Whether `type`, or the element type of it, is f8E8M0FNU or f4E2M1FN.
bool isMicroFloat(Type type);

/// Codes of `type`, as i8, to f32. A code of f4E2M1FN has zeros above.
Value extendMicroFloat(ShapedEmitter &emit, OpBuilder &b, Type type,
                       Value codes);

/// f32 to codes of `type`, as i8.
///
/// f8E8M0FNU: the exponent of the magnitude, by which that is rounded towards
/// zero. Zero and what is less than 2^-126 get the least one, 2^-127; infinity
/// and NaN get its NaN. f4E2M1FN: to nearest even, saturated; a NaN becomes 6.
Value roundToMicroFloat(ShapedEmitter &emit, OpBuilder &b, Type type, Value x);

} // namespace norm
} // namespace mlir

#endif // NORM_LIB_TARGET_MICROFLOATS_H
