//===- Element.cpp - Values with error bounds -----------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Element.h"
#include <algorithm>

using namespace ::norm;
using namespace ::norm::reference;

// The evaluator's own float64 arithmetic is off by 2^-53 of a result, and so
// are the ends of an interval.
static constexpr double kOwnError = 0x1p-51;

namespace {
/// What the bounds need to know of a type.
struct TypeNumbers {
  double unitRoundoff;
  double smallestHalfUlp;
  double largest;
};
} // namespace

static TypeNumbers numbersOf(DType type) {
  switch (type) {
  case DType::F32:
    return {0x1p-24, 0x1p-150, double(std::numeric_limits<float>::max())};
  case DType::F64:
    // Half of the smallest subnormal has no float64 of its own.
    return {0x1p-53, 0x1p-1074, std::numeric_limits<double>::max()};
  default:
    int digits = int(precision(type));
    return {std::ldexp(1.0, -digits),
            std::ldexp(1.0, minExponent(type) - digits), maxFinite(type)};
  }
}

double reference::unitRoundoff(DType type) {
  return numbersOf(type).unitRoundoff;
}

double reference::halfUlp(DType type, double value) {
  TypeNumbers numbers = numbersOf(type);
  return std::max(numbers.unitRoundoff * std::fabs(value),
                  numbers.smallestHalfUlp);
}

/// roundTo, without a call for the commonest types.
static double roundValue(DType type, double value) {
  if (type == DType::F64)
    return value;
  if (type == DType::F32)
    return double(float(value));
  return roundTo(type, value);
}

Element reference::overflowed(DType type, Element x) {
  if (x.isUnknown() || std::isnan(x.bound))
    return unknown(x.value);
  if (std::isnan(x.value))
    return {kNaN, 0};
  TypeNumbers numbers = numbersOf(type);
  double magnitude = std::fabs(x.value);
  if (magnitude + x.bound <= numbers.largest)
    return x;
  if (std::isinf(x.value))
    return x.bound == 0 ? Element{roundValue(type, x.value), 0}
                        : unknown(x.value);
  // Half a unit beyond the largest number, all rounds to infinity.
  double limit = numbers.largest * (1 + numbers.unitRoundoff);
  if (magnitude - x.bound > limit)
    return {roundValue(type, std::copysign(kInfinity, x.value)), 0};
  return unknown(x.value);
}

Element reference::rounded(DType type, Element x) {
  if (x.isUnknown() || std::isnan(x.bound))
    return unknown(x.value);
  if (std::isnan(x.value))
    return {roundValue(type, kNaN), 0};
  if (x.bound == 0)
    return {roundValue(type, x.value), 0};
  if (std::isinf(x.value))
    return unknown(x.value);
  // Of the magnitude, which has no sign to cross.
  if (type == DType::F8E8M0FNU)
    x = absolute(x);
  double bound = x.bound + kOwnError * (std::fabs(x.value) + x.bound);
  if (type == DType::F64)
    return overflowed(
        type, {x.value, bound + 2 * halfUlp(type, std::fabs(x.value) + bound)});
  double value = roundValue(type, x.value);
  double low = roundValue(type, x.value - bound);
  double high = roundValue(type, x.value + bound);
  // A zero of either sign isn't exact: a quotient by it may be either infinity.
  if (low == 0 && high == 0 && std::signbit(low) != std::signbit(high))
    return {value, std::numeric_limits<double>::denorm_min()};
  if (std::isfinite(low) && std::isfinite(high) && std::isfinite(value))
    return {value, std::max(high - value, value - low)};
  if (low == high || (std::isnan(low) && std::isnan(high) && std::isnan(value)))
    return {value, 0};
  return unknown(x.value);
}

Element reference::loose(DType type, Element x) {
  if (x.isUnknown() || !std::isfinite(x.value))
    return overflowed(type, x);
  double magnitude = std::fabs(x.value) + x.bound;
  if (magnitude == 0)
    return x;
  return overflowed(type, {x.value, x.bound + halfUlp(type, magnitude) +
                                        (type == DType::F64 ? 2 : 1) *
                                            kOwnError * magnitude});
}

Element reference::nonNegative(Element x) {
  if (x.isUnknown() || !std::isfinite(x.value) || x.low() >= 0)
    return x;
  double half = std::max(x.high(), 0.0) / 2;
  return {half, half};
}

/// NaN or unknown operands decide the result.
static bool isSpecial(Element a, Element b, Element &result) {
  if (a.isNaN() || b.isNaN()) {
    result = {kNaN, 0};
    return true;
  }
  if (a.isUnknown() || b.isUnknown()) {
    result = unknown();
    return true;
  }
  return false;
}

Element reference::negate(Element x) { return {-x.value, x.bound}; }

Element reference::absolute(Element x) {
  Element result{std::fabs(x.value), x.bound};
  return nonNegative(result);
}

Element reference::add(Element a, Element b) {
  Element special;
  if (isSpecial(a, b, special))
    return special;
  // What a finite addend may be makes no difference beside an infinity.
  if (std::isinf(a.value) || std::isinf(b.value))
    return {a.value + b.value, 0};
  return {a.value + b.value, a.bound + b.bound};
}

Element reference::subtract(Element a, Element b) { return add(a, negate(b)); }

Element reference::multiply(Element a, Element b) {
  Element special;
  if (isSpecial(a, b, special))
    return special;
  if (std::isinf(a.value) || std::isinf(b.value)) {
    // Known unless the other factor may be 0 or of either sign.
    for (auto [x, other] : {std::pair(a, b), std::pair(b, a)})
      if (std::isinf(x.value) && other.bound > 0 &&
          std::fabs(other.value) <= other.bound)
        return unknown();
    return {a.value * b.value, 0};
  }
  double bound = a.bound * b.bound;
  if (a.bound > 0)
    bound += std::fabs(b.value) * a.bound;
  if (b.bound > 0)
    bound += std::fabs(a.value) * b.bound;
  return {a.value * b.value, bound};
}

Element reference::square(Element x) { return nonNegative(multiply(x, x)); }

Element reference::divide(Element a, Element b) {
  Element special;
  if (isSpecial(a, b, special))
    return special;
  bool mayBeZero = std::fabs(b.value) <= b.bound;
  if (mayBeZero && b.bound > 0)
    return unknown();
  if (std::isinf(a.value) || std::isinf(b.value))
    return {a.value / b.value, 0};
  if (b.value == 0) {
    bool isZero = std::fabs(a.value) <= a.bound;
    return isZero && a.bound > 0 ? unknown() : Element{a.value / b.value, 0};
  }
  double value = a.value / b.value;
  if (a.bound == 0 && b.bound == 0)
    return {value, 0};
  return {value, (a.bound + std::fabs(value) * b.bound) /
                     (std::fabs(b.value) - b.bound)};
}

Element reference::monotone(double (*function)(double), Element x) {
  if (x.isNaN())
    return {kNaN, 0};
  if (x.isUnknown())
    return unknown();
  double value = function(x.value);
  if (x.bound == 0)
    return {value, 0};
  double low = function(x.low()), high = function(x.high());
  if (std::isnan(low) && std::isnan(high) && std::isnan(value))
    return {kNaN, 0};
  if (low == high && low == value)
    return {value, 0};
  if (!std::isfinite(low) || !std::isfinite(high) || !std::isfinite(value))
    return unknown(value);
  return {value, std::max(std::fabs(low - value), std::fabs(high - value))};
}

Element reference::squareRoot(Element x) {
  return monotone([](double v) { return std::sqrt(v); }, x);
}

Element reference::fusedMultiplyAdd(DType type, Element a, Element b,
                                    Element c) {
  bool isExact = a.isExact() && b.isExact() && c.isExact();
  if (isExact && type == DType::F32)
    return {double(std::fma(float(a.value), float(b.value), float(c.value))),
            0};
  if (isExact && type == DType::F64)
    return {std::fma(a.value, b.value, c.value), 0};
  Element result = add(multiply(a, b), c);
  if (result.isUnknown() || !std::isfinite(result.value))
    return rounded(type, result);
  result.value = std::fma(a.value, b.value, c.value);
  result.bound +=
      kOwnError * (std::fabs(a.value * b.value) + std::fabs(c.value));
  // A type without an fma of its own goes through the one of f32.
  if (type != DType::F32 && type != DType::F64)
    result.bound += halfUlp(DType::F32, result.value);
  return rounded(type, result);
}

/// The larger, by the ends of the intervals.
static Element larger(Element a, Element b) {
  // Of two zeros the positive one.
  double value = a.value == b.value && std::signbit(a.value)
                     ? b.value
                     : std::max(a.value, b.value);
  if (a.bound == 0 && b.bound == 0)
    return {value, 0};
  double low = std::max(a.low(), b.low()), high = std::max(a.high(), b.high());
  return value == high && value == low
             ? Element{value, 0}
             : Element{value, std::max(high - value, value - low)};
}

Element reference::maximum(Element a, Element b) {
  Element special;
  return isSpecial(a, b, special) ? special : larger(a, b);
}

Element reference::minimum(Element a, Element b) {
  return negate(maximum(negate(a), negate(b)));
}

Element reference::maximumNumber(Element a, Element b) {
  if (a.isUnknown() || b.isUnknown())
    return unknown();
  if (a.isNaN())
    return b;
  return b.isNaN() ? a : larger(a, b);
}

Element reference::minimumNumber(Element a, Element b) {
  return negate(maximumNumber(negate(a), negate(b)));
}

Element reference::approximated(DType type, Element x, double ulps) {
  if (x.isUnknown() || !std::isfinite(x.value))
    return overflowed(type, x);
  DType inner = type == DType::F64 ? DType::F64 : DType::F32;
  // The library function that gave the value is within 1 ulp of float64.
  double own = inner == DType::F64 ? 1 : 0;
  x.bound += (ulps + own) * ulp(inner, std::fabs(x.value) + x.bound) +
             kOwnError * std::fabs(x.value);
  return type == inner ? overflowed(type, x) : rounded(type, x);
}

Element reference::narrowed(DType type, Element x, double ulps) {
  if ((type != DType::F16 && type != DType::BF16) || x.isUnknown() ||
      !std::isfinite(x.value))
    return x;
  x.bound += ulps * ulp(type, std::fabs(x.value) + x.bound);
  return x;
}
