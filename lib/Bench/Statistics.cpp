//===- Statistics.cpp - Medians, quantiles, means -------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Bench/Statistics.h"
#include "norm/Runtime/Device.h"
#include <cmath>
#include <limits>

using namespace norm;
using namespace norm::bench;

Summary Summary::scaled(double factor) const {
  return {p10 * factor, median * factor, p90 * factor, count};
}

Summary bench::summarize(llvm::ArrayRef<double> values) {
  Timing timing{values.vec()};
  return {timing.quantile(0.1), timing.median(), timing.quantile(0.9),
          values.size()};
}

Summary bench::summarizeRatios(llvm::ArrayRef<double> numerators,
                               llvm::ArrayRef<double> denominators,
                               double factor) {
  std::vector<double> ratios;
  size_t pairs = std::min(numerators.size(), denominators.size());
  for (size_t i = 0; i < pairs; ++i)
    if (denominators[i] > 0)
      ratios.push_back(factor * numerators[i] / denominators[i]);
  return summarize(ratios);
}

double bench::geometricMean(llvm::ArrayRef<double> values) {
  double sum = 0;
  for (double value : values)
    sum +=
        value > 0 ? std::log(value) : std::numeric_limits<double>::quiet_NaN();
  if (values.empty())
    return std::numeric_limits<double>::quiet_NaN();
  return std::exp(sum / double(values.size()));
}
