//===- Compare.cpp - Comparison with the reference ------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Reference/Reference.h"
#include <algorithm>
#include <cmath>
#include <limits>

using namespace norm;
using namespace norm::reference;

static constexpr double kInfinity = std::numeric_limits<double>::infinity();

namespace {
/// How one element agrees.
struct Difference {
  double ulp = 0;
  double ratio = 0;
};
} // namespace

static Difference differenceOf(DType type, double value, double bound,
                               double got) {
  bool isSame = value == got || (std::isnan(value) && std::isnan(got));
  if (isSame)
    return {};
  if (!std::isfinite(value) || !std::isfinite(got))
    return {kInfinity, kInfinity};
  double distance = std::fabs(got - value);
  return {distance / ulp(type, value),
          bound == 0 ? kInfinity : distance / bound};
}

static void note(Comparison &result, int64_t index, double value, double bound,
                 double got) {
  if (result.mismatches++ != 0)
    return;
  result.firstIndex = index;
  result.firstValue = value;
  result.firstBound = bound;
  result.firstGot = got;
}

Comparison reference::compare(const Tensor &expected,
                              llvm::ArrayRef<double> got) {
  Comparison result;
  size_t common = std::min(expected.value.size(), got.size());
  for (size_t i = 0; i < common; ++i) {
    double value = expected.value[i];
    double bound = expected.bound.empty() ? 0.0 : expected.bound[i];
    if (bound == kInfinity) {
      ++result.unknown;
      continue;
    }
    Difference difference = differenceOf(expected.dtype, value, bound, got[i]);
    if (difference.ulp > result.maxUlp) {
      result.maxUlp = difference.ulp;
      result.maxUlpIndex = int64_t(i);
    }
    result.maxRatio = std::max(result.maxRatio, difference.ratio);
    if (difference.ratio > 1)
      note(result, int64_t(i), value, bound, got[i]);
  }
  size_t most = std::max(expected.value.size(), got.size());
  for (size_t i = common; i < most; ++i) {
    bool isMissing = i < expected.value.size();
    double absent = std::numeric_limits<double>::quiet_NaN();
    note(result, int64_t(i), isMissing ? expected.value[i] : absent, 0,
         isMissing ? absent : got[i]);
    result.maxUlp = result.maxRatio = kInfinity;
  }
  return result;
}
