//===- ConversionOps.cpp - arith ops between types ------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScalarOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace ::norm;
using namespace ::norm::reference;

using Elements = llvm::ArrayRef<Element>;

/// The value of an integer's bits read without a sign.
static double asUnsigned(DType type, double value) {
  return value < 0 ? value + std::ldexp(1.0, 8 * int(byteSize(type))) : value;
}

/// The value of an i1 is kept as 0 or 1; as a signed number it is 0 or -1.
static double asSigned(DType type, double value) {
  return type == DType::I1 ? -value : value;
}

/// A float cut to an integer: unknown beyond the integer type's range, where it
/// is poison, and beyond what a float64 holds exactly.
static Element toInteger(double least, double most, Element x) {
  if (x.isUnknown() || !std::isfinite(x.value))
    return unknown();
  Element result = monotone([](double v) { return std::trunc(v); }, x);
  if (result.low() < least || result.high() > most ||
      std::fabs(result.value) > 0x1p53)
    return unknown(result.value);
  return result;
}

/// The signed value of the low bits of an integer.
static double wrapToWidth(DType type, int64_t value) {
  if (type == DType::I1)
    return double(value & 1);
  unsigned unused = 64 - 8 * byteSize(type);
  return double(int64_t(uint64_t(value) << unused) >> unused);
}

/// The same bits as another type. The bits of a NaN are nobody's business.
static Element reinterpret(DType from, DType to, Element x) {
  if (!x.isExact() || std::isnan(x.value))
    return unknown(x.value);
  uint64_t storage = 0;
  encode(from, x.value, &storage);
  double value = decode(to, &storage);
  return std::fabs(value) > 0x1p53 && !isFloat(to) ? unknown(value)
                                                   : Element{value, 0};
}

static ScalarFunction fromInteger(DType from, DType to, bool isSigned) {
  return [=](Elements x) {
    // 2^64 less a small number has no float64.
    bool isWide = !isSigned && from == DType::I64 && x[0].value < 0;
    if (x[0].isUnknown() || isWide)
      return unknown();
    double value =
        isSigned ? asSigned(from, x[0].value) : asUnsigned(from, x[0].value);
    return rounded(to, {value, x[0].bound});
  };
}

static ScalarFunction extended(DType from, bool isSigned) {
  return [=](Elements x) {
    double value =
        isSigned ? asSigned(from, x[0].value) : asUnsigned(from, x[0].value);
    return Element{value, x[0].bound};
  };
}

static ScalarFunction truncated(DType to) {
  return [=](Elements x) {
    return x[0].isExact() ? Element{wrapToWidth(to, int64_t(x[0].value)), 0}
                          : unknown();
  };
}

static ScalarFunction toIntegerFunction(DType to, bool isSigned) {
  int bits = to == DType::I1 ? 1 : 8 * int(byteSize(to));
  double least = isSigned ? -std::ldexp(1.0, bits - 1) : 0.0;
  double most = std::ldexp(1.0, isSigned ? bits - 1 : bits) - 1;
  return [=](Elements x) {
    Element result = toInteger(least, most, x[0]);
    if (result.isExact())
      result.value = wrapToWidth(to, int64_t(result.value));
    else if (!isSigned)
      // An interval around the largest signed number wraps in the middle.
      result = unknown();
    return result;
  };
}

ScalarFunction reference::conversionFunctionOf(Operation *op) {
  DType to = *dtypeOf(op->getResult(0).getType());
  if (op->getNumOperands() != 1)
    return nullptr;
  DType from = *dtypeOf(op->getOperand(0).getType());
  return llvm::TypeSwitch<Operation *, ScalarFunction>(op)
      .Case<arith::ExtFOp>(
          [&](auto) { return [](Elements x) { return x[0]; }; })
      .Case<arith::TruncFOp>([&](arith::TruncFOp trunc) -> ScalarFunction {
        auto mode = trunc.getRoundingmode();
        if (mode && *mode != arith::RoundingMode::to_nearest_even)
          return nullptr;
        return [=](Elements x) { return rounded(to, x[0]); };
      })
      .Case<arith::SIToFPOp>([&](auto) { return fromInteger(from, to, true); })
      .Case<arith::UIToFPOp>([&](auto) { return fromInteger(from, to, false); })
      .Case<arith::FPToSIOp>([&](auto) { return toIntegerFunction(to, true); })
      .Case<arith::FPToUIOp>([&](auto) { return toIntegerFunction(to, false); })
      .Case<arith::ExtSIOp>([&](auto) { return extended(from, true); })
      .Case<arith::ExtUIOp>([&](auto) { return extended(from, false); })
      .Case<arith::TruncIOp>([&](auto) { return truncated(to); })
      .Case<arith::IndexCastOp>([&](auto) -> ScalarFunction {
        if (byteSize(to) < byteSize(from))
          return truncated(to);
        return extended(from, true);
      })
      .Case<arith::IndexCastUIOp>([&](auto) -> ScalarFunction {
        if (byteSize(to) < byteSize(from))
          return truncated(to);
        return extended(from, false);
      })
      .Case<arith::BitcastOp>([&](auto) {
        return [=](Elements x) { return reinterpret(from, to, x[0]); };
      })
      .Default(ScalarFunction());
}
