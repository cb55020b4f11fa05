//===- EmitActivation.cpp - Activations as exact arithmetic ---------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// With u = |x| and F one of the three distribution functions,
//
//     x F(x) = max(x, 0) - u F(-u)
//
// where nothing cancels, and F(-u) is the exponential of something negative
// times a factor that changes slowly. That exponential is kept scaled up by a
// power of two, so that it doesn't lose bits where u F(-u) still has them.
//
//===----------------------------------------------------------------------===//

#include "norm/Dialect/Norm/Utils/EmitActivation.h"

#include "FloatEmitter.h"
#include "ScaledExp.h"
#include "norm/Dialect/Norm/Utils/EmitExp.h"

using namespace mlir;
using namespace mlir::norm;

namespace {
/// The numbers of one float format. Every one of them is exact in the format.
struct ActivationFormat {
  /// The power of two that scales exponentials.
  int shift;
  /// From these sizes on u F(-u) rounds to 0.
  double endOfSilu, endOfGeluErf, endOfGeluTanh;
  /// 2 sqrt(2 / pi) and that times 0.044715, each with what rounding lost.
  double linear, linearLow, cubic, cubicLow;
  /// Coefficients of t^0, t^1, ... of (u + 4) Q(u) exp(u^2 / 2), with Q the
  /// upper tail of the normal distribution and t = (u - 4) / (u + 4): minimax
  /// in the relative error, by test/Numerics/minimax.py mills_f32 mills_f64.
  ArrayRef<double> mills;
};
} // namespace

// Relative error of the polynomial: 1.2e-9, 0.02 ulp.
static const double millsF32[] = {
    0x1.82b4bcp-1, -0x1.373e3ap-1,  0x1.8c6dbap-2,  -0x1.7dff04p-3,
    0x1.eec818p-5, -0x1.ee54f6p-8,  -0x1.c99c7ep-9, 0x1.ad272cp-10,
    0x1.667d6p-13, -0x1.d1b0b6p-13, -0x1.848e4ep-15};

// Relative error of the polynomial: 1.4e-18, 0.012 ulp.
static const double millsF64[] = {
    0x1.82b4bb8c94dcep-1,   -0x1.373e3a893c28ap-1,  0x1.8c6dbf2cfc2b4p-2,
    -0x1.7dff2bff68398p-3,  0x1.eec4cc3e4d255p-5,   -0x1.ee2761047f98fp-8,
    -0x1.c81719d545eaep-9,  0x1.ab825fc112e82p-10,  0x1.17a4ae2f5b13ep-13,
    -0x1.e4a4257438b11p-13, -0x1.001e5190193b3p-19, 0x1.26d099e1867d9p-15,
    0x1.80b204b38b636p-21,  -0x1.8d4b27b6259e8p-18, -0x1.51e5cba87c216p-21,
    0x1.1236e3178b756p-20,  0x1.2341fe46cd6f8p-22,  -0x1.4cebe86059ad7p-23,
    -0x1.6c3d7e9f494d9p-24, 0x1.ce173ab0b5ff0p-27,  0x1.4aa097ba7b88fp-26,
    0x1.e4c1a09cd4762p-30,  -0x1.4cc03743461cep-29, -0x1.721e4e0a52fb8p-31};

// 1 / (1 + e), e in [0, 1]: relative error 0.0101, by minimax.py inverse_f32.
static const double inverseSeed[] = {0x1.fad40ap-1, -0x1.9dbcc4p-1,
                                     0x1.4afd6ap-2};

static ActivationFormat getFormat(Type element) {
  if (element.isF32())
    return {64,
            110.0,
            14.5,
            11.0,
            0x1.988454p+0,
            -0x1.857936p-25,
            0x1.2444f2p-4,
            0x1.49b16ap-29,
            millsF32};
  return {128,
          755.0,
          38.75,
          21.75,
          0x1.9884533d43651p+0,
          -0x1.cbc0d30ebfd15p-54,
          0x1.2444f2a4d8b4bp-4,
          -0x1.6c843a29d1c70p-61,
          millsF64};
}

namespace {
class ActivationEmitter : public FloatEmitter {
public:
  ActivationEmitter(OpBuilder &builder, Location loc, Type type)
      : FloatEmitter(builder, loc, type),
        format(getFormat(getElementTypeOrSelf(type))) {}

  Value sigmoid(Value x);
  Value silu(Value x);
  Value geluErf(Value x);
  Value geluTanh(Value x);

private:
  Value add(Value a, Value b) { return emit<arith::AddFOp>(a, b); }
  Value sub(Value a, Value b) { return emit<arith::SubFOp>(a, b); }
  Value mul(Value a, Value b) { return emit<arith::MulFOp>(a, b); }
  Value negate(Value x) { return emit<arith::NegFOp>(x); }

  /// min(|x|, end); keeps a NaN.
  Value size(Value x, double end) {
    return emit<arith::MinimumFOp>(emit<math::AbsFOp>(x), constant(end));
  }
  Value scaledExp(Value x) {
    return emitScaledExp(builder, loc, x, format.shift);
  }
  /// 1 / (1 + e) for e in [0, 1], `sum` being 1 + e.
  Value inverse(Value e, Value sum);
  /// max(x, 0) - product / 2^shift. A zero keeps its sign.
  Value finish(Value x, Value product) {
    Value positive = emit<arith::MaximumFOp>(x, constant(-0.0));
    return fma(product, constant(-std::ldexp(1.0, -format.shift)), positive);
  }
  /// max(x, 0) - u e / (1 + e), `scaled` being e times 2^shift.
  Value finishLogistic(Value x, Value u, Value scaled);

  ActivationFormat format;
};
} // namespace

Value ActivationEmitter::inverse(Value e, Value sum) {
  Value one = constant(1.0);
  if (!getElementTypeOrSelf(type).isF32())
    return emit<arith::DivFOp>(one, sum);
  // A division of f32 is 8 instructions of a GPU and a branch. Two steps of
  // Newton's square the error twice, to 1e-8.
  Value value = polynomial(e, inverseSeed);
  Value minusSum = negate(sum);
  for (int step = 0; step < 2; ++step)
    value = fma(fma(minusSum, value, one), value, value);
  return value;
}

Value ActivationEmitter::finishLogistic(Value x, Value u, Value scaled) {
  Value e = mul(scaled, constant(std::ldexp(1.0, -format.shift)));
  Value sum = add(e, constant(1.0));
  return finish(x, mul(mul(u, scaled), inverse(e, sum)));
}

// e / (1 + e) with e = exp(-|x|) for negative x, 1 / (1 + e) for others.
Value ActivationEmitter::sigmoid(Value x) {
  Value one = constant(1.0);
  Value e = emitExp(builder, loc, negate(emit<math::AbsFOp>(x)),
                    ExpRange::NonPositive);
  Value isNegative = compare(arith::CmpFPredicate::OLT, x, constant(0.0));
  Value numerator = select(isNegative, e, one);
  return mul(numerator, inverse(e, add(e, one)));
}

Value ActivationEmitter::silu(Value x) {
  Value u = size(x, format.endOfSilu);
  return finishLogistic(x, u, scaledExp(negate(u)));
}

// Q(u) = exp(-u^2 / 2) M(u). What u^2 loses by rounding is small, and goes into
// the factor.
Value ActivationEmitter::geluErf(Value x) {
  Value u = size(x, format.endOfGeluErf);
  Value square = mul(u, u);
  Value lost = fma(u, u, negate(square));
  Value e = scaledExp(mul(square, constant(-0.5)));

  Value one = constant(1.0);
  Value reciprocal = emit<arith::DivFOp>(one, add(u, constant(4.0)));
  Value t = mul(sub(u, constant(4.0)), reciprocal);
  Value factor = mul(polynomial(t, format.mills), mul(u, reciprocal));
  Value corrected = fma(mul(factor, constant(-0.5)), lost, factor);
  return finish(x, mul(corrected, e));
}

// The logistic function of z = u (linear + cubic u^2), in two floats, since the
// exponential turns absolute errors into relative ones.
Value ActivationEmitter::geluTanh(Value x) {
  Value u = size(x, format.endOfGeluTanh);
  Value square = mul(u, u);
  Value squareLow = fma(u, u, negate(square));
  Value linear = constant(format.linear), cubic = constant(format.cubic);

  // cubic * u^2, exactly but for the last term.
  Value high = mul(cubic, square);
  Value low = fma(cubic, square, negate(high));
  low = fma(cubic, squareLow, low);
  low = fma(constant(format.cubicLow), square, low);
  // The sum with `linear`, either of which may be the larger one.
  Value sum = add(high, linear);
  Value part = sub(sum, high);
  Value lost = add(sub(high, sub(sum, part)), sub(linear, part));
  low = add(low, add(lost, constant(format.linearLow)));
  // Times u.
  Value z = mul(u, sum);
  Value zLow = fma(u, sum, negate(z));
  zLow = fma(u, low, zLow);

  Value e = scaledExp(negate(z));
  return finishLogistic(x, u, fma(e, negate(zLow), e));
}

Value mlir::norm::emitSigmoid(OpBuilder &builder, Location loc, Value x) {
  return ActivationEmitter(builder, loc, x.getType()).sigmoid(x);
}

Value mlir::norm::emitSilu(OpBuilder &builder, Location loc, Value x) {
  return ActivationEmitter(builder, loc, x.getType()).silu(x);
}

Value mlir::norm::emitGeluErf(OpBuilder &builder, Location loc, Value x) {
  return ActivationEmitter(builder, loc, x.getType()).geluErf(x);
}

Value mlir::norm::emitGeluTanh(OpBuilder &builder, Location loc, Value x) {
  return ActivationEmitter(builder, loc, x.getType()).geluTanh(x);
}
