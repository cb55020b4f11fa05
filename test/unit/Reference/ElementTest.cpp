//===- ElementTest.cpp - Tests of bounded values --------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Element.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <random>

using namespace norm;
using namespace norm::reference;

TEST(Element, RoundingOfAnExactValueIsExact) {
  Element x = rounded(DType::BF16, {1.00390625, 0}); // a tie, to even
  EXPECT_EQ(x.value, 1.0);
  EXPECT_EQ(x.bound, 0.0);
}

TEST(Element, RoundingCoversTheNeighboursTheIntervalReaches) {
  // The tie between 1 and 1 + 2^-7 lies at 1 + 2^-8.
  double tie = 1.0 + 0x1p-8;
  EXPECT_EQ(rounded(DType::BF16, {tie - 0x1p-20, 0x1p-21}).bound, 0.0);
  Element open = rounded(DType::BF16, {tie - 0x1p-20, 0x1p-19});
  EXPECT_EQ(open.value, 1.0);
  EXPECT_EQ(open.bound, 0x1p-7);
}

TEST(Element, OverflowIsCertainOpenOrAbsent) {
  double largest = maxFinite(DType::F32);
  EXPECT_EQ(rounded(DType::F32, {largest * 2, 1.0}).value, kInfinity);
  EXPECT_EQ(rounded(DType::F32, {largest * 2, 1.0}).bound, 0.0);
  EXPECT_TRUE(rounded(DType::F32, {largest, 0x1p105}).isUnknown());
  EXPECT_EQ(rounded(DType::F32, {-largest, 0}).value, -largest);
  EXPECT_EQ(loose(DType::F32, {-1e40, 1.0}).value, -kInfinity);
  EXPECT_TRUE(loose(DType::F32, {largest, 0x1p105}).isUnknown());
  // No infinity in the format: a NaN.
  EXPECT_TRUE(rounded(DType::F8E4M3FN, {1e6, 1.0}).isNaN());
  EXPECT_TRUE(overflowed(DType::F8E4M3FN, {-kInfinity, 0}).isNaN());
  EXPECT_EQ(overflowed(DType::F8E5M2, {-kInfinity, 0}).value, -kInfinity);
}

TEST(Element, LooseRoundingKeepsSubnormalsInMind) {
  EXPECT_GE(loose(DType::F32, {0x1p-149, 0}).bound, 0x1p-150);
  EXPECT_EQ(loose(DType::F32, {0, 0}).bound, 0.0);
}

TEST(Element, SpecialValuesPropagate) {
  Element nan{kNaN, 0}, infinity{kInfinity, 0}, near0{0, 1e-9}, one{1, 0};
  EXPECT_TRUE(add(nan, unknown()).isNaN());
  EXPECT_TRUE(add(one, unknown()).isUnknown());
  EXPECT_TRUE(subtract(infinity, infinity).isNaN());
  EXPECT_EQ(add(infinity, one).value, kInfinity);
  EXPECT_TRUE(multiply(infinity, near0).isUnknown());
  EXPECT_TRUE(multiply(infinity, {0, 0}).isNaN());
  EXPECT_TRUE(divide(one, near0).isUnknown());
  EXPECT_EQ(divide(one, {0, 0}).value, kInfinity);
  EXPECT_EQ(divide(one, infinity).value, 0.0);
  EXPECT_TRUE(divide({0, 0}, {0, 0}).isNaN());
  EXPECT_TRUE(maximum(nan, one).isNaN());
  EXPECT_EQ(maximumNumber(nan, one).value, 1.0);
  // Zeros are ordered by their signs.
  Element zero{0.0, 0}, minusZero{-0.0, 0};
  for (auto *function : {minimum, minimumNumber}) {
    EXPECT_TRUE(std::signbit(function(zero, minusZero).value));
    EXPECT_TRUE(std::signbit(function(minusZero, zero).value));
  }
  for (auto *function : {maximum, maximumNumber}) {
    EXPECT_FALSE(std::signbit(function(zero, minusZero).value));
    EXPECT_FALSE(std::signbit(function(minusZero, zero).value));
  }
  EXPECT_EQ(minimum(infinity, one).value, 1.0);
  EXPECT_TRUE(squareRoot({-1, 0}).isNaN());
  EXPECT_TRUE(squareRoot({0, 0.5}).isUnknown());
  EXPECT_FALSE(squareRoot(nonNegative({0, 0.5})).isUnknown());
}

// Every operation holds the results of points drawn from the operands'
// intervals.
TEST(Element, OperationsHoldWhatPointsGive) {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> unit(-1, 1);
  using Binary =
      std::pair<Element (*)(Element, Element), double (*)(double, double)>;
  const Binary operations[] = {
      {add, [](double a, double b) { return a + b; }},
      {subtract, [](double a, double b) { return a - b; }},
      {multiply, [](double a, double b) { return a * b; }},
      {divide, [](double a, double b) { return a / b; }},
      {maximum, [](double a, double b) { return std::max(a, b); }},
      {minimum, [](double a, double b) { return std::min(a, b); }}};
  int known = 0;
  for (int i = 0; i < 20000; ++i) {
    Element a{unit(random) * 4, std::fabs(unit(random))};
    Element b{unit(random) * 4, std::fabs(unit(random))};
    double x = a.value + a.bound * unit(random);
    double y = b.value + b.bound * unit(random);
    for (auto [bounded, plain] : operations) {
      Element result = bounded(a, b);
      if (result.isUnknown())
        continue;
      ++known;
      ASSERT_LE(std::fabs(plain(x, y) - result.value),
                result.bound * (1 + 1e-12));
    }
  }
  EXPECT_GT(known, 100000);
}

TEST(Element, FmaRoundsOnce) {
  // In two steps, and through float64, the result would be 1 ulp off.
  Element a{1 + 0x1p-12, 0}, c{0x1p-60, 0};
  Element result = fusedMultiplyAdd(DType::F32, a, a, c);
  EXPECT_EQ(result.value,
            double(std::fmaf(1 + 0x1p-12f, 1 + 0x1p-12f, 0x1p-60f)));
  EXPECT_EQ(result.bound, 0.0);
  EXPECT_NE(result.value,
            double(float((1 + 0x1p-12) * (1 + 0x1p-12) + 0x1p-60)));
}

TEST(Element, ApproximationsHaveUlpsOfTheirType) {
  Element x = approximated(DType::F32, {1.0, 0}, 2);
  EXPECT_NEAR(x.bound, 2 * 0x1p-23, 0x1p-40);
  Element narrow = approximated(DType::BF16, {1.0 + 0x1p-9, 0}, 2);
  EXPECT_EQ(narrow.value, 1.0);
  EXPECT_EQ(narrow.bound, 0.0);
}
