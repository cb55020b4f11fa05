//===- DType.h - Element types at the boundary ------------------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The element types that cross the boundary of a compiled function, their
// bytes in memory, and the conversions between those bytes and double. Free of
// MLIR: the runtime, the reference evaluator and the tools share it.
//
//===----------------------------------------------------------------------===//

#ifndef NORM_SUPPORT_DTYPE_H
#define NORM_SUPPORT_DTYPE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>

namespace norm {

/// An element type. `F8E4M3FN` has no infinity and one NaN pattern per sign;
/// `F8E5M2` is laid out as a short f16. `F8E8M0FNU` are the powers of two
/// 2^(code - 127), without a sign and a zero; code 255 is its NaN. `F4E2M1FN`
/// has the magnitudes 0, 0.5, 1, 1.5, 2, 3, 4 and 6, no infinity and no NaN;
/// two share a byte, the one of the lower index in the low half. `I1` is one
/// byte, 0 or 1. Integers are signed two's complement. Everything is little
/// endian in memory.
enum class DType : uint8_t {
  F64,
  F32,
  F16,
  BF16,
  F8E4M3FN,
  F8E5M2,
  F8E8M0FNU,
  F4E2M1FN,
  I1,
  I8,
  I16,
  I32,
  I64
};

/// All element types, in declaration order.
llvm::ArrayRef<DType> allDTypes();

/// The name as MLIR prints the type: `f32`, `bf16`, `f8E4M3FN`, `i8`, ...
llvm::StringRef name(DType type);

/// The inverse of `name`; empty for an unknown name.
std::optional<DType> parseDType(llvm::StringRef text);

/// Bits of one element in memory: 4 for `F4E2M1FN`, 8 for `I1`.
unsigned bitSize(DType type);

/// Bytes that hold one element by itself (1 for `I1` and `F4E2M1FN`). Sizes and
/// distances of several elements follow from `bitSize`.
unsigned byteSize(DType type);

/// Whether two elements share a byte.
inline bool isPacked(DType type) { return bitSize(type) < 8; }

/// The bytes of `count` neighbouring elements, of a whole number of bytes.
inline uint64_t bytesOf(DType type, uint64_t count) {
  return isPacked(type) ? count / 2 : count * byteSize(type);
}

/// Whether `type` is a floating point type.
bool isFloat(DType type);

/// Bits of a significand, the implicit one included (f32: 24, f8E8M0FNU: 1); 0
/// for integers.
unsigned precision(DType type);

/// The exponent e of the smallest normal number 2^e (f32: -126); 0 for
/// integers.
int minExponent(DType type);

/// The exponent e of the largest finite number's leading bit 2^e (f32: 127);
/// 0 for integers.
int maxExponent(DType type);

/// The largest finite value (`f8E4M3FN`: 448); for integers the largest one
/// as a double, rounded to the nearest.
double maxFinite(DType type);

/// The value of the element at `bytes` (`byteSize(type)` bytes, any
/// alignment; of an `F4E2M1FN` the low half of the byte). Every floating point
/// value is exact; an i64 rounds to nearest.
double decode(DType type, const void *bytes);

/// Writes `value` as one element at `bytes` (any alignment), rounded once, to
/// the nearest, ties to even. A finite value beyond the largest finite one
/// becomes infinity where the format has one, and NaN in `f8E4M3FN`; NaN stays
/// NaN. `f4E2M1FN` saturates, infinities too, and NaN becomes 6; the other half
/// of the byte becomes 0. `f8E8M0FNU` takes the magnitude and rounds it towards
/// zero, what is below 2^-127 becomes 2^-127, and an infinity NaN. Integers
/// saturate and take NaN to 0; `I1` is 1 for any value but 0 (NaN gives 0).
void encode(DType type, double value, void *bytes);

/// Element `index` of those that begin at `bytes`.
double decodeAt(DType type, const void *bytes, uint64_t index);

/// Writes element `index` of those that begin at `bytes`; one that shares its
/// byte is left as it is.
void encodeAt(DType type, double value, void *bytes, uint64_t index);

/// `decode(type, encode(type, value))`: `value` rounded to `type`.
double roundTo(DType type, double value);

/// The unit in the last place of `type` at `value`: the distance between the
/// neighbours in the binade of |value|, and of the subnormals below it; at or
/// beyond the largest finite value, that of the last binade. 1 for integers;
/// NaN for NaN.
double ulp(DType type, double value);

} // namespace norm

#endif // NORM_SUPPORT_DTYPE_H
