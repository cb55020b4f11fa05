//===- EmitExp.h - Exponentials as exactly rounded arithmetic ---*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// exp, exp2, expm1 and tanh written in arith ops and math.fma, all of which are
// exactly rounded, so that every target computes the same bits.
//
//===----------------------------------------------------------------------===//

#ifndef NORM_DIALECT_NORM_UTILS_EMITEXP_H
#define NORM_DIALECT_NORM_UTILS_EMITEXP_H

#include "mlir/IR/Builders.h"

namespace mlir::norm {

/// What is known about the argument of an exponential.
enum class ExpRange {
  /// Any float.
  Any,
  /// At most 0, or NaN, as in `x - max(x)`. Needs fewer ops, and gives the
  /// bits that `Any` gives.
  NonPositive,
};

/// Emits e to the power `x`, for `x` an f32 or f64, or a vector of either of
/// any rank; the result has the type of `x`. Nothing else may be passed.
///
/// The error is below 0.9 ulp (f32, all arguments) and 0.93 ulp (f64, sampled),
/// subnormal results included. exp(-inf) = +0, exp(+inf) = +inf, a NaN gives a
/// NaN; overflow gives +inf and underflow is gradual.
///
/// Not counting constants and bitcasts, 18 ops for f32 (13 for arguments that
/// are not positive), and 5 more for f64.
Value emitExp(OpBuilder &builder, Location loc, Value x,
              ExpRange range = ExpRange::Any);

/// Emits 2 to the power `x`; types, special values and error as for emitExp.
Value emitExp2(OpBuilder &builder, Location loc, Value x,
               ExpRange range = ExpRange::Any);

/// Emits e to the power `x`, less 1, without loss near 0; types as for emitExp.
/// The error is below 1.5 ulp (f32) and 2.5 ulp (f64). -inf gives -1, +inf
/// gives +inf, a NaN gives a NaN; the sign of a zero is lost.
Value emitExpM1(OpBuilder &builder, Location loc, Value x);

/// Emits the hyperbolic tangent of `x`; types as for emitExp. The error is
/// below 3 ulp. tanh(+-inf) = +-1, a NaN gives a NaN, the sign is that of `x`.
Value emitTanh(OpBuilder &builder, Location loc, Value x);

} // namespace mlir::norm

#endif // NORM_DIALECT_NORM_UTILS_EMITEXP_H
