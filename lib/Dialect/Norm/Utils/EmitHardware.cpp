//===- EmitHardware.cpp - Functions by a GPU's approximations -------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Everything is made of 2^x and 1 / x, for which a GPU has an instruction each.
// Those make a zero of what is subnormal in f32, while bf16 has numbers down to
// 2^-133. So what may get that small is computed times a power of two, which is
// taken away by an exactly rounded product at the end.
//
// With u = |x|, gelu(x) = max(x, 0) - u * 2^P(-u), the power being the tail of
// the normal distribution. The coefficients of P are from
// test/Numerics/minimax.py; its names of them are given.
//
//===----------------------------------------------------------------------===//

#include "norm/Dialect/Norm/Utils/EmitNarrow.h"

#include "FloatEmitter.h"

using namespace mlir;
using namespace mlir::norm;

// exponent_bf16: 0.434 ulp.
static const double exponentBF16[] = {
    -0x1.00a122p+0, 0x1.207c4ep+0,  -0x1.f96a64p-2, 0x1.1b795p-5,
    0x1.aa272cp-9,  0x1.5a6766p-13, 0x1.ce1b3p-19};

// exponent_f16: 0.136 ulp.
static const double exponentF16[] = {-0x1.000658p+0, 0x1.264168p+0,
                                     -0x1.dac632p-2, 0x1.8de4ccp-5,
                                     0x1.8459aap-8,  0x1.5ac24p-12};

/// log2(e); 2 sqrt(2 / pi) log2(e), and that times 0.044715.
static constexpr double log2E = 0x1.715476p0;
static constexpr double tanhLinear = 0x1.26aec2p+1, tanhCubic = 0x1.a5a7dp-4;

namespace {
class HardwareEmitter : public FloatEmitter {
public:
  HardwareEmitter(OpBuilder &builder, Location loc, Type type,
                  NarrowFormat format)
      : FloatEmitter(builder, loc, type), isBF16(format == NarrowFormat::BF16),
        shift(isBF16 ? 24 : 0) {}

  /// 2^(x * scale).
  Value power(Value x, double scale);
  Value tanh(Value x);
  Value sigmoid(Value x) { return logistic(scaled(x, constant(-log2E))); }
  Value silu(Value x);
  Value geluErf(Value x);
  Value geluTanh(Value x);

private:
  Value exp2(Value x) {
    return math::Exp2Op::create(builder, loc, x, arith::FastMathFlags::afn);
  }
  Value inverse(Value x) {
    return arith::DivFOp::create(builder, loc, constant(1.0), x,
                                 arith::FastMathFlags::afn);
  }
  Value times(Value x, double factor) {
    return factor == 1.0 ? x : emit<arith::MulFOp>(x, constant(factor));
  }
  /// x * scale - shift.
  Value scaled(Value x, Value scale) {
    return shift == 0 ? emit<arith::MulFOp>(x, scale)
                      : fma(x, scale, constant(-shift));
  }
  /// 1 / (1 + 2^(exponent + shift)).
  Value logistic(Value exponent) {
    Value one = constant(std::ldexp(1.0, -shift));
    Value sum = emit<arith::AddFOp>(exp2(exponent), one);
    return times(inverse(sum), std::ldexp(1.0, -shift));
  }
  /// max(x, -end); the product with a distribution function is 0 there.
  Value atLeast(Value x, double end) {
    return emit<arith::MaximumFOp>(x, constant(-end));
  }

  bool isBF16;
  int shift;
};
} // namespace

Value HardwareEmitter::power(Value x, double scale) {
  if (!isBF16)
    return exp2(times(x, scale));
  Value root = exp2(times(x, scale / 2));
  return emit<arith::MulFOp>(root, root);
}

Value HardwareEmitter::tanh(Value x) {
  // Near 0 the difference cancels, and tanh(x) is x.
  Value size = emit<math::AbsFOp>(x);
  Value isSmall = compare(arith::CmpFPredicate::OLT, size,
                          constant(isBF16 ? 0x1p-5 : 0x1.4p-7));
  Value e = exp2(times(x, 2 * log2E));
  Value half = inverse(emit<arith::AddFOp>(e, constant(1.0)));
  return select(isSmall, x, fma(half, constant(-2.0), constant(1.0)));
}

Value HardwareEmitter::silu(Value x) {
  x = atLeast(x, isBF16 ? 98.0 : 21.0);
  return emit<arith::MulFOp>(x, sigmoid(x));
}

Value HardwareEmitter::geluErf(Value x) {
  Value size = emit<math::AbsFOp>(x);
  Value v = atLeast(emit<arith::NegFOp>(size), isBF16 ? 13.59375 : 5.78125);
  SmallVector<double> coefficients(isBF16 ? ArrayRef<double>(exponentBF16)
                                          : ArrayRef<double>(exponentF16));
  coefficients[0] += shift;
  Value tail = exp2(polynomial(v, coefficients));
  Value positive = emit<arith::MaximumFOp>(x, constant(-0.0));
  if (shift == 0)
    return fma(v, tail, positive);
  return fma(emit<arith::MulFOp>(v, tail), constant(std::ldexp(1.0, -shift)),
             positive);
}

Value HardwareEmitter::geluTanh(Value x) {
  x = atLeast(x, isBF16 ? 10.34375 : 5.34375);
  Value square = emit<arith::MulFOp>(x, x);
  Value scale = fma(square, constant(-tanhCubic), constant(-tanhLinear));
  return emit<arith::MulFOp>(x, logistic(scaled(x, scale)));
}

Value mlir::norm::emitHardware(OpBuilder &builder, Location loc,
                               NarrowFunction function, NarrowFormat format,
                               Value x) {
  HardwareEmitter emitter(builder, loc, x.getType(), format);
  switch (function) {
  case NarrowFunction::Exp:
    return emitter.power(x, log2E);
  case NarrowFunction::Exp2:
    return emitter.power(x, 1.0);
  case NarrowFunction::Tanh:
    return emitter.tanh(x);
  case NarrowFunction::Sigmoid:
    return emitter.sigmoid(x);
  case NarrowFunction::Silu:
    return emitter.silu(x);
  case NarrowFunction::GeluErf:
    return emitter.geluErf(x);
  case NarrowFunction::GeluTanh:
    return emitter.geluTanh(x);
  }
  llvm_unreachable("unknown function");
}
