//===- NormSoftmax.cpp - softmax, log_softmax and logsumexp ---------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NormNamedOps.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::norm;

static const StringRef softmaxStats[] = {"logsumexp"};

//===----------------------------------------------------------------------===//
// softmax
//===----------------------------------------------------------------------===//

/// `causal`, or `causal = lower_right`; and `diagonal = 1`.
static ParseResult parseCausal(OpAsmParser &parser, ClauseParser &clauses,
                               SoftmaxOp::Properties &properties) {
  if (succeeded(parser.parseOptionalKeyword("causal"))) {
    Causal corner = Causal::UpperLeft;
    if (succeeded(parser.parseOptionalEqual())) {
      SMLoc loc = parser.getCurrentLocation();
      StringRef name;
      if (parser.parseKeyword(&name))
        return failure();
      std::optional<Causal> known = symbolizeCausal(name);
      // [CAUSAL-C1]
      if (!known)
        return parser.emitError(loc)
               << "expects 'upper_left' or 'lower_right' but got '" << name
               << "'";
      corner = *known;
    }
    properties.causal = CausalAttr::get(parser.getContext(), corner);
  }
  return clauses.parseOptionalInteger("diagonal", properties.diagonal);
}

ParseResult SoftmaxOp::parse(OpAsmParser &parser, OperationState &result) {
  auto &properties = result.getOrAddProperties<Properties>();
  ClauseParser clauses(parser, result);
  int32_t scale = 0, mask = 0, lengths = 0;
  if (clauses.parseOperand() || clauses.parseOptionalOperands("scale", scale) ||
      clauses.parseOptionalOperands("mask", mask) ||
      clauses.parseOptionalOperands("lengths", lengths) ||
      clauses.parseStats(softmaxStats) || clauses.parseAxes(properties.axes) ||
      clauses.parseOptionalFloat("scale", properties.scale_value) ||
      parseCausal(parser, clauses, properties) || clauses.parseEnd(1))
    return failure();
  properties.operandSegmentSizes = {1, scale, mask, lengths};
  return success();
}

void SoftmaxOp::print(OpAsmPrinter &p) {
  ClausePrinter clauses(p, *this);
  clauses.printOperands("scale", Value(getScale()));
  clauses.printOperands("mask", Value(getMask()));
  clauses.printOperands("lengths", Value(getLengths()));
  clauses.printStats({{"logsumexp", getLogsumexp()}});
  clauses.printAxes(getAxes());
  if (std::optional<APFloat> scale = getScaleValue())
    clauses.printFloat("scale", *scale);
  if (std::optional<Causal> corner = getCausal()) {
    p << " causal";
    if (*corner != Causal::UpperLeft)
      p << " = " << stringifyCausal(*corner);
  }
  if (getDiagonal() != 0)
    clauses.printInteger("diagonal", getDiagonal());
  clauses.printEnd();
}

static LogicalResult verifyScale(SoftmaxOp op) {
  std::optional<APFloat> scale = op.getScaleValue();
  // [SM-C1]
  if (scale && op.getScale())
    return op.emitOpError() << "expects a scale as an operand or as an "
                               "attribute but got both";
  // [SM-C2]
  if (scale && !scale->isFinite())
    return op.emitOpError()
           << "expects a finite 'scale' but got " << toText(*scale);
  return success();
}

static LogicalResult verifyCausal(SoftmaxOp op) {
  ArrayRef<int64_t> axes = op.getAxes();
  // [CAUSAL-C4]
  if (!op.getCausal())
    return op.getDiagonal() == 0
               ? success()
               : op.emitOpError() << "expects 'diagonal' only beside 'causal' "
                                     "but got "
                                  << op.getDiagonal();
  // [CAUSAL-C2]
  if (axes.size() != 1 || axes[0] == 0)
    return op.emitOpError() << "expects one normalized axis after an axis of "
                               "queries for 'causal' but got axes = ["
                            << axes << ']';
  // So that sums of positions and diagonals don't wrap.
  constexpr int64_t limit = int64_t(1) << 40;
  // [CAUSAL-C3]
  int64_t diagonal = op.getDiagonal();
  if (diagonal < -limit || diagonal > limit)
    return op.emitOpError() << "expects 'diagonal' from " << -limit << " to "
                            << limit << " but got " << diagonal;
  return success();
}

static LogicalResult verifyLengths(SoftmaxOp op) {
  if (!op.getLengths())
    return success();
  auto type = cast<RankedTensorType>(op.getLengths().getType());
  ArrayRef<int64_t> axes = op.getAxes();
  // [LEN-C1]
  if (axes.size() != 1)
    return op.emitOpError() << "expects one normalized axis for 'lengths' but "
                               "got axes = ["
                            << axes << ']';
  // [LEN-C2]
  if (type.getRank() < 1 || type.getRank() > axes[0])
    return op.emitOpError() << "expects 'lengths' of 1 to " << axes[0]
                            << " axes, those before the normalized one, but "
                               "got "
                            << type;
  // [LEN-C3]
  ArrayRef<int64_t> shape = shapeOf(op.getX());
  return verifyShape(op, "lengths", op.getLengths(),
                     shape.take_front(type.getRank()));
}

LogicalResult SoftmaxOp::verify() {
  ArrayRef<int64_t> shape = shapeOf(getX());
  // A mask is aligned with the last axes of x, whatever is normalized.
  SmallVector<int64_t> all = otherAxes(shape.size(), {});
  if (failed(verifyAxes(*this, getAxes(), shape.size())))
    return failure();
  return failure(
      failed(verifyShape(*this, "y", getY(), shape)) ||
      failed(verifyStat(*this, "logsumexp", getLogsumexp(),
                        dropAxes(shape, getAxes()))) ||
      failed(verifyScale(*this)) ||
      failed(verifyBroadcast(*this, "mask", getMask(), getX(), all)) ||
      failed(verifyCausal(*this)) || failed(verifyLengths(*this)));
}

LogicalResult
SoftmaxOp::reifyResultShapes(OpBuilder &builder,
                             ReifiedRankedShapedTypeDims &reified) {
  return reifyNamed(*this, builder,
                    otherAxes(shapeOf(getX()).size(), getAxes()), reified);
}

//===----------------------------------------------------------------------===//
// log_softmax and logsumexp
//===----------------------------------------------------------------------===//

template <typename OpTy>
static ParseResult parseOverAxes(OpAsmParser &parser, OperationState &result) {
  auto &properties = result.getOrAddProperties<typename OpTy::Properties>();
  ClauseParser clauses(parser, result);
  return failure(clauses.parseOperand() || clauses.parseAxes(properties.axes) ||
                 clauses.parseEnd(1));
}

template <typename OpTy>
static void printOverAxes(OpAsmPrinter &p, OpTy op) {
  ClausePrinter clauses(p, op);
  clauses.printAxes(op.getAxes());
  clauses.printEnd();
}

ParseResult LogSoftmaxOp::parse(OpAsmParser &parser, OperationState &result) {
  return parseOverAxes<LogSoftmaxOp>(parser, result);
}
void LogSoftmaxOp::print(OpAsmPrinter &p) { printOverAxes(p, *this); }

LogicalResult LogSoftmaxOp::verify() {
  ArrayRef<int64_t> shape = shapeOf(getX());
  return failure(failed(verifyAxes(*this, getAxes(), shape.size())) ||
                 failed(verifyShape(*this, "y", getY(), shape)));
}

LogicalResult
LogSoftmaxOp::reifyResultShapes(OpBuilder &builder,
                                ReifiedRankedShapedTypeDims &reified) {
  return reifyNamed(*this, builder, {}, reified);
}

ParseResult LogSumExpOp::parse(OpAsmParser &parser, OperationState &result) {
  return parseOverAxes<LogSumExpOp>(parser, result);
}
void LogSumExpOp::print(OpAsmPrinter &p) { printOverAxes(p, *this); }

LogicalResult LogSumExpOp::verify() {
  ArrayRef<int64_t> shape = shapeOf(getX());
  return failure(
      failed(verifyAxes(*this, getAxes(), shape.size())) ||
      failed(verifyShape(*this, "y", getY(), dropAxes(shape, getAxes()))));
}

LogicalResult
LogSumExpOp::reifyResultShapes(OpBuilder &builder,
                               ReifiedRankedShapedTypeDims &reified) {
  SmallVector<OpFoldResult> sizes =
      tensor::getMixedSizes(builder, getLoc(), getX());
  reified.push_back(
      llvm::map_to_vector(otherAxes(sizes.size(), getAxes()),
                          [&](int64_t axis) { return sizes[axis]; }));
  return success();
}
