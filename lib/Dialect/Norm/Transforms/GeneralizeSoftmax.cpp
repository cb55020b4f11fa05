//===- GeneralizeSoftmax.cpp - Softmax and its kin as programs ------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GeneralizeNamed.h"

#include <limits>

using namespace mlir;
using namespace mlir::norm;

namespace {
/// The parts of a softmax of the values of a row.
struct Exponentials {
  Value max, shifted, power, sum;
};

/// The inputs of a softmax beside x.
struct SoftmaxInputs {
  std::optional<unsigned> scale, mask, lengths;
};
} // namespace

static Exponentials emitExponentials(NamedBody &body, Value values) {
  Exponentials parts;
  parts.max = body.reduce(ReduceKind::Max, values);
  parts.shifted = body.emit<arith::SubFOp>(values, parts.max);
  parts.power = body.emit<math::ExpOp>(parts.shifted);
  parts.sum = body.reduce(ReduceKind::Add, parts.power);
  return parts;
}

static Value emitInfinity(NamedBody &body, bool isNegative = false) {
  double infinity = std::numeric_limits<double>::infinity();
  return body.constant(isNegative ? -infinity : infinity);
}

/// max + log(sum), or the maximum where that is infinite: the differences from
/// it are NaN there.
static Value emitLogSumExp(NamedBody &body, const Exponentials &parts) {
  Value log = body.emit<math::LogOp>(parts.sum);
  Value finite = body.emit<arith::AddFOp>(parts.max, log);
  Value magnitude = body.emit<math::AbsFOp>(parts.max);
  Value isInfinite = body.emit<arith::CmpFOp>(arith::CmpFPredicate::OEQ,
                                              magnitude, emitInfinity(body));
  return body.emit<arith::SelectOp>(isInfinite, parts.max, finite);
}

/// x * scale + mask.
static Value emitScores(NamedBody &body, SoftmaxOp op,
                        const SoftmaxInputs &inputs) {
  Value x = body.readX();
  Value scale;
  if (inputs.scale)
    scale = body.read(*inputs.scale);
  else if (std::optional<APFloat> value = op.getScaleValue())
    scale = body.constant(value->convertToDouble());
  if (scale && inputs.mask)
    return body.emit<math::FmaOp>(x, scale, body.read(*inputs.mask));
  if (scale)
    return body.emit<arith::MulFOp>(x, scale);
  if (inputs.mask)
    return body.emit<arith::AddFOp>(x, body.read(*inputs.mask));
  return x;
}

/// Whether `causal` keeps the element of a query and a key; sums are of i64,
/// since rows may be more than an i32 counts.
static Value emitCausal(NamedBody &body, SoftmaxOp op) {
  unsigned key = op.getAxes()[0], query = key - 1;
  Type type = body.getI64Type();
  Value limit = body.index(query, type);
  if (*op.getCausal() == Causal::LowerRight) {
    Value difference = body.emit<arith::SubIOp>(body.extent(key, type),
                                                body.extent(query, type));
    limit = body.emit<arith::AddIOp>(limit, difference);
  }
  if (op.getDiagonal() != 0)
    limit = body.emit<arith::AddIOp>(
        limit, body.constant(static_cast<int64_t>(op.getDiagonal()), type));
  return body.emit<arith::CmpIOp>(arith::CmpIPredicate::sle,
                                  body.index(key, type), limit);
}

/// The scores with -inf where `causal` and `lengths` leave an element out.
static Value emitKept(NamedBody &body, SoftmaxOp op, Value scores,
                      const SoftmaxInputs &inputs) {
  Value keep;
  if (op.getCausal())
    keep = emitCausal(body, op);
  if (inputs.lengths) {
    Value length = body.readRaw(*inputs.lengths);
    Value position = body.index(op.getAxes()[0], length.getType());
    Value isWithin =
        body.emit<arith::CmpIOp>(arith::CmpIPredicate::slt, position, length);
    keep = keep ? body.emit<arith::AndIOp>(keep, isWithin) : isWithin;
  }
  if (!keep)
    return scores;
  return body.emit<arith::SelectOp>(keep, scores,
                                    emitInfinity(body, /*isNegative=*/true));
}

void norm::generalizeNorm(RewriterBase &rewriter, DimSizes &sizes,
                          SoftmaxOp op) {
  NamedBody body(rewriter, sizes, op, op.getX(), op.getAxes());
  SmallVector<int64_t> all(body.getAllDims());
  SmallVector<unsigned> leading;
  if (op.getLengths())
    leading.assign(body.getAllDims().take_front(
        cast<RankedTensorType>(op.getLengths().getType()).getRank()));
  SoftmaxInputs inputs{body.addScalar(op.getScale()),
                       body.addBroadcast(op.getMask(), all),
                       body.addInput(op.getLengths(), leading)};
  body.addOutput(op.getY(), body.getAllDims());
  body.addOutput(op.getLogsumexp(), body.getRowDims());
  body.begin();

  Value scores = emitScores(body, op, inputs);
  scores = emitKept(body, op, scores, inputs);
  Exponentials parts = emitExponentials(body, scores);
  // One division per row; a division per element would cost as much as the
  // exponential.
  Value inverse = body.emit<arith::DivFOp>(body.constant(1.0), parts.sum);
  Value y = body.emit<arith::MulFOp>(parts.power, inverse);
  if (op.isMasked()) {
    Value isEmpty =
        body.emit<arith::CmpFOp>(arith::CmpFPredicate::OEQ, parts.max,
                                 emitInfinity(body, /*isNegative=*/true));
    y = body.emit<arith::SelectOp>(isEmpty, body.constant(0.0), y);
  }
  SmallVector<Value> values{y};
  if (op.getLogsumexp())
    values.push_back(emitLogSumExp(body, parts));
  rewriter.replaceOp(op, body.finish(values, "softmax"));
}

void norm::generalizeNorm(RewriterBase &rewriter, DimSizes &sizes,
                          LogSoftmaxOp op) {
  NamedBody body(rewriter, sizes, op, op.getX(), op.getAxes());
  body.addOutput(op.getY(), body.getAllDims());
  body.begin();

  Exponentials parts = emitExponentials(body, body.readX());
  Value log = body.emit<math::LogOp>(parts.sum);
  Value y = body.emit<arith::SubFOp>(parts.shifted, log);
  rewriter.replaceOp(op, body.finish(y, "log_softmax"));
}

void norm::generalizeNorm(RewriterBase &rewriter, DimSizes &sizes,
                          LogSumExpOp op) {
  NamedBody body(rewriter, sizes, op, op.getX(), op.getAxes());
  body.addOutput(op.getY(), body.getRowDims());
  body.begin();

  Exponentials parts = emitExponentials(body, body.readX());
  rewriter.replaceOp(op, body.finish(emitLogSumExp(body, parts), "logsumexp"));
}
