//===- FloatOps.cpp - arith ops on floats ---------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScalarOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace ::norm;
using namespace ::norm::reference;

using Elements = llvm::ArrayRef<Element>;

std::optional<DType> reference::dtypeOf(Type type) {
  Type element = getElementTypeOrSelf(type);
  if (element.isIndex())
    return DType::I64;
  if (!element.isSignlessInteger() && !isa<FloatType>(element))
    return std::nullopt;
  std::string text;
  llvm::raw_string_ostream(text) << element;
  return parseDType(text);
}

ScalarFunction reference::scalarFunctionOf(Operation *op) {
  if (op->getNumResults() != 1)
    return nullptr;
  for (auto find : {floatFunctionOf, integerFunctionOf, conversionFunctionOf,
                    mathFunctionOf, activationFunctionOf})
    if (ScalarFunction function = find(op))
      return function;
  return nullptr;
}

/// `function` of two elements, rounded to `type`.
template <typename Function>
static ScalarFunction binary(DType type, Function function) {
  return [=](Elements x) { return rounded(type, function(x[0], x[1])); };
}

/// `function` of two elements, whose result needs no rounding.
template <typename Function>
static ScalarFunction exact(Function function) {
  return [=](Elements x) { return function(x[0], x[1]); };
}

static Element floatRemainder(Element a, Element b) {
  if (a.isNaN() || b.isNaN())
    return {kNaN, 0};
  // A remainder jumps: a bound of the operands gives none of the result.
  if (!a.isExact() || !b.isExact())
    return unknown();
  return {std::fmod(a.value, b.value), 0};
}

namespace {
/// The outcomes of a comparison of two floats, as bits.
enum Outcome : unsigned { Less = 1, Equal = 2, Greater = 4, Unordered = 8 };
} // namespace

static unsigned possibleOutcomes(Element a, Element b) {
  if (a.isNaN() || b.isNaN())
    return Unordered;
  if (a.isUnknown() || b.isUnknown())
    return Less | Equal | Greater | Unordered;
  unsigned outcomes = 0;
  if (a.low() < b.high())
    outcomes |= Less;
  if (a.high() > b.low())
    outcomes |= Greater;
  if (a.low() <= b.high() && b.low() <= a.high())
    outcomes |= Equal;
  return outcomes;
}

/// The outcomes for which a predicate holds.
static unsigned outcomesOf(arith::CmpFPredicate predicate) {
  using P = arith::CmpFPredicate;
  switch (predicate) {
  case P::AlwaysFalse:
    return 0;
  case P::OEQ:
    return Equal;
  case P::OGT:
    return Greater;
  case P::OGE:
    return Greater | Equal;
  case P::OLT:
    return Less;
  case P::OLE:
    return Less | Equal;
  case P::ONE:
    return Less | Greater;
  case P::ORD:
    return Less | Equal | Greater;
  case P::UEQ:
    return Equal | Unordered;
  case P::UGT:
    return Greater | Unordered;
  case P::UGE:
    return Greater | Equal | Unordered;
  case P::ULT:
    return Less | Unordered;
  case P::ULE:
    return Less | Equal | Unordered;
  case P::UNE:
    return Less | Greater | Unordered;
  case P::UNO:
    return Unordered;
  case P::AlwaysTrue:
    return Less | Equal | Greater | Unordered;
  }
  return 0;
}

static Element compareFloats(arith::CmpFPredicate predicate, Element a,
                             Element b) {
  unsigned possible = possibleOutcomes(a, b), wanted = outcomesOf(predicate);
  bool mayHold = possible & wanted, mayFail = possible & ~wanted;
  return {mayHold && !mayFail ? 1.0 : 0.0, mayHold && mayFail ? 1.0 : 0.0};
}

/// Where the condition is open, an interval around both choices.
static Element choose(Element condition, Element a, Element b) {
  if (condition.isExact())
    return condition.value != 0 ? a : b;
  if (a.isNaN() && b.isNaN())
    return a;
  if (a.isExact() && b.isExact() && a.value == b.value)
    return a;
  if (a.isUnknown() || b.isUnknown() || !std::isfinite(a.value) ||
      !std::isfinite(b.value))
    return unknown(a.value);
  return {a.value, std::max(a.bound, std::fabs(b.value - a.value) + b.bound)};
}

ScalarFunction reference::floatFunctionOf(Operation *op) {
  DType type = *dtypeOf(op->getResult(0).getType());
  return llvm::TypeSwitch<Operation *, ScalarFunction>(op)
      .Case<arith::AddFOp>([&](auto) { return binary(type, add); })
      .Case<arith::SubFOp>([&](auto) { return binary(type, subtract); })
      .Case<arith::DivFOp>([&](auto) { return binary(type, divide); })
      .Case<arith::RemFOp>([&](auto) { return binary(type, floatRemainder); })
      .Case<arith::MulFOp>([&](arith::MulFOp mul) {
        // A square isn't negative, whatever the bound of its root.
        if (mul.getLhs() == mul.getRhs())
          return binary(type, [](Element a, Element) { return square(a); });
        return binary(type, multiply);
      })
      .Case<arith::NegFOp>(
          [&](auto) { return [](Elements x) { return negate(x[0]); }; })
      .Case<arith::MaximumFOp>([&](auto) { return exact(maximum); })
      .Case<arith::MinimumFOp>([&](auto) { return exact(minimum); })
      .Case<arith::MaxNumFOp>([&](auto) { return exact(maximumNumber); })
      .Case<arith::MinNumFOp>([&](auto) { return exact(minimumNumber); })
      .Case<arith::CmpFOp>([&](arith::CmpFOp compare) {
        arith::CmpFPredicate predicate = compare.getPredicate();
        return exact([=](Element a, Element b) {
          return compareFloats(predicate, a, b);
        });
      })
      .Case<arith::SelectOp>([&](auto) {
        return [](Elements x) { return choose(x[0], x[1], x[2]); };
      })
      .Default(ScalarFunction());
}
