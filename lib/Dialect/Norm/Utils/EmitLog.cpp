//===- EmitLog.cpp - Logarithms as exactly rounded arithmetic -------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// log(x) = n * ln(2) + log(1 + f), x = 2^n * (1 + f) with 2/3 <= 1 + f < 4/3,
// so that nothing cancels where the value is near 0.
//
//===----------------------------------------------------------------------===//

#include "norm/Dialect/Norm/Utils/EmitLog.h"

#include "FloatEmitter.h"

#include <limits>

using namespace mlir;
using namespace mlir::norm;

namespace {
/// The numbers of one float format. Every one of them is exact in the format.
struct LogFormat {
  double ln2;
  int significandBits;
  double smallestNormal;
  /// The bits of the float nearest to 2/3.
  int64_t twoThirds;
  /// Coefficients of f^2, f^3, ... of log(1 + f), the first of which is 1:
  /// minimax in the relative error over |f| <= 1.0001 / 3, by the Remez
  /// exchange in 160-bit arithmetic, then rounded to the format.
  ArrayRef<double> coefficients;
};
} // namespace

// Relative error of the polynomial: 8e-9, 0.13 ulp.
static const double coefficientsF32[] = {
    -0x1.0p-1,      0x1.555556p-2, -0x1.fffdfp-3,  0x1.999856p-3,
    -0x1.55b98p-3,  0x1.24d74ap-3, -0x1.f0ad2ep-4, 0x1.bb6734p-4,
    -0x1.0c9894p-3, 0x1.df8b9cp-4};

// Relative error of the polynomial: 1.7e-17, 0.15 ulp.
static const double coefficientsF64[] = {
    -0x1.ffffffffffff6p-2, 0x1.5555555555550p-2,  -0x1.0000000001813p-2,
    0x1.999999999b4cep-3,  -0x1.55555553178c0p-3, 0x1.2492492335b75p-3,
    -0x1.000000c3adf84p-3, 0x1.c71c72c55cb3fp-4,  -0x1.9999506633634p-4,
    0x1.745ce4a466a22p-4,  -0x1.555d8915d7218p-4, 0x1.3b19b58113004p-4,
    -0x1.23ffa2f742cc6p-4, 0x1.109f5bc9c3148p-4,  -0x1.06675f9c6f3f0p-4,
    0x1.ec59864a7a643p-5,  -0x1.710f7b2f59b49p-5, 0x1.65308a942ed4ap-5,
    -0x1.668683d6dd278p-4, 0x1.4ded72b385676p-4};

static LogFormat getFormat(Type element) {
  if (element.isF32())
    return {0x1.62e43p-1, 24, 0x1p-126, 0x3f2aaaab, coefficientsF32};
  return {0x1.62e42fefa39efp-1, 53, 0x1p-1022, 0x3fe5555555555555,
          coefficientsF64};
}

namespace {
class LogEmitter : public FloatEmitter {
public:
  LogEmitter(OpBuilder &builder, Location loc, Type type)
      : FloatEmitter(builder, loc, type),
        format(getFormat(getElementTypeOrSelf(type))) {}

  Value log(Value x);
  Value log1P(Value x);

private:
  static constexpr double infinity = std::numeric_limits<double>::infinity();

  LogFormat format;
};
} // namespace

Value LogEmitter::log(Value x) {
  int fractionBits = format.significandBits - 1;
  // Subnormal numbers are made normal first.
  Value isSmall =
      compare(arith::CmpFPredicate::OLT, x, constant(format.smallestNormal));
  Value enlarged =
      emit<arith::MulFOp>(x, constant(std::ldexp(1.0, fractionBits)));
  Value normal = select(isSmall, enlarged, x);
  Value correction = select(isSmall, constant(-fractionBits), constant(0.0));

  Value bits = toBits(normal);
  Value shift = intConstant(fractionBits);
  Value above = emit<arith::SubIOp>(bits, intConstant(format.twoThirds));
  Value exponent = emit<arith::ShRSIOp>(above, shift);
  Value power = emit<arith::ShLIOp>(exponent, shift);
  Value m = toFloat(emit<arith::SubIOp>(bits, power));
  Value n =
      emit<arith::AddFOp>(emit<arith::SIToFPOp>(type, exponent), correction);

  Value f = emit<arith::SubFOp>(m, constant(1.0));
  Value tail = polynomial(f, format.coefficients);
  Value square = emit<arith::MulFOp>(f, f);
  Value value = fma(n, constant(format.ln2), fma(tail, square, f));

  // +inf and NaN are their own logarithms; of 0 it is -inf, and of what is
  // below a NaN.
  Value positive = compare(arith::CmpFPredicate::OGT, x, constant(0.0));
  Value finite = compare(arith::CmpFPredicate::ULT, x, constant(infinity));
  Value isZero = compare(arith::CmpFPredicate::OEQ, x, constant(0.0));
  Value isNegative = compare(arith::CmpFPredicate::OLT, x, constant(0.0));
  value = select(finite, value, x);
  Value special = select(isNegative, constant(std::nan("")), x);
  special = select(isZero, constant(-infinity), special);
  return select(positive, value, special);
}

// log(u) with u = 1 + x as it is rounded, and what the rounding lost.
Value LogEmitter::log1P(Value x) {
  Value one = constant(1.0);
  Value u = emit<arith::AddFOp>(x, one);
  Value lost = emit<arith::SubFOp>(x, emit<arith::SubFOp>(u, one));
  // For large x, 1 is what is lost.
  Value isLarge = compare(arith::CmpFPredicate::OGT, x, one);
  Value lostOfOne = emit<arith::SubFOp>(one, emit<arith::SubFOp>(u, x));
  lost = select(isLarge, lostOfOne, lost);
  Value correction = emit<arith::DivFOp>(lost, u);
  Value ofU = log(u);
  Value value = emit<arith::AddFOp>(ofU, correction);
  // At the ends of the range the correction is not a number.
  Value inside = compare(arith::CmpFPredicate::OGT, u, constant(0.0));
  Value finite = compare(arith::CmpFPredicate::OLT, u, constant(infinity));
  Value regular = emit<arith::AndIOp>(inside, finite);
  return select(regular, value, ofU);
}

Value mlir::norm::emitLog(OpBuilder &builder, Location loc, Value x) {
  return LogEmitter(builder, loc, x.getType()).log(x);
}

Value mlir::norm::emitLog1P(OpBuilder &builder, Location loc, Value x) {
  return LogEmitter(builder, loc, x.getType()).log1P(x);
}
