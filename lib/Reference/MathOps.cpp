//===- MathOps.cpp - math ops ---------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScalarOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace ::norm;
using namespace ::norm::reference;

using Elements = llvm::ArrayRef<Element>;
using Function = double (*)(double);

// What an implementation may be off by, in units of the last place of the type
// (of f32 for narrower ones, before the rounding). docs/Reference.md lists
// them.
static constexpr double kExponentialUlps = 2;
static constexpr double kFunctionUlps = 8;
static constexpr double kPowerUlps = 16;

/// A function that rises or falls over its domain.
static ScalarFunction approximation(DType type, Function function,
                                    double ulps) {
  return [=](Elements x) {
    return approximated(type, monotone(function, x[0]), ulps);
  };
}

/// The same, where 16-bit types have forms of their own.
static ScalarFunction narrowApproximation(DType type, Function function,
                                          double ulps) {
  return [=](Elements x) {
    return approximated(type, narrowed(type, monotone(function, x[0])), ulps);
  };
}

/// A function to integers, which is exact.
static ScalarFunction integral(Function function) {
  return [=](Elements x) { return monotone(function, x[0]); };
}

/// A function whose slope is at most 1, within [-1, 1].
static ScalarFunction wave(DType type, Function function) {
  return [=](Elements x) {
    if (x[0].isUnknown())
      return unknown();
    Element result{function(x[0].value), std::min(x[0].bound, 2.0)};
    return approximated(type, result, kFunctionUlps);
  };
}

/// A function with poles or turning points: known where its argument is.
static ScalarFunction pointwise(DType type, Function function) {
  return [=](Elements x) {
    if (x[0].isNaN())
      return Element{kNaN, 0};
    if (!x[0].isExact())
      return unknown();
    return approximated(type, {function(x[0].value), 0}, kFunctionUlps);
  };
}

static Element power(DType type, Element a, Element b) {
  if (a.isUnknown() || b.isUnknown())
    return unknown();
  Element result{std::pow(a.value, b.value), 0};
  if (a.isExact() && b.isExact())
    return approximated(type, result, kPowerUlps);
  if (!(a.low() > 0) || !std::isfinite(result.value))
    return unknown(result.value);
  // Of a positive base it is monotone in each operand.
  for (double base : {a.low(), a.high()})
    for (double exponent : {b.low(), b.high()})
      result.bound = std::max(
          result.bound, std::fabs(std::pow(base, exponent) - result.value));
  return approximated(type, result, kPowerUlps);
}

static Element copySign(Element a, Element b) {
  if (b.isUnknown() || std::isnan(b.value) ||
      (b.bound > 0 && std::fabs(b.value) <= b.bound))
    return a.isNaN() ? a : unknown(a.value);
  Element magnitude = absolute(a);
  return std::signbit(b.value) ? negate(magnitude) : magnitude;
}

static ScalarFunction classification(bool (*holds)(double)) {
  return [=](Elements x) {
    return x[0].isUnknown() ? Element{0, 1}
                            : Element{holds(x[0].value) ? 1.0 : 0.0, 0};
  };
}

static ScalarFunction exponentialOf(Operation *op, DType type) {
  auto approximate = [&](Function function, double ulps) {
    return approximation(type, function, ulps);
  };
  auto approximateNarrow = [&](Function function, double ulps) {
    return narrowApproximation(type, function, ulps);
  };
  return llvm::TypeSwitch<Operation *, ScalarFunction>(op)
      .Case<math::ExpOp>([&](auto) {
        return approximateNarrow([](double v) { return std::exp(v); },
                                 kExponentialUlps);
      })
      .Case<math::Exp2Op>([&](auto) {
        return approximateNarrow([](double v) { return std::exp2(v); },
                                 kExponentialUlps);
      })
      .Case<math::ExpM1Op>([&](auto) {
        return approximate([](double v) { return std::expm1(v); },
                           kFunctionUlps);
      })
      .Case<math::LogOp>([&](auto) {
        return approximate([](double v) { return std::log(v); }, kFunctionUlps);
      })
      .Case<math::Log2Op>([&](auto) {
        return approximate([](double v) { return std::log2(v); },
                           kFunctionUlps);
      })
      .Case<math::Log10Op>([&](auto) {
        return approximate([](double v) { return std::log10(v); },
                           kFunctionUlps);
      })
      .Case<math::Log1pOp>([&](auto) {
        return approximate([](double v) { return std::log1p(v); },
                           kFunctionUlps);
      })
      .Case<math::TanhOp>([&](auto) {
        return approximateNarrow([](double v) { return std::tanh(v); },
                                 kFunctionUlps);
      })
      .Case<math::ErfOp>([&](auto) {
        return approximate([](double v) { return std::erf(v); }, kFunctionUlps);
      })
      .Case<math::ErfcOp>([&](auto) {
        return approximate([](double v) { return std::erfc(v); },
                           kFunctionUlps);
      })
      .Case<math::CbrtOp>([&](auto) {
        return approximate([](double v) { return std::cbrt(v); },
                           kFunctionUlps);
      })
      .Default(ScalarFunction());
}

static ScalarFunction trigonometricOf(Operation *op, DType type) {
  auto approximate = [&](Function function) {
    return approximation(type, function, kFunctionUlps);
  };
  return llvm::TypeSwitch<Operation *, ScalarFunction>(op)
      .Case<math::SinOp>([&](auto) {
        return wave(type, [](double v) { return std::sin(v); });
      })
      .Case<math::CosOp>([&](auto) {
        return wave(type, [](double v) { return std::cos(v); });
      })
      .Case<math::TanOp>([&](auto) {
        return pointwise(type, [](double v) { return std::tan(v); });
      })
      .Case<math::CoshOp>([&](auto) {
        return pointwise(type, [](double v) { return std::cosh(v); });
      })
      .Case<math::AtanOp>([&](auto) {
        return approximate([](double v) { return std::atan(v); });
      })
      .Case<math::SinhOp>([&](auto) {
        return approximate([](double v) { return std::sinh(v); });
      })
      .Case<math::AsinOp>([&](auto) {
        return approximate([](double v) { return std::asin(v); });
      })
      .Case<math::AcosOp>([&](auto) {
        return approximate([](double v) { return std::acos(v); });
      })
      .Case<math::AsinhOp>([&](auto) {
        return approximate([](double v) { return std::asinh(v); });
      })
      .Case<math::AcoshOp>([&](auto) {
        return approximate([](double v) { return std::acosh(v); });
      })
      .Case<math::AtanhOp>([&](auto) {
        return approximate([](double v) { return std::atanh(v); });
      })
      .Default(ScalarFunction());
}

static ScalarFunction exactMathOf(Operation *op, DType type) {
  return llvm::TypeSwitch<Operation *, ScalarFunction>(op)
      .Case<math::FloorOp>([&](auto) {
        return integral([](double v) { return std::floor(v); });
      })
      .Case<math::CeilOp>(
          [&](auto) { return integral([](double v) { return std::ceil(v); }); })
      .Case<math::TruncOp>([&](auto) {
        return integral([](double v) { return std::trunc(v); });
      })
      .Case<math::RoundOp>([&](auto) {
        return integral([](double v) { return std::round(v); });
      })
      .Case<math::RoundEvenOp>([&](auto) {
        return integral([](double v) { return std::nearbyint(v); });
      })
      .Case<math::AbsFOp>(
          [&](auto) { return [](Elements x) { return absolute(x[0]); }; })
      .Case<math::CopySignOp>(
          [&](auto) { return [](Elements x) { return copySign(x[0], x[1]); }; })
      .Case<math::IsNaNOp>([&](auto) {
        return classification([](double v) { return std::isnan(v); });
      })
      .Case<math::IsInfOp>([&](auto) {
        return classification([](double v) { return std::isinf(v); });
      })
      .Case<math::IsFiniteOp>([&](auto) {
        return classification([](double v) { return std::isfinite(v); });
      })
      .Case<math::SqrtOp>([&](auto) {
        return [=](Elements x) { return rounded(type, squareRoot(x[0])); };
      })
      .Case<math::FmaOp>([&](auto) {
        return [=](Elements x) {
          return fusedMultiplyAdd(type, x[0], x[1], x[2]);
        };
      })
      .Default(ScalarFunction());
}

ScalarFunction reference::mathFunctionOf(Operation *op) {
  DType type = *dtypeOf(op->getResult(0).getType());
  if (isa<math::RsqrtOp>(op))
    return [=](Elements x) {
      return approximated(type, divide({1, 0}, squareRoot(x[0])),
                          kExponentialUlps);
    };
  if (isa<math::PowFOp>(op))
    return [=](Elements x) { return power(type, x[0], x[1]); };
  for (auto find : {exactMathOf, exponentialOf, trigonometricOf})
    if (ScalarFunction function = find(op, type))
      return function;
  return nullptr;
}
