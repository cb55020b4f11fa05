//===- ActivationOps.cpp - Activation functions ---------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScalarOps.h"
#include "norm/Dialect/Norm/IR/Norm.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace ::norm;
using namespace ::norm::reference;

using Elements = llvm::ArrayRef<Element>;

// What an implementation may be off by, in units of the last place of the type
// (of f32 for 8-bit floats, before the rounding). docs/Reference.md lists it.
static constexpr double kActivationUlps = 8;

// What GELU of a 16-bit type may be off by before it is rounded, where it has a
// GPU's approximations, in ulps of the type.
static constexpr double kHardwareGeluUlps = 0.5;
static constexpr llvm::StringLiteral kHardware = "norm.hardware";

// In long double: the tails depend on their argument's last bits.

static long double logistic(long double x) {
  long double e = std::exp(-std::fabs(x));
  return (x < 0 ? e : 1) / (1 + e);
}

static double sigmoid(double x) { return double(logistic(x)); }

static double silu(double x) {
  return x == -kInfinity ? -0.0 : double(x * logistic(x));
}

static double geluErf(double x) {
  if (x == -kInfinity)
    return -0.0;
  long double rootOfHalf = 0.707106781186547524400844362104849039L;
  return double(0.5L * x * std::erfc(-x * rootOfHalf));
}

static double geluTanh(double x) {
  if (x == -kInfinity)
    return -0.0;
  long double rootOf2OverPi = 0.797884560802865355879892119868763737L;
  long double wide = x;
  return double(wide * logistic(2 * rootOf2OverPi *
                                (wide + 0.044715L * wide * wide * wide)));
}

/// A function that falls up to `turn` and rises from there on.
static Element unimodal(double (*function)(double), double turn, Element x) {
  Element result = monotone(function, x);
  if (!result.isUnknown() && x.bound > 0 && x.low() < turn && turn < x.high())
    result.bound =
        std::max(result.bound, std::fabs(function(turn) - result.value));
  return result;
}

void reference::allowHardware(Operation *root) {
  root->walk([](mlir::norm::GeluOp op) {
    op->setDiscardableAttr(kHardware, UnitAttr::get(op.getContext()));
  });
}

ScalarFunction reference::activationFunctionOf(Operation *op) {
  DType type = *dtypeOf(op->getResult(0).getType());
  bool isHardware = op->hasAttr(kHardware);
  auto withTurn = [&](double (*function)(double), double turn) {
    return [=](Elements x) {
      Element result = unimodal(function, turn, x[0]);
      result = isHardware ? narrowed(type, result, kHardwareGeluUlps)
                          : narrowed(type, result);
      return approximated(type, result, kActivationUlps);
    };
  };
  return llvm::TypeSwitch<Operation *, ScalarFunction>(op)
      .Case<mlir::norm::SigmoidOp>([&](auto) {
        return [=](Elements x) {
          return approximated(type, narrowed(type, monotone(sigmoid, x[0])),
                              kActivationUlps);
        };
      })
      .Case<mlir::norm::SiluOp>(
          [&](auto) { return withTurn(silu, -1.2784645427610738); })
      .Case<mlir::norm::GeluOp>([&](mlir::norm::GeluOp gelu) {
        return gelu.getApproximate() == mlir::norm::GeluForm::Tanh
                   ? withTurn(geluTanh, -0.7524614220710162)
                   : withTurn(geluErf, -0.7517915246935645);
      })
      .Default(ScalarFunction());
}
