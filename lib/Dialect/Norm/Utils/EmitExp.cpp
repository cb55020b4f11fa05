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

#include "FloatEmitter.h"
#include "ScaledExp.h"

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
  /// exp is 0 below `lowest` and infinite above `highest`; so is exp2, and
  /// expm1 is -1 below `lowestM1`. tanh is 1 above `highestTanh`.
  double lowest, highest, lowest2, highest2, lowestM1, highestTanh;
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
  ExpFormat format;
  if (element.isF32()) {
    format.log2E = 0x1.715476p0;
    format.ln2 = 0x1.62e43p-1;
    format.ln2Low = -0x1.05c61p-29;
    format.roundingAddend = 0x1.8p23;
    format.significandBits = 24;
    format.exponentBias = 127;
    format.subnormalShift = 24;
    format.lowest = -104.0;
    format.highest = 89.0;
    format.lowest2 = -150.0;
    format.highest2 = 129.0;
    format.lowestM1 = -20.0;
    format.highestTanh = 10.0;
    format.coefficients = coefficientsF32;
    return format;
  }
  format.log2E = 0x1.71547652b82fep0;
  format.ln2 = 0x1.62e42fefa39efp-1;
  format.ln2Low = 0x1.abc9e3b39803fp-56;
  format.roundingAddend = 0x1.8p52;
  format.significandBits = 53;
  format.exponentBias = 1023;
  format.subnormalShift = 54;
  format.lowest = -746.0;
  format.highest = 710.0;
  format.lowest2 = -1076.0;
  format.highest2 = 1025.0;
  format.lowestM1 = -40.0;
  format.highestTanh = 20.0;
  format.coefficients = coefficientsF64;
  return format;
}

namespace {
class ExpEmitter : public FloatEmitter {
public:
  ExpEmitter(OpBuilder &builder, Location loc, Type type)
      : FloatEmitter(builder, loc, type),
        format(getFormat(getElementTypeOrSelf(type))) {}

  Value exp(Value x, ExpRange range);
  Value exp2(Value x, ExpRange range);
  Value expM1(Value x);
  Value tanh(Value x);
  Value scaledExp(Value x, int shift);

private:
  /// The reduced argument, and n in the low bits of a float, `bias` added.
  struct Reduced {
    Value r, sum;
  };

  /// Maps infinities and what overflows or vanishes anyway onto arguments for
  /// which the reduction is exact; keeps a NaN.
  Value clamp(Value x, double lowest, double highest, ExpRange range) {
    x = emit<arith::MaximumFOp>(x, constant(lowest));
    if (range == ExpRange::Any)
      x = emit<arith::MinimumFOp>(x, constant(highest));
    return x;
  }
  Reduced reduce(Value x, int bias);
  Reduced reduce2(Value x, int bias);
  /// exp(r) times 2^n with one rounding.
  Value combine(Reduced reduced, ExpRange range);
  int getBias(ExpRange range) const {
    return range == ExpRange::NonPositive
               ? format.exponentBias + format.subnormalShift
               : 2 * format.exponentBias;
  }
  Value toPower(Value exponent) {
    return toFloat(
        emit<arith::ShLIOp>(exponent, intConstant(format.significandBits - 1)));
  }

  ExpFormat format;
};
} // namespace

ExpEmitter::Reduced ExpEmitter::reduce(Value x, int bias) {
  Value addend = constant(format.roundingAddend + bias);
  Value sum = fma(x, constant(format.log2E), addend);
  Value n = emit<arith::SubFOp>(sum, addend);
  // The first difference is exact.
  Value r = fma(n, constant(-format.ln2), x);
  return {fma(n, constant(-format.ln2Low), r), sum};
}

ExpEmitter::Reduced ExpEmitter::reduce2(Value x, int bias) {
  Value addend = constant(format.roundingAddend + bias);
  Value sum = emit<arith::AddFOp>(x, addend);
  Value n = emit<arith::SubFOp>(sum, addend);
  // The fraction is exact; its product with ln(2) is rounded once.
  Value fraction = emit<arith::SubFOp>(x, n);
  Value low = emit<arith::MulFOp>(fraction, constant(format.ln2Low));
  return {fma(fraction, constant(format.ln2), low), sum};
}

Value ExpEmitter::combine(Reduced reduced, ExpRange range) {
  auto [r, sum] = reduced;
  bool scaled = range == ExpRange::NonPositive;
  double factor = scaled ? std::ldexp(1.0, -format.subnormalShift) : 1.0;
  Value tail = polynomial(r, format.coefficients, factor);
  Value one = constant(factor);
  Value value = fma(fma(tail, r, one), r, one);
  Value bits = toBits(sum);
  // n <= 0: the polynomial is scaled down by 2^subnormalShift, and the power
  // of two up, which keeps both normal.
  if (scaled)
    return emit<arith::MulFOp>(value, toPower(bits));
  // 2^n itself may be out of range at both ends, its halves are not. The first
  // product is exact, so that only the second one rounds.
  Value half = emit<arith::ShRUIOp>(bits, intConstant(1));
  Value rest = emit<arith::SubIOp>(bits, half);
  value = emit<arith::MulFOp>(value, toPower(half));
  return emit<arith::MulFOp>(value, toPower(rest));
}

Value ExpEmitter::exp(Value x, ExpRange range) {
  x = clamp(x, format.lowest, format.highest, range);
  return combine(reduce(x, getBias(range)), range);
}

Value ExpEmitter::scaledExp(Value x, int shift) {
  auto [r, sum] = reduce(x, format.exponentBias + shift);
  Value one = constant(1.0);
  Value value = fma(fma(polynomial(r, format.coefficients), r, one), r, one);
  return emit<arith::MulFOp>(value, toPower(toBits(sum)));
}

Value ExpEmitter::exp2(Value x, ExpRange range) {
  x = clamp(x, format.lowest2, format.highest2, range);
  return combine(reduce2(x, getBias(range)), range);
}

// 2 * (2^(n-1) * (exp(r) - 1) + (2^(n-1) - 1/2)): half the power is in range
// for every n, and doubling is exact.
Value ExpEmitter::expM1(Value x) {
  x = clamp(x, format.lowestM1, format.highest, ExpRange::Any);
  auto [r, sum] = reduce(x, format.exponentBias - 1);
  Value tail = polynomial(r, format.coefficients);
  Value square = emit<arith::MulFOp>(r, r);
  Value fraction = fma(tail, square, r);
  Value power = toPower(toBits(sum));
  Value offset = emit<arith::SubFOp>(power, constant(0.5));
  Value half = fma(fraction, power, offset);
  return emit<arith::AddFOp>(half, half);
}

// With e = exp(2 |x|) - 1, the value is e / (e + 2).
Value ExpEmitter::tanh(Value x) {
  Value size = emit<math::AbsFOp>(x);
  size = emit<arith::MinimumFOp>(size, constant(format.highestTanh));
  Value e = expM1(emit<arith::AddFOp>(size, size));
  Value denominator = emit<arith::AddFOp>(e, constant(2.0));
  Value value = emit<arith::DivFOp>(e, denominator);
  return emit<math::CopySignOp>(value, x);
}

Value mlir::norm::emitExp(OpBuilder &builder, Location loc, Value x,
                          ExpRange range) {
  return ExpEmitter(builder, loc, x.getType()).exp(x, range);
}

Value mlir::norm::emitExp2(OpBuilder &builder, Location loc, Value x,
                           ExpRange range) {
  return ExpEmitter(builder, loc, x.getType()).exp2(x, range);
}

Value mlir::norm::emitExpM1(OpBuilder &builder, Location loc, Value x) {
  return ExpEmitter(builder, loc, x.getType()).expM1(x);
}

Value mlir::norm::emitTanh(OpBuilder &builder, Location loc, Value x) {
  return ExpEmitter(builder, loc, x.getType()).tanh(x);
}

Value mlir::norm::emitScaledExp(OpBuilder &builder, Location loc, Value x,
                                int shift) {
  return ExpEmitter(builder, loc, x.getType()).scaledExp(x, shift);
}
