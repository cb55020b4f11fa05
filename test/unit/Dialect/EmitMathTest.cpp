//===- EmitMathTest.cpp - Error of the emitted functions ------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs what is emitted and compares it with the C library in a wider format.
// The bounds are those that the headers and the documentation state.
//
//===----------------------------------------------------------------------===//

#include "ScalarProgram.h"

#include "norm/Dialect/Norm/Utils/EmitExp.h"
#include "norm/Dialect/Norm/Utils/EmitLog.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include "gtest/gtest.h"

#include <cfloat>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

using namespace mlir;
using namespace mlir::norm;
using ::norm::test::ScalarProgram;

namespace {

using Emitter = function_ref<Value(OpBuilder &, Location, Value)>;

/// A block that computes a function, and the context it lives in.
struct Emitted {
  Emitted(bool wide, Emitter emit) : context(MLIRContext::Threading::DISABLED) {
    context.loadDialect<arith::ArithDialect, math::MathDialect>();
    OpBuilder builder(&context);
    Type type = wide ? Type(builder.getF64Type()) : builder.getF32Type();
    Location loc = builder.getUnknownLoc();
    Value x = block.addArgument(type, loc);
    builder.setInsertionPointToStart(&block);
    result = emit(builder, loc, x);
  }
  MLIRContext context;
  Block block;
  Value result;
};

Value exp(OpBuilder &b, Location loc, Value x) { return emitExp(b, loc, x); }
Value expOfNonPositive(OpBuilder &b, Location loc, Value x) {
  return emitExp(b, loc, x, ExpRange::NonPositive);
}
Value exp2(OpBuilder &b, Location loc, Value x) { return emitExp2(b, loc, x); }
Value exp2OfNonPositive(OpBuilder &b, Location loc, Value x) {
  return emitExp2(b, loc, x, ExpRange::NonPositive);
}

/// The distance of `value` from `exact` in units of the last place of `exact`
/// in the format T, subnormal numbers included.
template <typename T, typename Wide>
double getError(T value, Wide exact) {
  T rounded = static_cast<T>(exact);
  if (!std::isfinite(rounded) || !std::isfinite(value))
    return rounded == value || (std::isnan(rounded) && std::isnan(value))
               ? 0.0
               : std::numeric_limits<double>::infinity();
  int exponent;
  std::frexp(exact, &exponent);
  exponent = std::max(exponent, std::numeric_limits<T>::min_exponent);
  Wide unit = std::ldexp(Wide(1), exponent - std::numeric_limits<T>::digits);
  return static_cast<double>(std::fabs(Wide(value) - exact) / unit);
}

/// The largest error over every `stride`-th float.
double getErrorF32(Emitter emit, double (*reference)(double),
                   uint64_t stride = 997) {
  Emitted emitted(false, emit);
  ScalarProgram<float> program(emitted.block, emitted.result);
  EXPECT_EQ(program.unknown(), "");
  double worst = 0.0;
  for (uint64_t i = 0; i < uint64_t(1) << 32; i += stride) {
    auto bits = static_cast<uint32_t>(i);
    float x;
    std::memcpy(&x, &bits, sizeof(x));
    double error = getError(program(x), reference(static_cast<double>(x)));
    worst = std::max(worst, error);
  }
  return worst;
}

/// The largest error over random doubles of every size up to `largest`.
double getErrorF64(Emitter emit, long double (*reference)(long double),
                   double largest, int count = 300000) {
  Emitted emitted(true, emit);
  ScalarProgram<double> program(emitted.block, emitted.result);
  EXPECT_EQ(program.unknown(), "");
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  double worst = 0.0;
  for (int i = 0; i < count; ++i) {
    double x = std::ldexp(uniform(random) * largest, -(i % 40));
    double error = getError(program(x), reference(static_cast<long double>(x)));
    worst = std::max(worst, error);
  }
  return worst;
}

constexpr bool hasWiderThanDouble = LDBL_MANT_DIG > DBL_MANT_DIG;

TEST(EmitMath, ErrorF32) {
  EXPECT_LT(getErrorF32(exp, std::exp), 0.9);
  EXPECT_LT(getErrorF32(exp2, std::exp2), 0.9);
  EXPECT_LT(getErrorF32(emitExpM1, std::expm1), 1.5);
  EXPECT_LT(getErrorF32(emitTanh, std::tanh), 3.0);
  EXPECT_LT(getErrorF32(emitLog, std::log), 1.0);
  EXPECT_LT(getErrorF32(emitLog1P, std::log1p), 1.5);
}

TEST(EmitMath, ErrorF64) {
  if (!hasWiderThanDouble)
    GTEST_SKIP() << "long double is no wider than double here";
  EXPECT_LT(getErrorF64(exp, std::exp, 760.0), 0.93);
  EXPECT_LT(getErrorF64(exp2, std::exp2, 1100.0), 0.93);
  EXPECT_LT(getErrorF64(emitExpM1, std::expm1, 760.0), 2.5);
  EXPECT_LT(getErrorF64(emitTanh, std::tanh, 25.0), 3.0);
  EXPECT_LT(getErrorF64(emitLog, std::log, 1e3), 1.5);
  EXPECT_LT(getErrorF64(emitLog, std::log, 1e300), 1.5);
  EXPECT_LT(getErrorF64(emitLog1P, std::log1p, 1e3), 2.0);
}

/// For arguments that are not positive, fewer ops give the same bits.
TEST(EmitMath, NonPositiveGivesTheSameBits) {
  for (auto [any, nonPositive] :
       {std::pair<Emitter, Emitter>(exp, expOfNonPositive),
        std::pair<Emitter, Emitter>(exp2, exp2OfNonPositive)}) {
    Emitted full(false, any), part(false, nonPositive);
    ScalarProgram<float> fullProgram(full.block, full.result);
    ScalarProgram<float> partProgram(part.block, part.result);
    EXPECT_LT(partProgram.countOps(), fullProgram.countOps());
    for (uint64_t i = 0x80000000; i <= 0xff800000; i += 997) {
      auto bits = static_cast<uint32_t>(i);
      float x;
      std::memcpy(&x, &bits, sizeof(x));
      ASSERT_EQ(fullProgram(x), partProgram(x)) << x;
    }
  }
}

template <typename T>
void expectSpecialValues(bool wide) {
  constexpr T infinity = std::numeric_limits<T>::infinity();
  constexpr T nan = std::numeric_limits<T>::quiet_NaN();
  auto run = [&](Emitter emit, T x) {
    Emitted emitted(wide, emit);
    return ScalarProgram<T>(emitted.block, emitted.result)(x);
  };
  for (Emitter emit : {Emitter(exp), Emitter(expOfNonPositive), Emitter(exp2),
                       Emitter(exp2OfNonPositive)}) {
    EXPECT_EQ(run(emit, -infinity), 0);
    EXPECT_FALSE(std::signbit(run(emit, -infinity)));
    EXPECT_EQ(run(emit, T(0)), 1);
    EXPECT_EQ(run(emit, T(-0.0)), 1);
    EXPECT_TRUE(std::isnan(run(emit, nan)));
  }
  EXPECT_EQ(run(exp, infinity), infinity);
  EXPECT_EQ(run(exp2, infinity), infinity);
  EXPECT_EQ(run(emitExpM1, infinity), infinity);
  EXPECT_EQ(run(emitExpM1, -infinity), -1);
  EXPECT_TRUE(std::isnan(run(emitExpM1, nan)));
  EXPECT_EQ(run(emitTanh, infinity), 1);
  EXPECT_EQ(run(emitTanh, -infinity), -1);
  EXPECT_TRUE(std::signbit(run(emitTanh, T(-0.0))));
  EXPECT_TRUE(std::isnan(run(emitTanh, nan)));
  EXPECT_EQ(run(emitLog, T(0)), -infinity);
  EXPECT_EQ(run(emitLog, T(-0.0)), -infinity);
  EXPECT_EQ(run(emitLog, T(1)), 0);
  EXPECT_EQ(run(emitLog, infinity), infinity);
  EXPECT_TRUE(std::isnan(run(emitLog, T(-1))));
  EXPECT_TRUE(std::isnan(run(emitLog, -infinity)));
  EXPECT_TRUE(std::isnan(run(emitLog, nan)));
  EXPECT_EQ(run(emitLog1P, T(-1)), -infinity);
  EXPECT_EQ(run(emitLog1P, T(0)), 0);
  EXPECT_EQ(run(emitLog1P, infinity), infinity);
  EXPECT_TRUE(std::isnan(run(emitLog1P, T(-2))));
  EXPECT_TRUE(std::isnan(run(emitLog1P, nan)));
}

TEST(EmitMath, SpecialValuesF32) { expectSpecialValues<float>(false); }
TEST(EmitMath, SpecialValuesF64) { expectSpecialValues<double>(true); }

/// The cost that the header states.
TEST(EmitMath, NumberOfOps) {
  auto count = [](bool wide, Emitter emit) {
    Emitted emitted(wide, emit);
    return wide
               ? ScalarProgram<double>(emitted.block, emitted.result).countOps()
               : ScalarProgram<float>(emitted.block, emitted.result).countOps();
  };
  EXPECT_EQ(count(false, exp), 18u);
  EXPECT_EQ(count(false, expOfNonPositive), 13u);
  EXPECT_EQ(count(true, exp), 23u);
  EXPECT_EQ(count(true, expOfNonPositive), 18u);
}

/// Vectors get the same ops as scalars.
TEST(EmitMath, Vectors) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<arith::ArithDialect, math::MathDialect>();
  OpBuilder builder(&context);
  auto type = VectorType::get({2, 4}, builder.getF32Type());
  Block block;
  Value x = block.addArgument(type, builder.getUnknownLoc());
  builder.setInsertionPointToStart(&block);
  for (Emitter emit :
       {Emitter(exp), Emitter(expOfNonPositive), Emitter(emitExpM1),
        Emitter(emitTanh), Emitter(emitLog), Emitter(emitLog1P)})
    EXPECT_EQ(emit(builder, builder.getUnknownLoc(), x).getType(), type);
  for (Operation &op : block)
    EXPECT_TRUE(isa<VectorType>(op.getResult(0).getType()));
}

} // namespace
