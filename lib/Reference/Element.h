//===- Element.h - Values with error bounds ---------------------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One value with a bound, and arithmetic on it. All bounds are absolute.
//
//===----------------------------------------------------------------------===//

#ifndef NORM_LIB_REFERENCE_ELEMENT_H
#define NORM_LIB_REFERENCE_ELEMENT_H

#include "norm/Support/DType.h"
#include <cmath>
#include <limits>

namespace norm::reference {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// An implementation's value lies in [value - bound, value + bound]. With an
/// infinite bound nothing is known; a NaN or infinite value with a finite bound
/// is certain.
struct Element {
  double value = 0;
  double bound = 0;

  bool isUnknown() const { return bound == kInfinity; }
  bool isNaN() const { return std::isnan(value) && !isUnknown(); }
  bool isExact() const { return bound == 0; }
  double low() const { return value - bound; }
  double high() const { return value + bound; }
};

inline Element unknown(double value = 0) { return {value, kInfinity}; }

/// Half a unit in the last place of normal numbers, relative: 2^-precision.
double unitRoundoff(DType type);

/// What rounding to `type` may move `value` by, for a magnitude up to `value`.
double halfUlp(DType type, double value);

/// The declared rounding: the value is rounded, and the bound covers all
/// numbers of `type` that the interval rounds to. An exact element stays exact.
Element rounded(DType type, Element x);

/// An operation in `type` whose rounding an implementation may also leave out
/// (by an fma) or place elsewhere: only the bound grows.
Element loose(DType type, Element x);

/// Applies the overflow of `type`, without any other rounding.
Element overflowed(DType type, Element x);

/// The value is known not to be negative: cuts the interval at 0.
Element nonNegative(Element x);

// Operations on real numbers; the caller rounds.
Element negate(Element x);
Element absolute(Element x);
Element add(Element a, Element b);
Element subtract(Element a, Element b);
Element multiply(Element a, Element b);
Element square(Element x);
Element divide(Element a, Element b);
Element squareRoot(Element x);
/// `a * b + c` with the one rounding of `type`.
Element fusedMultiplyAdd(DType type, Element a, Element b, Element c);
/// IEEE maximum: NaN if either is.
Element maximum(Element a, Element b);
Element minimum(Element a, Element b);
/// IEEE maximumNumber: a NaN is left out.
Element maximumNumber(Element a, Element b);
Element minimumNumber(Element a, Element b);
/// A function that rises, or falls, over all of its domain.
Element monotone(double (*function)(double), Element x);

/// The result of a function that approximates `x` within `ulps` units in the
/// last place of `type`, or of f32 before it rounds to a narrower `type`.
Element approximated(DType type, Element x, double ulps);

/// What a function of f16 or bf16 may be off by before it is rounded, where the
/// narrow type decides its precision, in its ulps; no change for other types.
Element narrowed(DType type, Element x, double ulps = 0.15);

} // namespace norm::reference

#endif // NORM_LIB_REFERENCE_ELEMENT_H
