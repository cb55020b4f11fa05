//===- NormNamedOps.cpp - layer_norm, rms_norm and l2_normalize -----------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NormNamedOps.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::norm;

static const StringRef layerNormStats[] = {"mean", "rstd"};
static const StringRef rmsNormStats[] = {"rstd"};

//===----------------------------------------------------------------------===//
// layer_norm
//===----------------------------------------------------------------------===//

ParseResult LayerNormOp::parse(OpAsmParser &parser, OperationState &result) {
  auto &properties = result.getOrAddProperties<Properties>();
  ClauseParser clauses(parser, result);
  int32_t scale = 0, bias = 0;
  if (clauses.parseOperand() || clauses.parseScale(properties.offset, scale) ||
      clauses.parseOptionalOperands("bias", bias) ||
      clauses.parseStats(layerNormStats) ||
      clauses.parseAxes(properties.axes) ||
      clauses.parseFloat("eps", properties.eps) || clauses.parseEnd(1))
    return failure();
  properties.operandSegmentSizes = {1, scale, bias};
  properties.resultSegmentSizes = {1, clauses.hasStat("mean"),
                                   clauses.hasStat("rstd")};
  return success();
}

void LayerNormOp::print(OpAsmPrinter &p) {
  ClausePrinter clauses(p, *this);
  clauses.printScale(getScale(), getOffset());
  clauses.printOperands("bias", Value(getBias()));
  clauses.printStats({{"mean", getMean()}, {"rstd", getRstd()}});
  clauses.printAxes(getAxes());
  clauses.printFloat("eps", getEps());
  clauses.printEnd();
}

LogicalResult LayerNormOp::verify() {
  ArrayRef<int64_t> shape = shapeOf(getX());
  if (failed(verifyAxes(*this, getAxes(), shape.size())))
    return failure();
  SmallVector<int64_t> rows = dropAxes(shape, getAxes());
  return failure(
      failed(verifyShape(*this, "y", getY(), shape)) ||
      failed(verifyBroadcast(*this, "scale", getScale(), getX(), getAxes())) ||
      failed(verifyBroadcast(*this, "bias", getBias(), getX(), getAxes())) ||
      failed(verifyStat(*this, "mean", getMean(), rows)) ||
      failed(verifyStat(*this, "rstd", getRstd(), rows)) ||
      failed(verifyOffset(*this, getOffset(), bool(getScale()))) ||
      failed(verifyEps(*this, getEps())));
}

LogicalResult
LayerNormOp::reifyResultShapes(OpBuilder &builder,
                               ReifiedRankedShapedTypeDims &reified) {
  return reifyNamed(*this, builder,
                    otherAxes(shapeOf(getX()).size(), getAxes()), reified);
}

//===----------------------------------------------------------------------===//
// rms_norm
//===----------------------------------------------------------------------===//

ParseResult RmsNormOp::parse(OpAsmParser &parser, OperationState &result) {
  auto &properties = result.getOrAddProperties<Properties>();
  ClauseParser clauses(parser, result);
  int32_t scale = 0;
  return failure(
      clauses.parseOperand() || clauses.parseScale(properties.offset, scale) ||
      clauses.parseStats(rmsNormStats) || clauses.parseAxes(properties.axes) ||
      clauses.parseFloat("eps", properties.eps) || clauses.parseEnd(1));
}

void RmsNormOp::print(OpAsmPrinter &p) {
  ClausePrinter clauses(p, *this);
  clauses.printScale(getScale(), getOffset());
  clauses.printStats({{"rstd", getRstd()}});
  clauses.printAxes(getAxes());
  clauses.printFloat("eps", getEps());
  clauses.printEnd();
}

LogicalResult RmsNormOp::verify() {
  ArrayRef<int64_t> shape = shapeOf(getX());
  if (failed(verifyAxes(*this, getAxes(), shape.size())))
    return failure();
  return failure(
      failed(verifyShape(*this, "y", getY(), shape)) ||
      failed(verifyBroadcast(*this, "scale", getScale(), getX(), getAxes())) ||
      failed(
          verifyStat(*this, "rstd", getRstd(), dropAxes(shape, getAxes()))) ||
      failed(verifyOffset(*this, getOffset(), bool(getScale()))) ||
      failed(verifyEps(*this, getEps())));
}

LogicalResult
RmsNormOp::reifyResultShapes(OpBuilder &builder,
                             ReifiedRankedShapedTypeDims &reified) {
  return reifyNamed(*this, builder,
                    otherAxes(shapeOf(getX()).size(), getAxes()), reified);
}

//===----------------------------------------------------------------------===//
// l2_normalize
//===----------------------------------------------------------------------===//

ParseResult L2NormalizeOp::parse(OpAsmParser &parser, OperationState &result) {
  auto &properties = result.getOrAddProperties<Properties>();
  ClauseParser clauses(parser, result);
  return failure(clauses.parseOperand() || clauses.parseAxes(properties.axes) ||
                 clauses.parseFloat("eps", properties.eps) ||
                 clauses.parseEnd(1));
}

void L2NormalizeOp::print(OpAsmPrinter &p) {
  ClausePrinter clauses(p, *this);
  clauses.printAxes(getAxes());
  clauses.printFloat("eps", getEps());
  clauses.printEnd();
}

LogicalResult L2NormalizeOp::verify() {
  ArrayRef<int64_t> shape = shapeOf(getX());
  if (failed(verifyAxes(*this, getAxes(), shape.size())) ||
      failed(verifyShape(*this, "y", getY(), shape)) ||
      failed(verifyEps(*this, getEps())))
    return failure();
  // The reciprocal of a smaller number may be infinite.
  const llvm::fltSemantics &semantics =
      usesF64(*this) ? APFloat::IEEEdouble() : APFloat::IEEEsingle();
  APFloat rounded = getEps();
  bool losesInfo;
  rounded.convert(semantics, APFloat::rmNearestTiesToEven, &losesInfo);
  APFloat least = APFloat::getSmallestNormalized(semantics);
  // [L2-C1]
  if (rounded.isFinite() && rounded >= least)
    return success();
  return emitOpError() << "expects 'eps' to be a normal number of the "
                          "arithmetic, from "
                       << toText(least) << ", but got " << toText(getEps());
}

LogicalResult
L2NormalizeOp::reifyResultShapes(OpBuilder &builder,
                                 ReifiedRankedShapedTypeDims &reified) {
  return reifyNamed(*this, builder, {}, reified);
}
