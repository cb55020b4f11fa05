//===- EmitLog.h - Logarithms as exactly rounded arithmetic -----*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_DIALECT_NORM_UTILS_EMITLOG_H
#define NORM_DIALECT_NORM_UTILS_EMITLOG_H

#include "mlir/IR/Builders.h"

namespace mlir::norm {

/// Emits the natural logarithm of `x`, for `x` an f32 or f64, or a vector of
/// either of any rank; the result has the type of `x`. Nothing else may be
/// passed. The error is below 1 ulp (f32) and 1.5 ulp (f64), of subnormal
/// numbers too. log(0) = -inf, log(+inf) = +inf; a NaN or a number below 0
/// gives a NaN.
Value emitLog(OpBuilder &builder, Location loc, Value x);

/// Emits log(1 + x), without loss near 0; types and special values as for
/// emitLog, shifted by 1. The error is below 1.5 ulp (f32) and 2 ulp (f64).
Value emitLog1P(OpBuilder &builder, Location loc, Value x);

} // namespace mlir::norm

#endif // NORM_DIALECT_NORM_UTILS_EMITLOG_H
