//===- MicroFloats.cpp - f8E8M0FNU and f4E2M1FN as bytes ------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MicroFloats.h"
#include "ShapedEmitter.h"

using namespace mlir;
using namespace mlir::norm;

static constexpr int64_t kInfinity = 0x7f800000;

static int64_t bitsOf(float value) { return llvm::bit_cast<uint32_t>(value); }

bool mlir::norm::isMicroFloat(Type type) {
  return isa<Float8E8M0FNUType, Float4E2M1FNType>(getElementTypeOrSelf(type));
}

/// The code is f32's exponent. The least one is a subnormal number there, and
/// the largest, an infinity, is to be a NaN: both lack the topmost bit below.
static Value extendPower(ShapedEmitter &emit, Type i32, Value wide) {
  Value bits = emit.make<arith::ShLIOp>(wide, emit.constant(i32, 23));
  Value next = emit.make<arith::AndIOp>(
      emit.make<arith::AddIOp>(wide, emit.constant(i32, 1)),
      emit.constant(i32, 0xff));
  Value isEnd = emit.make<arith::CmpIOp>(arith::CmpIPredicate::ult, next,
                                         emit.constant(i32, 2));
  Value top = emit.make<arith::SelectOp>(isEnd, emit.constant(i32, 1 << 22),
                                         emit.constant(i32, 0));
  return emit.make<arith::OrIOp>(bits, top);
}

/// One bit of mantissa and two of exponent move to where f32 has them; a half
/// and zero, subnormal here, are left.
static Value extendE2M1(ShapedEmitter &emit, Type i32, Value wide) {
  auto constant = [&](int64_t bits) { return emit.constant(i32, bits); };
  auto equals = [&](Value value, int64_t number) -> Value {
    return emit.make<arith::CmpIOp>(arith::CmpIPredicate::eq, value,
                                    constant(number));
  };
  Value magnitude = emit.make<arith::AndIOp>(wide, constant(7));
  Value bits = emit.make<arith::AddIOp>(
      emit.make<arith::ShLIOp>(magnitude, constant(22)),
      constant(bitsOf(0.5f)));
  bits = emit.make<arith::SelectOp>(equals(magnitude, 1),
                                    constant(bitsOf(0.5f)), bits);
  bits = emit.make<arith::SelectOp>(equals(magnitude, 0), constant(0), bits);
  Value sign = emit.make<arith::ShLIOp>(
      emit.make<arith::AndIOp>(wide, constant(8)), constant(28));
  return emit.make<arith::OrIOp>(bits, sign);
}

Value mlir::norm::extendMicroFloat(ShapedEmitter &emit, OpBuilder &b, Type type,
                                   Value codes) {
  Type i32 = b.getI32Type();
  Value wide = emit.convert<arith::ExtUIOp>(i32, codes);
  bool isPower = isa<Float8E8M0FNUType>(getElementTypeOrSelf(type));
  Value bits =
      isPower ? extendPower(emit, i32, wide) : extendE2M1(emit, i32, wide);
  return emit.bitcast(b.getF32Type(), bits);
}

static Value roundToE2M1(ShapedEmitter &emit, OpBuilder &b, Value bits) {
  Type i32 = b.getI32Type();
  FloatType f32 = b.getF32Type();
  auto constant = [&](int64_t bits) { return emit.constant(i32, bits); };
  Value magnitude = emit.make<arith::AndIOp>(bits, constant(0x7fffffff));
  // Bits of floats without a sign are ordered as the floats, NaNs on top.
  Value isNaN = emit.make<arith::CmpIOp>(arith::CmpIPredicate::ugt, magnitude,
                                         constant(kInfinity));
  magnitude = emit.make<arith::MinUIOp>(magnitude, constant(bitsOf(6.0f)));

  // From 1 on: half of the last place, less one for an even last place, is
  // added before the rest is cut off; a carry rightly steps into the exponent.
  constexpr int64_t kHalf = int64_t(1) << 21, kBias = int64_t(127 - 1) << 23;
  Value last = emit.make<arith::AndIOp>(
      emit.make<arith::ShRUIOp>(magnitude, constant(22)), constant(1));
  Value sum = emit.make<arith::AddIOp>(
      last, emit.make<arith::AddIOp>(magnitude, constant(kHalf - 1 - kBias)));
  Value normal = emit.make<arith::ShRUIOp>(sum, constant(22));

  // Below, multiples of a half, the last place of f32 at 2^22.
  Value aligned = emit.make<arith::AddFOp>(emit.bitcast(f32, magnitude),
                                           emit.real(f32, 0x1p22));
  Value small = emit.make<arith::SubIOp>(emit.bitcast(i32, aligned),
                                         constant(bitsOf(0x1p22f)));
  Value isSmall = emit.make<arith::CmpIOp>(arith::CmpIPredicate::ult, magnitude,
                                           constant(bitsOf(1.0f)));
  Value code = emit.make<arith::SelectOp>(isSmall, small, normal);
  Value sign = emit.make<arith::AndIOp>(
      emit.make<arith::ShRUIOp>(bits, constant(28)), constant(8));
  sign = emit.make<arith::SelectOp>(isNaN, constant(0), sign);
  return emit.make<arith::OrIOp>(code, sign);
}

Value mlir::norm::roundToMicroFloat(ShapedEmitter &emit, OpBuilder &b,
                                    Type type, Value x) {
  Type i32 = b.getI32Type();
  Value bits = emit.bitcast(i32, x);
  bool isPower = isa<Float8E8M0FNUType>(getElementTypeOrSelf(type));
  Value code = isPower ? emit.make<arith::ShRUIOp>(bits, emit.constant(i32, 23))
                       : roundToE2M1(emit, b, bits);
  // Of an exponent, the sign above is cut off.
  return emit.convert<arith::TruncIOp>(b.getI8Type(), code);
}
