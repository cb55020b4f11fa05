//===- EmitPhilox.h - Counter-based random numbers as arithmetic *- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Philox 4x32 with 10 rounds in arith ops on integers.
//
// Reference: J. Salmon, M. Moraes, R. Dror and D. Shaw, Parallel Random
// Numbers: As Easy as 1, 2, 3, SC 2011; its multipliers and key increments.
//
//===----------------------------------------------------------------------===//

#ifndef NORM_DIALECT_NORM_UTILS_EMITPHILOX_H
#define NORM_DIALECT_NORM_UTILS_EMITPHILOX_H

#include "mlir/IR/Builders.h"

#include <array>

namespace mlir::norm {

/// Words of Philox: i32, or vectors of i32 of one length. Where words of both
/// kinds meet, the scalar is broadcast; what depends on scalars only stays one.
using PhiloxCounter = std::array<Value, 4>;
using PhiloxKey = std::array<Value, 2>;

constexpr unsigned philoxRounds = 10;

/// The keys of the rounds: the key, and its words increased by a constant each
/// for every further round.
using PhiloxKeys = std::array<PhiloxKey, philoxRounds>;
PhiloxKeys emitPhiloxKeys(OpBuilder &builder, Location loc, PhiloxKey key);

/// The four words of a counter, 4 ops a round.
PhiloxCounter emitPhilox(OpBuilder &builder, Location loc,
                         PhiloxCounter counter, const PhiloxKeys &keys);

} // namespace mlir::norm

#endif // NORM_DIALECT_NORM_UTILS_EMITPHILOX_H
