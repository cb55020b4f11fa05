//===- ElementwiseTest.cpp - Tests of elementwise ops ---------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulation.h"

using namespace norm;
using namespace norm::reference;
using namespace norm::reference::test;

/// Evaluates `lines`, which compute %r from %a and %b, on tensors.
static Tensor binary(llvm::StringRef lines, llvm::StringRef from,
                     llvm::StringRef to, DType type, Doubles a, Doubles b) {
  std::string in = ("tensor<?x" + from + ">").str();
  std::string out = ("tensor<?x" + to + ">").str();
  std::string text = "func.func @f(%a: " + in + ", %b: " + in + ") -> " + out +
                     " {\n" + lines.str() + "\nreturn %r : " + out + "\n}";
  int64_t size = int64_t(a.size());
  return run(text, {tensorOf(type, {size}, std::move(a)),
                    tensorOf(type, {size}, std::move(b))})[0];
}

TEST(Elementwise, ArithmeticOnBf16RoundsToBf16) {
  Tensor sum = binary("%r = arith.addf %a, %b : tensor<?xbf16>", "bf16", "bf16",
                      DType::BF16, {1, 256}, {0x1p-8, 1});
  // A tie to even, and one that is lost.
  EXPECT_TRUE(compare(sum, {1, 256}).isMatch());
  EXPECT_FALSE(compare(sum, {1 + 0x1p-8, 256}).isMatch());
  Tensor wide = binary(R"(
      %x = arith.extf %a : tensor<?xbf16> to tensor<?xf32>
      %y = arith.extf %b : tensor<?xbf16> to tensor<?xf32>
      %r = arith.addf %x, %y : tensor<?xf32>)",
                       "bf16", "f32", DType::BF16, {1, 256}, {0x1p-8, 1});
  EXPECT_TRUE(compare(wide, {1 + 0x1p-8, 257}).isMatch());
  EXPECT_FALSE(compare(wide, {1, 257}).isMatch());
}

TEST(Elementwise, ExactOpsOfF32TakeOneValueOnly) {
  std::mt19937 random(1);
  Floats a = normalRow(random, 1000), b = normalRow(random, 1000);
  Doubles products, quotients, roots;
  for (size_t i = 0; i < a.size(); ++i) {
    products.push_back(a[i] * b[i] + a[i]);
    quotients.push_back(a[i] / b[i]);
    roots.push_back(std::sqrt(a[i]));
  }
  Tensor product = binary("%p = arith.mulf %a, %b : tensor<?xf32>\n"
                          "%r = arith.addf %p, %a : tensor<?xf32>",
                          "f32", "f32", DType::F32, widened(a), widened(b));
  Tensor quotient = binary("%r = arith.divf %a, %b : tensor<?xf32>", "f32",
                           "f32", DType::F32, widened(a), widened(b));
  Tensor root = binary("%r = math.sqrt %a : tensor<?xf32>", "f32", "f32",
                       DType::F32, widened(a), widened(b));
  for (const auto &[expected, got] :
       {std::pair(product, products), {quotient, quotients}, {root, roots}}) {
    EXPECT_TRUE(compare(expected, got).isMatch());
    EXPECT_TRUE(expected.bound.empty());
    EXPECT_TRUE(
        std::isnan(got[0]) ||
        compare(expected, Doubles(1000, got[0] + ulp(DType::F32, got[0])))
                .firstIndex == 0);
  }
}

TEST(Elementwise, FmaRoundsOnce) {
  std::mt19937 random(2);
  Floats a = normalRow(random, 1000), b = normalRow(random, 1000);
  Doubles fused, split;
  for (size_t i = 0; i < a.size(); ++i) {
    fused.push_back(std::fma(a[i], b[i], a[i]));
    split.push_back(a[i] * b[i] + a[i]);
  }
  Tensor expected = binary("%r = math.fma %a, %b, %a : tensor<?xf32>", "f32",
                           "f32", DType::F32, widened(a), widened(b));
  EXPECT_TRUE(compare(expected, fused).isMatch());
  EXPECT_GT(compare(expected, split).mismatches, 50);
}

TEST(Elementwise, FunctionsAreWithinTheirUlps) {
  std::mt19937 random(3);
  Floats a = normalRow(random, 500, 0, 20);
  Doubles exponentials, tangents;
  for (float v : a) {
    exponentials.push_back(std::exp(v));
    tangents.push_back(std::tanh(v));
  }
  Tensor exponential = binary("%r = math.exp %a : tensor<?xf32>", "f32", "f32",
                              DType::F32, widened(a), widened(a));
  Tensor tangent = binary("%r = math.tanh %a : tensor<?xf32>", "f32", "f32",
                          DType::F32, widened(a), widened(a));
  EXPECT_TRUE(compare(exponential, exponentials).isMatch());
  EXPECT_TRUE(compare(tangent, tangents).isMatch());
  exponentials[3] += 4 * ulp(DType::F32, exponentials[3]);
  tangents[4] -= 10 * ulp(DType::F32, tangents[4]);
  EXPECT_EQ(compare(exponential, exponentials).firstIndex, 3);
  EXPECT_EQ(compare(tangent, tangents).firstIndex, 4);
}

TEST(Elementwise, SpecialValues) {
  double inf = HUGE_VAL, nan = std::nan("");
  Tensor sum = binary("%r = arith.addf %a, %b : tensor<?xf32>", "f32", "f32",
                      DType::F32, {inf, inf, 3e38, nan}, {1, -inf, 3e38, 1});
  EXPECT_TRUE(compare(sum, {inf, nan, inf, nan}).isMatch());
  EXPECT_EQ(compare(sum, {inf, inf, inf, nan}).firstIndex, 1);
  EXPECT_EQ(compare(sum, {inf, nan, 3.4e38, nan}).firstIndex, 2);
  Tensor exponential = binary("%r = math.exp %a : tensor<?xf32>", "f32", "f32",
                              DType::F32, {-inf, inf, 89, -200}, {0, 0, 0, 0});
  EXPECT_TRUE(compare(exponential, {0, inf, inf, 0}).isMatch());
  EXPECT_EQ(compare(exponential, {0, inf, inf, 1e-40}).firstIndex, 3);
  Tensor most = binary("%r = arith.maximumf %a, %b : tensor<?xf32>", "f32",
                       "f32", DType::F32, {nan, -inf}, {1, 2});
  EXPECT_TRUE(compare(most, {nan, 2}).isMatch());
}

TEST(Elementwise, Float8RoundsAndHasNoInfinity) {
  Tensor codes =
      binary("%r = arith.truncf %a : tensor<?xf32> to "
             "tensor<?xf8E4M3FN>",
             "f32", "f8E4M3FN", DType::F32, {1.06, 448, 1000}, {0, 0, 0});
  EXPECT_TRUE(compare(codes, {1, 448, std::nan("")}).isMatch());
}

TEST(Elementwise, IntegersWrapAndConvert) {
  Tensor wrapped = binary("%r = arith.muli %a, %b : tensor<?xi32>", "i32",
                          "i32", DType::I32, {65536, -3}, {65536, 5});
  EXPECT_TRUE(compare(wrapped, {0, -15}).isMatch());
  Tensor unsignedQuotient = binary("%r = arith.divui %a, %b : tensor<?xi8>",
                                   "i8", "i8", DType::I8, {-1, 7}, {2, 0});
  EXPECT_EQ(unsignedQuotient.value[0], 127);
  EXPECT_EQ(compare(unsignedQuotient, {127, 5}).unknown, 1);
  Tensor floats = binary("%r = arith.sitofp %a : tensor<?xi32> to "
                         "tensor<?xbf16>",
                         "i32", "bf16", DType::I32, {257, -1}, {0, 0});
  EXPECT_TRUE(compare(floats, {256, -1}).isMatch());
  Tensor bits = binary("%r = arith.bitcast %a : tensor<?xf32> to tensor<?xi32>",
                       "f32", "i32", DType::F32, {1, -0.0}, {0, 0});
  EXPECT_TRUE(compare(bits, {0x3f800000, -2147483648.0}).isMatch());
  Tensor big = binary("%r = arith.muli %a, %a : tensor<?xi64>", "i64", "i64",
                      DType::I64, {1073741825.0}, {0});
  EXPECT_EQ(compare(big, {7}).unknown, 1);
}

TEST(Elementwise, ComparisonsAndChoices) {
  Tensor chosen =
      binary(R"(
      %c = arith.cmpf olt, %a, %b : tensor<?xf32>
      %r = arith.select %c, %a, %b : tensor<?xi1>, tensor<?xf32>)",
             "f32", "f32", DType::F32, {1, 5, std::nan("")}, {2, 3, 4});
  EXPECT_TRUE(compare(chosen, {1, 3, 4}).isMatch());
  // Whether exp(a) is below the neighbouring bound is open.
  float edge = std::exp(1.0f);
  Tensor open = binary(R"(
      %e = math.exp %a : tensor<?xf32>
      %r = arith.cmpf olt, %e, %b : tensor<?xf32>)",
                       "f32", "i1", DType::F32, {1, 1}, {edge, 3});
  EXPECT_TRUE(compare(open, {0, 1}).isMatch());
  EXPECT_TRUE(compare(open, {1, 1}).isMatch());
  EXPECT_EQ(compare(open, {1, 0}).firstIndex, 1);
}

TEST(Elementwise, BoundsGrowThroughAChain) {
  // Cancellation leaves the absolute error of the exponentials.
  Tensor rest = binary(R"(
      %e = math.exp %a : tensor<?xf32>
      %r = arith.subf %e, %b : tensor<?xf32>)",
                       "f32", "f32", DType::F32, {10}, {22026.46});
  double step = ulp(DType::F32, 22026.0);
  EXPECT_GE(rest.bound[0], 2 * step);
  EXPECT_LE(rest.bound[0], 4 * step);
}
