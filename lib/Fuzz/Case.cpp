//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Fuzz/Case.h"
#include "norm/Runtime/Random.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>
#include <limits>

using namespace norm;
using namespace norm::fuzz;

static double integerAt(DType dtype, RowData kind, uint64_t bits) {
  int64_t small = int64_t(bits % 17) - 8;
  if (dtype == DType::I1)
    return double(bits & 1);
  switch (kind) {
  case RowData::Constant:
    return 5;
  case RowData::Zeros:
    return 0;
  case RowData::Huge:
  case RowData::Cancelling:
    // The extremes of 8 bits fit all types; i64 is exact in float64 there.
    return bits & 1 ? 127 : -128;
  default:
    return double(small);
  }
}

double ArgumentData::at(DType dtype, int64_t row, int64_t column,
                        int64_t columns) const {
  RowData kind = kinds[randomBits(seed, uint64_t(row)) % kinds.size()];
  uint64_t rowSeed = randomBits(seed ^ 0x5eed, uint64_t(row));
  uint64_t place = uint64_t(column);
  uint64_t bits = randomBits(rowSeed, place);
  if (!isFloat(dtype))
    return integerAt(dtype, kind, bits);
  double normal = randomNormal(rowSeed, place);
  double sign = bits & 1 ? 1 : -1;
  constexpr double kInf = std::numeric_limits<double>::infinity();
  // Some place of the row, the same for all its elements.
  bool chosen = columns > 0 && place == rowSeed % uint64_t(columns);
  switch (kind) {
  case RowData::Normal:
    return normal;
  case RowData::Integers:
    return double(int64_t(bits % 9) - 4);
  case RowData::Constant:
    return randomNormal(rowSeed, 0);
  case RowData::LargeMean:
    return std::ldexp(1.25, int(precision(dtype)) / 2 + 3) + normal;
  case RowData::Tiny:
    return std::ldexp(normal, minExponent(dtype) / 2 - 4);
  case RowData::Subnormal:
    return std::ldexp(normal, minExponent(dtype) - 2);
  case RowData::Huge:
    return maxFinite(dtype) * 0.2 * normal;
  case RowData::Zeros:
    return sign * 0.0;
  case RowData::Cancelling:
    return sign * maxFinite(dtype) * 0.9;
  case RowData::WithNaN:
    return chosen ? std::numeric_limits<double>::quiet_NaN() : normal;
  case RowData::WithInf:
    return chosen ? sign * kInf : normal;
  case RowData::NegativeInf:
    return (column / 5) % 2 == 0 ? -kInf : normal;
  case RowData::OnlyNegativeInf:
    return -kInf;
  }
  return normal;
}

std::string fuzz::describe(const Rerun &variant) {
  std::vector<std::string> parts;
  parts.push_back("device " + variant.device);
  if (!variant.schedule.empty())
    parts.push_back("schedule " + variant.schedule);
  if (variant.steps)
    parts.push_back("other schedules of the kernels");
  if (!variant.layouts.empty())
    parts.push_back("other layouts");
  if (variant.rows)
    parts.push_back(llvm::formatv("rows {0} to {1}", variant.rows->first,
                                  variant.rows->second - 1));
  for (unsigned dim = 0; variant.flipDynamic >> dim; ++dim)
    if (variant.flipDynamic >> dim & 1)
      parts.push_back(llvm::formatv("dim {0} dynamic or not", dim));
  if (variant.extraOutput)
    parts.push_back("one more output");
  if (variant.launches > 1)
    parts.push_back(llvm::formatv("{0} launches", variant.launches));
  if (variant.hostThreads)
    parts.push_back(llvm::formatv("{0} host threads", variant.hostThreads));
  return llvm::join(parts, ", ");
}
