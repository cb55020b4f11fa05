//===- GeneralizeChannels.cpp - Norms over channels as programs -----------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GeneralizeNamed.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::norm;

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

/// Groups of axes for a reshape that splits `axis`, of `rank`, into two.
static SmallVector<ReassociationIndices> getSplit(int64_t rank, int64_t axis) {
  SmallVector<ReassociationIndices> groups;
  for (int64_t i = 0; i != rank; ++i) {
    int64_t to = i + (i > axis);
    groups.push_back(i == axis ? ReassociationIndices{to, to + 1}
                               : ReassociationIndices{to});
  }
  return groups;
}

static RankedTensorType getSplitType(RankedTensorType type, int64_t axis,
                                     int64_t groups) {
  SmallVector<int64_t> shape(type.getShape());
  int64_t extent = shape[axis];
  shape[axis] = groups;
  shape.insert(shape.begin() + axis + 1,
               ShapedType::isDynamic(extent) ? extent : extent / groups);
  return RankedTensorType::get(shape, type.getElementType());
}

/// A tensor with `axis` split into (groups, elements of a group).
static Value splitAxis(RewriterBase &rewriter, DimSizes &sizes, Location loc,
                       Value tensor, int64_t axis, int64_t groups) {
  if (!tensor)
    return nullptr;
  auto type = cast<RankedTensorType>(tensor.getType());
  RankedTensorType split = getSplitType(type, axis, groups);
  DenseElementsAttr elements;
  if (matchPattern(tensor, m_Constant(&elements)) && split.hasStaticShape())
    return arith::ConstantOp::create(rewriter, loc, elements.reshape(split));
  SmallVector<OpFoldResult> shape;
  for (int64_t i = 0, rank = type.getRank(); i != rank; ++i) {
    if (i == axis)
      shape.push_back(rewriter.getIndexAttr(groups));
    if (!type.isDynamicDim(i)) {
      shape.push_back(rewriter.getIndexAttr(split.getDimSize(i + (i >= axis))));
      continue;
    }
    Value size = sizes.get(loc, tensor, i);
    if (i == axis)
      size = arith::DivUIOp::create(
          rewriter, loc, size,
          arith::ConstantIndexOp::create(rewriter, loc, groups));
    shape.push_back(size);
  }
  return tensor::ExpandShapeOp::create(rewriter, loc, split, tensor,
                                       getSplit(type.getRank(), axis), shape);
}

//===----------------------------------------------------------------------===//
// group_norm and instance_norm
//===----------------------------------------------------------------------===//

/// The moments of the rows, scale and bias along `affineDims`, and statistics.
template <typename OpTy>
static SmallVector<Value>
normalizeByMoments(NamedBody &body, OpTy op, RankedTensorType yType,
                   Value scale, Value bias, ArrayRef<unsigned> affineDims,
                   StringRef name) {
  AffineInputs affine{body.addInput(scale, affineDims), op.getOffset(),
                      body.addInput(bias, affineDims)};
  body.addOutput(yType, body.getAllDims());
  body.addOutput(op.getMean(), body.getRowDims());
  body.addOutput(op.getRstd(), body.getRowDims());
  body.begin();
  Moments moments = emitMoments(body, op.getEps());
  SmallVector<Value> values{applyAffine(body, moments.normalized, affine)};
  if (op.getMean())
    values.push_back(moments.mean);
  if (op.getRstd())
    values.push_back(moments.rstd);
  return body.finish(values, name);
}

void norm::generalizeNorm(RewriterBase &rewriter, DimSizes &sizes,
                          GroupNormOp op) {
  Location loc = op.getLoc();
  int64_t channel = op.getChannelAxis(), groups = op.getGroups();
  auto yType = cast<RankedTensorType>(op.getY().getType());
  auto split = [&](Value value, int64_t axis) {
    return splitAxis(rewriter, sizes, loc, value, axis, groups);
  };
  Value x = split(op.getX(), channel);
  Value scale = split(op.getScale(), 0), bias = split(op.getBias(), 0);
  // All axes but the sample and the group.
  SmallVector<int64_t> columns;
  for (int64_t axis = 1; axis <= yType.getRank(); ++axis)
    if (axis != channel)
      columns.push_back(axis);
  NamedBody body(rewriter, sizes, op, x, columns);
  unsigned group = channel;
  SmallVector<Value> results =
      normalizeByMoments(body, op, getSplitType(yType, channel, groups), scale,
                         bias, {group, group + 1}, "group_norm");
  results[0] = tensor::CollapseShapeOp::create(
      rewriter, loc, yType, results[0], getSplit(yType.getRank(), channel));
  rewriter.replaceOp(op, results);
}

void norm::generalizeNorm(RewriterBase &rewriter, DimSizes &sizes,
                          InstanceNormOp op) {
  int64_t channel = op.getChannelAxis();
  auto yType = cast<RankedTensorType>(op.getY().getType());
  SmallVector<int64_t> columns;
  for (int64_t axis = 1; axis != yType.getRank(); ++axis)
    if (axis != channel)
      columns.push_back(axis);
  NamedBody body(rewriter, sizes, op, op.getX(), columns);
  rewriter.replaceOp(op, normalizeByMoments(body, op, yType, op.getScale(),
                                            op.getBias(), unsigned(channel),
                                            "instance_norm"));
}

//===----------------------------------------------------------------------===//
// batch_norm
//===----------------------------------------------------------------------===//

/// momentum * value + (1 - momentum) * running, or what is there where the
/// batch has no element.
static Value updateRunning(NamedBody &body, double momentum, Value value,
                           Value running, Value isEmpty) {
  Value kept = body.emit<arith::MulFOp>(running, body.constant(1 - momentum));
  Value updated = body.emit<math::FmaOp>(body.constant(momentum), value, kept);
  if (!isEmpty)
    return updated;
  return body.emit<arith::SelectOp>(isEmpty, running, updated);
}

/// The mean of x by sums that lose next to nothing, where `mean` has an error
/// of some units in the last place of the deviation: many of its own where that
/// is the larger one. `mean` where a sum overflows, and of narrow elements,
/// which would not gain what another sum costs.
static Value refineMean(NamedBody &body, Type element, Value mean,
                        Value count) {
  if (element.getIntOrFloatBitWidth() <= 16)
    return mean;
  Value x = body.readX();
  Type f64 = Float64Type::get(x.getContext());
  auto divide = [&](Value sum) -> Value {
    return body.emit<arith::DivFOp>(sum,
                                    body.emit<arith::SIToFPOp>(f64, count));
  };
  if (x.getType() != f64) {
    Value wide = body.emit<arith::ExtFOp>(f64, x);
    Value sum = body.reduce(ReduceKind::Add, wide);
    return body.emit<arith::TruncFOp>(x.getType(), divide(sum));
  }
  // Halves of the significands add up to exact sums, or nearly.
  Type bits = body.getI64Type();
  Value mask = body.constant(~((int64_t(1) << 27) - 1), bits);
  Value whole = body.emit<arith::BitcastOp>(bits, x);
  Value upper =
      body.emit<arith::BitcastOp>(f64, body.emit<arith::AndIOp>(whole, mask));
  Value lower = body.emit<arith::SubFOp>(x, upper);
  Value sum = body.emit<arith::AddFOp>(body.reduce(ReduceKind::Add, upper),
                                       body.reduce(ReduceKind::Add, lower));
  Value result = divide(sum);
  Value off = body.emit<arith::SubFOp>(result, result);
  Value isFinite =
      body.emit<arith::CmpFOp>(arith::CmpFPredicate::ORD, off, off);
  return body.emit<arith::SelectOp>(isFinite, result, mean);
}

namespace {
/// The operands of a batch_norm by channel.
struct BatchInputs {
  AffineInputs affine;
  std::optional<unsigned> mean, variance;
};
} // namespace

static void emitTraining(NamedBody &body, BatchNormOp op,
                         const BatchInputs &inputs,
                         SmallVectorImpl<Value> &values) {
  Moments moments = emitMoments(body, op.getEps());
  values.push_back(applyAffine(body, moments.normalized, inputs.affine));
  if (inputs.mean) {
    double momentum = op.getMomentum()->convertToDouble();
    Value count = body.getIntegerCount();
    Value one = body.constant(1, body.getI64Type());
    // Rows that are known to have elements need no choice.
    Value isEmpty;
    if (body.getStaticCount().value_or(0) == 0)
      isEmpty = body.emit<arith::CmpIOp>(arith::CmpIPredicate::eq, count,
                                         body.constant(0, body.getI64Type()));
    Value freedom =
        body.emit<arith::MaxSIOp>(body.emit<arith::SubIOp>(count, one), one);
    Value unbiased =
        body.emit<arith::DivFOp>(moments.squares, body.toFloat(freedom));
    Type element = cast<RankedTensorType>(op.getX().getType()).getElementType();
    Value mean = refineMean(body, element, moments.mean, count);
    values.push_back(
        updateRunning(body, momentum, mean, body.read(*inputs.mean), isEmpty));
    values.push_back(updateRunning(body, momentum, unbiased,
                                   body.read(*inputs.variance), isEmpty));
  }
  if (op.getMean())
    values.push_back(moments.mean);
  if (op.getRstd())
    values.push_back(moments.rstd);
}

static Value emitInference(NamedBody &body, BatchNormOp op,
                           const BatchInputs &inputs) {
  Value centred =
      body.emit<arith::SubFOp>(body.readX(), body.read(*inputs.mean));
  Value rstd = body.getRstd(body.read(*inputs.variance), op.getEps());
  Value normalized = body.emit<arith::MulFOp>(centred, rstd);
  return applyAffine(body, normalized, inputs.affine);
}

void norm::generalizeNorm(RewriterBase &rewriter, DimSizes &sizes,
                          BatchNormOp op) {
  unsigned channel = op.getChannelAxis();
  SmallVector<int64_t> columns;
  for (unsigned axis = 0,
                rank = cast<RankedTensorType>(op.getX().getType()).getRank();
       axis != rank; ++axis)
    if (axis != channel)
      columns.push_back(axis);
  NamedBody body(rewriter, sizes, op, op.getX(), columns);
  BatchInputs inputs{{body.addInput(op.getScale(), channel), op.getOffset(),
                      body.addInput(op.getBias(), channel)},
                     body.addInput(op.getRunningMean(), channel),
                     body.addInput(op.getRunningVar(), channel)};
  body.addOutput(op.getY(), body.getAllDims());
  for (Value result : op->getResults().drop_front())
    body.addOutput(result, channel);
  body.begin();

  SmallVector<Value> values;
  if (op.getTraining())
    emitTraining(body, op, inputs, values);
  else
    values.push_back(emitInference(body, op, inputs));
  rewriter.replaceOp(op, body.finish(values, "batch_norm"));
}
