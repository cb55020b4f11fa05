//===- Reductions.cpp - Reductions of bounded values ----------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Reductions.h"
#include "llvm/ADT/bit.h"
#include <algorithm>
#include <numeric>

using namespace ::norm;
using namespace ::norm::reference;

int64_t reference::reductionDepth(int64_t count, int64_t leaf) {
  constexpr int64_t lanes = 1024, halvings = 16;
  int64_t perLane = (count + leaf * lanes - 1) / (leaf * lanes);
  return std::max<int64_t>(std::min(count - 1, halvings + perLane), 0);
}

int64_t reference::unorderedDepth(int64_t count) {
  return std::max<int64_t>(std::min(count - 1, 64 + count / 1024), 0);
}

namespace {
/// A sum with Neumaier's correction, as good as in twice the precision.
class CompensatedSum {
public:
  void add(double x) {
    double next = total + x;
    correction += std::fabs(total) >= std::fabs(x) ? (total - next) + x
                                                   : (x - next) + total;
    total = next;
  }
  double get() const {
    // An overflow leaves no correction.
    return std::isfinite(correction) ? total + correction : total;
  }

private:
  double total = 0, correction = 0;
};

/// What decides a sum, apart from rounding.
struct SumParts {
  CompensatedSum total;
  double positive = 0, negative = 0, bound = 0;
  bool hasNaN = false, hasUnknown = false;
  bool hasPlusInfinity = false, hasMinusInfinity = false;
  /// All elements are multiples of 2^lowestBit.
  int lowestBit = 1 << 20;
};
} // namespace

/// The exponent of the last bit that is set in a finite number but 0.
static int lastBit(double value) {
  uint64_t bits = llvm::bit_cast<uint64_t>(value);
  uint64_t mantissa = bits & ((1ull << 52) - 1);
  int exponent = int((bits >> 52) & 0x7ff);
  if (exponent != 0)
    mantissa |= 1ull << 52;
  return std::max(exponent, 1) - 1075 + llvm::countr_zero(mantissa);
}

static SumParts collect(Row row) {
  SumParts parts;
  for (int64_t i = 0, e = row.size(); i < e; ++i) {
    Element x = row.at(i);
    if (x.isUnknown()) {
      parts.hasUnknown = true;
    } else if (std::isnan(x.value)) {
      parts.hasNaN = true;
    } else if (std::isinf(x.value)) {
      (x.value > 0 ? parts.hasPlusInfinity : parts.hasMinusInfinity) = true;
    } else {
      parts.total.add(x.value);
      (x.value > 0 ? parts.positive : parts.negative) += std::fabs(x.value);
      parts.bound += x.bound;
      if (x.value != 0)
        parts.lowestBit = std::min(parts.lowestBit, lastBit(x.value));
    }
  }
  return parts;
}

/// The sum where NaNs, infinities or an overflow on the way decide it. A
/// partial sum lies between those of the negative and of the positive elements.
static bool isDecided(const SumParts &parts, double total, double bound,
                      double largest, double unit, Element &result) {
  bool plus = parts.hasPlusInfinity, minus = parts.hasMinusInfinity;
  if (parts.hasNaN || (plus && minus)) {
    result = {kNaN, 0};
    return true;
  }
  if (parts.hasUnknown) {
    result = unknown(total);
    return true;
  }
  bool mayOverflow = !(parts.positive + bound <= largest);
  bool mayUnderrun = !(parts.negative + bound <= largest);
  if (!plus && !minus && !mayOverflow && !mayUnderrun)
    return false;
  double limit = largest * (1 + unit);
  if (!minus && !mayUnderrun && (plus || total - bound > limit))
    result = {kInfinity, 0};
  else if (!plus && !mayOverflow && (minus || -total - bound > limit))
    result = {-kInfinity, 0};
  else
    result = unknown(total);
  return true;
}

Element reference::sum(DType type, Row row, int64_t depth) {
  if (row.size() == 0)
    return {-0.0, 0};
  if (row.size() == 1)
    return row.at(0);
  if (row.size() == 2)
    return rounded(type, add(row.at(0), row.at(1)));
  SumParts parts = collect(row);
  double total = parts.total.get();
  double magnitude = parts.positive + parts.negative;
  double unit = unitRoundoff(type);
  // gamma_depth, to second order; twice for float64, in which `total` has an
  // error too.
  double growth = depth * unit * (1 + 2 * depth * unit);
  double rounding =
      growth * (magnitude + parts.bound) * (type == DType::F64 ? 2 : 1);
  // Sums of few bits are exact in every order.
  if (magnitude < std::ldexp(1.0, parts.lowestBit + int(precision(type))) &&
      parts.bound == 0)
    rounding = 0;
  double bound = parts.bound + rounding;
  Element result;
  if (isDecided(parts, total, bound, maxFinite(type), unit, result))
    return result;
  return {total, bound};
}

Element reference::product(DType type, Row row, int64_t depth) {
  Element result{1, 0};
  // The largest and the smallest product of any part of the elements.
  double above = 1, below = 1;
  bool isFinite = true;
  for (int64_t i = 0, e = row.size(); i < e; ++i) {
    Element x = row.at(i);
    result = multiply(result, x);
    isFinite &= std::isfinite(x.value) && !x.isUnknown();
    above *= std::max(1.0, std::fabs(x.value) + x.bound);
    below *= std::min(1.0, std::max(std::fabs(x.value) - x.bound, 0.0));
  }
  if (row.size() < 2 || result.isUnknown())
    return result;
  if (!isFinite || std::isnan(result.value)) {
    // An overflow or an underflow on the way may meet a 0 or an infinity.
    bool isSafe =
        result.isNaN() && std::any_of(row.value.begin(), row.value.end(),
                                      [](double v) { return std::isnan(v); });
    return isSafe ? result : unknown(result.value);
  }
  double smallestNormal = std::ldexp(1.0, minExponent(type));
  bool hasZero = below == 0 && result.isExact() && result.value == 0;
  if (!(above <= maxFinite(type)))
    return unknown(result.value);
  // A zero has the sign that all elements make up.
  if (hasZero)
    return result;
  double unit = unitRoundoff(type) * (type == DType::F64 ? 2 : 1);
  double growth = depth * unit * (1 + 2 * depth * unit);
  result.bound += growth * (std::fabs(result.value) + result.bound);
  if (below < smallestNormal)
    result.bound += row.size() * halfUlp(type, 0) * above;
  return overflowed(type, result);
}

Element reference::extremum(Element (*combine)(Element, Element), Row row,
                            Element identity) {
  Element result = identity;
  for (int64_t i = 0, e = row.size(); i < e; ++i)
    result = i == 0 ? row.at(0) : combine(result, row.at(i));
  return result;
}

namespace {
/// The exact moments of a row of finite elements, and sizes that bounds need.
struct ExactMoments {
  double mean = 0, m2 = 0;
  /// Averages of the magnitudes and of the elements' own bounds.
  double magnitude = 0, meanBound = 0;
  /// Euclidean norm of the elements' own bounds.
  double boundNorm = 0;
  double largest = 0;
  bool isConstant = true;
};
} // namespace

static ExactMoments exactMoments(Row row) {
  ExactMoments result;
  double count = double(row.size()), squares = 0;
  CompensatedSum total;
  for (int64_t i = 0, e = row.size(); i < e; ++i) {
    Element x = row.at(i);
    total.add(x.value);
    result.magnitude += std::fabs(x.value);
    result.meanBound += x.bound;
    squares += x.bound * x.bound;
    result.largest = std::max(result.largest, std::fabs(x.value) + x.bound);
    result.isConstant &= x.value == row.value[0] && x.bound == 0;
  }
  result.mean = result.isConstant ? row.value[0] : total.get() / count;
  result.magnitude /= count;
  result.meanBound /= count;
  result.boundNorm = std::sqrt(squares);
  CompensatedSum m2;
  for (double x : row.value)
    m2.add((x - result.mean) * (x - result.mean));
  result.m2 = m2.get();
  return result;
}

namespace {
/// Bounds of a computed mean and M2, see docs/Reference.md.
struct MomentBounds {
  double mean = 0, m2 = 0;
};
} // namespace

/// Levels of merging in the order of a row: one per halving, and `perMerge` for
/// each state that a lane merges after its first.
// One after the other, the early merges' errors of a mean are averaged away, so
// that such a merge counts half there.
static double mergedDepth(int64_t count, int64_t depth, double perMerge) {
  double halvings = std::ceil(std::log2(double(count))) + 1;
  double merges = double(std::max<int64_t>(depth - 17, 0));
  return std::min(double(depth), halvings + perMerge * merges);
}

/// Roundings on the way through a leaf of up to 16 elements, in units of the
/// deviation: docs/Reference.md.
constexpr double kLeafRoundings = 30;

/// Of a mean that is a sum over the count; infinite where the sum overflows.
static double boundMeanOfSum(DType type, Row row, const ExactMoments &exact,
                             double count, int64_t depth) {
  Element total = sum(type, row, depth);
  if (!std::isfinite(total.value))
    return kInfinity;
  if (total.isExact())
    return std::fabs(rounded(type, {exact.mean, 0}).value - exact.mean);
  return total.bound / count + 2 * halfUlp(type, exact.mean);
}

/// Whether `count` products of an element and two counts are numbers of the
/// type: then all sums of such elements, weighed, are the same.
static bool areWeighedExactly(DType type, double element, double count) {
  int exponent;
  double digits = std::frexp(element, &exponent);
  int bits = 0;
  for (; digits != 0; ++bits) {
    digits = 2 * digits;
    digits -= std::trunc(digits);
  }
  return bits + 2 * std::ceil(std::log2(count) + 1) <= precision(type);
}

/// Of M2, where the errors of all differences of means have a norm of
/// `differences`, in roundings and square roots of the count.
static double boundSquares(DType type, double count, double m2High,
                           double depth, double differences) {
  double unit = unitRoundoff(type);
  differences *= unit * std::sqrt(count);
  double shifted =
      2 * std::sqrt(m2High) * differences + differences * differences;
  return shifted + (depth + 6) * unit * (m2High + shifted) +
         3 * count * halfUlp(type, 0);
}

/// Of `welford`: parts have sums, and a mean is one at the end.
static MomentBounds boundMerged(DType type, Row row, const ExactMoments &exact,
                                double count, double m2High, int64_t depth) {
  double levels = mergedDepth(row.size(), depth, 0.5);
  double deviation = std::sqrt(m2High / count);
  double rootMeanSquare =
      std::hypot(std::fabs(exact.mean) + exact.meanBound, deviation);
  MomentBounds bounds;
  bounds.mean = boundMeanOfSum(type, row, exact, count, depth);
  if (exact.isConstant && areWeighedExactly(type, exact.mean, count))
    return bounds;
  // Beside the roundings of the sums, three for the weights and their product.
  double differences =
      std::pow(levels + 3, 1.5) / std::sqrt(3.0) * rootMeanSquare +
      levels / std::sqrt(2.0) * deviation;
  bounds.m2 = boundSquares(type, count, m2High, levels, differences);
  return bounds;
}

/// Of `welford_exact`: what the mean's own place loses is kept, and counts to
/// second order.
static MomentBounds boundMergedExact(DType type, Row row,
                                     const ExactMoments &exact, double count,
                                     double m2High, int64_t treeDepth) {
  if (exact.isConstant)
    return {};
  double depth = mergedDepth(row.size(), treeDepth, 0.5);
  double unit = unitRoundoff(type);
  double deviation = std::sqrt(m2High / count);
  double rootMeanSquare =
      std::hypot(std::fabs(exact.mean) + exact.meanBound, deviation);
  double ofMean = std::fabs(exact.mean) + exact.meanBound +
                  (kLeafRoundings + 5 * std::sqrt(depth)) * deviation +
                  3 * depth * unit * exact.magnitude;
  double differences =
      (kLeafRoundings * std::sqrt(depth) + 5 * depth / std::sqrt(2.0)) *
          deviation +
      std::sqrt(3.0) * std::pow(depth, 1.5) * unit * rootMeanSquare;
  MomentBounds bounds;
  bounds.mean = unit * ofMean + depth * halfUlp(type, 0);
  bounds.m2 = boundSquares(type, count, m2High, depth, differences);
  return bounds;
}

static MomentBounds boundSummed(DType type, Row row, const ExactMoments &exact,
                                double count, double m2High, int64_t depth) {
  double unit = unitRoundoff(type);
  MomentBounds bounds;
  bounds.mean = boundMeanOfSum(type, row, exact, count, depth);
  double own = std::max(bounds.mean - exact.meanBound, 0.0);
  double shifted = count * own * own;
  bounds.m2 = shifted + (depth + 4) * unit * (m2High + shifted) +
              count * halfUlp(type, 0);
  return bounds;
}

Moments reference::moments(DType type, Row row, int64_t depth,
                           MomentsForm form) {
  if (row.size() == 0) {
    // Merged, the identity; else the mean is 0 / 0.
    bool isMerged =
        form == MomentsForm::Merged || form == MomentsForm::MergedExact;
    double mean = isMerged ? 0.0 : kNaN;
    return {{mean, 0}, {0, 0}};
  }
  SumParts parts = collect(row);
  if (parts.hasNaN)
    return {{kNaN, 0}, {kNaN, 0}};
  // Where an infinity shows in the mean depends on the form and the order.
  if (parts.hasUnknown || parts.hasPlusInfinity || parts.hasMinusInfinity)
    return {unknown(kNaN), unknown(kNaN)};
  double count = double(row.size());
  ExactMoments exact = exactMoments(row);
  double m2High = std::pow(std::sqrt(exact.m2) + exact.boundNorm, 2);
  bool keepsRest = form == MomentsForm::MergedExact || form == MomentsForm::Any;
  MomentBounds bounds =
      keepsRest ? boundMergedExact(type, row, exact, count, m2High, depth)
                : boundMerged(type, row, exact, count, m2High, depth);
  if (form == MomentsForm::Any || form == MomentsForm::AnyNarrow) {
    MomentBounds other = boundSummed(type, row, exact, count, m2High, depth);
    bounds.mean = std::max(bounds.mean, other.mean);
    bounds.m2 = std::max(bounds.m2, other.m2);
  }
  // Second order terms, and float64's own errors.
  double slack = (1 + 8 * double(depth) * unitRoundoff(type)) *
                 (type == DType::F64 ? 2 : 1);
  Moments result;
  result.mean = {exact.mean, exact.meanBound + bounds.mean * slack +
                                 0x1p-51 * std::fabs(exact.mean)};
  result.m2 = {exact.m2,
               m2High - exact.m2 + bounds.m2 * slack + 0x1p-45 * exact.m2};
  if (exact.isConstant &&
      result.mean.bound <= 0x1p-51 * std::fabs(exact.mean)) {
    result.mean.bound = 0;
    if (keepsRest || bounds.m2 == 0)
      result.m2 = {0, 0};
  }
  // Differences of partial means reach twice the largest element, and a square
  // of one twice M2; of partial sums, with their weights, four times all
  // elements.
  double largest = maxFinite(type);
  if (!((keepsRest ? 2 : 4 * count) * exact.largest <= largest))
    return {unknown(exact.mean), unknown(exact.m2)};
  result.mean = overflowed(type, result.mean);
  if (!(2 * (exact.m2 + result.m2.bound) <= largest)) {
    bool isCertain =
        exact.m2 - result.m2.bound > largest * (1 + unitRoundoff(type));
    result.m2 = isCertain ? Element{kInfinity, 0} : unknown(exact.m2);
  }
  result.m2 = nonNegative(result.m2);
  return result;
}

Element reference::sumOfExponentials(DType type, Row row, Element max,
                                     int64_t depth) {
  if (row.size() == 0)
    return {0, 0};
  double unit = unitRoundoff(type) * (type == DType::F64 ? 2 : 1);
  CompensatedSum total;
  double bound = 0;
  bool hasUnknown = max.isUnknown();
  for (int64_t i = 0, e = row.size(); i < e; ++i) {
    Element x = row.at(i);
    double distance = x.value - max.value;
    if (std::isnan(distance))
      return {kNaN, 0};
    hasUnknown |= x.isUnknown();
    double term = std::exp(distance);
    total.add(term);
    if (term == 0)
      continue;
    // The distances along the way of an element add up to its own.
    double moved = x.bound + max.bound - unit * distance;
    bound += term * moved * std::exp(std::min(moved, 700.0));
  }
  if (hasUnknown)
    return unknown(total.get());
  // Online, on each level an exponential, a product and a sum; else one
  // exponential and the levels of a sum.
  double online = (mergedDepth(row.size(), depth, 1) + 1) * (2 * kExpUlps + 2);
  double growth = std::max(online, double(depth) + 2 * kExpUlps) * unit;
  bound += growth * (1 + growth) * (total.get() + bound) +
           double(row.size()) * (2 * kExpUlps + 1) * halfUlp(type, 0);
  return {total.get(), bound};
}
