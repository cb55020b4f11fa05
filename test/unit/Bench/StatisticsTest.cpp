//===- StatisticsTest.cpp - Tests of quantiles and means ------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Bench/Statistics.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace norm::bench;

namespace {

TEST(Statistics, QuantilesAreInterpolated) {
  Summary summary = summarize({40, 10, 30, 20, 50});
  EXPECT_DOUBLE_EQ(summary.median, 30);
  EXPECT_DOUBLE_EQ(summary.p10, 14);
  EXPECT_DOUBLE_EQ(summary.p90, 46);
  EXPECT_EQ(summary.count, 5u);
}

TEST(Statistics, OneValueIsAllQuantiles) {
  Summary summary = summarize({7});
  EXPECT_DOUBLE_EQ(summary.p10, 7);
  EXPECT_DOUBLE_EQ(summary.median, 7);
  EXPECT_DOUBLE_EQ(summary.p90, 7);
}

TEST(Statistics, NothingHasNoQuantiles) {
  Summary summary = summarize({});
  EXPECT_TRUE(std::isnan(summary.median));
  EXPECT_EQ(summary.count, 0u);
}

TEST(Statistics, ScaledKeepsTheCount) {
  Summary summary = summarize({1, 2, 3}).scaled(1000);
  EXPECT_DOUBLE_EQ(summary.median, 2000);
  EXPECT_EQ(summary.count, 3u);
}

TEST(Statistics, RatiosAreOfRounds) {
  // In each round the second takes twice the first's time, though both become
  // slower: the ratio of quantiles wouldn't tell.
  Summary ratio = summarizeRatios({1, 2, 4}, {2, 4, 8}, 3);
  EXPECT_DOUBLE_EQ(ratio.p10, 1.5);
  EXPECT_DOUBLE_EQ(ratio.median, 1.5);
  EXPECT_DOUBLE_EQ(ratio.p90, 1.5);
}

TEST(Statistics, RatiosLeaveOutWhatHasNone) {
  EXPECT_EQ(summarizeRatios({1, 2, 4}, {2, 0}, 1).count, 1u);
}

TEST(Statistics, GeometricMean) {
  EXPECT_NEAR(geometricMean({1, 4}), 2, 1e-12);
  EXPECT_NEAR(geometricMean({0.5, 0.5, 0.5}), 0.5, 1e-12);
  EXPECT_TRUE(std::isnan(geometricMean({})));
  EXPECT_TRUE(std::isnan(geometricMean({1, 0})));
  EXPECT_TRUE(std::isnan(geometricMean({1, -1})));
}

} // namespace
