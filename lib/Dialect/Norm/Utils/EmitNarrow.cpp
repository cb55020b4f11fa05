//===- EmitNarrow.cpp - Functions of 16-bit floats ------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Powers of two: as in EmitExp.cpp, with a polynomial of 2^f, |f| <= 1/2, and
// with the scale of the argument within the reduction.
//
// With v = -|x| and F one of three distribution functions,
//
//     x F(x) = max(x, 0) + v F(v)
//
// Of the logistic function, F(v) = e / (1 + e) with e = exp(v) in (0, 1], which
// needs no division: 1 / (1 + e) is a polynomial there. Of the normal
// distribution, F(v) is a polynomial squared several times, the first squares
// plus a constant each: a Gaussian is the power of something that hardly
// varies.
//
// The coefficients are from test/Numerics/minimax.py; its names of them are
// given.
//
//===----------------------------------------------------------------------===//

#include "norm/Dialect/Norm/Utils/EmitNarrow.h"

#include "FloatEmitter.h"

using namespace mlir;
using namespace mlir::norm;

namespace {
/// The numbers of one narrow format, all of them exact in f32. Errors are in
/// units of the last place of the format.
struct NarrowNumbers {
  /// exp is 0 below `lowest` and infinite above `highest`; so is exp2.
  double lowest, highest, lowest2, highest2;
  /// Results are too small or too large for one power of two in f32.
  bool isWide;
  /// Exponentials of negative numbers are scaled up by this power of two.
  int shift;
  /// sigmoid is 0, and silu and gelu are, below minus this.
  double endOfSigmoid, endOfSilu, endOfGeluErf, endOfGeluTanh;
  /// tanh is 1 above `endOfTanh`, and a polynomial in x^2 - `middle` below.
  double endOfTanh, middle;
  /// Coefficients of 2^f, of 1 / (1 + e), and of tanh(x) / x.
  ArrayRef<double> exp2, inverse, tanh;
  /// Coefficients of the root of F in v, what is added to the first squares,
  /// and the number of squares.
  ArrayRef<double> gelu, geluConstants;
  int geluSquares;
};
} // namespace

// exp2_bf16: 0.019. inverse_bf16: 0.076. tanh_bf16: 0.099.
// gelu_erf_bf16: 0.123.
static const double exp2BF16[] = {0x1.fff69p-1, 0x1.62f31ep-1, 0x1.f0de98p-3,
                                  0x1.c3f716p-5};
static const double inverseBF16[] = {0x1.ffd9p-1, -0x1.f83b46p-1, 0x1.bb5098p-1,
                                     -0x1.10c83ap-1, 0x1.37b4dcp-3};
static const double tanhBF16[] = {
    0x1.7f4d5p-2,   -0x1.9f7e3ap-6,  0x1.2ea012p-9,   -0x1.db5528p-13,
    0x1.874a9cp-15, -0x1.7c96fep-18, -0x1.761d8cp-21, 0x1.8f21f4p-24,
    0x1.592076p-26, -0x1.3a585ep-29};
static const double geluBF16[] = {
    0x1.01174ap+0,  0x1.8b5a0ep-7,  -0x1.4028cap-8, 0x1.bc8164p-12,
    0x1.5d6af8p-14, 0x1.13f108p-18, 0x1.516616p-24};
static const double geluConstantsBF16[] = {-0x1.df8dp-6, -0x1.6eb358p-10,
                                           -0x1.5a2f52p-21};

// exp2_f16: 0.005. inverse_f16: 0.018. tanh_f16: 0.080. gelu_erf_f16: 0.042.
static const double exp2F16[] = {0x1.ffffe8p-1, 0x1.62e0dcp-1, 0x1.ec06dep-3,
                                 0x1.ca1498p-5, 0x1.3997a8p-7};
static const double inverseF16[] = {
    0x1.fffedap-1, -0x1.ff8e54p-1, 0x1.f88648p-1, -0x1.ce5832p-1,
    0x1.55daaep-1, -0x1.4a5742p-2, 0x1.259734p-4};
static const double tanhF16[] = {
    0x1.33ec92p-2,   -0x1.b8182cp-7,  0x1.d36590p-11, -0x1.079b66p-14,
    0x1.692aeap-19,  -0x1.19cc3ap-22, 0x1.277af6p-23, -0x1.e65406p-28,
    -0x1.a964dcp-29, 0x1.56ed9cp-33,  0x1.ad3694p-35, -0x1.7f4050p-39,
    -0x1.91c570p-42, 0x1.7b1eb0p-46,  0x1.485706p-50, -0x1.4a3f98p-54};
static const double geluF16[] = {0x1.eb180ep-1,  0x1.87019cp-5, -0x1.22568cp-6,
                                 0x1.766314p-10, 0x1.72f8dp-11, 0x1.94014cp-15};
static const double geluConstantsF16[] = {-0x1.c77e5p-9, 0x1.cc04aep-11};

static NarrowNumbers getNumbers(NarrowFormat format) {
  NarrowNumbers numbers;
  if (format == NarrowFormat::BF16) {
    numbers.lowest = -94.0;
    numbers.highest = 89.0;
    numbers.lowest2 = -136.0;
    numbers.highest2 = 128.0;
    numbers.isWide = true;
    numbers.shift = 24;
    numbers.endOfSigmoid = 94.0;
    numbers.endOfSilu = 98.0;
    numbers.endOfGeluErf = 13.59375;
    numbers.endOfGeluTanh = 10.34375;
    numbers.endOfTanh = 3.75;
    numbers.middle = 7.0;
    numbers.exp2 = exp2BF16;
    numbers.inverse = inverseBF16;
    numbers.tanh = tanhBF16;
    numbers.gelu = geluBF16;
    numbers.geluConstants = geluConstantsBF16;
    numbers.geluSquares = 6;
    return numbers;
  }
  numbers.lowest = -18.0;
  numbers.highest = 12.0;
  numbers.lowest2 = -26.0;
  numbers.highest2 = 17.0;
  numbers.isWide = false;
  numbers.shift = 0;
  numbers.endOfSigmoid = 18.0;
  numbers.endOfSilu = 21.0;
  numbers.endOfGeluErf = 5.78125;
  numbers.endOfGeluTanh = 5.34375;
  numbers.endOfTanh = 4.75;
  numbers.middle = 11.0;
  numbers.exp2 = exp2F16;
  numbers.inverse = inverseF16;
  numbers.tanh = tanhF16;
  numbers.gelu = geluF16;
  numbers.geluConstants = geluConstantsF16;
  numbers.geluSquares = 4;
  return numbers;
}

namespace {
/// log2(e); 2 sqrt(2 / pi) log2(e), and that times 0.044715.
constexpr double log2E = 0x1.715476p0;
constexpr double tanhLinear = 0x1.26aec2p+1, tanhCubic = 0x1.a5a7dp-4;
constexpr int significandBits = 23, exponentBias = 127;

class NarrowEmitter : public FloatEmitter {
public:
  NarrowEmitter(OpBuilder &builder, Location loc, Type type,
                NarrowFormat format)
      : FloatEmitter(builder, loc, type), numbers(getNumbers(format)) {}

  /// 2^(x * scale).
  Value power(Value x, double scale, double lowest, double highest);
  Value exp(Value x) {
    return power(x, log2E, numbers.lowest, numbers.highest);
  }
  Value exp2(Value x) {
    return power(x, 1.0, numbers.lowest2, numbers.highest2);
  }
  Value tanh(Value x);
  Value sigmoid(Value x);
  Value silu(Value x);
  Value geluErf(Value x);
  Value geluTanh(Value x);

private:
  /// 2^f, and n + `bias` in the low bits of a float, with n + f the product of
  /// the argument and a scale.
  struct Reduced {
    Value fraction, sum;
  };
  Reduced reduce(Value x, Value scale, int bias);
  Value toHighBits(Value sum) {
    return emit<arith::ShLIOp>(toBits(sum), intConstant(significandBits));
  }
  /// 2^(x * scale + shift); keeps a NaN.
  Value multiplied(Value x, Value scale, int shift);
  /// The same with one op less; a NaN gives anything.
  Value added(Value x, Value scale, int shift);
  /// -min(|x|, end).
  Value minusSize(Value x, double end) {
    Value size = emit<math::AbsFOp>(x);
    return emit<arith::MaximumFOp>(emit<arith::NegFOp>(size), constant(-end));
  }
  Value positivePart(Value x) {
    return emit<arith::MaximumFOp>(x, constant(-0.0));
  }
  /// 2^-shift / (1 + e), given e times 2^shift.
  Value inverse(Value scaled);

  NarrowNumbers numbers;
};
} // namespace

NarrowEmitter::Reduced NarrowEmitter::reduce(Value x, Value scale, int bias) {
  Value addend = constant(0x1.8p23 + bias);
  Value sum = fma(x, scale, addend);
  Value minusN = emit<arith::SubFOp>(addend, sum);
  return {polynomial(fma(x, scale, minusN), numbers.exp2), sum};
}

Value NarrowEmitter::multiplied(Value x, Value scale, int shift) {
  auto [fraction, sum] = reduce(x, scale, exponentBias + shift);
  return emit<arith::MulFOp>(fraction, toFloat(toHighBits(sum)));
}

Value NarrowEmitter::added(Value x, Value scale, int shift) {
  auto [fraction, sum] = reduce(x, scale, shift);
  return toFloat(emit<arith::AddIOp>(toBits(fraction), toHighBits(sum)));
}

Value NarrowEmitter::inverse(Value scaled) {
  SmallVector<double> coefficients;
  for (auto [power, coefficient] : llvm::enumerate(numbers.inverse))
    coefficients.push_back(std::ldexp(
        coefficient, -numbers.shift * (static_cast<int>(power) + 1)));
  return polynomial(scaled, coefficients);
}

Value NarrowEmitter::power(Value x, double scale, double lowest,
                           double highest) {
  x = emit<arith::MaximumFOp>(x, constant(lowest));
  x = emit<arith::MinimumFOp>(x, constant(highest));
  if (!numbers.isWide)
    return multiplied(x, constant(scale), 0);
  // The square of the root is the only product that may leave the range.
  Value root = multiplied(x, constant(scale / 2), 0);
  return emit<arith::MulFOp>(root, root);
}

Value NarrowEmitter::tanh(Value x) {
  x = emit<arith::MaximumFOp>(x, constant(-numbers.endOfTanh));
  x = emit<arith::MinimumFOp>(x, constant(numbers.endOfTanh));
  Value distance = fma(x, x, constant(-numbers.middle));
  return emit<arith::MulFOp>(x, polynomial(distance, numbers.tanh));
}

Value NarrowEmitter::sigmoid(Value x) {
  Value v = minusSize(x, numbers.endOfSigmoid);
  Value e = multiplied(v, constant(log2E), numbers.shift);
  Value isNegative = compare(arith::CmpFPredicate::OLT, x, constant(0.0));
  Value one = constant(std::ldexp(1.0, numbers.shift));
  return emit<arith::MulFOp>(select(isNegative, e, one), inverse(e));
}

Value NarrowEmitter::silu(Value x) {
  Value v = minusSize(x, numbers.endOfSilu);
  Value e = added(v, constant(log2E), numbers.shift);
  return fma(emit<arith::MulFOp>(v, e), inverse(e), positivePart(x));
}

Value NarrowEmitter::geluErf(Value x) {
  Value v = minusSize(x, numbers.endOfGeluErf);
  Value root = polynomial(v, numbers.gelu);
  for (int square = 0; square + 1 < numbers.geluSquares; ++square)
    root = square < static_cast<int>(numbers.geluConstants.size())
               ? fma(root, root, constant(numbers.geluConstants[square]))
               : emit<arith::MulFOp>(root, root);
  return fma(emit<arith::MulFOp>(v, root), root, positivePart(x));
}

Value NarrowEmitter::geluTanh(Value x) {
  Value v = minusSize(x, numbers.endOfGeluTanh);
  Value square = emit<arith::MulFOp>(v, v);
  Value scale = fma(square, constant(tanhCubic), constant(tanhLinear));
  Value e = added(v, scale, numbers.shift);
  return fma(emit<arith::MulFOp>(v, e), inverse(e), positivePart(x));
}

Value mlir::norm::emitNarrow(OpBuilder &builder, Location loc,
                             NarrowFunction function, NarrowFormat format,
                             Value x) {
  NarrowEmitter emitter(builder, loc, x.getType(), format);
  switch (function) {
  case NarrowFunction::Exp:
    return emitter.exp(x);
  case NarrowFunction::Exp2:
    return emitter.exp2(x);
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
