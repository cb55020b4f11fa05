//===- GeneralizeDropout.cpp - Dropout as a program -----------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GeneralizeNamed.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::norm;

/// The least random number with which an element is kept: p * 2^32 to the
/// nearest integer, but one that a number of 32 bits can reach.
static uint32_t getThreshold(double p) {
  constexpr double most = std::numeric_limits<uint32_t>::max();
  return static_cast<uint32_t>(std::min(std::round(p * 0x1p32), most));
}

/// 1 / (1 - p), rounded to the type of the arithmetic. With 113 bits, neither
/// the difference nor the quotient comes near enough to the middle of two
/// numbers of 53 bits to be rounded to the wrong one.
static APFloat getScale(double p, FloatType type) {
  constexpr APFloat::roundingMode nearest = APFloat::rmNearestTiesToEven;
  const llvm::fltSemantics &wide = APFloat::IEEEquad();
  bool losesInfo;
  APFloat exact(p);
  exact.convert(wide, nearest, &losesInfo);
  APFloat kept(wide, 1), scale(wide, 1);
  kept.subtract(exact, nearest);
  scale.divide(kept, nearest);
  scale.convert(type.getFloatSemantics(), nearest, &losesInfo);
  return scale;
}

/// A dropped element is 0 whatever it was.
static Value emitDropped(NamedBody &body, Value scaled, Value number,
                         uint32_t threshold) {
  Value least =
      body.constant(static_cast<int32_t>(threshold), number.getType());
  Value isKept =
      body.emit<arith::CmpIOp>(arith::CmpIPredicate::uge, number, least);
  return body.emit<arith::SelectOp>(isKept, scaled, body.constant(0.0));
}

void norm::generalizeNorm(RewriterBase &rewriter, DimSizes &sizes,
                          DropoutOp op) {
  int64_t rank = cast<RankedTensorType>(op.getX().getType()).getRank();
  NamedBody body(rewriter, sizes, op, op.getX(), {rank - 1});
  double p = op.getP().convertToDouble();
  uint32_t threshold = getThreshold(p);
  std::optional<unsigned> seed, offset;
  if (threshold != 0) {
    seed = body.addScalar(op.getSeed());
    offset = body.addScalar(op.getOffset());
  }
  body.addOutput(op.getY(), body.getAllDims());
  body.begin();

  Value y = body.readX();
  APFloat scale = getScale(p, cast<FloatType>(y.getType()));
  if (!scale.isExactlyValue(1.0))
    y = body.emit<arith::MulFOp>(y, body.constant(scale));
  if (threshold != 0) {
    Value number = body.random(body.readRaw(*seed), body.readRaw(*offset));
    y = emitDropped(body, y, number, threshold);
  }
  rewriter.replaceOp(op, body.finish(y, "dropout"));
}
