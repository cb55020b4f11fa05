//===- NamedChannels.cpp - group_norm, instance_norm and batch_norm -------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NamedOps.h"

using namespace mlir;
using namespace ::norm;
using namespace ::norm::reference;

/// The operands by channel, whose dims are `dims`: scale and bias, `next` being
/// the position of the first in `in`.
template <typename OpTy>
static llvm::Expected<Affine>
affineOf(OpTy op, const RowSpace &space, llvm::ArrayRef<const Array *> in,
         size_t &next, llvm::ArrayRef<int64_t> dims) {
  Affine affine;
  affine.offset = constantOf(space, op.getOffset().convertToDouble());
  auto scale = alignedOperand(op, space, "scale",
                              op.getScale() ? in[next++] : nullptr, dims);
  if (!scale)
    return scale.takeError();
  affine.scale = std::move(*scale);
  auto bias = alignedOperand(op, space, "bias",
                             op.getBias() ? in[next++] : nullptr, dims);
  if (!bias)
    return bias.takeError();
  affine.bias = std::move(*bias);
  return affine;
}

/// All dims but these.
static Shape dimsBut(size_t rank, llvm::ArrayRef<int64_t> dims) {
  Shape others;
  for (int64_t dim = 0; dim < int64_t(rank); ++dim)
    if (!llvm::is_contained(dims, dim))
      others.push_back(dim);
  return others;
}

/// group_norm and instance_norm, over rows of `space`.
template <typename OpTy>
static llvm::Expected<Arrays>
normalizeRows(OpTy op, RowSpace &space, llvm::ArrayRef<const Array *> in,
              llvm::ArrayRef<int64_t> channelDims) {
  size_t next = 1;
  llvm::Expected<Affine> affine = affineOf(op, space, in, next, channelDims);
  if (!affine)
    return affine.takeError();
  MomentResults found = normalizeByMoments(
      space, *affine, op.getEps().convertToDouble(), elementTypeOf(op.getY()));
  found.y.shape = in[0]->shape;
  Arrays results{std::move(found.y)};
  if (op.getMean())
    results.push_back(std::move(found.mean));
  if (op.getRstd())
    results.push_back(std::move(found.rstd));
  return results;
}

llvm::Expected<Arrays>
reference::evaluateGroupNorm(mlir::norm::GroupNormOp op,
                             llvm::ArrayRef<const Array *> in) {
  const Array &x = *in[0];
  int64_t channel = int64_t(op.getChannelAxis());
  int64_t groups = int64_t(op.getGroups());
  if (x.shape[channel] % groups != 0)
    return errorAt(op, "expects 'groups' to divide the " +
                           llvm::Twine(x.shape[channel]) +
                           " channels but got " + llvm::Twine(groups));
  // The channels as (group, channel of the group).
  Shape shape = x.shape;
  shape[channel] /= groups;
  shape.insert(shape.begin() + channel, groups);
  RowSpace space(op, x, shape, dimsBut(shape.size(), {0, channel}));
  return normalizeRows(op, space, in, {channel, channel + 1});
}

llvm::Expected<Arrays>
reference::evaluateInstanceNorm(mlir::norm::InstanceNormOp op,
                                llvm::ArrayRef<const Array *> in) {
  const Array &x = *in[0];
  int64_t channel = int64_t(op.getChannelAxis());
  RowSpace space(op, x, x.shape, dimsBut(x.shape.size(), {0, channel}));
  return normalizeRows(op, space, in, {channel});
}

//===----------------------------------------------------------------------===//
// batch_norm
//===----------------------------------------------------------------------===//

/// momentum * value + (1 - momentum) * running, by channel.
static Array updated(const RowSpace &space, const Array &running,
                     const Array &values, double momentum, bool isVariance) {
  Array result(running.type, running.shape);
  Element weight = constantOf(space, momentum);
  Element kept = constantOf(space, 1 - momentum);
  Element freedom =
      constantOf(space, double(std::max<int64_t>(space.columns - 1, 1)));
  for (int64_t c = 0; c < space.rows; ++c) {
    Element value = values.at(c);
    if (isVariance)
      value = loose(space.type, divide(value, freedom));
    Element sum = loose(space.type,
                        add(loose(space.type, multiply(weight, value)),
                            loose(space.type, multiply(kept, running.at(c)))));
    // Without elements nothing was learnt.
    result.set(c, space.columns == 0 ? running.at(c)
                                     : finish(running.type, space, sum));
  }
  return result;
}

/// Inference: no element depends on another.
static Array normalizeByRunning(mlir::norm::BatchNormOp op,
                                const RowSpace &space, const Affine &affine,
                                const Array &mean, const Array &variance) {
  DType type = elementTypeOf(op.getY());
  Array y(type, space.shape);
  double eps = op.getEps().convertToDouble();
  for (int64_t r = 0; r < space.rows; ++r) {
    Element rstd = reciprocalRoot(space, variance.at(r), eps);
    for (int64_t c = 0; c < space.columns; ++c) {
      Element centred = loose(space.type, subtract(space.at(r, c), mean.at(r)));
      Element result = applyAffine(space, affine, centred, rstd, r, c);
      y.set(space.offset(r, c), finish(type, space, result));
    }
  }
  return y;
}

llvm::Expected<Arrays>
reference::evaluateBatchNorm(mlir::norm::BatchNormOp op,
                             llvm::ArrayRef<const Array *> in) {
  const Array &x = *in[0];
  int64_t channel = int64_t(op.getChannelAxis());
  RowSpace space(op, x, x.shape, dimsBut(x.shape.size(), {channel}));
  size_t next = 1;
  llvm::Expected<Affine> affine = affineOf(op, space, in, next, {channel});
  if (!affine)
    return affine.takeError();
  const Array *running[2] = {nullptr, nullptr};
  for (const Array *&array : running) {
    if (!op.getRunningMean())
      continue;
    array = in[next++];
    auto aligned =
        alignedOperand(op, space, "running statistic", array, {channel});
    if (!aligned)
      return aligned.takeError();
  }
  if (!op.getTraining()) {
    Arrays results;
    results.push_back(
        normalizeByRunning(op, space, *affine, *running[0], *running[1]));
    return results;
  }
  MomentResults found = normalizeByMoments(
      space, *affine, op.getEps().convertToDouble(), elementTypeOf(op.getY()));
  Arrays results{std::move(found.y)};
  if (running[0]) {
    double momentum = op.getMomentum()->convertToDouble();
    results.push_back(updated(space, *running[0], found.mean, momentum,
                              /*isVariance=*/false));
    results.push_back(updated(space, *running[1], found.m2, momentum,
                              /*isVariance=*/true));
  }
  if (op.getMean())
    results.push_back(std::move(found.mean));
  if (op.getRstd())
    results.push_back(std::move(found.rstd));
  return results;
}
