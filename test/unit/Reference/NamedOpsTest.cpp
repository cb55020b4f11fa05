//===- NamedOpsTest.cpp - Tests of the named ops --------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulation.h"

using namespace norm;
using namespace norm::reference;
using namespace norm::reference::test;

static constexpr Order kOrders[] = {Order::Sequential, Order::Pairwise,
                                    Order::Lanes};

static std::string layerNormText(llvm::StringRef type, llvm::StringRef eps) {
  return ("func.func @f(%x: tensor<?x?x" + type + ">, %g: tensor<?xf32>, " +
          "%b: tensor<?xf32>) -> tensor<?x?x" + type + "> {\n" +
          "  %y = norm.layer_norm %x scale(%g) bias(%b) axes = [1] eps = " +
          eps + " : tensor<?x?x" + type + ">, tensor<?xf32>, tensor<?xf32> " +
          "-> tensor<?x?x" + type + ">\n  return %y : tensor<?x?x" + type +
          ">\n}")
      .str();
}

static std::string rmsNormText(llvm::StringRef type, llvm::StringRef offset) {
  return ("func.func @f(%x: tensor<?x?x" + type + ">, %g: tensor<?xf32>) -> " +
          "tensor<?x?x" + type + "> {\n" +
          "  %y = norm.rms_norm %x scale(%g, offset = " + offset +
          ") axes = [1] eps = 1.0e-6 : tensor<?x?x" + type +
          ">, tensor<?xf32> -> tensor<?x?x" + type +
          ">\n  return %y : tensor<?x?x" + type + ">\n}")
      .str();
}

static std::string softmaxText(llvm::StringRef type) {
  return ("func.func @f(%x: tensor<?x?x" + type + ">) -> tensor<?x?x" + type +
          "> {\n  %y = norm.softmax %x axes = [1] : tensor<?x?x" + type +
          "> -> tensor<?x?x" + type + ">\n  return %y : tensor<?x?x" + type +
          ">\n}")
      .str();
}

static Tensor rowTensor(DType type, const Floats &x) {
  return tensorOf(type, {1, int64_t(x.size())}, widened(x));
}
static Tensor columnTensor(const Floats &x) {
  return tensorOf(DType::F32, {int64_t(x.size())}, widened(x));
}

TEST(LayerNorm, KnownValues) {
  // Mean 2.5, variance 1.25.
  auto results = run(R"(
    func.func @f(%x: tensor<1x4xf64>)
        -> (tensor<1x4xf64>, tensor<1xf64>, tensor<1xf64>) {
      %y, %mean, %rstd = norm.layer_norm %x stats(mean, rstd) axes = [1]
          eps = 0.0 : tensor<1x4xf64>
          -> tensor<1x4xf64>, tensor<1xf64>, tensor<1xf64>
      return %y, %mean, %rstd : tensor<1x4xf64>, tensor<1xf64>, tensor<1xf64>
    })",
                     tensorOf(DType::F64, {1, 4}, {1, 2, 3, 4}));
  EXPECT_NEAR(results[0].value[0], -1.5 / std::sqrt(1.25), 1e-15);
  EXPECT_NEAR(results[0].value[3], 1.5 / std::sqrt(1.25), 1e-15);
  EXPECT_EQ(results[1].value[0], 2.5);
  EXPECT_NEAR(results[2].value[0], 1 / std::sqrt(1.25), 1e-15);
  EXPECT_LT(results[0].bound[0], 1e-13);
}

TEST(RmsNorm, KnownValues) {
  auto results =
      run(rmsNormText("f32", "1.0"), {tensorOf(DType::F32, {1, 2}, {3, 4}),
                                      tensorOf(DType::F32, {2}, {0, 1})});
  double rms = std::sqrt(12.5 + double(1e-6f));
  EXPECT_NEAR(results[0].value[0], 3 / rms, 1e-12);
  EXPECT_NEAR(results[0].value[1], 8 / rms, 1e-12);
}

TEST(Softmax, KnownValues) {
  auto results = run(
      softmaxText("f64"),
      tensorOf(DType::F64, {1, 3}, {std::log(1), std::log(2), std::log(5)}));
  EXPECT_NEAR(results[0].value[0], 0.125, 1e-15);
  EXPECT_NEAR(results[0].value[1], 0.25, 1e-15);
  EXPECT_NEAR(results[0].value[2], 0.625, 1e-15);
}

namespace {
/// A LayerNorm of one row, with its reference.
struct LayerNormCase {
  Floats x, scale, bias;
  DType type;
  Tensor expected;

  LayerNormCase(unsigned seed, size_t size, DType type, double mean = 0,
                double deviation = 1)
      : type(type) {
    std::mt19937 random(seed);
    x = normalRow(random, size, mean, deviation, type);
    scale = normalRow(random, size, 1, 0.2);
    bias = normalRow(random, size);
    evaluate();
  }
  void evaluate() {
    expected =
        run(layerNormText(name(type), "1.0e-5"),
            {rowTensor(type, x), columnTensor(scale), columnTensor(bias)})[0];
  }
  Doubles got(Order order, bool isMerged, Wrong wrong = {}) const {
    return roundedTo(type,
                     layerNorm(order, isMerged, x, scale, bias, 1e-5f, wrong));
  }
};
} // namespace

TEST(LayerNorm, AcceptsF32InEveryOrder) {
  for (DType type : {DType::F32, DType::BF16, DType::F16})
    for (size_t size : {1, 2, 7, 384})
      for (auto [mean, deviation] :
           {std::pair(0.0, 1.0), {3.0, 1e-2}, {80000.25, 2.0}, {0.0, 1e-30}}) {
        if (type == DType::F16 && mean > 1000)
          continue;
        LayerNormCase test(size, size, type, mean, deviation);
        for (Order order : kOrders)
          for (bool isMerged : {false, true}) {
            Comparison result =
                compare(test.expected, test.got(order, isMerged));
            EXPECT_TRUE(result.isMatch())
                << name(type).str() << ' ' << size << ' ' << mean << " ratio "
                << result.maxRatio;
            EXPECT_EQ(result.unknown, 0);
          }
      }
}

// 1.34 * 3e38 overflows, and 1.34 * 3e38 - 3e38 doesn't: an fma gives a number.
TEST(LayerNorm, LeavesOpenWhatAnFmaKeepsFinite) {
  LayerNormCase test(1, 3, DType::F32);
  test.x = {-4, -2, -1};
  test.scale = {-3e38f, 3e38f, 3e38f};
  test.bias = {-3e38f, 2e38f, 3e38f};
  test.evaluate();
  EXPECT_TRUE(std::isinf(test.expected.bound[0]));
  EXPECT_TRUE(std::isfinite(test.expected.value[1]));
  EXPECT_LT(test.expected.bound[1], 1e33);
  // 1.07 * 3e38 + 3e38 overflows either way.
  EXPECT_EQ(test.expected.value[2], std::numeric_limits<double>::infinity());
  EXPECT_EQ(test.expected.bound[2], 0);
}

TEST(LayerNorm, AcceptsMixedMagnitudesAndSubnormals) {
  std::mt19937 random(9);
  LayerNormCase test(1, 384, DType::F32);
  for (auto [low, high] : {std::pair(-60, 20), {-149, -120}, {0, 30}}) {
    test.x = mixedRow(random, 384, low, high);
    test.evaluate();
    for (Order order : kOrders)
      for (bool isMerged : {false, true})
        EXPECT_TRUE(
            compare(test.expected, test.got(order, isMerged)).isMatch());
  }
}

TEST(LayerNorm, RefusesWrongFormulas) {
  for (DType type : {DType::F32, DType::BF16}) {
    LayerNormCase test(3, 384, type, 0, 1e-2);
    EXPECT_FALSE(compare(test.expected,
                         test.got(Order::Lanes, true, {.forgetsEps = true}))
                     .isMatch());
    EXPECT_FALSE(compare(test.expected,
                         test.got(Order::Lanes, true, {.isUnbiased = true}))
                     .isMatch());
  }
  // Beside a variance of 1/4, eps moves a result by 2e-5 of it.
  LayerNormCase unit(7, 384, DType::F32, 0, 0.5);
  EXPECT_FALSE(
      compare(unit.expected, unit.got(Order::Lanes, true, {.forgetsEps = true}))
          .isMatch());
  // At 4096 columns the unbiased variance is off by 1/8192 of a result only.
  LayerNormCase longRow(4, 4096, DType::F32);
  EXPECT_TRUE(
      compare(longRow.expected, longRow.got(Order::Lanes, true)).isMatch());
  EXPECT_FALSE(compare(longRow.expected,
                       longRow.got(Order::Lanes, true, {.isUnbiased = true}))
                   .isMatch());
}

TEST(LayerNorm, RefusesOneWrongElement) {
  LayerNormCase test(5, 384, DType::BF16);
  Doubles right = test.got(Order::Lanes, true);
  Doubles swapped = right;
  std::swap(swapped[100], swapped[101]);
  Comparison result = compare(test.expected, swapped);
  EXPECT_EQ(result.firstIndex, 100);
  EXPECT_EQ(result.mismatches, 2);
  EXPECT_EQ(result.firstGot, right[101]);

  Doubles off = right;
  off[17] += 2 * ulp(DType::BF16, off[17]);
  EXPECT_EQ(compare(test.expected, off).firstIndex, 17);
  // Most elements are far from a tie, and take no other neighbour either.
  int64_t refused = 0;
  for (size_t i = 0; i < right.size(); ++i) {
    Doubles neighbour = right;
    neighbour[i] += ulp(DType::BF16, neighbour[i]);
    refused += !compare(test.expected, neighbour).isMatch();
  }
  EXPECT_GT(refused, 370);
}

TEST(LayerNorm, RefusesADoubleRounding) {
  // Rounding the row before the scale and the bias to bf16.
  LayerNormCase test(6, 384, DType::BF16);
  Floats ones(384, 1.0f), zeros(384, 0.0f);
  Floats plain = layerNorm(Order::Lanes, true, test.x, ones, zeros, 1e-5f);
  Floats twice;
  for (size_t i = 0; i < plain.size(); ++i)
    twice.push_back(float(roundTo(DType::BF16, plain[i])) * test.scale[i] +
                    test.bias[i]);
  EXPECT_GT(compare(test.expected, roundedTo(DType::BF16, twice)).mismatches,
            20);
}

TEST(LayerNorm, SpecialRowsStayAlone) {
  double nan = std::nan(""), inf = HUGE_VAL;
  auto results = run(
      layerNormText("f32", "1.0e-5"),
      {tensorOf(DType::F32, {4, 2}, {1, nan, 1, -inf, 1, 2, 3e38, -3e38}),
       tensorOf(DType::F32, {2}, {1, 1}), tensorOf(DType::F32, {2}, {0, 0.5})});
  const Tensor &y = results[0];
  for (int i : {0, 1, 2, 3}) {
    EXPECT_TRUE(std::isnan(y.value[i]));
    EXPECT_EQ(y.bound[i], 0.0);
  }
  EXPECT_NEAR(y.value[4], -1, 1e-4);
  EXPECT_LT(y.bound[4], 1e-5);
  Comparison result = compare(y, {nan, nan, nan, 1, -1, 1.5, 0, 0});
  EXPECT_EQ(result.firstIndex, 3);
}

TEST(LayerNorm, EmptyExtents) {
  auto noRow = run(layerNormText("f32", "1.0e-5"),
                   {tensorOf(DType::F32, {0, 3}, {}),
                    tensorOf(DType::F32, {3}, {1, 1, 1}),
                    tensorOf(DType::F32, {3}, {1, 1, 1})});
  EXPECT_EQ(noRow[0].shape, (std::vector<int64_t>{0, 3}));
  EXPECT_TRUE(noRow[0].value.empty());
  auto noColumn = run(R"(
    func.func @f(%x: tensor<2x0xf32>)
        -> (tensor<2x0xf32>, tensor<2xf32>, tensor<2xf32>) {
      %y, %mean, %rstd = norm.layer_norm %x stats(mean, rstd) axes = [1]
          eps = 0.0 : tensor<2x0xf32>
          -> tensor<2x0xf32>, tensor<2xf32>, tensor<2xf32>
      return %y, %mean, %rstd : tensor<2x0xf32>, tensor<2xf32>, tensor<2xf32>
    })",
                      tensorOf(DType::F32, {2, 0}, {}));
  EXPECT_TRUE(noColumn[0].value.empty());
  EXPECT_EQ(compare(noColumn[1], {std::nan(""), std::nan("")}).mismatches, 0);
  EXPECT_EQ(compare(noColumn[2], {std::nan(""), 1.0}).firstIndex, 1);
}

TEST(RmsNorm, AcceptsF32InEveryOrderAndRefusesALostOffset) {
  std::mt19937 random(8);
  for (DType type : {DType::F32, DType::BF16})
    for (double size : {1.0, 1e-3, 1e-22, 1e15}) {
      Floats x = normalRow(random, 384, 0, size, type);
      Floats scale = normalRow(random, 384, 0, 0.1);
      Tensor expected = run(rmsNormText(name(type), "1.0"),
                            {rowTensor(type, x), columnTensor(scale)})[0];
      for (Order order : kOrders)
        EXPECT_TRUE(compare(expected, roundedTo(type, rmsNorm(order, x, scale,
                                                              1.0f, 1e-6f)))
                        .isMatch());
      EXPECT_FALSE(compare(expected, roundedTo(type, rmsNorm(Order::Lanes, x,
                                                             scale, 0, 1e-6f)))
                       .isMatch());
    }
}

TEST(RmsNorm, SquaresOverflowInF32) {
  Tensor expected = run(rmsNormText("f32", "1.0"),
                        {tensorOf(DType::F32, {1, 3}, {1e20, -2, 3}),
                         tensorOf(DType::F32, {3}, {0, 0, 0})})[0];
  EXPECT_TRUE(compare(expected, {0, 0, 0}).isMatch());
  EXPECT_EQ(compare(expected, {std::sqrt(3.0), 0, 0}).firstIndex, 0);
}

TEST(Softmax, AcceptsF32InEveryOrderAndRefusesASwap) {
  std::mt19937 random(10);
  for (DType type : {DType::F32, DType::BF16})
    for (double deviation : {1.0, 30.0}) {
      Floats x = normalRow(random, 384, 5, deviation, type);
      Tensor expected = run(softmaxText(name(type)), rowTensor(type, x))[0];
      for (Order order : kOrders)
        EXPECT_TRUE(
            compare(expected, roundedTo(type, softmax(order, x))).isMatch());
      Doubles wrong = roundedTo(type, softmax(Order::Lanes, x));
      std::swap(wrong[0], wrong[1]);
      EXPECT_FALSE(compare(expected, wrong).isMatch());
    }
}

TEST(Softmax, SpecialRows) {
  double nan = std::nan(""), inf = HUGE_VAL;
  Tensor y = run(softmaxText("f32"),
                 tensorOf(DType::F32, {4, 2},
                          {-inf, 0, -inf, -inf, inf, 0, nan, -inf}))[0];
  EXPECT_TRUE(compare(y, {0, 1, nan, nan, nan, nan, nan, nan}).isMatch());
  EXPECT_EQ(compare(y, {0, 1, 0.5, nan, nan, nan, nan, nan}).firstIndex, 2);
}
