//===- GeneralizeNamed.cpp - Named ops as programs ------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// The named ops in textbook form. What is written here fixes their bits: all
// arithmetic in f32 (f64 where a type of the op is f64), one rounding to the
// type of each result, and a fused multiply-add only where a factor and a term
// meet.
//
//===----------------------------------------------------------------------===//

#include "GeneralizeNamed.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::norm;

//===----------------------------------------------------------------------===//
// NamedBody
//===----------------------------------------------------------------------===//

/// row, row1, ... and col, col1, ..., each in the order of the axes.
static SmallVector<std::string> getNames(int64_t rank,
                                         ArrayRef<int64_t> columns) {
  SmallVector<std::string> byRole =
      getSpaceNames(rank - columns.size(), columns.size());
  SmallVector<std::string> names;
  unsigned row = 0, col = rank - columns.size();
  for (int64_t axis = 0; axis != rank; ++axis)
    names.push_back(byRole[llvm::is_contained(columns, axis) ? col++ : row++]);
  return names;
}

NamedBody::NamedBody(RewriterBase &rewriter, DimSizes &sizes, Operation *op,
                     Value x, ArrayRef<int64_t> columns)
    : rewriter(rewriter), loc(op->getLoc()),
      shape(cast<RankedTensorType>(x.getType()).getShape()),
      program(rewriter, sizes, loc, getNames(shape.size(), columns)),
      compute(usesF64(op) ? Type(rewriter.getF64Type())
                          : Type(rewriter.getF32Type())) {
  for (unsigned dim = 0, rank = shape.size(); dim != rank; ++dim) {
    allDims.push_back(dim);
    (llvm::is_contained(columns, dim) ? colDims : rowDims).push_back(dim);
  }
  xInput = program.addInput(x, allDims);
}

std::optional<unsigned> NamedBody::addInput(Value value,
                                            ArrayRef<unsigned> dims) {
  if (!value)
    return std::nullopt;
  return program.addInput(value, dims);
}

std::optional<unsigned> NamedBody::addScalar(Value value) {
  if (!value)
    return std::nullopt;
  return program.addScalar(value);
}

std::optional<unsigned> NamedBody::addBroadcast(Value value,
                                                ArrayRef<int64_t> axes) {
  if (!value)
    return std::nullopt;
  ArrayRef<int64_t> extents =
      cast<RankedTensorType>(value.getType()).getShape();
  SmallVector<AffineExpr> exprs;
  for (auto [axis, extent] :
       llvm::zip(alignAxes(extents.size(), axes, shape.size()), extents))
    exprs.push_back(extent == 1 && shape[axis] != 1
                        ? rewriter.getAffineConstantExpr(0)
                        : rewriter.getAffineDimExpr(axis));
  return program.addInput(
      value, AffineMap::get(shape.size(), 0, exprs, rewriter.getContext()));
}

void NamedBody::addOutput(RankedTensorType type, ArrayRef<unsigned> dims) {
  program.addOutput(type, dims);
  outputTypes.push_back(type.getElementType());
}

void NamedBody::addOutput(RankedTensorType type, AffineMap map) {
  program.addOutput(type, map);
  outputTypes.push_back(type.getElementType());
}

Value NamedBody::convert(Value value, Type type) {
  if (isa<IntegerType>(value.getType()) && isa<FloatType>(type))
    return arith::SIToFPOp::create(rewriter, loc, type, value);
  unsigned from = value.getType().getIntOrFloatBitWidth();
  unsigned to = type.getIntOrFloatBitWidth();
  if (from < to)
    return arith::ExtFOp::create(rewriter, loc, type, value);
  if (from > to)
    return arith::TruncFOp::create(rewriter, loc, type, value);
  return value;
}

SmallVector<Value> NamedBody::finish(ArrayRef<Value> values, StringRef name) {
  SmallVector<Value> rounded;
  for (auto [value, type] : llvm::zip_equal(values, outputTypes))
    rounded.push_back(convert(value, type));
  return SmallVector<Value>(program.finish(rounded, name).getResults());
}

Value NamedBody::reduce(ReduceKind kind, Value value) {
  SmallVector<Attribute> names;
  for (unsigned dim : colDims)
    names.push_back(nameOf(dim));
  return ReduceOp::create(rewriter, loc, kind, value,
                          rewriter.getArrayAttr(names))
      .getResult(0);
}

Value NamedBody::index(unsigned dim, Type type) {
  return IndexOp::create(rewriter, loc, type, nameOf(dim));
}

Value NamedBody::extent(unsigned dim, Type type) {
  return ExtentOp::create(rewriter, loc, type, nameOf(dim));
}

Value NamedBody::random(Value seed, Value offset) {
  SmallVector<Attribute> names;
  for (unsigned dim : allDims)
    names.push_back(nameOf(dim));
  return RandomOp::create(rewriter, loc, seed, offset,
                          rewriter.getArrayAttr(names));
}

/// Over several axes the product is taken in integers, so that it is rounded
/// once, as over one axis.
Value NamedBody::getCount() {
  if (colDims.size() == 1)
    return extent(colDims.front(), compute);
  return toFloat(getIntegerCount());
}

Value NamedBody::getIntegerCount() {
  Value count;
  for (unsigned dim : colDims) {
    Value factor = extent(dim, getI64Type());
    count = count ? emit<arith::MulIOp>(count, factor) : factor;
  }
  return count;
}

std::optional<int64_t> NamedBody::getStaticCount() const {
  int64_t count = 1;
  for (unsigned dim : colDims)
    if (ShapedType::isDynamic(shape[dim]) ||
        llvm::MulOverflow(count, shape[dim], count))
      return std::nullopt;
  return count;
}

Value NamedBody::getRstd(Value variance, const APFloat &eps) {
  variance = emit<arith::AddFOp>(variance, constant(eps.convertToDouble()));
  return emit<math::RsqrtOp>(variance);
}

//===----------------------------------------------------------------------===//
// What several ops share
//===----------------------------------------------------------------------===//

Value norm::applyAffine(NamedBody &body, Value value,
                        const AffineInputs &affine) {
  Value factor;
  if (affine.scale) {
    factor = body.read(*affine.scale);
    if (!affine.offset.isZero())
      factor = body.emit<arith::AddFOp>(
          factor, body.constant(affine.offset.convertToDouble()));
  }
  if (factor && affine.bias)
    return body.emit<math::FmaOp>(value, factor, body.read(*affine.bias));
  if (factor)
    return body.emit<arith::MulFOp>(value, factor);
  if (affine.bias)
    return body.emit<arith::AddFOp>(value, body.read(*affine.bias));
  return value;
}

Moments norm::emitMoments(NamedBody &body, const APFloat &eps) {
  Moments moments;
  Value x = body.readX();
  Value count = body.getCount();
  Value sum = body.reduce(ReduceKind::Add, x);
  moments.mean = body.emit<arith::DivFOp>(sum, count);
  Value centred = body.emit<arith::SubFOp>(x, moments.mean);
  Value square = body.emit<arith::MulFOp>(centred, centred);
  moments.squares = body.reduce(ReduceKind::Add, square);
  Value variance = body.emit<arith::DivFOp>(moments.squares, count);
  moments.rstd = body.getRstd(variance, eps);
  moments.normalized = body.emit<arith::MulFOp>(centred, moments.rstd);
  return moments;
}

//===----------------------------------------------------------------------===//
// layer_norm, rms_norm and l2_normalize
//===----------------------------------------------------------------------===//

void norm::generalizeNorm(RewriterBase &rewriter, DimSizes &sizes,
                          LayerNormOp op) {
  NamedBody body(rewriter, sizes, op, op.getX(), op.getAxes());
  AffineInputs affine{body.addBroadcast(op.getScale(), op.getAxes()),
                      op.getOffset(),
                      body.addBroadcast(op.getBias(), op.getAxes())};
  body.addOutput(op.getY(), body.getAllDims());
  body.addOutput(op.getMean(), body.getRowDims());
  body.addOutput(op.getRstd(), body.getRowDims());
  body.begin();

  Moments moments = emitMoments(body, op.getEps());
  SmallVector<Value> values{applyAffine(body, moments.normalized, affine)};
  if (op.getMean())
    values.push_back(moments.mean);
  if (op.getRstd())
    values.push_back(moments.rstd);
  rewriter.replaceOp(op, body.finish(values, "layer_norm"));
}

void norm::generalizeNorm(RewriterBase &rewriter, DimSizes &sizes,
                          RmsNormOp op) {
  NamedBody body(rewriter, sizes, op, op.getX(), op.getAxes());
  AffineInputs affine{body.addBroadcast(op.getScale(), op.getAxes()),
                      op.getOffset(), std::nullopt};
  body.addOutput(op.getY(), body.getAllDims());
  body.addOutput(op.getRstd(), body.getRowDims());
  body.begin();

  Value x = body.readX();
  Value count = body.getCount();
  Value square = body.emit<arith::MulFOp>(x, x);
  Value squares = body.reduce(ReduceKind::Add, square);
  Value rstd =
      body.getRstd(body.emit<arith::DivFOp>(squares, count), op.getEps());
  Value normalized = body.emit<arith::MulFOp>(x, rstd);
  SmallVector<Value> values{applyAffine(body, normalized, affine)};
  if (op.getRstd())
    values.push_back(rstd);
  rewriter.replaceOp(op, body.finish(values, "rms_norm"));
}

void norm::generalizeNorm(RewriterBase &rewriter, DimSizes &sizes,
                          L2NormalizeOp op) {
  NamedBody body(rewriter, sizes, op, op.getX(), op.getAxes());
  body.addOutput(op.getY(), body.getAllDims());
  body.begin();

  Value x = body.readX();
  Value square = body.emit<arith::MulFOp>(x, x);
  Value squares = body.reduce(ReduceKind::Add, square);
  Value length = body.emit<math::SqrtOp>(squares);
  Value divisor = body.emit<arith::MaximumFOp>(
      length, body.constant(op.getEps().convertToDouble()));
  Value inverse = body.emit<arith::DivFOp>(body.constant(1.0), divisor);
  Value y = body.emit<arith::MulFOp>(x, inverse);
  rewriter.replaceOp(op, body.finish(y, "l2_normalize"));
}

bool norm::generalizeNamed(RewriterBase &rewriter, DimSizes &sizes,
                           Operation *op) {
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<LayerNormOp, RmsNormOp, L2NormalizeOp, SoftmaxOp, LogSoftmaxOp,
            LogSumExpOp, GroupNormOp, InstanceNormOp, BatchNormOp, DropoutOp,
            QuantizeOp, DequantizeOp>(
          [&](auto named) {
            generalizeNorm(rewriter, sizes, named);
            return true;
          })
      .Default(false);
}
