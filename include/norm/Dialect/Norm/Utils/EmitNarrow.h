//===- EmitNarrow.h - Functions of 16-bit floats ----------------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Functions of bf16 and f16 values in f32 arithmetic that is exactly rounded
// and just precise enough, so that they need few ops and have the same bits on
// every target.
//
//===----------------------------------------------------------------------===//

#ifndef NORM_DIALECT_NORM_UTILS_EMITNARROW_H
#define NORM_DIALECT_NORM_UTILS_EMITNARROW_H

#include "mlir/IR/Builders.h"

namespace mlir::norm {

enum class NarrowFunction { Exp, Exp2, Tanh, Sigmoid, Silu, GeluErf, GeluTanh };

enum class NarrowFormat { BF16, F16 };

/// Emits `function` of `x`, an f32 or a vector of f32 that was extended from
/// `format`. The result has the type of `x` and, once rounded to `format`, is
/// within 0.63 ulp, subnormal results included. Overflow gives an infinity, a
/// NaN gives a NaN.
///
/// Ops by function, not counting constants, bitcasts, absf and negf, with a
/// shift and an addition of integers as one:
///
///     exp, exp2   tanh   sigmoid   silu   gelu, erf   gelu, tanh
///     11          13     16        15     15          17          bf16
///     11          19     19        18     12          20          f16
Value emitNarrow(OpBuilder &builder, Location loc, NarrowFunction function,
                 NarrowFormat format, Value x);

/// The same by a GPU's approximations. Those are asked for by
/// `math.exp2 fastmath<afn>` and by `arith.divf fastmath<afn>` of 1, of which
/// norm-legalize-math makes the instructions, and exactly rounded arithmetic on
/// other targets; a subnormal f32 may become a zero in them. Once rounded to
/// `format`, the result is within 0.92 ulp for GELU with erf in bf16, else
/// within 0.65 ulp.
///
/// Ops, counted in the same way; one (*) or two (**) are approximations:
///
///     exp*   exp2*   tanh**   sigmoid**   silu**   gelu, erf*   gelu, tanh**
///     3      3       7        5           7        11           9       bf16
///     2      1       7        4           6        9            8       f16
Value emitHardware(OpBuilder &builder, Location loc, NarrowFunction function,
                   NarrowFormat format, Value x);

} // namespace mlir::norm

#endif // NORM_DIALECT_NORM_UTILS_EMITNARROW_H
