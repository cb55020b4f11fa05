//===- MicroFloatsTest.cpp - f8E8M0FNU and f4E2M1FN -----------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiled conversions on the host, on the emulated device, and on a GPU where
// there is one: all codes, all values of the 16-bit types, and the wider ones
// around all values and ties. What is expected is written out from the formats.
//
//===----------------------------------------------------------------------===//

#include "Elementwise.h"

#include "llvm/ADT/bit.h"
#include "gtest/gtest.h"
#include <cmath>
#include <limits>
#include <random>

using namespace norm;
using llvm::APFloat;
using norm::test::allOf;
using norm::test::bitsOf;
using norm::test::runOn;
using norm::test::semanticsOf;
using norm::test::valueOf;

namespace {

constexpr llvm::StringLiteral kExtend = "  %r = arith.extf %a : $I to $O\n";
constexpr llvm::StringLiteral kRound = "  %r = arith.truncf %a : $I to $O\n";
constexpr llvm::StringLiteral kBitcast = "  %r = arith.bitcast %a : $I to $O\n";

constexpr double kMagnitudes[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};

/// The value of a code; NaN is that of f8E8M0FNU.
double extended(DType type, uint64_t code) {
  if (type == DType::F8E8M0FNU)
    return code == 255 ? std::numeric_limits<double>::quiet_NaN()
                       : std::ldexp(1.0, int(code) - 127);
  return code & 8 ? -kMagnitudes[code & 7] : kMagnitudes[code & 7];
}

/// The power of two at or below the magnitude; what is below all is 2^-127.
uint64_t powerCode(double value) {
  if (!std::isfinite(value))
    return 255;
  uint64_t code = 0;
  while (code < 254 && std::ldexp(1.0, int(code) - 126) <= std::fabs(value))
    ++code;
  return code;
}

/// The nearest, of two the one whose last bit is 0.
uint64_t fourBitCode(double value) {
  if (std::isnan(value))
    return 7;
  double magnitude = std::min(std::fabs(value), 6.0);
  uint64_t best = 0;
  for (uint64_t code = 1; code < 8; ++code) {
    double distance = std::fabs(magnitude - kMagnitudes[code]);
    double least = std::fabs(magnitude - kMagnitudes[best]);
    if (distance < least || (distance == least && code % 2 == 0))
      best = code;
  }
  return best | (std::signbit(value) ? 8 : 0);
}

double asDouble(APFloat value) {
  bool inexact;
  value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &inexact);
  return value.convertToDouble();
}

void checkRounded(llvm::StringRef device, DType from, DType to,
                  const std::vector<uint64_t> &inputs) {
  std::vector<uint64_t> got = runOn(device, {from, to, kRound}, inputs);
  ASSERT_EQ(got.size(), inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    double value = asDouble(valueOf(from, inputs[i]));
    uint64_t want =
        to == DType::F8E8M0FNU ? powerCode(value) : fourBitCode(value);
    ASSERT_EQ(got[i], want)
        << name(from).str() << " " << value << " to " << name(to).str();
  }
}

/// Bits of `type` at, just below and just above all values of a small type and
/// all middles between two of them, with both signs, and random ones.
std::vector<uint64_t> samplesAround(DType type, DType small) {
  std::vector<uint64_t> bits;
  auto addAround = [&](double number) {
    for (double sign : {1.0, -1.0}) {
      APFloat value(sign * number);
      bool inexact;
      value.convert(semanticsOf(type), APFloat::rmNearestTiesToEven, &inexact);
      for (int step : {0, 1, -1}) {
        APFloat near = value;
        if (step != 0)
          near.next(/*nextDown=*/step < 0);
        bits.push_back(bitsOf(near));
      }
    }
  };
  for (uint64_t code = 0; code < (1u << bitSize(small)); ++code) {
    double value = extended(small, code);
    double next = extended(small, (code + 1) % (1u << bitSize(small)));
    for (double probe : {value, (value + next) / 2, 2 * value})
      if (!std::isnan(probe))
        addAround(std::fabs(probe));
  }
  std::mt19937_64 random(7);
  for (unsigned i = 0; i < 40000; ++i) {
    uint64_t number = random() >> (64 - bitSize(type));
    // Every other one within the range of the four bits.
    if (i % 2 != 0)
      number =
          bitsOf(type == DType::F32
                     ? APFloat(float(std::ldexp(double(random() >> 11), -50)))
                     : APFloat(std::ldexp(double(random() >> 11), -50)));
    bits.push_back(number);
  }
  for (const char *text : {"inf", "-inf", "nan", "-nan", "0", "-0", "1e30"})
    bits.push_back(bitsOf(APFloat(semanticsOf(type), text)));
  bits.push_back(bitsOf(APFloat::getSmallest(semanticsOf(type))));
  bits.push_back(bitsOf(APFloat::getLargest(semanticsOf(type))));
  bits.push_back(bitsOf(APFloat::getLargest(semanticsOf(type), true)));
  return bits;
}

class MicroFloats : public test::OnDevice {
protected:
  void extendAll(DType from, llvm::ArrayRef<DType> types);
};

void MicroFloats::extendAll(DType from, llvm::ArrayRef<DType> types) {
  std::vector<uint64_t> inputs = allOf(bitSize(from));
  for (DType to : types) {
    std::vector<uint64_t> got = runOn(GetParam(), {from, to, kExtend}, inputs);
    ASSERT_EQ(got.size(), inputs.size());
    for (uint64_t code : inputs) {
      double want = extended(from, code);
      double value = asDouble(valueOf(to, got[code]));
      if (std::isnan(want))
        ASSERT_TRUE(std::isnan(value)) << name(to).str() << " " << code;
      else
        ASSERT_EQ(llvm::bit_cast<uint64_t>(value),
                  llvm::bit_cast<uint64_t>(want))
            << name(to).str() << " " << code;
    }
  }
}

TEST_P(MicroFloats, ExtendAllPowers) {
  extendAll(DType::F8E8M0FNU, {DType::F32, DType::F64, DType::BF16});
}

TEST_P(MicroFloats, RoundToPowers) {
  for (DType from : {DType::F16, DType::BF16})
    ASSERT_NO_FATAL_FAILURE(
        checkRounded(GetParam(), from, DType::F8E8M0FNU, allOf(16)));
  for (DType from : {DType::F32, DType::F64})
    ASSERT_NO_FATAL_FAILURE(
        checkRounded(GetParam(), from, DType::F8E8M0FNU,
                     samplesAround(from, DType::F8E8M0FNU)));
}

TEST_P(MicroFloats, PowersAreBytes) {
  for (auto [from, to] : {std::pair(DType::I8, DType::F8E8M0FNU),
                          std::pair(DType::F8E8M0FNU, DType::I8)}) {
    std::vector<uint64_t> got =
        runOn(GetParam(), {from, to, kBitcast}, allOf(8));
    EXPECT_EQ(got, allOf(8)) << name(from).str();
  }
}

TEST_P(MicroFloats, ExtendAllFourBits) {
  extendAll(DType::F4E2M1FN,
            {DType::F32, DType::F64, DType::F16, DType::BF16, DType::F8E5M2});
}

TEST_P(MicroFloats, RoundToFourBits) {
  for (auto [from, width] :
       {std::pair(DType::F16, 16), std::pair(DType::BF16, 16),
        std::pair(DType::F8E4M3FN, 8), std::pair(DType::F8E5M2, 8)})
    ASSERT_NO_FATAL_FAILURE(
        checkRounded(GetParam(), from, DType::F4E2M1FN, allOf(width)));
  for (DType from : {DType::F32, DType::F64})
    ASSERT_NO_FATAL_FAILURE(checkRounded(GetParam(), from, DType::F4E2M1FN,
                                         samplesAround(from, DType::F4E2M1FN)));
}

TEST_P(MicroFloats, FourBitsAreMoved) {
  constexpr llvm::StringLiteral body = R"(
    %c = arith.constant dense<-1.5> : $I
    %x = arith.extf %a : $I to tensor<1x1000xf32>
    %z = arith.constant dense<2.0> : tensor<1x1000xf32>
    %m = arith.cmpf olt, %x, %z : tensor<1x1000xf32>
    %r = arith.select %m, %a, %c : $M, $I
)";
  DType type = DType::F4E2M1FN;
  std::vector<uint64_t> got = runOn(GetParam(), {type, type, body}, allOf(4));
  ASSERT_EQ(got.size(), 16u);
  for (uint64_t code = 0; code < 16; ++code)
    EXPECT_EQ(got[code], code >= 4 && code < 8 ? 11 : code);
}

TEST_P(MicroFloats, SelectionsKeepBits) {
  constexpr llvm::StringLiteral body = R"(
    %c = arith.constant dense<4.0> : $I
    %i = arith.extf %a : $I to $O
    %z = arith.constant dense<2.0> : $O
    %m = arith.cmpf ult, %i, %z : $O
    %s = arith.select %m, %a, %c : $M, $I
    %r = arith.extf %s : $I to $O
)";
  DType type = DType::F8E8M0FNU;
  std::vector<uint64_t> got =
      runOn(GetParam(), {type, DType::F64, body}, allOf(8));
  ASSERT_EQ(got.size(), 256u);
  for (uint64_t code = 0; code < 255; ++code)
    EXPECT_EQ(llvm::bit_cast<double>(got[code]),
              code < 128 ? extended(type, code) : 4.0);
  EXPECT_TRUE(std::isnan(llvm::bit_cast<double>(got[255])));
}

INSTANTIATE_TEST_SUITE_P(Devices, MicroFloats, test::devices(),
                         test::deviceName);

} // namespace
