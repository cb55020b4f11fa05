//===- EmitExp.cpp - Exponentials as exactly rounded arithmetic -----------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// exp(x) = 2^n * exp(r) with n the integer nearest to x * log2(e) and
// r = x - n * ln(2), |r| <= ln(2) / 2.
//
// n comes from an addition that pushes the fraction out of the significand, so
// that it is at once a float (after taking the addend away) and an integer (the
// low bits). The addend also holds the bias of the exponent, which makes a
// power of two out of those bits by one shift.
//
//===----------------------------------------------------------------------===//

#include "norm/Dialect/Norm/Utils/EmitExp.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::norm;

namespace {
/// The numbers of one float format. Every one of them is exact in the format.
struct ExpFormat {
  /// log2(e), ln(2) and what ln(2) lost by rounding.
  double log2E, ln2, ln2Low;
  /// 1.5 * 2^(significand bits - 1).
  double roundingAddend;
  int significandBits, exponentBias;
  /// The power of two above which the smallest normal number times the power
  /// stays normal for every n that doesn't give zero.
  int subnormalShift;
  /// exp is 0 below `lowest` and infinite above `highest`; so is exp2.
  double lowest, highest, lowest2, highest2;
  /// Coefficients of r^2, r^3, ... of exp(r), whose first two are 1: minimax in
  /// the relative error over |r| <= 1.0002 * ln(2) / 2, by the Remez exchange
  /// in 160-bit arithmetic, then rounded to the format.
  ArrayRef<double> coefficients;
};
} // namespace

// Relative error of the polynomial: 3.2e-9, 0.05 ulp.
static const double coefficientsF32[] = {
    0x1.fffffcp-2, 0x1.55548cp-3, 0x1.555858p-5, 0x1.123ddep-7, 0x1.6ac72p-10};

// Relative error of the polynomial: 1.1e-17, 0.1 ulp.
static const double coefficientsF64[] = {
    0x1.000000000000ap-1,  0x1.55555555554fap-3,  0x1.555555555086ep-5,
    0x1.1111111127bdep-7,  0x1.6c16c1842d713p-10, 0x1.a01a012a60760p-13,
    0x1.a0199a02bb4a8p-16, 0x1.71df25303a10fp-19, 0x1.28ad7c2c09b08p-22,
    0x1.ad7fbbb2aff0ep-26};

static ExpFormat getFormat(Type element) {
  if (element.isF32())
    return {0x1.715476p0, 0x1.62e43p-1, -0x1.05c61p-29,
            0x1.8p23,     24,           127,
            24,           -104.0,       89.0,
            -150.0,       129.0,        coefficientsF32};
  assert(element.isF64() && "exponentials are emitted for f32 and f64 only");
  return {0x1.71547652b82fep0,
          0x1.62e42fefa39efp-1,
          0x1.abc9e3b39803fp-56,
          0x1.8p52,
          53,
          1023,
          54,
          -746.0,
          710.0,
          -1076.0,
          1025.0,
          coefficientsF64};
}

namespace {
class ExpEmitter {
public:
  ExpEmitter(OpBuilder &builder, Location loc, Type type, ExpRange range)
      : builder(builder), loc(loc), type(type), range(range),
        format(getFormat(getElementTypeOrSelf(type))) {
    unsigned width = getElementTypeOrSelf(type).getIntOrFloatBitWidth();
    intType = builder.getIntegerType(width);
    if (auto vector = dyn_cast<VectorType>(type))
      intType = vector.clone(intType);
  }

  Value emit(Value x, bool baseTwo);

private:
  Value constant(double value) {
    TypedAttr attr = builder.getFloatAttr(getElementTypeOrSelf(type), value);
    if (auto vector = dyn_cast<VectorType>(type))
      attr = DenseElementsAttr::get(vector, Attribute(attr));
    return arith::ConstantOp::create(builder, loc, type, attr);
  }
  Value intConstant(int64_t value) {
    TypedAttr attr =
        builder.getIntegerAttr(getElementTypeOrSelf(intType), value);
    if (auto vector = dyn_cast<VectorType>(intType))
      attr = DenseElementsAttr::get(vector, Attribute(attr));
    return arith::ConstantOp::create(builder, loc, intType, attr);
  }
  Value fma(Value a, Value b, Value c) {
    return math::FmaOp::create(builder, loc, a, b, c);
  }
  Value toFloat(Value bits) {
    return arith::BitcastOp::create(builder, loc, type, bits);
  }

  /// Maps infinities and what overflows or vanishes anyway onto arguments for
  /// which the reduction is exact; keeps a NaN.
  Value clamp(Value x, double lowest, double highest);
  Value polynomial(Value r, double factor);
  /// value * 2^n with one rounding, n held in the low bits of `sum`.
  Value scale(Value value, Value sum);

  OpBuilder &builder;
  Location loc;
  Type type, intType;
  ExpRange range;
  ExpFormat format;
};
} // namespace

Value ExpEmitter::clamp(Value x, double lowest, double highest) {
  x = arith::MaximumFOp::create(builder, loc, x, constant(lowest));
  if (range == ExpRange::Any)
    x = arith::MinimumFOp::create(builder, loc, x, constant(highest));
  return x;
}

Value ExpEmitter::polynomial(Value r, double factor) {
  ArrayRef<double> coefficients = format.coefficients;
  Value sum = constant(coefficients.back() * factor);
  for (double c : llvm::reverse(coefficients.drop_back()))
    sum = fma(sum, r, constant(c * factor));
  Value one = constant(factor);
  return fma(fma(sum, r, one), r, one);
}

Value ExpEmitter::scale(Value value, Value sum) {
  Value bits = arith::BitcastOp::create(builder, loc, intType, sum);
  Value shift = intConstant(format.significandBits - 1);
  // n <= 0: the polynomial is scaled down by 2^subnormalShift, and the power
  // of two up, which keeps both normal.
  if (range == ExpRange::NonPositive) {
    Value power = arith::ShLIOp::create(builder, loc, bits, shift);
    return arith::MulFOp::create(builder, loc, value, toFloat(power));
  }
  // 2^n itself may be out of range at both ends, its halves are not. The first
  // product is exact, so that only the second one rounds.
  Value half = arith::ShRUIOp::create(builder, loc, bits, intConstant(1));
  Value low = arith::SubIOp::create(builder, loc, bits, half);
  for (Value exponent : {half, low}) {
    Value power = arith::ShLIOp::create(builder, loc, exponent, shift);
    value = arith::MulFOp::create(builder, loc, value, toFloat(power));
  }
  return value;
}

Value ExpEmitter::emit(Value x, bool baseTwo) {
  x = clamp(x, baseTwo ? format.lowest2 : format.lowest,
            baseTwo ? format.highest2 : format.highest);
  bool scaled = range == ExpRange::NonPositive;
  int bias = scaled ? format.exponentBias + format.subnormalShift
                    : 2 * format.exponentBias;
  Value addend = constant(format.roundingAddend + bias);
  Value sum = baseTwo
                  ? arith::AddFOp::create(builder, loc, x, addend).getResult()
                  : fma(x, constant(format.log2E), addend);
  Value n = arith::SubFOp::create(builder, loc, sum, addend);
  Value r;
  if (baseTwo) {
    // The fraction is exact; its product with ln(2) is rounded once.
    Value fraction = arith::SubFOp::create(builder, loc, x, n);
    Value low =
        arith::MulFOp::create(builder, loc, fraction, constant(format.ln2Low));
    r = fma(fraction, constant(format.ln2), low);
  } else {
    // The first difference is exact.
    r = fma(n, constant(-format.ln2), x);
    r = fma(n, constant(-format.ln2Low), r);
  }
  double factor = scaled ? std::ldexp(1.0, -format.subnormalShift) : 1.0;
  return scale(polynomial(r, factor), sum);
}

Value mlir::norm::emitExp(OpBuilder &builder, Location loc, Value x,
                          ExpRange range) {
  return ExpEmitter(builder, loc, x.getType(), range).emit(x, false);
}

Value mlir::norm::emitExp2(OpBuilder &builder, Location loc, Value x,
                           ExpRange range) {
  return ExpEmitter(builder, loc, x.getType(), range).emit(x, true);
}
