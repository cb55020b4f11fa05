//===- Statistics.h - Medians, quantiles, means -----------------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_BENCH_STATISTICS_H
#define NORM_BENCH_STATISTICS_H

#include "llvm/ADT/ArrayRef.h"
#include <cstddef>

namespace norm::bench {

/// Some quantiles of a sample, interpolated between neighbours; NaN where
/// there is no sample.
struct Summary {
  double p10 = 0, median = 0, p90 = 0;
  size_t count = 0;

  /// Everything times `factor`, which is above 0.
  Summary scaled(double factor) const;
};

Summary summarize(llvm::ArrayRef<double> values);

/// Quantiles of `factor * numerators[i] / denominators[i]`, over the pairs that
/// were measured in the same round.
Summary summarizeRatios(llvm::ArrayRef<double> numerators,
                        llvm::ArrayRef<double> denominators, double factor);

/// The geometric mean; NaN where there is no value, or one isn't above 0.
double geometricMean(llvm::ArrayRef<double> values);

} // namespace norm::bench

#endif // NORM_BENCH_STATISTICS_H
