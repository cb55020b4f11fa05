//===- IntegersTest.cpp - Integers to and from floats ---------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What dequantization is made of: integers of every width, with and without a
// sign, to every float type, rounded once; and floats back to integers.
//
//===----------------------------------------------------------------------===//

#include "Elementwise.h"

#include <random>

using namespace norm;
using llvm::APFloat;
using norm::test::allOf;
using norm::test::bitsOf;
using norm::test::runOn;
using norm::test::semanticsOf;
using norm::test::valueOf;

namespace {

constexpr DType kFloats[] = {DType::F8E4M3FN, DType::F8E5M2, DType::F16,
                             DType::BF16,     DType::F32,    DType::F64};

/// All of the narrow types; of the wide ones those around powers of two and
/// around ties of all types, and random ones of all magnitudes.
std::vector<uint64_t> integersOf(DType type) {
  unsigned width = 8 * byteSize(type);
  if (width <= 16)
    return allOf(width);
  std::mt19937_64 random(11);
  uint64_t mask = ~uint64_t(0) >> (64 - width);
  std::vector<uint64_t> bits;
  for (unsigned digits : {3, 4, 8, 11, 24, 53})
    for (unsigned i = 0; i < 3000; ++i) {
      uint64_t significand = random() >> (63 - digits) | 1;
      unsigned room = width > digits + 1 ? width - digits - 1 : 1;
      uint64_t tie = significand << (random() % room);
      for (uint64_t value : {tie, tie - 1, tie + 1, -tie, 1 - tie, -tie - 1})
        bits.push_back(value & mask);
    }
  for (unsigned shift = 0; shift < width; ++shift)
    for (uint64_t value : {uint64_t(1) << shift, random() >> (63 - shift)})
      for (uint64_t near : {value, value - 1, value + 1, -value})
        bits.push_back(near & mask);
  return bits;
}

class Integers : public test::OnDevice {};

TEST_P(Integers, RoundOnce) {
  for (DType from : {DType::I8, DType::I16, DType::I32, DType::I64})
    for (bool isSigned : {true, false})
      for (DType to : kFloats) {
        std::vector<uint64_t> inputs = integersOf(from);
        std::string body = "  %r = arith." +
                           std::string(isSigned ? "sitofp" : "uitofp") +
                           " %a : $I to $O\n";
        std::vector<uint64_t> got = runOn(GetParam(), {from, to, body}, inputs);
        ASSERT_EQ(got.size(), inputs.size());
        for (size_t i = 0; i < inputs.size(); ++i) {
          APFloat want(semanticsOf(to));
          want.convertFromAPInt(llvm::APInt(8 * byteSize(from), inputs[i]),
                                isSigned, APFloat::rmNearestTiesToEven);
          uint64_t bits = want.isNaN() ? 0x7f : bitsOf(want);
          ASSERT_EQ(got[i], bits)
              << name(from).str() << " to " << name(to).str() << " for 0x"
              << std::hex << inputs[i];
        }
      }
}

TEST_P(Integers, CutTowardsZero) {
  for (DType from : {DType::F8E4M3FN, DType::F8E5M2, DType::F16, DType::BF16})
    for (DType to : {DType::I8, DType::I32}) {
      // What the integer can't hold is poison.
      std::vector<uint64_t> inputs;
      double limit = to == DType::I8 ? 127 : 2e9;
      for (uint64_t bits : allOf(8 * byteSize(from)))
        if (std::fabs(decode(from, &bits)) <= limit)
          inputs.push_back(bits);
      std::vector<uint64_t> got = runOn(
          GetParam(), {from, to, "  %r = arith.fptosi %a : $I to $O\n"}, inputs);
      ASSERT_EQ(got.size(), inputs.size());
      for (size_t i = 0; i < inputs.size(); ++i)
        ASSERT_EQ(decode(to, &got[i]), std::trunc(decode(from, &inputs[i])))
            << name(from).str() << " 0x" << std::hex << inputs[i];
    }
}

INSTANTIATE_TEST_SUITE_P(Devices, Integers, test::devices(), test::deviceName);

} // namespace
