//===- ReductionsTest.cpp - Tests of the reductions -----------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Reductions.h"
#include "Emulation.h"

using namespace norm;
using namespace norm::reference;
using namespace norm::reference::test;

static Row rowOf(const Doubles &x) { return {x, {}}; }

static bool accepts(Element x, double got) {
  return std::fabs(got - x.value) <= x.bound;
}

static std::vector<Floats> hardRows(size_t size) {
  std::mt19937 random(11);
  std::vector<Floats> rows = {normalRow(random, size),
                              normalRow(random, size, 80000.25, 1),
                              normalRow(random, size, -3, 1e-3),
                              mixedRow(random, size, -100, 10),
                              mixedRow(random, size, -148, -130),
                              mixedRow(random, size, 0, 40)};
  Floats sorted = normalRow(random, size, 100, 50);
  std::sort(sorted.begin(), sorted.end());
  rows.push_back(sorted);
  Floats cancelling = mixedRow(random, size, 0, 20);
  for (size_t i = 1; i < size; i += 2)
    cancelling[i] = -cancelling[i - 1];
  rows.push_back(cancelling);
  return rows;
}

TEST(Sum, AcceptsEveryOrder) {
  for (size_t size : {1, 2, 3, 17, 100, 384})
    for (const Floats &x : hardRows(size)) {
      Doubles wide = widened(x);
      Element total = sum(DType::F32, rowOf(wide), reductionDepth(size, 4));
      for (Order order : {Order::Sequential, Order::Pairwise, Order::Lanes})
        EXPECT_TRUE(accepts(total, sumBy(order, x)))
            << size << ": " << sumBy(order, x) << " for " << total.value
            << " +- " << total.bound;
    }
}

TEST(Sum, AcceptsLongRowsInTheOrderOfLanes) {
  for (size_t size : {5000, 70001})
    for (const Floats &x : hardRows(size)) {
      Doubles wide = widened(x);
      Element total = sum(DType::F32, rowOf(wide), reductionDepth(size, 4));
      EXPECT_TRUE(accepts(total, sumBy(Order::Lanes, x)));
    }
}

TEST(Sum, RefusesALostElement) {
  std::mt19937 random(1);
  Doubles x = widened(normalRow(random, 1000, 1, 0.1));
  Element total = sum(DType::F32, rowOf(x), reductionDepth(1000, 4));
  EXPECT_LT(total.bound, 0.01);
  EXPECT_FALSE(accepts(total, total.value - x[7]));
}

TEST(Sum, OfFewBitsIsExact) {
  Doubles x(4096, 3.0);
  Element total = sum(DType::F32, rowOf(x), reductionDepth(4096, 4));
  EXPECT_EQ(total.value, 12288.0);
  EXPECT_EQ(total.bound, 0.0);
  Doubles tooLong(4096, 8388607.0);
  EXPECT_GT(sum(DType::F32, rowOf(tooLong), 17).bound, 0.0);
}

TEST(Sum, OverflowsAsItsTypeDoes) {
  EXPECT_EQ(sum(DType::F32, rowOf(Doubles(100, 1e37)), 17).value, kInfinity);
  EXPECT_EQ(sum(DType::F32, rowOf(Doubles(100, 1e37)), 17).bound, 0.0);
  // The positive half alone overflows: it depends on the order.
  Doubles mixed(100, 1e37);
  for (size_t i = 0; i < 100; i += 2)
    mixed[i] = -1e37;
  EXPECT_TRUE(sum(DType::F32, rowOf(mixed), 17).isUnknown());
  EXPECT_EQ(sum(DType::F64, rowOf(Doubles(3, 1e308)), 17).value, kInfinity);
}

TEST(Sum, SpecialElements) {
  EXPECT_TRUE(sum(DType::F32, rowOf({1, kNaN, kInfinity}), 3).isNaN());
  EXPECT_TRUE(sum(DType::F32, rowOf({-kInfinity, 1, kInfinity}), 3).isNaN());
  EXPECT_EQ(sum(DType::F32, rowOf({-kInfinity, 1, 2}), 3).value, -kInfinity);
  Element empty = sum(DType::F32, Row(), 0);
  EXPECT_EQ(empty.value, 0.0);
  EXPECT_TRUE(std::signbit(empty.value));
}

TEST(Product, HoldsEveryOrderAndOverflows) {
  std::mt19937 random(3);
  Floats x = mixedRow(random, 60, -1, 1);
  Doubles wide = widened(x);
  Element result = product(DType::F32, rowOf(wide), reductionDepth(60, 4));
  float forward = 1, backward = 1;
  for (float v : x)
    forward *= v;
  for (size_t i = x.size(); i-- > 0;)
    backward *= x[i];
  EXPECT_TRUE(accepts(result, forward));
  EXPECT_TRUE(accepts(result, backward));
  EXPECT_FALSE(accepts(result, forward * 1.001));
  EXPECT_TRUE(product(DType::F32, rowOf({1e30, 1e30, 1e-30}), 2).isUnknown());
  Element zero = product(DType::F32, rowOf({0, -3}), 2);
  EXPECT_TRUE(zero.isExact() && zero.value == 0 && std::signbit(zero.value));
}

TEST(Moments, AcceptBothFormsInEveryOrder) {
  for (size_t size : {1, 2, 3, 17, 100, 384})
    for (const Floats &x : hardRows(size)) {
      Doubles wide = widened(x);
      int64_t depth = reductionDepth(size, 4);
      Moments any =
          moments(DType::F32, rowOf(wide), depth, MomentsForm::AnyNarrow);
      Moments merged =
          moments(DType::F32, rowOf(wide), depth, MomentsForm::Merged);
      for (Order order : {Order::Sequential, Order::Pairwise, Order::Lanes})
        for (bool isMerged : {false, true}) {
          WelfordState got = momentsBy(order, isMerged, x);
          EXPECT_TRUE(accepts(any.mean, got.mean))
              << size << ": " << got.mean << " for " << any.mean.value << " +- "
              << any.mean.bound;
          EXPECT_TRUE(accepts(any.m2, got.m2))
              << size << ": " << got.m2 << " for " << any.m2.value << " +- "
              << any.m2.bound;
          if (isMerged) {
            EXPECT_TRUE(accepts(merged.mean, got.mean))
                << size << ": " << got.mean << " for " << merged.mean.value
                << " +- " << merged.mean.bound;
            EXPECT_TRUE(accepts(merged.m2, got.m2))
                << size << ": " << got.m2 << " for " << merged.m2.value
                << " +- " << merged.m2.bound;
          }
        }
    }
}

TEST(Moments, RefuseTheDifferenceOfLargeSums) {
  std::mt19937 random(2);
  Floats x = normalRow(random, 384, 80000, 1);
  Doubles wide = widened(x);
  Moments result = moments(DType::F32, rowOf(wide), reductionDepth(384, 4),
                           MomentsForm::Any);
  float total = 0, squares = 0;
  for (float v : x) {
    total += v;
    squares += v * v;
  }
  EXPECT_FALSE(accepts(result.m2, squares - total * total / 384));
  EXPECT_LT(result.m2.bound, result.m2.value);
}

TEST(Moments, RefuseTheUnbiasedVarianceOfLongRows) {
  std::mt19937 random(2);
  for (size_t size : {384, 4096, 16384}) {
    Doubles x = widened(normalRow(random, size));
    Moments result = moments(DType::F32, rowOf(x), reductionDepth(size, 4),
                             MomentsForm::Any);
    double unbiased = result.m2.value * double(size) / double(size - 1);
    EXPECT_FALSE(accepts(result.m2, unbiased)) << size;
  }
}

TEST(Moments, OfAConstantRowAreExactWhereItsSumIs) {
  Moments result =
      moments(DType::F32, rowOf(Doubles(384, 80000.0)), 17, MomentsForm::Any);
  EXPECT_EQ(result.mean.bound, 0.0);
  EXPECT_EQ(result.m2.bound, 0.0);
}

TEST(Moments, OverflowAsTheirTypeDoes) {
  std::mt19937 random(4);
  Doubles x = widened(normalRow(random, 100, 0, 1e25));
  Moments result = moments(DType::F32, rowOf(x), 17, MomentsForm::Any);
  EXPECT_EQ(result.m2.value, kInfinity);
  EXPECT_EQ(result.m2.bound, 0.0);
  EXPECT_FALSE(result.mean.isUnknown());
}

TEST(SumOfExponentials, AcceptsDirectAndOnlineForms) {
  std::mt19937 random(6);
  for (const Floats &x :
       {normalRow(random, 300, 0, 3), normalRow(random, 300, 50, 40)}) {
    Doubles wide = widened(x);
    float max = *std::max_element(x.begin(), x.end());
    Element result = sumOfExponentials(DType::F32, rowOf(wide), {max, 0},
                                       reductionDepth(300, 4));
    Floats terms;
    float running = x[0], online = 1;
    for (float v : x)
      terms.push_back(std::exp(v - max));
    for (size_t i = 1; i < x.size(); ++i) {
      float next = std::max(running, x[i]);
      online = online * std::exp(running - next) + std::exp(x[i] - next);
      running = next;
    }
    EXPECT_TRUE(accepts(result, sumSequential(terms)));
    EXPECT_TRUE(accepts(result, sumPairwise(terms)));
    EXPECT_TRUE(accepts(result, online));
    EXPECT_LT(result.bound, 1e-4 * result.value);
  }
}
