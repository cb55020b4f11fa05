//===- SmallFloatsTest.cpp - f16 and bf16 on the host ---------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiled code against conversions of the value library: every rounding is to
// nearest even, once, with subnormals, infinities and NaNs.
//
//===----------------------------------------------------------------------===//

#include "HostLoop.h"

#include "llvm/ADT/bit.h"
#include "gtest/gtest.h"
#include <cmath>
#include <random>

using namespace norm;
using norm::test::HostLoop;
using norm::test::run;

namespace {

double decodeBits(DType type, uint64_t bits) { return decode(type, &bits); }

uint64_t encodeBits(DType type, double value) {
  uint64_t bits = 0;
  encode(type, value, &bits);
  return bits;
}

/// The bits but for NaNs, which are all the same.
void expectSame(DType type, uint64_t got, uint64_t want, uint64_t input) {
  bool bothNaN =
      std::isnan(decodeBits(type, got)) && std::isnan(decodeBits(type, want));
  if (!bothNaN)
    ASSERT_EQ(got, want) << "for input bits 0x" << std::hex << input;
}

/// All values of a 16-bit type.
std::vector<uint64_t> allHalves() {
  std::vector<uint64_t> bits(1 << 16);
  for (size_t i = 0; i < bits.size(); ++i)
    bits[i] = i;
  return bits;
}

/// f32 bits around every tie and value of bf16, and others.
std::vector<uint64_t> floatsAroundBrains() {
  std::mt19937 random(1);
  std::vector<uint64_t> bits;
  for (uint64_t high = 0; high < (1 << 16); ++high) {
    for (uint64_t low : {0x0, 0x1, 0x7fff, 0x8000, 0x8001, 0xffff})
      bits.push_back(high << 16 | low);
    bits.push_back(high << 16 | (random() & 0xffff));
  }
  return bits;
}

/// f64 bits around every value of a 16-bit type and every tie between two.
std::vector<uint64_t> doublesAround(DType type) {
  std::vector<uint64_t> bits;
  for (uint64_t i = 0; i < (1 << 16) - 1; ++i) {
    double value = decodeBits(type, i), next = decodeBits(type, i + 1);
    for (double center : {value, value / 2 + next / 2}) {
      // Relative distances: beyond f32's last place, and double's last one.
      for (double factor : {1.0, 1 + 0x1p-40, 1 - 0x1p-40})
        bits.push_back(llvm::bit_cast<uint64_t>(center * factor));
      bits.push_back(
          llvm::bit_cast<uint64_t>(std::nextafter(center, HUGE_VAL)));
      bits.push_back(
          llvm::bit_cast<uint64_t>(std::nextafter(center, -HUGE_VAL)));
    }
  }
  for (double value : {0x1p-149, 0x1p-150, 0x1p-1074, 0x1p300, -0x1p300, -0.0,
                       double(INFINITY), double(NAN)})
    bits.push_back(llvm::bit_cast<uint64_t>(value));
  return bits;
}

/// Compares a rounding of values with the library's.
void checkRounding(DType from, DType to, const std::vector<uint64_t> &inputs,
                   llvm::StringRef cpu) {
  HostLoop loop{from, to, 1, "%r = arith.truncf %a : $I to $O\n", cpu};
  std::vector<uint64_t> got = run(loop, inputs);
  ASSERT_EQ(got.size(), inputs.size());
  for (size_t i = 0; i < got.size(); ++i)
    ASSERT_NO_FATAL_FAILURE(expectSame(
        to, got[i], encodeBits(to, decodeBits(from, inputs[i])), inputs[i]));
}

TEST(SmallFloats, RoundFloatToBrain) {
  checkRounding(DType::F32, DType::BF16, floatsAroundBrains(), "");
  checkRounding(DType::F32, DType::BF16, floatsAroundBrains(), "x86-64-v3");
}

TEST(SmallFloats, RoundFloatToHalf) {
  checkRounding(DType::F32, DType::F16, floatsAroundBrains(), "");
  // Without instructions for it, by a routine of the runtime.
  checkRounding(DType::F32, DType::F16, floatsAroundBrains(), "x86-64");
}

TEST(SmallFloats, RoundDoubleOnce) {
  for (DType type : {DType::BF16, DType::F16}) {
    checkRounding(DType::F64, type, doublesAround(type), "");
    checkRounding(DType::F64, type, doublesAround(type), "x86-64-v3");
  }
}

TEST(SmallFloats, ExtendKeepsEveryBit) {
  HostLoop loop{DType::BF16, DType::F32, 1, "%r = arith.extf %a : $I to $O\n"};
  std::vector<uint64_t> inputs = allHalves(), got = run(loop, inputs);
  ASSERT_EQ(got.size(), inputs.size());
  for (size_t i = 0; i < got.size(); ++i)
    ASSERT_EQ(got[i], inputs[i] << 16);
  loop.output = DType::F64;
  got = run(loop, inputs);
  for (size_t i = 0; i < got.size(); ++i)
    ASSERT_NO_FATAL_FAILURE(expectSame(
        DType::F64, got[i],
        llvm::bit_cast<uint64_t>(decodeBits(DType::BF16, inputs[i])), i));
}

/// Checks `%r = OP %a, %b` on random pairs, many of them subnormal, with what
/// one rounding of the exact result gives.
void checkArithmetic(DType type, llvm::StringRef op,
                     double (*exact)(double, double)) {
  std::mt19937 random(7);
  std::vector<uint64_t> a, b;
  for (unsigned i = 0; i < (1 << 18); ++i) {
    // A third has small exponents, so that results are subnormal.
    uint64_t mask = i % 3 == 0 ? 0x87ff : 0xffff;
    a.push_back(random() & mask);
    b.push_back(random() & (i % 2 ? mask : 0xffff));
  }
  std::string body = "%r = " + op.str() + " %a, %b : $I\n";
  std::vector<uint64_t> got = run({type, type, 2, body}, a, b);
  ASSERT_EQ(got.size(), a.size());
  for (size_t i = 0; i < got.size(); ++i) {
    double result = exact(decodeBits(type, a[i]), decodeBits(type, b[i]));
    ASSERT_NO_FATAL_FAILURE(
        expectSame(type, got[i], encodeBits(type, result), a[i] << 16 | b[i]));
  }
}

// In double precision the sums, differences and products of 16-bit floats are
// exact but for sums of far apart ones, where one rounding too many shows only
// if it meets a tie; quotients meet none.
TEST(SmallFloats, ArithmeticRoundsOnce) {
  for (DType type : {DType::BF16, DType::F16}) {
    checkArithmetic(type, "arith.mulf",
                    [](double x, double y) { return x * y; });
    checkArithmetic(type, "arith.divf",
                    [](double x, double y) { return x / y; });
    checkArithmetic(type, "arith.addf",
                    [](double x, double y) { return x + y; });
    checkArithmetic(type, "arith.subf",
                    [](double x, double y) { return x - y; });
  }
}

TEST(SmallFloats, SquareRoot) {
  for (DType type : {DType::BF16, DType::F16}) {
    std::vector<uint64_t> inputs = allHalves();
    std::vector<uint64_t> got =
        run({type, type, 1, "%r = math.sqrt %a : $I\n"}, inputs);
    ASSERT_EQ(got.size(), inputs.size());
    for (size_t i = 0; i < got.size(); ++i)
      ASSERT_NO_FATAL_FAILURE(expectSame(
          type, got[i],
          encodeBits(type, std::sqrt(decodeBits(type, inputs[i]))), inputs[i]));
  }
}

TEST(SmallFloats, IntegersRoundOnce) {
  std::mt19937 random(3);
  std::vector<uint64_t> inputs;
  for (unsigned i = 0; i < (1 << 16); ++i) {
    // Around ties of bf16 at every size.
    uint32_t tie = ((random() & 0xff) << 1 | 1) << (random() % 23);
    for (uint32_t value : {tie, tie - 1, tie + 1, uint32_t(random())})
      inputs.push_back(value);
  }
  for (DType type : {DType::BF16, DType::F16}) {
    std::vector<uint64_t> got =
        run({DType::I32, type, 1, "%r = arith.sitofp %a : $I to $O\n"}, inputs);
    ASSERT_EQ(got.size(), inputs.size());
    for (size_t i = 0; i < got.size(); ++i)
      ASSERT_NO_FATAL_FAILURE(
          expectSame(type, got[i], encodeBits(type, double(int32_t(inputs[i]))),
                     inputs[i]));
  }
}

TEST(SmallFloats, Classification) {
  // 1 for NaN, 2 for infinite, 4 for finite.
  constexpr llvm::StringLiteral body = R"(
    %nan = math.isnan %a : $I
    %inf = math.isinf %a : $I
    %fin = math.isfinite %a : $I
    %c0 = arith.constant dense<0> : $O
    %c1 = arith.constant dense<1> : $O
    %c2 = arith.constant dense<2> : $O
    %c4 = arith.constant dense<4> : $O
    %r0 = arith.select %nan, %c1, %c0 : vector<16xi1>, $O
    %r1 = arith.select %inf, %c2, %c0 : vector<16xi1>, $O
    %r2 = arith.select %fin, %c4, %c0 : vector<16xi1>, $O
    %r3 = arith.addi %r0, %r1 : $O
    %r = arith.addi %r3, %r2 : $O
)";
  for (DType type : {DType::BF16, DType::F16}) {
    std::vector<uint64_t> inputs = allHalves();
    std::vector<uint64_t> got = run({type, DType::I32, 1, body}, inputs);
    ASSERT_EQ(got.size(), inputs.size());
    for (size_t i = 0; i < got.size(); ++i) {
      double value = decodeBits(type, inputs[i]);
      uint64_t want = std::isnan(value) ? 1 : std::isinf(value) ? 2 : 4;
      ASSERT_EQ(got[i], want) << "for input bits 0x" << std::hex << inputs[i];
    }
  }
}

// A product and a sum are two roundings, and only a written fma is one, also
// where the processor has the instruction; where it hasn't, by a library.
TEST(HostCode, OnlyWrittenFma) {
  constexpr llvm::StringLiteral separate = R"(
    %m = arith.mulf %a, %a : $I
    %r = arith.subf %m, %b : $I
)";
  constexpr llvm::StringLiteral fused = R"(
    %n = arith.negf %b : $I
    %r = math.fma %a, %a, %n : $I
)";
  float x = 1 + 0x1p-12f, square = x * x;
  std::vector<uint64_t> a = {llvm::bit_cast<uint32_t>(x)};
  std::vector<uint64_t> b = {llvm::bit_cast<uint32_t>(square)};
  std::vector<uint64_t> two = run({DType::F32, DType::F32, 2, separate}, a, b);
  ASSERT_EQ(two.size(), 1u);
  EXPECT_EQ(decodeBits(DType::F32, two[0]), 0.0);
  for (llvm::StringRef cpu : {"", "x86-64"}) {
    std::vector<uint64_t> one =
        run({DType::F32, DType::F32, 2, fused, cpu}, a, b);
    ASSERT_EQ(one.size(), 1u);
    EXPECT_EQ(decodeBits(DType::F32, one[0]), 0x1p-24);
  }
}

} // namespace
