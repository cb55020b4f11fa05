//===- NamedFamilyTest.cpp - Named ops beside hand-computed values --------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Values that can be checked by hand, and what the options of an op mean.
//
//===----------------------------------------------------------------------===//

#include "Emulation.h"

using namespace norm;
using namespace norm::reference;
using namespace norm::reference::test;

static constexpr double infinity = std::numeric_limits<double>::infinity();
static constexpr double notANumber = std::numeric_limits<double>::quiet_NaN();

/// Evaluates one op of one operand, `x`, of f64.
static Tensor apply(llvm::StringRef op, std::vector<int64_t> shape, Doubles x,
                    llvm::StringRef clauses) {
  std::string type = "tensor<";
  for (int64_t extent : shape)
    type += std::to_string(extent) + "x";
  type += "f64>";
  std::string text = "func.func @f(%x: " + type + ") -> " + type + " {\n" +
                     "  %y = norm." + op.str() + " %x " + clauses.str() +
                     " : " + type + " -> " + type + "\n  return %y : " + type +
                     "\n}";
  return run(text, tensorOf(DType::F64, std::move(shape), std::move(x)))[0];
}

static void expectNear(const Tensor &got, const Doubles &expected) {
  ASSERT_EQ(got.value.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(got.value[i], expected[i], 1e-14) << i;
    EXPECT_LT(got.bound.empty() ? 0 : got.bound[i], 1e-12) << i;
  }
}

TEST(L2Normalize, KnownValues) {
  expectNear(
      apply("l2_normalize", {2, 2}, {3, 4, 0, 0}, "axes = [1] eps = 1.0e-12"),
      {0.6, 0.8, 0, 0});
  // The floor is of the norm, not of its square.
  expectNear(apply("l2_normalize", {1, 2}, {0.3, 0.4}, "axes = [1] eps = 2.0"),
             {0.15, 0.2});
  expectNear(
      apply("l2_normalize", {2, 2}, {3, 0, 4, 2}, "axes = [0] eps = 1.0e-12"),
      {0.6, 0, 0.8, 1});
}

TEST(RmsNorm, OverLeadingAxis) {
  double rms = std::sqrt(12.5);
  expectNear(apply("rms_norm", {2, 2}, {3, 1, 4, 1}, "axes = [0] eps = 0.0"),
             {3 / rms, 1, 4 / rms, 1});
}

TEST(LogSoftmax, KnownValues) {
  expectNear(apply("log_softmax", {1, 3},
                   {std::log(1), std::log(2), std::log(5)}, "axes = [1]"),
             {std::log(0.125), std::log(0.25), std::log(0.625)});
  Tensor masked = apply("log_softmax", {1, 2}, {-infinity, 3}, "axes = [1]");
  EXPECT_EQ(masked.value[0], -infinity);
  EXPECT_EQ(masked.value[1], 0);
}

TEST(LogSumExp, KnownValues) {
  auto results = run(R"(
    func.func @f(%x: tensor<5x2xf64>) -> tensor<5xf64> {
      %y = norm.logsumexp %x axes = [1] : tensor<5x2xf64> -> tensor<5xf64>
      return %y : tensor<5xf64>
    })",
                     tensorOf(DType::F64, {5, 2},
                              {std::log(3), std::log(4), -infinity, -infinity,
                               infinity, 1, notANumber, 1, 1000, 1000}));
  EXPECT_NEAR(results[0].value[0], std::log(7), 1e-15);
  EXPECT_EQ(results[0].value[1], -infinity);
  EXPECT_EQ(results[0].value[2], infinity);
  EXPECT_TRUE(std::isnan(results[0].value[3]));
  EXPECT_NEAR(results[0].value[4], 1000 + std::log(2), 1e-12);
}

TEST(Softmax, CausalDiagonals) {
  Doubles zeros(6, 0.0);
  // Two queries, three keys.
  expectNear(apply("softmax", {2, 3}, zeros, "axes = [1] causal"),
             {1, 0, 0, 0.5, 0.5, 0});
  expectNear(apply("softmax", {2, 3}, zeros, "axes = [1] causal diagonal = 1"),
             {0.5, 0.5, 0, 1. / 3, 1. / 3, 1. / 3});
  // Query 0 is left without a key.
  expectNear(apply("softmax", {2, 3}, zeros, "axes = [1] causal diagonal = -1"),
             {0, 0, 0, 1, 0, 0});
  expectNear(apply("softmax", {2, 3}, zeros, "axes = [1] causal = lower_right"),
             {0.5, 0.5, 0, 1. / 3, 1. / 3, 1. / 3});
  // Three queries, two keys.
  expectNear(apply("softmax", {3, 2}, zeros, "axes = [1] causal = lower_right"),
             {0, 0, 1, 0, 0.5, 0.5});
}

TEST(Softmax, WithoutAnElement) {
  Doubles x(2, -infinity);
  Tensor plain = apply("softmax", {1, 2}, x, "axes = [1]");
  EXPECT_TRUE(std::isnan(plain.value[0]));
  expectNear(apply("softmax", {1, 2}, x, "axes = [1] causal"), {0, 0});
  // What is left out may be anything.
  expectNear(apply("softmax", {1, 2}, {2, notANumber}, "axes = [1] causal"),
             {1, 0});
}

TEST(Softmax, LengthsMaskAndScale) {
  auto results = run(R"(
    func.func @f(%x: tensor<4x3xf64>, %s: f64, %m: tensor<3xf64>,
                 %n: tensor<4xi32>) -> (tensor<4x3xf64>, tensor<4xf64>) {
      %y, %l = norm.softmax %x scale(%s) mask(%m) lengths(%n) stats(logsumexp)
          axes = [1] : tensor<4x3xf64>, f64, tensor<3xf64>, tensor<4xi32>
          -> tensor<4x3xf64>, tensor<4xf64>
      return %y, %l : tensor<4x3xf64>, tensor<4xf64>
    })",
                     {tensorOf(DType::F64, {4, 3}, Doubles(12, 2.0)),
                      tensorOf(DType::F64, {}, {0.5}),
                      tensorOf(DType::F64, {3}, {0, std::log(3), -infinity}),
                      tensorOf(DType::I32, {4}, {9, 2, 1, -1})});
  expectNear(results[0], {0.25, 0.75, 0, 0.25, 0.75, 0, 1, 0, 0, 0, 0, 0});
  EXPECT_NEAR(results[1].value[0], 1 + std::log(4), 1e-15);
  EXPECT_NEAR(results[1].value[2], 1, 1e-15);
  EXPECT_EQ(results[1].value[3], -infinity);
}

/// Two samples of four channels in two pixels: element (n, c, p) is unlike its
/// neighbours, so that a mistaken layout shows.
static double sample(int n, int c, int p) {
  return std::sin(1.0 + 7 * n + 3 * c + p * p * 0.5);
}

/// The expected group norm by two plain loops.
static double groupNorm(int n, int c, int p, int groups) {
  int size = 4 / groups, first = c / size * size;
  double sum = 0, squares = 0;
  for (int k = first; k < first + size; ++k)
    for (int q = 0; q < 2; ++q)
      sum += sample(n, k, q);
  double mean = sum / (2 * size);
  for (int k = first; k < first + size; ++k)
    for (int q = 0; q < 2; ++q)
      squares += (sample(n, k, q) - mean) * (sample(n, k, q) - mean);
  return (sample(n, c, p) - mean) / std::sqrt(squares / (2 * size) + 1e-5);
}

TEST(GroupNorm, BothLayouts) {
  for (int groups : {1, 2, 4}) {
    Doubles first, last, expectedFirst, expectedLast;
    for (int n : {0, 1})
      for (int c : {0, 1, 2, 3})
        for (int p : {0, 1}) {
          first.push_back(sample(n, c, p));
          expectedFirst.push_back(groupNorm(n, c, p, groups));
        }
    for (int n : {0, 1})
      for (int p : {0, 1})
        for (int c : {0, 1, 2, 3}) {
          last.push_back(sample(n, c, p));
          expectedLast.push_back(groupNorm(n, c, p, groups));
        }
    std::string op = "groups = " + std::to_string(groups) + " channel_axis = ";
    expectNear(apply("group_norm", {2, 4, 2}, first, op + "1 eps = 1.0e-5"),
               expectedFirst);
    expectNear(apply("group_norm", {2, 2, 4}, last, op + "2 eps = 1.0e-5"),
               expectedLast);
    if (groups == 4)
      expectNear(apply("instance_norm", {2, 2, 4}, last,
                       "channel_axis = 2 eps = 1.0e-5"),
                 expectedLast);
  }
}

TEST(BatchNorm, Training) {
  // Channel 0: 1, 2, 3, 4; channel 1: 0, 0, 0, 8.
  auto results = run(R"(
    func.func @f(%x: tensor<2x2x2xf64>, %m: tensor<2xf64>, %v: tensor<2xf64>)
        -> (tensor<2x2x2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>,
            tensor<2xf64>) {
      %y, %m1, %v1, %mean, %rstd = norm.batch_norm %x running(%m, %v)
          stats(mean, rstd) channel_axis = 1 eps = 0.0 training momentum = 0.25
          : tensor<2x2x2xf64>, tensor<2xf64>, tensor<2xf64>
          -> tensor<2x2x2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>,
             tensor<2xf64>
      return %y, %m1, %v1, %mean, %rstd : tensor<2x2x2xf64>, tensor<2xf64>,
          tensor<2xf64>, tensor<2xf64>, tensor<2xf64>
    })",
                     {tensorOf(DType::F64, {2, 2, 2}, {1, 2, 0, 0, 3, 4, 0, 8}),
                      tensorOf(DType::F64, {2}, {10, 20}),
                      tensorOf(DType::F64, {2}, {1, 2})});
  double s = std::sqrt(1.25), t = std::sqrt(12);
  expectNear(results[0], {-1.5 / s, -0.5 / s, -2 / t, -2 / t, 0.5 / s, 1.5 / s,
                          -2 / t, 6 / t});
  expectNear(results[1], {0.25 * 2.5 + 7.5, 0.25 * 2 + 15});
  // Unbiased: 5 / 3 and 48 / 3.
  expectNear(results[2], {0.25 * 5 / 3 + 0.75, 0.25 * 16 + 1.5});
  expectNear(results[3], {2.5, 2});
  expectNear(results[4], {1 / s, 1 / t});
}

TEST(BatchNorm, InferenceAndOneElement) {
  auto results = run(R"(
    func.func @f(%x: tensor<2x1xf64>, %m: tensor<2xf64>, %v: tensor<2xf64>)
        -> (tensor<2x1xf64>, tensor<2x1xf64>, tensor<2xf64>, tensor<2xf64>) {
      %y = norm.batch_norm %x running(%m, %v) channel_axis = 0 eps = 1.0
          : tensor<2x1xf64>, tensor<2xf64>, tensor<2xf64> -> tensor<2x1xf64>
      %z, %m1, %v1 = norm.batch_norm %x running(%m, %v) channel_axis = 0
          eps = 1.0 training momentum = 0.5
          : tensor<2x1xf64>, tensor<2xf64>, tensor<2xf64>
          -> tensor<2x1xf64>, tensor<2xf64>, tensor<2xf64>
      return %y, %z, %m1, %v1 : tensor<2x1xf64>, tensor<2x1xf64>,
          tensor<2xf64>, tensor<2xf64>
    })",
                     {tensorOf(DType::F64, {2, 1}, {5, 6}),
                      tensorOf(DType::F64, {2}, {1, 2}),
                      tensorOf(DType::F64, {2}, {3, 8})});
  expectNear(results[0], {2, 4. / 3});
  expectNear(results[1], {0, 0});
  expectNear(results[2], {3, 4});
  expectNear(results[3], {1.5, 4});
}

TEST(NamedFamily, RefusesExtentsThatDontFit) {
  EXPECT_NE(errorOf(R"(
    func.func @f(%x: tensor<?x?xf32>) -> tensor<?x?xf32> {
      %y = norm.group_norm %x groups = 4 channel_axis = 1 eps = 1.0e-5
          : tensor<?x?xf32> -> tensor<?x?xf32>
      return %y : tensor<?x?xf32>
    })",
                    tensorOf(DType::F32, {1, 6}, Doubles(6)))
                .find("expects 'groups' to divide the 6 channels but got 4"),
            std::string::npos);
  // A dynamic extent is not repeated.
  EXPECT_NE(errorOf(R"(
    func.func @f(%x: tensor<?x4xf32>, %w: tensor<?xf32>) -> tensor<?x4xf32> {
      %y = norm.rms_norm %x scale(%w) axes = [1] eps = 1.0e-5
          : tensor<?x4xf32>, tensor<?xf32> -> tensor<?x4xf32>
      return %y : tensor<?x4xf32>
    })",
                    {tensorOf(DType::F32, {1, 4}, Doubles(4)),
                     tensorOf(DType::F32, {1}, Doubles(1))})
                .find("expects extent 4 at axis 0 of 'scale' but got 1"),
            std::string::npos);
}
