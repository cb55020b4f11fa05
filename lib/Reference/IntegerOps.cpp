//===- IntegerOps.cpp - arith ops on integers -----------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScalarOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/APInt.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace ::norm;
using namespace ::norm::reference;

using llvm::APInt;
using Elements = llvm::ArrayRef<Element>;

static unsigned bitWidth(DType type) {
  return type == DType::I1 ? 1 : 8 * byteSize(type);
}

static APInt toAPInt(DType type, double value) {
  return APInt(64, uint64_t(int64_t(value))).trunc(bitWidth(type));
}

/// Numbers that a float64 doesn't hold exactly are unknown.
static Element fromAPInt(DType type, const APInt &value) {
  int64_t number =
      type == DType::I1 ? int64_t(value.getZExtValue()) : value.getSExtValue();
  bool isExact = number >= -(int64_t(1) << 53) && number <= (int64_t(1) << 53);
  return isExact ? Element{double(number), 0} : unknown(double(number));
}

/// Nothing is known of the result of an open operand, but that an i1 is a bit.
static Element openInteger(DType type) {
  return type == DType::I1 ? Element{0, 1} : unknown();
}

template <typename Function>
static ScalarFunction binary(DType operand, DType result, Function function) {
  return [=](Elements x) {
    if (!x[0].isExact() || !x[1].isExact())
      return openInteger(result);
    return fromAPInt(result, function(toAPInt(operand, x[0].value),
                                      toAPInt(operand, x[1].value)));
  };
}

/// Division by zero and its overflow have no defined result.
template <typename Function>
static ScalarFunction division(DType type, bool isSigned, Function function) {
  return [=](Elements x) {
    if (!x[0].isExact() || !x[1].isExact())
      return openInteger(type);
    APInt a = toAPInt(type, x[0].value), b = toAPInt(type, x[1].value);
    if (b.isZero() || (isSigned && a.isMinSignedValue() && b.isAllOnes()))
      return openInteger(type);
    return fromAPInt(type, function(a, b));
  };
}

/// A shift by the width or more has no defined result.
template <typename Function>
static ScalarFunction shift(DType type, Function function) {
  return [=](Elements x) {
    if (!x[0].isExact() || !x[1].isExact())
      return openInteger(type);
    APInt a = toAPInt(type, x[0].value), b = toAPInt(type, x[1].value);
    if (b.uge(a.getBitWidth()))
      return openInteger(type);
    return fromAPInt(type, function(a, unsigned(b.getZExtValue())));
  };
}

static APInt holds(bool value) { return APInt(1, value); }

static ScalarFunction comparison(arith::CmpIOp op, DType operand) {
  arith::CmpIPredicate predicate = op.getPredicate();
  return binary(operand, DType::I1, [=](const APInt &a, const APInt &b) {
    return holds(arith::applyCmpPredicate(predicate, a, b));
  });
}

static ScalarFunction divisionOf(Operation *op, DType type) {
  using V = const APInt &;
  return llvm::TypeSwitch<Operation *, ScalarFunction>(op)
      .Case<arith::DivSIOp>([&](auto) {
        return division(type, true, [](V a, V b) { return a.sdiv(b); });
      })
      .Case<arith::DivUIOp>([&](auto) {
        return division(type, false, [](V a, V b) { return a.udiv(b); });
      })
      .Case<arith::RemSIOp>([&](auto) {
        return division(type, true, [](V a, V b) { return a.srem(b); });
      })
      .Case<arith::RemUIOp>([&](auto) {
        return division(type, false, [](V a, V b) { return a.urem(b); });
      })
      .Case<arith::ShLIOp>([&](auto) {
        return shift(type, [](V a, unsigned b) { return a.shl(b); });
      })
      .Case<arith::ShRSIOp>([&](auto) {
        return shift(type, [](V a, unsigned b) { return a.ashr(b); });
      })
      .Case<arith::ShRUIOp>([&](auto) {
        return shift(type, [](V a, unsigned b) { return a.lshr(b); });
      })
      .Default(ScalarFunction());
}

ScalarFunction reference::integerFunctionOf(Operation *op) {
  if (op->getNumOperands() != 2)
    return nullptr;
  DType type = *dtypeOf(op->getResult(0).getType());
  DType operand = *dtypeOf(op->getOperand(0).getType());
  using V = const APInt &;
  auto simple = [&](auto function) { return binary(type, type, function); };
  return llvm::TypeSwitch<Operation *, ScalarFunction>(op)
      .Case<arith::AddIOp>(
          [&](auto) { return simple([](V a, V b) { return a + b; }); })
      .Case<arith::SubIOp>(
          [&](auto) { return simple([](V a, V b) { return a - b; }); })
      .Case<arith::MulIOp>(
          [&](auto) { return simple([](V a, V b) { return a * b; }); })
      .Case<arith::AndIOp>(
          [&](auto) { return simple([](V a, V b) { return a & b; }); })
      .Case<arith::OrIOp>(
          [&](auto) { return simple([](V a, V b) { return a | b; }); })
      .Case<arith::XOrIOp>(
          [&](auto) { return simple([](V a, V b) { return a ^ b; }); })
      .Case<arith::MaxSIOp>([&](auto) {
        return simple([](V a, V b) { return a.sgt(b) ? a : b; });
      })
      .Case<arith::MinSIOp>([&](auto) {
        return simple([](V a, V b) { return a.slt(b) ? a : b; });
      })
      .Case<arith::MaxUIOp>([&](auto) {
        return simple([](V a, V b) { return a.ugt(b) ? a : b; });
      })
      .Case<arith::MinUIOp>([&](auto) {
        return simple([](V a, V b) { return a.ult(b) ? a : b; });
      })
      .Case<arith::CmpIOp>(
          [&](arith::CmpIOp compare) { return comparison(compare, operand); })
      .Default([&](Operation *other) { return divisionOf(other, type); });
}
