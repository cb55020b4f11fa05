//===- EightBitFloatsTest.cpp - f8E4M3FN and f8E5M2 -----------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiled conversions against those of LLVM's APFloat, on the host, on the
// emulated device, and on a GPU where there is one: all codes, all values of the 16-bit types, and the wider ones
// around all values and ties. Only NaNs have one code here, 0x7f.
//
//===----------------------------------------------------------------------===//

#include "Elementwise.h"
#include "HostLoop.h"

#include "llvm/ADT/APFloat.h"
#include "gtest/gtest.h"
#include <random>

using namespace norm;
using llvm::APFloat;
using norm::test::allOf;
using norm::test::bitsOf;
using norm::test::runOn;
using norm::test::semanticsOf;
using norm::test::valueOf;

namespace {

constexpr DType kEightBit[] = {DType::F8E4M3FN, DType::F8E5M2};
constexpr llvm::StringLiteral kExtend = "  %r = arith.extf %a : $I to $O\n";
constexpr llvm::StringLiteral kRound = "  %r = arith.truncf %a : $I to $O\n";

/// `value` rounded to `type`.
APFloat convert(APFloat value, DType type) {
  bool inexact;
  value.convert(semanticsOf(type), APFloat::rmNearestTiesToEven, &inexact);
  return value;
}

/// The inputs' conversions, one by one.
void checkConversions(DType from, DType to, const std::vector<uint64_t> &inputs,
                      const std::vector<uint64_t> &got) {
  ASSERT_EQ(got.size(), inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    APFloat want = convert(valueOf(from, inputs[i]), to);
    if (want.isNaN() && byteSize(to) == 1)
      ASSERT_EQ(got[i], 0x7fu) << "for input bits 0x" << std::hex << inputs[i];
    else if (want.isNaN())
      ASSERT_TRUE(valueOf(to, got[i]).isNaN()) << std::hex << inputs[i];
    else
      ASSERT_EQ(got[i], want.bitcastToAPInt().getZExtValue())
          << "for input bits 0x" << std::hex << inputs[i];
  }
}

/// Bits of `type` at, just below and just above all values of an 8-bit type and
/// all ties between two of them, with the one that would follow the largest,
/// and random ones of about the same magnitudes and of all.
std::vector<uint64_t> samplesAround(DType type, DType small) {
  std::vector<uint64_t> bits;
  APFloat half(semanticsOf(type), "0.5");
  auto addAround = [&](APFloat value) {
    bits.push_back(bitsOf(value));
    APFloat below = value, above = value;
    below.next(/*nextDown=*/true);
    above.next(/*nextDown=*/false);
    bits.push_back(bitsOf(below));
    bits.push_back(bitsOf(above));
  };
  for (uint64_t code = 0; code < 256; ++code) {
    APFloat value = convert(valueOf(small, code), type);
    if (!value.isFinite())
      continue;
    APFloat next = convert(valueOf(small, code + 1 & 0xff), type);
    if (!next.isFinite()) {
      // The last step once more.
      next = convert(valueOf(small, code - 1), type);
      next = value + (value - next);
    }
    addAround(value);
    addAround(next);
    addAround(value * half + next * half);
  }
  std::mt19937_64 random(5);
  unsigned width = 8 * byteSize(type), mantissa = precision(type) - 1;
  uint64_t bias = -minExponent(type) + 1;
  for (unsigned i = 0; i < 60000; ++i) {
    uint64_t number = random() >> (64 - width);
    if (i % 3 != 0) {
      uint64_t exponent = bias - 20 + random() % 40;
      number &= ~(((uint64_t(1) << (width - 1)) - 1) >> mantissa << mantissa);
      number |= exponent << mantissa;
    }
    bits.push_back(number);
  }
  for (const char *text : {"inf", "-inf", "nan", "-nan", "0", "-0", "1e30"})
    bits.push_back(bitsOf(APFloat(semanticsOf(type), text)));
  bits.push_back(bitsOf(APFloat::getSmallest(semanticsOf(type))));
  bits.push_back(bitsOf(APFloat::getLargest(semanticsOf(type), true)));
  return bits;
}

class EightBitFloats : public test::OnDevice {};

TEST_P(EightBitFloats, ExtendAllCodes) {
  for (DType from : kEightBit)
    for (DType to : {DType::F32, DType::F64, DType::F16, DType::BF16})
      ASSERT_NO_FATAL_FAILURE(checkConversions(
          from, to, allOf(8), runOn(GetParam(), {from, to, kExtend}, allOf(8))))
          << name(from).str() << " to " << name(to).str();
}

TEST_P(EightBitFloats, RoundAllHalves) {
  for (DType to : kEightBit)
    for (DType from : {DType::F16, DType::BF16})
      ASSERT_NO_FATAL_FAILURE(checkConversions(
          from, to, allOf(16),
          runOn(GetParam(), {from, to, kRound}, allOf(16))))
          << name(from).str() << " to " << name(to).str();
}

TEST_P(EightBitFloats, RoundWiderOnce) {
  for (DType to : kEightBit)
    for (DType from : {DType::F32, DType::F64}) {
      std::vector<uint64_t> inputs = samplesAround(from, to);
      ASSERT_NO_FATAL_FAILURE(checkConversions(
          from, to, inputs, runOn(GetParam(), {from, to, kRound}, inputs)))
          << name(from).str() << " to " << name(to).str();
    }
}

TEST_P(EightBitFloats, ArithmeticRoundsOnce) {
  constexpr llvm::StringLiteral body = R"(
    %c = arith.constant dense<0.4375> : $I
    %p = arith.mulf %a, %c : $I
    %r = arith.addf %p, %a : $I
)";
  for (DType type : kEightBit) {
    std::vector<uint64_t> inputs = allOf(8);
    std::vector<uint64_t> got = runOn(GetParam(), {type, type, body}, inputs);
    ASSERT_EQ(got.size(), inputs.size());
    APFloat factor(semanticsOf(type), "0.4375");
    for (size_t i = 0; i < got.size(); ++i) {
      APFloat a = valueOf(type, i);
      APFloat want = a * factor + a;
      if (want.isNaN())
        EXPECT_TRUE(valueOf(type, got[i]).isNaN()) << i;
      else
        EXPECT_EQ(got[i], bitsOf(want)) << i;
    }
  }
}

TEST_P(EightBitFloats, MovesKeepAllBits) {
  // A comparison is on values, a selection on bits, NaNs included.
  constexpr llvm::StringLiteral body = R"(
    %c = arith.constant dense<1.0> : $I
    %m = arith.cmpf ugt, %a, %c : $I
    %r = arith.select %m, %a, %c : $M, $I
)";
  for (DType type : kEightBit) {
    std::vector<uint64_t> got =
        runOn(GetParam(), {type, type, body}, allOf(8));
    ASSERT_EQ(got.size(), 256u);
    APFloat one(semanticsOf(type), "1.0");
    for (uint64_t i = 0; i < 256; ++i) {
      APFloat a = valueOf(type, i);
      bool isGreater = a.isNaN() || a > one;
      EXPECT_EQ(got[i], isGreater ? i : bitsOf(one));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, EightBitFloats, test::devices(),
                         test::deviceName);

// Without instructions for f16, by a routine of the runtime.
TEST(EightBitFloatsOnOldHosts, SameBits) {
  for (DType type : kEightBit) {
    std::vector<uint64_t> got =
        test::run({type, DType::F32, 1, kExtend, "x86-64"}, allOf(8));
    ASSERT_NO_FATAL_FAILURE(
        checkConversions(type, DType::F32, allOf(8), got));
    std::vector<uint64_t> inputs = samplesAround(DType::F32, type);
    got = test::run({DType::F32, type, 1, kRound, "x86-64"}, inputs);
    ASSERT_NO_FATAL_FAILURE(
        checkConversions(DType::F32, type, inputs, got));
  }
}

} // namespace
