//===- DTypeTest.cpp - Tests of element types -----------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Support/DType.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/bit.h"
#include "gtest/gtest.h"
#include <cmath>
#include <limits>
#include <random>

using namespace norm;

namespace {

const llvm::fltSemantics &semantics(DType type) {
  switch (type) {
  case DType::F64:
    return llvm::APFloat::IEEEdouble();
  case DType::F32:
    return llvm::APFloat::IEEEsingle();
  case DType::F16:
    return llvm::APFloat::IEEEhalf();
  case DType::BF16:
    return llvm::APFloat::BFloat();
  case DType::F8E4M3FN:
    return llvm::APFloat::Float8E4M3FN();
  case DType::F8E8M0FNU:
    return llvm::APFloat::Float8E8M0FNU();
  case DType::F4E2M1FN:
    return llvm::APFloat::Float4E2M1FN();
  default:
    return llvm::APFloat::Float8E5M2();
  }
}

double decodeBits(DType type, uint64_t bits) { return decode(type, &bits); }

uint64_t encodeBits(DType type, double value) {
  uint64_t bits = 0;
  encode(type, value, &bits);
  return bits;
}

double expected(DType type, uint64_t bits) {
  llvm::APFloat value(semantics(type), llvm::APInt(bitSize(type), bits));
  bool inexact = false;
  // APFloat converts the NaN of f8E8M0FNU, which has no mantissa, to infinity.
  if (value.isNaN())
    return std::numeric_limits<double>::quiet_NaN();
  value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven,
                &inexact);
  return value.convertToDouble();
}

uint64_t expectedBits(DType type, double value) {
  llvm::APFloat rounded(value);
  bool inexact = false;
  rounded.convert(semantics(type), llvm::APFloat::rmNearestTiesToEven,
                  &inexact);
  return rounded.bitcastToAPInt().getZExtValue();
}

constexpr DType kSmall[] = {DType::F16, DType::BF16, DType::F8E4M3FN,
                            DType::F8E5M2};
constexpr DType kMicro[] = {DType::F8E8M0FNU, DType::F4E2M1FN};

TEST(DTypeTest, NamesRoundTrip) {
  for (DType type : allDTypes())
    EXPECT_EQ(parseDType(name(type)), type) << name(type).str();
  EXPECT_EQ(parseDType("f33"), std::nullopt);
  EXPECT_EQ(parseDType(""), std::nullopt);
  EXPECT_EQ(parseDType("BF16"), std::nullopt);
}

void checkDecoding(DType type) {
  for (uint32_t bits = 0; bits < (1u << bitSize(type)); ++bits) {
    double got = decodeBits(type, bits), want = expected(type, bits);
    if (std::isnan(want))
      ASSERT_TRUE(std::isnan(got)) << name(type).str() << " " << bits;
    else
      ASSERT_EQ(llvm::bit_cast<uint64_t>(got), llvm::bit_cast<uint64_t>(want))
          << name(type).str() << " " << bits;
  }
}

TEST(DTypeTest, DecodesEveryPatternOfTheSmallTypes) {
  for (DType type : kSmall)
    checkDecoding(type);
  for (DType type : kMicro)
    checkDecoding(type);
}

TEST(DTypeTest, SizesInBitsAndBytes) {
  EXPECT_EQ(bitSize(DType::F64), 64u);
  EXPECT_EQ(bitSize(DType::F8E8M0FNU), 8u);
  EXPECT_EQ(bitSize(DType::F4E2M1FN), 4u);
  EXPECT_EQ(byteSize(DType::F4E2M1FN), 1u);
  EXPECT_EQ(bitSize(DType::I1), 8u);
  EXPECT_TRUE(isPacked(DType::F4E2M1FN));
  EXPECT_FALSE(isPacked(DType::I1));
  EXPECT_EQ(bytesOf(DType::F4E2M1FN, 32), 16u);
  EXPECT_EQ(bytesOf(DType::BF16, 32), 64u);
}

TEST(DTypeTest, PowersOfTwoRoundTowardsZero) {
  DType type = DType::F8E8M0FNU;
  for (int exponent = -127; exponent <= 127; ++exponent) {
    double power = std::ldexp(1.0, exponent);
    uint64_t code = uint64_t(exponent + 127);
    EXPECT_EQ(encodeBits(type, power), code);
    EXPECT_EQ(encodeBits(type, -power), code);
    EXPECT_EQ(encodeBits(type, std::nextafter(2 * power, 0.0)), code);
    EXPECT_EQ(ulp(type, power), power);
  }
  EXPECT_EQ(encodeBits(type, 0.0), 0u);
  EXPECT_EQ(encodeBits(type, 0x1p-300), 0u);
  EXPECT_EQ(encodeBits(type, 0x1p300), 254u);
  EXPECT_EQ(encodeBits(type, std::numeric_limits<double>::infinity()), 255u);
  EXPECT_EQ(encodeBits(type, std::nan("")), 255u);
  EXPECT_EQ(maxFinite(type), 0x1p127);
}

TEST(DTypeTest, FourBitsRoundToNearestEvenAndSaturate) {
  DType type = DType::F4E2M1FN;
  constexpr double ties[] = {0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0};
  for (uint64_t code = 0; code < 7; ++code) {
    uint64_t even = code % 2 ? code + 1 : code;
    for (uint64_t sign : {0, 8}) {
      double tie = sign ? -ties[code] : ties[code];
      EXPECT_EQ(encodeBits(type, tie), even | sign) << tie;
      EXPECT_EQ(encodeBits(type, std::nextafter(tie, 0.0)), code | sign);
      EXPECT_EQ(encodeBits(type, std::nextafter(tie, 2 * tie)),
                (code + 1) | sign);
    }
  }
  EXPECT_EQ(encodeBits(type, 1e300), 7u);
  EXPECT_EQ(encodeBits(type, -std::numeric_limits<double>::infinity()), 15u);
  EXPECT_EQ(encodeBits(type, std::nan("")), 7u);
  EXPECT_EQ(encodeBits(type, -0.0), 8u);
  EXPECT_EQ(maxFinite(type), 6.0);
  EXPECT_EQ(ulp(type, 0.0), 0.5);
  EXPECT_EQ(ulp(type, 4.5), 2.0);
}

TEST(DTypeTest, PairsShareAByte) {
  DType type = DType::F4E2M1FN;
  uint8_t bytes[] = {0, 0xff};
  encodeAt(type, 1.5, bytes, 0);
  encodeAt(type, -2.0, bytes, 1);
  encodeAt(type, 0.5, bytes, 3);
  EXPECT_EQ(bytes[0], 0xc3);
  EXPECT_EQ(bytes[1], 0x1f);
  EXPECT_EQ(decodeAt(type, bytes, 0), 1.5);
  EXPECT_EQ(decodeAt(type, bytes, 1), -2.0);
  EXPECT_EQ(decodeAt(type, bytes, 2), -6.0);
  EXPECT_EQ(decodeAt(type, bytes, 3), 0.5);
  float numbers[2] = {};
  encodeAt(DType::F32, 7.0, numbers, 1);
  EXPECT_EQ(numbers[1], 7.0f);
  EXPECT_EQ(decodeAt(DType::F32, numbers, 1), 7.0);
}

TEST(DTypeTest, EncodesAroundEveryPatternOfTheSmallTypes) {
  for (DType type : kSmall)
    for (uint32_t bits = 0; bits < (1u << (8 * byteSize(type))); ++bits) {
      double value = decodeBits(type, bits);
      if (std::isnan(value))
        continue;
      // The value itself; the midpoint to the next one, where ties go to even;
      // and the doubles next to both.
      double next = decodeBits(type, bits + 1);
      double middle = (value + next) / 2;
      for (double probe : {value, middle}) {
        if (!std::isfinite(probe))
          continue;
        for (double x : {probe, std::nextafter(probe, 1e300),
                         std::nextafter(probe, -1e300)})
          ASSERT_EQ(encodeBits(type, x), expectedBits(type, x))
              << name(type).str() << " " << x;
      }
    }
}

TEST(DTypeTest, EncodesRandomDoubles) {
  std::mt19937_64 engine(3);
  for (DType type : kSmall)
    for (int i = 0; i < 200000; ++i) {
      // Exponents about those of the type, so that all cases occur.
      int low = minExponent(type) - int(precision(type)) - 3;
      int range = maxExponent(type) + 3 - low;
      double mantissa = 1.0 + double(engine() >> 12) * 0x1p-52;
      double x = std::ldexp(engine() & 1 ? mantissa : -mantissa,
                            low + int(engine() % unsigned(range)));
      ASSERT_EQ(encodeBits(type, x), expectedBits(type, x))
          << name(type).str() << " " << x;
    }
}

TEST(DTypeTest, EncodesSpecialValues) {
  double infinity = std::numeric_limits<double>::infinity();
  double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(encodeBits(DType::F16, infinity), 0x7c00u);
  EXPECT_EQ(encodeBits(DType::BF16, -infinity), 0xff80u);
  EXPECT_EQ(encodeBits(DType::F16, 65520.0), 0x7c00u);
  EXPECT_EQ(encodeBits(DType::F16, 65519.9), 0x7bffu);
  EXPECT_EQ(encodeBits(DType::F8E4M3FN, infinity), 0x7fu);
  EXPECT_EQ(encodeBits(DType::F8E4M3FN, 464.0), 0x7eu);
  EXPECT_EQ(encodeBits(DType::F8E4M3FN, 465.0), 0x7fu);
  EXPECT_EQ(encodeBits(DType::F8E5M2, 1e9), 0x7cu);
  EXPECT_EQ(encodeBits(DType::BF16, -0.0), 0x8000u);
  EXPECT_EQ(encodeBits(DType::F16, 5e-324), 0u);
  EXPECT_EQ(encodeBits(DType::F16, -5e-324), 0x8000u);
  for (DType type : {DType::F64, DType::F32, DType::F16, DType::BF16,
                     DType::F8E4M3FN, DType::F8E5M2})
    EXPECT_TRUE(std::isnan(roundTo(type, nan))) << name(type).str();
}

TEST(DTypeTest, IntegersSaturate) {
  EXPECT_EQ(roundTo(DType::I8, 127.4), 127);
  EXPECT_EQ(roundTo(DType::I8, 1e9), 127);
  EXPECT_EQ(roundTo(DType::I8, -1e9), -128);
  EXPECT_EQ(roundTo(DType::I16, 2.5), 2);
  EXPECT_EQ(roundTo(DType::I32, 3.5), 4);
  EXPECT_EQ(roundTo(DType::I32, std::nan("")), 0);
  EXPECT_EQ(encodeBits(DType::I64, 1e30), 0x7fffffffffffffffu);
  EXPECT_EQ(encodeBits(DType::I64, -1e30), 0x8000000000000000u);
  EXPECT_EQ(roundTo(DType::I1, -0.25), 1);
  EXPECT_EQ(roundTo(DType::I1, 0.0), 0);
}

TEST(DTypeTest, LargestValuesAndUlps) {
  for (DType type : kSmall) {
    EXPECT_EQ(roundTo(type, maxFinite(type)), maxFinite(type));
    // The next double above the tie overflows.
    EXPECT_FALSE(std::isfinite(
        roundTo(type, maxFinite(type) + 0.51 * ulp(type, maxFinite(type)))));
  }
  EXPECT_EQ(ulp(DType::F32, 1.0), 0x1p-23);
  EXPECT_EQ(ulp(DType::F32, 1.99), 0x1p-23);
  EXPECT_EQ(ulp(DType::F32, -2.0), 0x1p-22);
  EXPECT_EQ(ulp(DType::F32, 0.0), 0x1p-149);
  EXPECT_EQ(ulp(DType::F32, 1e-45), 0x1p-149);
  EXPECT_EQ(ulp(DType::BF16, 1.0), 0x1p-7);
  EXPECT_EQ(ulp(DType::F16, std::numeric_limits<double>::infinity()), 0x1p5);
  EXPECT_EQ(ulp(DType::F64, 1.0), 0x1p-52);
  EXPECT_EQ(ulp(DType::I32, 77.0), 1.0);
  EXPECT_TRUE(std::isnan(ulp(DType::F32, std::nan(""))));
}

} // namespace
