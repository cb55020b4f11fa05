//===- NormChannels.cpp - group_norm, instance_norm and batch_norm --------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NormNamedOps.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::norm;

static const StringRef channelStats[] = {"mean", "rstd"};

/// What the ops over channels have in common: y, the operands by channel, the
/// offset and eps.
template <typename OpTy>
static LogicalResult verifyChannels(OpTy op, int64_t firstAxis,
                                    int64_t leastRank) {
  ArrayRef<int64_t> shape = shapeOf(op.getX());
  if (failed(verifyRank(op, op.getX(), leastRank)) ||
      failed(
          verifyChannelAxis(op, op.getChannelAxis(), firstAxis, shape.size())))
    return failure();
  int64_t channels = shape[op.getChannelAxis()];
  return failure(
      failed(verifyShape(op, "y", op.getY(), shape)) ||
      failed(verifyShape(op, "scale", op.getScale(), channels)) ||
      failed(verifyShape(op, "bias", op.getBias(), channels)) ||
      failed(verifyOffset(op, op.getOffset(), bool(op.getScale()))) ||
      failed(verifyEps(op, op.getEps())));
}

template <typename OpTy>
static LogicalResult verifyStats(OpTy op, ArrayRef<int64_t> shape) {
  return failure(failed(verifyStat(op, "mean", op.getMean(), shape)) ||
                 failed(verifyStat(op, "rstd", op.getRstd(), shape)));
}

//===----------------------------------------------------------------------===//
// group_norm
//===----------------------------------------------------------------------===//

ParseResult GroupNormOp::parse(OpAsmParser &parser, OperationState &result) {
  auto &properties = result.getOrAddProperties<Properties>();
  ClauseParser clauses(parser, result);
  int32_t scale = 0, bias = 0;
  if (clauses.parseOperand() || clauses.parseScale(properties.offset, scale) ||
      clauses.parseOptionalOperands("bias", bias) ||
      clauses.parseStats(channelStats) ||
      clauses.parseInteger("groups", properties.groups) ||
      clauses.parseInteger("channel_axis", properties.channel_axis) ||
      clauses.parseFloat("eps", properties.eps) || clauses.parseEnd(1))
    return failure();
  properties.operandSegmentSizes = {1, scale, bias};
  properties.resultSegmentSizes = {1, clauses.hasStat("mean"),
                                   clauses.hasStat("rstd")};
  return success();
}

void GroupNormOp::print(OpAsmPrinter &p) {
  ClausePrinter clauses(p, *this);
  clauses.printScale(getScale(), getOffset());
  clauses.printOperands("bias", Value(getBias()));
  clauses.printStats({{"mean", getMean()}, {"rstd", getRstd()}});
  clauses.printInteger("groups", getGroups());
  clauses.printInteger("channel_axis", getChannelAxis());
  clauses.printFloat("eps", getEps());
  clauses.printEnd();
}

LogicalResult GroupNormOp::verify() {
  if (failed(verifyChannels(*this, /*firstAxis=*/1, /*leastRank=*/2)))
    return failure();
  int64_t groups = getGroups();
  // [GROUP-C1]
  if (groups < 1)
    return emitOpError() << "expects 'groups' to be at least 1 but got "
                         << groups;
  ArrayRef<int64_t> shape = shapeOf(getX());
  int64_t channels = shape[getChannelAxis()];
  // [GROUP-C2]
  if (ShapedType::isStatic(channels) && channels % groups != 0)
    return emitOpError() << "expects 'groups' to divide the " << channels
                         << " channels but got " << groups;
  return verifyStats(*this, {shape[0], groups});
}

LogicalResult
GroupNormOp::reifyResultShapes(OpBuilder &builder,
                               ReifiedRankedShapedTypeDims &reified) {
  if (failed(reifyNamed(*this, builder, int64_t(0), reified)))
    return failure();
  for (SmallVector<OpFoldResult> &stat : llvm::drop_begin(reified))
    stat.push_back(builder.getIndexAttr(getGroups()));
  return success();
}

//===----------------------------------------------------------------------===//
// instance_norm
//===----------------------------------------------------------------------===//

ParseResult InstanceNormOp::parse(OpAsmParser &parser, OperationState &result) {
  auto &properties = result.getOrAddProperties<Properties>();
  ClauseParser clauses(parser, result);
  int32_t scale = 0, bias = 0;
  if (clauses.parseOperand() || clauses.parseScale(properties.offset, scale) ||
      clauses.parseOptionalOperands("bias", bias) ||
      clauses.parseStats(channelStats) ||
      clauses.parseInteger("channel_axis", properties.channel_axis) ||
      clauses.parseFloat("eps", properties.eps) || clauses.parseEnd(1))
    return failure();
  properties.operandSegmentSizes = {1, scale, bias};
  properties.resultSegmentSizes = {1, clauses.hasStat("mean"),
                                   clauses.hasStat("rstd")};
  return success();
}

void InstanceNormOp::print(OpAsmPrinter &p) {
  ClausePrinter clauses(p, *this);
  clauses.printScale(getScale(), getOffset());
  clauses.printOperands("bias", Value(getBias()));
  clauses.printStats({{"mean", getMean()}, {"rstd", getRstd()}});
  clauses.printInteger("channel_axis", getChannelAxis());
  clauses.printFloat("eps", getEps());
  clauses.printEnd();
}

LogicalResult InstanceNormOp::verify() {
  if (failed(verifyChannels(*this, /*firstAxis=*/1, /*leastRank=*/3)))
    return failure();
  ArrayRef<int64_t> shape = shapeOf(getX());
  return verifyStats(*this, {shape[0], shape[getChannelAxis()]});
}

LogicalResult
InstanceNormOp::reifyResultShapes(OpBuilder &builder,
                                  ReifiedRankedShapedTypeDims &reified) {
  return reifyNamed(*this, builder, {0, static_cast<int64_t>(getChannelAxis())},
                    reified);
}

//===----------------------------------------------------------------------===//
// batch_norm
//===----------------------------------------------------------------------===//

ParseResult BatchNormOp::parse(OpAsmParser &parser, OperationState &result) {
  auto &properties = result.getOrAddProperties<Properties>();
  ClauseParser clauses(parser, result);
  int32_t scale = 0, bias = 0, running = 0;
  if (clauses.parseOperand() || clauses.parseScale(properties.offset, scale) ||
      clauses.parseOptionalOperands("bias", bias) ||
      clauses.parseOptionalOperands("running", running, 2) ||
      clauses.parseStats(channelStats) ||
      clauses.parseInteger("channel_axis", properties.channel_axis) ||
      clauses.parseFloat("eps", properties.eps))
    return failure();
  bool training = succeeded(parser.parseOptionalKeyword("training"));
  if (training)
    properties.training = parser.getBuilder().getUnitAttr();
  int32_t updated = training && running;
  if (clauses.parseOptionalFloat("momentum", properties.momentum) ||
      clauses.parseEnd(updated ? 3 : 1))
    return failure();
  properties.operandSegmentSizes = {1, scale, bias, running, running};
  properties.resultSegmentSizes = {1, updated, updated, clauses.hasStat("mean"),
                                   clauses.hasStat("rstd")};
  return success();
}

void BatchNormOp::print(OpAsmPrinter &p) {
  ClausePrinter clauses(p, *this);
  clauses.printScale(getScale(), getOffset());
  clauses.printOperands("bias", Value(getBias()));
  clauses.printOperands("running", {getRunningMean(), getRunningVar()});
  clauses.printStats({{"mean", getMean()}, {"rstd", getRstd()}});
  clauses.printInteger("channel_axis", getChannelAxis());
  clauses.printFloat("eps", getEps());
  if (getTraining())
    p << " training";
  if (std::optional<APFloat> momentum = getMomentum())
    clauses.printFloat("momentum", *momentum);
  clauses.printEnd();
}

/// Which operands, results and attributes come with which.
static LogicalResult verifyPresence(BatchNormOp op) {
  bool running = bool(op.getRunningMean()), training = op.getTraining();
  // [BN-C1]
  if (running != bool(op.getRunningVar()))
    return op.emitOpError() << "expects a running mean and a running variance "
                               "but got the "
                            << (running ? "mean" : "variance") << " only";
  // [BN-C2]
  if (!training && !running)
    return op.emitOpError("expects running statistics or 'training' but got "
                          "neither");
  // [BN-C3]
  bool updates = training && running;
  if (bool(op.getNewRunningMean()) != updates ||
      bool(op.getNewRunningVar()) != updates)
    return op.emitOpError()
           << "expects " << (updates ? "both" : "no")
           << " updated running statistics among the results but got "
           << int(bool(op.getNewRunningMean())) +
                  int(bool(op.getNewRunningVar()));
  // [BN-C4]
  if (bool(op.getMomentum()) != updates)
    return op.emitOpError() << "expects 'momentum' where running statistics "
                               "are updated, and only there, but got "
                            << (updates ? "none" : "one");
  // [BN-C5]
  if (!training && (op.getMean() || op.getRstd()))
    return op.emitOpError("expects 'stats' with 'training' only");
  return success();
}

LogicalResult BatchNormOp::verify() {
  if (failed(verifyPresence(*this)) ||
      failed(verifyChannels(*this, /*firstAxis=*/0, /*leastRank=*/2)))
    return failure();
  int64_t channels = shapeOf(getX())[getChannelAxis()];
  if (failed(verifyShape(*this, "running mean", getRunningMean(), channels)) ||
      failed(verifyShape(*this, "running variance", getRunningVar(), channels)))
    return failure();
  for (auto [before, after] :
       {std::pair<Value, Value>(getRunningMean(), getNewRunningMean()),
        std::pair<Value, Value>(getRunningVar(), getNewRunningVar())})
    // [BN-C6]
    if (after && before.getType() != after.getType())
      return emitOpError() << "expects an updated running statistic of type "
                           << before.getType() << " but got "
                           << after.getType();
  std::optional<APFloat> momentum = getMomentum();
  // [BN-C7]
  if (momentum && !(*momentum >= APFloat(0.0) && *momentum <= APFloat(1.0)))
    return emitOpError() << "expects 'momentum' from 0 to 1 but got "
                         << toText(*momentum);
  return verifyStats(*this, channels);
}

LogicalResult
BatchNormOp::reifyResultShapes(OpBuilder &builder,
                               ReifiedRankedShapedTypeDims &reified) {
  return reifyNamed(*this, builder, static_cast<int64_t>(getChannelAxis()),
                    reified);
}
