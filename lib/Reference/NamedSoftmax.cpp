//===- NamedSoftmax.cpp - softmax, log_softmax and logsumexp --------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NamedOps.h"

using namespace mlir;
using namespace ::norm;
using namespace ::norm::reference;

/// Half-width, in units of the last place, of what log may return.
static constexpr double kLogUlps = 8;

namespace {
/// What a row's values give a softmax.
struct Exponentials {
  Element max, total;
};
} // namespace

static Exponentials exponentialsOf(const RowSpace &space, Row row) {
  Exponentials result;
  result.max = extremum(maximum, row, {-kInfinity, 0});
  result.total = sumOfExponentials(space.type, row, result.max, space.depth);
  return result;
}

static Element logarithm(const RowSpace &space, Element x) {
  Element log = monotone([](double v) { return std::log(v); }, x);
  return approximated(space.type, log, kLogUlps);
}

/// max + log(total), or the maximum where that is infinite.
static Element logSumExp(const RowSpace &space, const Exponentials &parts) {
  if (!parts.max.isUnknown() && std::isinf(parts.max.value))
    return parts.max;
  return loose(space.type, add(parts.max, logarithm(space, parts.total)));
}

//===----------------------------------------------------------------------===//
// softmax
//===----------------------------------------------------------------------===//

namespace {
/// The values of a softmax's rows, and which of them are left out.
class Scores {
public:
  static llvm::Expected<Scores> of(mlir::norm::SoftmaxOp op,
                                   const RowSpace &space,
                                   llvm::ArrayRef<const Array *> in);
  Element at(const RowSpace &space, int64_t r, int64_t c) const;

private:
  std::optional<Element> scale;
  RowOperand mask, lengths;
  /// Positions along the axis of the keys and of the queries.
  Offsets keys, queries;
  std::optional<int64_t> diagonal;
};
} // namespace

llvm::Expected<Scores> Scores::of(mlir::norm::SoftmaxOp op,
                                  const RowSpace &space,
                                  llvm::ArrayRef<const Array *> in) {
  Scores scores;
  size_t next = 1;
  if (op.getScale())
    scores.scale = in[next++]->at(0);
  else if (op.getScaleValue())
    scores.scale = constantOf(space, op.getScaleValue()->convertToDouble());
  Shape all;
  for (size_t dim = 0; dim < space.shape.size(); ++dim)
    all.push_back(int64_t(dim));
  auto mask = broadcastOperand(op, space, "mask", op.getMask(),
                               op.getMask() ? in[next++] : nullptr, all);
  if (!mask)
    return mask.takeError();
  scores.mask = std::move(*mask);
  if (op.getLengths()) {
    const Array *lengths = in[next++];
    llvm::ArrayRef<int64_t> leading(all);
    auto aligned = alignedOperand(op, space, "lengths", lengths,
                                  leading.take_front(lengths->shape.size()));
    if (!aligned)
      return aligned.takeError();
    scores.lengths = std::move(*aligned);
  }
  int64_t key = op.getAxes()[0];
  scores.keys = space.positionsAlong(key);
  if (op.getCausal()) {
    scores.queries = space.positionsAlong(key - 1);
    scores.diagonal = int64_t(op.getDiagonal());
    if (*op.getCausal() == mlir::norm::Causal::LowerRight)
      *scores.diagonal += space.shape[key] - space.shape[key - 1];
  }
  return scores;
}

Element Scores::at(const RowSpace &space, int64_t r, int64_t c) const {
  int64_t key = keys.at(r, c);
  if (diagonal && key > queries.at(r, c) + *diagonal)
    return {-kInfinity, 0};
  if (lengths) {
    Element length = lengths.at(r, c);
    if (!length.isExact())
      return unknown();
    if (double(key) >= length.value)
      return {-kInfinity, 0};
  }
  Element x = space.at(r, c);
  if (scale && mask)
    return scaleAndShift(space.type, x, *scale, mask.at(r, c));
  if (scale)
    x = loose(space.type, multiply(x, *scale));
  if (mask)
    x = loose(space.type, add(x, mask.at(r, c)));
  return x;
}

llvm::Expected<Arrays>
reference::evaluateSoftmax(mlir::norm::SoftmaxOp op,
                           llvm::ArrayRef<const Array *> in) {
  const Array &x = *in[0];
  RowSpace space(op, x, x.shape, op.getAxes());
  llvm::Expected<Scores> scores = Scores::of(op, space, in);
  if (!scores)
    return scores.takeError();
  DType type = elementTypeOf(op.getY());
  Arrays results{Array(type, x.shape)};
  Array logs(space.type, space.rowShape);
  auto exponential = [](double v) { return std::exp(v); };
  Array values(space.type, {space.columns});
  for (int64_t r = 0; r < space.rows; ++r) {
    values.bound.clear();
    for (int64_t c = 0; c < space.columns; ++c)
      values.set(c, scores->at(space, r, c));
    Row row = rowOf(values, 0, space.columns);
    Exponentials parts = exponentialsOf(space, row);
    logs.set(r, logSumExp(space, parts));
    bool isEmpty = op.isMasked() && !parts.max.isUnknown() &&
                   parts.max.value == -kInfinity;
    for (int64_t c = 0; c < space.columns; ++c) {
      Element distance = loose(space.type, subtract(row.at(c), parts.max));
      Element term = nonNegative(
          approximated(space.type, monotone(exponential, distance), kExpUlps));
      Element y = loose(space.type, divide(term, parts.total));
      results[0].set(space.offset(r, c),
                     isEmpty ? Element{0, 0} : finish(type, space, y));
    }
  }
  if (op.getLogsumexp())
    results.push_back(std::move(logs));
  return results;
}

//===----------------------------------------------------------------------===//
// log_softmax and logsumexp
//===----------------------------------------------------------------------===//

llvm::Expected<Arrays>
reference::evaluateLogSoftmax(mlir::norm::LogSoftmaxOp op, const Array &x) {
  RowSpace space(op, x, x.shape, op.getAxes());
  DType type = elementTypeOf(op.getY());
  Arrays results{Array(type, x.shape)};
  for (int64_t r = 0; r < space.rows; ++r) {
    Row row = space.row(r);
    Exponentials parts = exponentialsOf(space, row);
    Element log = logarithm(space, parts.total);
    for (int64_t c = 0; c < space.columns; ++c) {
      Element distance = loose(space.type, subtract(row.at(c), parts.max));
      results[0].set(
          space.offset(r, c),
          finish(type, space, loose(space.type, subtract(distance, log))));
    }
  }
  return results;
}

llvm::Expected<Arrays> reference::evaluateLogSumExp(mlir::norm::LogSumExpOp op,
                                                    const Array &x) {
  RowSpace space(op, x, x.shape, op.getAxes());
  DType type = elementTypeOf(op.getY());
  Arrays results{Array(type, space.rowShape)};
  for (int64_t r = 0; r < space.rows; ++r) {
    Exponentials parts = exponentialsOf(space, space.row(r));
    results[0].set(r, finish(type, space, logSumExp(space, parts)));
  }
  return results;
}
