//===- DifferentiateRules.cpp - Derivatives of the ops of a body ----------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// docs/Backward.md lists the rules, and what is chosen where a function has no
// derivative.
//
//===----------------------------------------------------------------------===//

#include "DifferentiateRules.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::norm;

using P = arith::CmpFPredicate;

static int64_t code(P predicate) { return static_cast<int64_t>(predicate); }

//===----------------------------------------------------------------------===//
// Which values, and how their cotangents add up
//===----------------------------------------------------------------------===//

/// The operands on which the results depend other than by a choice.
static SmallVector<Value> getSmoothOperands(Operation *op) {
  if (isa<RandomOp, IndexOp, ExtentOp, arith::BitcastOp, arith::CmpFOp,
          arith::CmpIOp, math::FloorOp, math::CeilOp, math::TruncOp>(op))
    return {};
  if (auto select = dyn_cast<arith::SelectOp>(op))
    return {select.getTrueValue(), select.getFalseValue()};
  if (auto sign = dyn_cast<math::CopySignOp>(op))
    return {sign.getLhs()};
  return op->getOperands();
}

/// Integers have cotangents where they are on the way from a float to a float,
/// as codes are.
static bool isConversion(Operation *op) {
  return isa<arith::FPToSIOp, arith::FPToUIOp, arith::TruncIOp, arith::ExtSIOp,
             arith::ExtUIOp>(op);
}

void CotangentRules::findActive(ArrayRef<Operation *> ops) {
  for (Operation *op : ops)
    for (Value result : op->getResults())
      if ((isa<FloatType>(result.getType()) || isConversion(op)) &&
          llvm::any_of(getSmoothOperands(op),
                       [&](Value operand) { return isActive(operand); }))
        active.insert(result);
}

void CotangentRules::contribute(Value value, const Terms &cotangent,
                                uint64_t from) {
  if (!isActive(value) || cotangent.empty())
    return;
  uint64_t extra = from & ~terms.getSupport(value);
  terms.add(pending[value][extra], cotangent);
}

Terms CotangentRules::getCotangent(Value value) {
  Terms total;
  auto found = pending.find(value);
  if (found == pending.end())
    return total;
  for (auto &[extra, part] : std::map<uint64_t, Terms>(found->second))
    terms.add(total, extra ? terms.sum(part, extra) : part);
  pending.erase(value);
  return total;
}

static LogicalResult refuse(Operation *op) {
  return op->emitOpError("has no derivative that norm-differentiate knows of");
}

LogicalResult CotangentRules::propagate(Operation *op) {
  if (llvm::none_of(op->getResults(), [&](Value v) { return isActive(v); }))
    return success();
  terms.loc = op->getLoc();
  if (auto reduce = dyn_cast<ReduceOp>(op)) {
    propagateReduce(reduce);
    return success();
  }
  Terms cotangent = getCotangent(op->getResult(0));
  for (Value other : op->getResults().drop_front())
    if (!getCotangent(other).empty())
      return refuse(op);
  if (cotangent.empty())
    return success();
  dims = terms.getSupport(op->getResult(0));
  if (propagateArithmetic(op, cotangent) || propagateChoice(op, cotangent) ||
      propagateConversion(op, cotangent) ||
      propagateBinaryMath(op, cotangent) || propagateUnary(op, cotangent))
    return success();
  return refuse(op);
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

bool CotangentRules::propagateArithmetic(Operation *op,
                                         const Terms &cotangent) {
  auto scaled = [&](const Term &factor) {
    return Terms{terms.multiply(terms.join(cotangent), factor)};
  };
  auto negated = [&] {
    return terms.multiply(cotangent, terms.getConstant(-1));
  };
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<arith::AddFOp>([&](auto sum) {
        passTo(sum.getLhs(), cotangent);
        passTo(sum.getRhs(), cotangent);
        return true;
      })
      .Case<arith::SubFOp>([&](auto difference) {
        passTo(difference.getLhs(), cotangent);
        passTo(difference.getRhs(), negated());
        return true;
      })
      .Case<arith::NegFOp>([&](auto neg) {
        passTo(neg.getOperand(), negated());
        return true;
      })
      .Case<arith::MulFOp>([&](auto product) {
        passTo(product.getLhs(), scaled(terms.getTerm(product.getRhs())));
        passTo(product.getRhs(), scaled(terms.getTerm(product.getLhs())));
        return true;
      })
      .Case<arith::DivFOp>([&](auto quotient) {
        Term inverse = terms.getPower(quotient.getRhs(), -2);
        passTo(quotient.getLhs(), scaled(inverse));
        if (isActive(quotient.getRhs()))
          passTo(quotient.getRhs(),
                 terms.multiply(scaled(terms.multiply(
                                    terms.getTerm(quotient.getLhs()),
                                    terms.getPower(quotient.getRhs(), -4))),
                                terms.getConstant(-1)));
        return true;
      })
      .Case<math::FmaOp>([&](auto fma) {
        passTo(fma.getA(), scaled(terms.getTerm(fma.getB())));
        passTo(fma.getB(), scaled(terms.getTerm(fma.getA())));
        passTo(fma.getC(), cotangent);
        return true;
      })
      .Case<arith::RemFOp>([&](auto rem) {
        passTo(rem.getLhs(), cotangent);
        if (isActive(rem.getRhs())) {
          Value quotient = terms.make<arith::DivFOp>(
              {terms.convert(rem.getLhs()), terms.convert(rem.getRhs())});
          Value whole = terms.make<math::TruncOp>(quotient);
          passTo(rem.getRhs(), terms.multiply(scaled(terms.getTerm(whole)),
                                              terms.getConstant(-1)));
        }
        return true;
      })
      .Default(false);
}

/// The larger, or smaller, of two: the first one where they are equal, unless
/// the second one is the constant 0. So relu has the derivative 0 at 0, and a
/// clamp 1 at its ends.
static void getChoiceGuards(TermBuilder &terms, Operation *op, Guard &first,
                            Guard &second) {
  bool isMaximum = isa<arith::MaximumFOp, arith::MaxNumFOp>(op);
  bool isTieOfSecond = matchPattern(op->getOperand(1), m_AnyZeroFloat());
  Value a = terms.convert(op->getOperand(0));
  Value b = terms.convert(op->getOperand(1));
  P strict = isMaximum ? P::OGT : P::OLT, weak = isMaximum ? P::OGE : P::OLE;
  first = {terms.makeCompare(code(isTieOfSecond ? strict : weak), a, b), true};
  second = {terms.makeCompare(code(isTieOfSecond ? weak : strict), b, a), true};
}

bool CotangentRules::propagateChoice(Operation *op, const Terms &cotangent) {
  if (auto select = dyn_cast<arith::SelectOp>(op)) {
    Value condition = select.getCondition();
    passTo(select.getTrueValue(), terms.addGuard(cotangent, {condition, true}));
    passTo(select.getFalseValue(),
           terms.addGuard(cotangent, {condition, false}));
    return true;
  }
  if (isa<arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp,
          arith::MinNumFOp>(op)) {
    Guard first, second;
    getChoiceGuards(terms, op, first, second);
    if (isActive(op->getOperand(0)))
      passTo(op->getOperand(0), terms.addGuard(cotangent, first));
    if (isActive(op->getOperand(1)))
      passTo(op->getOperand(1), terms.addGuard(cotangent, second));
    return true;
  }
  return false;
}

bool CotangentRules::propagateConversion(Operation *op,
                                         const Terms &cotangent) {
  if (!isConversion(op) &&
      !isa<arith::ExtFOp, arith::TruncFOp, arith::SIToFPOp, arith::UIToFPOp,
           math::RoundOp, math::RoundEvenOp>(op))
    return false;
  passTo(op->getOperand(0), cotangent);
  return true;
}

//===----------------------------------------------------------------------===//
// Functions of two operands
//===----------------------------------------------------------------------===//

bool CotangentRules::propagateBinaryMath(Operation *op,
                                         const Terms &cotangent) {
  Term joined =
      isa<math::PowFOp, math::CopySignOp>(op) ? terms.join(cotangent) : Term();
  auto pass = [&](Value operand, const Term &factor) {
    if (isActive(operand))
      passTo(operand, {terms.multiply(joined, factor)});
  };
  if (auto power = dyn_cast<math::PowFOp>(op)) {
    Value a = terms.convert(power.getLhs()), b = terms.convert(power.getRhs());
    Value less = terms.make<arith::SubFOp>({b, terms.constant(1.0)});
    Term lower = terms.getTerm(terms.make<math::PowFOp>({a, less}));
    pass(power.getLhs(), terms.multiply(lower, terms.getTerm(b)));
    if (isActive(power.getRhs()))
      pass(power.getRhs(),
           terms.multiply(terms.getTerm(terms.make<math::PowFOp>({a, b})),
                          terms.getTerm(terms.make<math::LogOp>(a))));
    return true;
  }
  if (auto sign = dyn_cast<math::CopySignOp>(op)) {
    Value one = terms.constant(1.0);
    Value a = terms.make<math::CopySignOp>({one, terms.convert(sign.getLhs())});
    Value b = terms.make<math::CopySignOp>({one, terms.convert(sign.getRhs())});
    pass(sign.getLhs(), terms.multiply(terms.getTerm(a), terms.getTerm(b)));
    return true;
  }
  return false;
}

//===----------------------------------------------------------------------===//
// Functions of one operand
//===----------------------------------------------------------------------===//

/// The result of a function in the type of the arithmetic: in a narrower one
/// it is rounded.
template <typename OpTy>
static Value getResult(TermBuilder &terms, Operation *op) {
  Value result = op->getResult(0);
  if (result.getType() == terms.getComputeType())
    return result;
  return terms.make<OpTy>(terms.convert(op->getOperand(0)));
}

/// Derivatives that are products of powers.
std::optional<Term> CotangentRules::getPowerRule(Operation *op) {
  Value x = op->getOperand(0);
  auto scale = [&](double factor, Term term) {
    return terms.multiply(terms.getConstant(factor), term);
  };
  return llvm::TypeSwitch<Operation *, std::optional<Term>>(op)
      .Case<math::SqrtOp>(
          [&](auto) { return scale(0.5, terms.getPower(x, -1)); })
      .Case<math::RsqrtOp>(
          [&](auto) { return scale(-0.5, terms.getPower(x, -3)); })
      .Case<math::LogOp>([&](auto) { return terms.getPower(x, -2); })
      .Case<math::Log2Op>([&](auto) {
        return scale(1 / llvm::numbers::ln2, terms.getPower(x, -2));
      })
      .Case<math::Log10Op>([&](auto) {
        return scale(1 / llvm::numbers::ln10, terms.getPower(x, -2));
      })
      .Case<math::CbrtOp>([&](auto) {
        Term y = terms.getTerm(getResult<math::CbrtOp>(terms, op));
        return scale(1.0 / 3, terms.multiply(y, terms.getPower(x, -2)));
      })
      .Case<math::ExpOp>([&](auto) {
        return terms.getTerm(getResult<math::ExpOp>(terms, op));
      })
      .Case<math::Exp2Op>([&](auto) {
        return scale(llvm::numbers::ln2,
                     terms.getTerm(getResult<math::Exp2Op>(terms, op)));
      })
      .Default(std::nullopt);
}

Value CotangentRules::getExponentialRule(Operation *op) {
  Value x = terms.convert(op->getOperand(0));
  Value one = terms.constant(1.0);
  auto divide = [&](Value by) { return terms.make<arith::DivFOp>({one, by}); };
  auto ofSquare = [&](double square, double factor) {
    Value exponent = terms.make<arith::MulFOp>(
        {terms.make<arith::MulFOp>({x, x}), terms.constant(square)});
    return terms.make<arith::MulFOp>(
        {terms.make<math::ExpOp>(exponent), terms.constant(factor)});
  };
  constexpr double slope = 2 * llvm::numbers::inv_sqrtpi;
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case<math::ExpM1Op>([&](auto) { return terms.make<math::ExpOp>(x); })
      .Case<math::Log1pOp>(
          [&](auto) { return divide(terms.make<arith::AddFOp>({x, one})); })
      .Case<math::ErfOp>([&](auto) { return ofSquare(-1, slope); })
      .Case<math::ErfcOp>([&](auto) { return ofSquare(-1, -slope); })
      .Case<math::TanhOp>([&](auto) {
        Value y = getResult<math::TanhOp>(terms, op);
        Value negated = terms.make<arith::NegFOp>(y);
        return terms.make<math::FmaOp>({negated, y, one});
      })
      .Case<math::AbsFOp>([&](auto) {
        // 0 at 0, as the mean of both sides.
        Value zero = terms.constant(0.0);
        Value isAbove = terms.makeCompare(code(P::OGT), x, zero);
        Value isBelow = terms.makeCompare(code(P::OLT), x, zero);
        return terms.makeSelect(
            isAbove, one,
            terms.makeSelect(isBelow, terms.constant(-1.0), zero));
      })
      .Default(Value());
}

Value CotangentRules::getTrigonometricRule(Operation *op) {
  Value x = terms.convert(op->getOperand(0));
  Value one = terms.constant(1.0);
  auto divide = [&](Value by) { return terms.make<arith::DivFOp>({one, by}); };
  auto negate = [&](Value value) { return terms.make<arith::NegFOp>(value); };
  // sign * x^2 + term.
  auto square = [&](Value value, double sign, double term) {
    Value factor = sign < 0 ? negate(value) : value;
    return terms.make<math::FmaOp>({factor, value, terms.constant(term)});
  };
  auto rsqrt = [&](Value value) { return terms.make<math::RsqrtOp>(value); };
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case<math::SinOp>([&](auto) { return terms.make<math::CosOp>(x); })
      .Case<math::CosOp>(
          [&](auto) { return negate(terms.make<math::SinOp>(x)); })
      .Case<math::TanOp>(
          [&](auto) { return square(getResult<math::TanOp>(terms, op), 1, 1); })
      .Case<math::SinhOp>([&](auto) { return terms.make<math::CoshOp>(x); })
      .Case<math::CoshOp>([&](auto) { return terms.make<math::SinhOp>(x); })
      .Case<math::AsinOp>([&](auto) { return rsqrt(square(x, -1, 1)); })
      .Case<math::AcosOp>([&](auto) { return negate(rsqrt(square(x, -1, 1))); })
      .Case<math::AtanOp>([&](auto) { return divide(square(x, 1, 1)); })
      .Case<math::AsinhOp>([&](auto) { return rsqrt(square(x, 1, 1)); })
      .Case<math::AcoshOp>([&](auto) { return rsqrt(square(x, 1, -1)); })
      .Case<math::AtanhOp>([&](auto) { return divide(square(x, -1, 1)); })
      .Default(Value());
}

/// Phi(x), of f64 as gelu(x) / x, which targets have.
static Value getNormalDistribution(TermBuilder &terms, Value x) {
  Value half = terms.constant(0.5);
  if (!x.getType().isF64()) {
    Value argument = terms.make<arith::MulFOp>(
        {x, terms.constant(-1 / llvm::numbers::sqrt2)});
    return terms.make<arith::MulFOp>(
        {terms.make<math::ErfcOp>(argument), half});
  }
  Value isZero = terms.makeCompare(code(P::OEQ), x, terms.constant(0.0));
  Value quotient = terms.make<arith::DivFOp>({terms.make<GeluOp>(x), x});
  return terms.makeSelect(isZero, half, quotient);
}

/// d gelu(x) / dx = Phi(x) + x * Phi'(x), by the form of Phi.
static Value getGeluRule(TermBuilder &terms, Value x, GeluForm form) {
  auto multiply = [&](Value a, Value b) {
    return terms.make<arith::MulFOp>({a, b});
  };
  Value square = multiply(x, x);
  if (form == GeluForm::Erf) {
    Value phi = getNormalDistribution(terms, x);
    Value power =
        terms.make<math::ExpOp>(multiply(square, terms.constant(-0.5)));
    constexpr double density = llvm::numbers::inv_sqrtpi / llvm::numbers::sqrt2;
    return terms.make<math::FmaOp>(
        {multiply(x, terms.constant(density)), power, phi});
  }
  constexpr double inner = llvm::numbers::sqrt2 * llvm::numbers::inv_sqrtpi,
                   cube = 0.044715;
  Value one = terms.constant(1.0);
  Value factor = terms.make<math::FmaOp>(
      {square, terms.constant(inner * cube), terms.constant(inner)});
  Value tanh = terms.make<math::TanhOp>(multiply(x, factor));
  Value slope = terms.make<math::FmaOp>(
      {square, terms.constant(3 * inner * cube), terms.constant(inner)});
  Value rest =
      terms.make<math::FmaOp>({terms.make<arith::NegFOp>(tanh), tanh, one});
  Value phi = terms.make<arith::AddFOp>({tanh, one});
  Value change = multiply(multiply(x, slope), rest);
  return multiply(terms.make<arith::AddFOp>({phi, change}),
                  terms.constant(0.5));
}

Value CotangentRules::getActivationRule(Operation *op) {
  if (!isa<SigmoidOp, SiluOp, GeluOp>(op))
    return nullptr;
  Value x = terms.convert(op->getOperand(0));
  if (auto gelu = dyn_cast<GeluOp>(op))
    return getGeluRule(terms, x, gelu.getApproximate());
  Value one = terms.constant(1.0);
  Value sigmoid = terms.make<SigmoidOp>(x);
  Value rest = terms.make<arith::SubFOp>({one, sigmoid});
  if (isa<SigmoidOp>(op))
    return terms.make<arith::MulFOp>({sigmoid, rest});
  Value factor = terms.make<math::FmaOp>({x, rest, one});
  return terms.make<arith::MulFOp>({sigmoid, factor});
}

bool CotangentRules::propagateUnary(Operation *op, const Terms &cotangent) {
  if (op->getNumOperands() != 1 || op->getNumResults() != 1)
    return false;
  std::optional<Term> rule = getPowerRule(op);
  for (auto find : {&CotangentRules::getExponentialRule,
                    &CotangentRules::getTrigonometricRule,
                    &CotangentRules::getActivationRule})
    if (!rule)
      if (Value value = (this->*find)(op))
        rule = terms.getTerm(value);
  if (!rule)
    return false;
  passTo(op->getOperand(0), {terms.multiply(terms.join(cotangent), *rule)});
  return true;
}
