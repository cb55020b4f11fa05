//===- EmitActivation.h - Activations as exact arithmetic -------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// sigmoid, SiLU and GELU written in arith ops and math.fma, all of which are
// exactly rounded, so that every target computes the same bits. For values of
// 16 bits there are shorter forms: EmitNarrow.h.
//
//===----------------------------------------------------------------------===//

#ifndef NORM_DIALECT_NORM_UTILS_EMITACTIVATION_H
#define NORM_DIALECT_NORM_UTILS_EMITACTIVATION_H

#include "mlir/IR/Builders.h"

namespace mlir::norm {

/// Emits 1 / (1 + exp(-x)), for `x` an f32 or f64, or a vector of either of any
/// rank; the result has the type of `x`. Nothing else may be passed. The error
/// is below 2.5 ulp. Infinities give 0 and 1, a NaN gives a NaN.
Value emitSigmoid(OpBuilder &builder, Location loc, Value x);

/// Emits x / (1 + exp(-x)); types as for emitSigmoid. The error is below 3.5
/// ulp, subnormal results included. -inf and -0.0 give -0.0, +inf gives +inf, a
/// NaN gives a NaN.
Value emitSilu(OpBuilder &builder, Location loc, Value x);

/// Emits x * (1 + erf(x / sqrt(2))) / 2; types and special values as for
/// emitSilu. The error is below 5 ulp, also for large negative `x`.
Value emitGeluErf(OpBuilder &builder, Location loc, Value x);

/// Emits x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))) / 2; types,
/// special values and error as for emitGeluErf.
Value emitGeluTanh(OpBuilder &builder, Location loc, Value x);

} // namespace mlir::norm

#endif // NORM_DIALECT_NORM_UTILS_EMITACTIVATION_H
