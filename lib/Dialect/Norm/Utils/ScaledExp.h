//===- ScaledExp.h - Exponentials beyond the exponent range -----*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_LIB_DIALECT_NORM_UTILS_SCALEDEXP_H
#define NORM_LIB_DIALECT_NORM_UTILS_SCALEDEXP_H

#include "mlir/IR/Builders.h"

namespace mlir::norm {

/// Emits exp(x) * 2^shift for an f32 or f64 `x`, or a vector of either, that is
/// at most 0 or a NaN, and so large that the result is normal. The error is
/// that of emitExp.
Value emitScaledExp(OpBuilder &builder, Location loc, Value x, int shift);

} // namespace mlir::norm

#endif // NORM_LIB_DIALECT_NORM_UTILS_SCALEDEXP_H
