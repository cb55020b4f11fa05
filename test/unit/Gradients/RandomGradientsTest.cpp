//===- RandomGradientsTest.cpp - Gradients of random functions ------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GradientCheck.h"
#include "RandomProgram.h"

#include <regex>

using ::norm::test::GradientCheck;

namespace {

class RandomGradients : public GradientCheck {
protected:
  void checkRange(unsigned from, unsigned to);
};

/// A random program with all in f64, where a difference tells something. A cast
/// changes the sign instead.
std::string makeProgram(unsigned seed) {
  std::string text = norm::test::makeRandomProgram(seed, 3, 6);
  text = std::regex_replace(
      text, std::regex("arith\\.(extf|truncf) (%\\w+) : (\\S+) to \\S+"),
      "arith.negf $2 : $3");
  text = std::regex_replace(text, std::regex("bf16|f32"), "f64");
  return text;
}

void RandomGradients::checkRange(unsigned from, unsigned to) {
  unsigned compared = 0;
  for (unsigned seed = from; seed < to && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Options options;
    options.seed = seed;
    options.directions = 2;
    options.tolerance = 1e-4;
    compared += check(makeProgram(seed), options);
  }
  // Some overflow.
  EXPECT_GE(compared, (to - from) * 9 / 10);
}

TEST_F(RandomGradients, First) { checkRange(0, 125); }
TEST_F(RandomGradients, Second) { checkRange(125, 250); }
TEST_F(RandomGradients, Third) { checkRange(250, 375); }
TEST_F(RandomGradients, Fourth) { checkRange(375, 500); }

} // namespace
