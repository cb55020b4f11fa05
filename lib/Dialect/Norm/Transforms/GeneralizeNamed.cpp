//===- GeneralizeNamed.cpp - Named ops as programs ------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The named ops in textbook form. What is written here fixes their bits: all
// arithmetic in f32 (f64 where a type of the op is f64), one rounding to the
// type of each result, and a fused multiply-add only where scale and bias meet.
//
//===----------------------------------------------------------------------===//

#include "ProgramBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::norm;

namespace {
/// One named op on its way into a program. Dims are those of `x`: the leading
/// ones are rows, the normalized ones columns.
class NamedBody {
public:
  template <typename OpTy>
  NamedBody(RewriterBase &rewriter, DimSizes &sizes, OpTy op)
      : rewriter(rewriter), loc(op.getLoc()),
        rank(cast<RankedTensorType>(op.getX().getType()).getRank()),
        rows(rank - op.getAxes().size()),
        program(rewriter, sizes, loc, getSpaceNames(rows, rank - rows)) {
    bool wide = llvm::any_of(op->getOperandTypes(), isWide) ||
                isWide(op.getY().getType());
    compute = wide ? rewriter.getF64Type() : rewriter.getF32Type();
    for (unsigned dim = 0; dim != rank; ++dim)
      (dim < rows ? rowDims : colDims).push_back(dim);
    allDims = rowDims;
    allDims.append(colDims);
  }

  ArrayRef<unsigned> getAllDims() const { return allDims; }
  ArrayRef<unsigned> getRowDims() const { return rowDims; }
  ArrayRef<unsigned> getColDims() const { return colDims; }

  std::optional<unsigned> addOptionalInput(Value value,
                                           ArrayRef<unsigned> dims) {
    if (!value)
      return std::nullopt;
    return program.addInput(value, dims);
  }
  void addOutput(Value result, ArrayRef<unsigned> dims) {
    if (result)
      program.addOutput(cast<RankedTensorType>(result.getType()), dims);
  }

  /// An input in the type of the arithmetic.
  Value read(unsigned input) {
    return convert(program.getValue(input), compute);
  }
  Value constant(double value) {
    return arith::ConstantOp::create(rewriter, loc,
                                     rewriter.getFloatAttr(compute, value));
  }
  template <typename OpTy, typename... Args>
  Value emit(Args... args) {
    return OpTy::create(rewriter, loc, args...).getResult();
  }
  Value reduce(ReduceKind kind, Value value) {
    SmallVector<Attribute> names;
    for (unsigned dim : colDims)
      names.push_back(rewriter.getStringAttr(program.getDimName(dim)));
    return ReduceOp::create(rewriter, loc, kind, value,
                            rewriter.getArrayAttr(names))
        .getResult(0);
  }
  Value getCount();
  /// 1 / sqrt(sum / count + eps), each op rounded.
  Value getRstd(Value sum, Value count, const APFloat &eps);
  Value applyScaleAndBias(Value value, std::optional<unsigned> scale,
                          const APFloat &offset, std::optional<unsigned> bias);
  /// Rounds each value to the type of its result, and replaces `op`.
  void finish(Operation *op, ArrayRef<Value> values, StringRef name);

  void begin() { program.begin(); }
  ProgramBuilder &getProgram() { return program; }

private:
  static bool isWide(Type type) { return getElementTypeOrSelf(type).isF64(); }
  Value convert(Value value, Type type);

  RewriterBase &rewriter;
  Location loc;
  unsigned rank, rows;
  ProgramBuilder program;
  Type compute;
  SmallVector<unsigned> rowDims, colDims, allDims;
};
} // namespace

Value NamedBody::convert(Value value, Type type) {
  unsigned from = value.getType().getIntOrFloatBitWidth();
  unsigned to = type.getIntOrFloatBitWidth();
  if (from < to)
    return arith::ExtFOp::create(rewriter, loc, type, value);
  if (from > to)
    return arith::TruncFOp::create(rewriter, loc, type, value);
  return value;
}

/// The number of elements of a row. Over several axes the product is taken in
/// integers, so that it is rounded once, as over one axis.
Value NamedBody::getCount() {
  if (colDims.size() == 1)
    return ExtentOp::create(
        rewriter, loc, compute,
        rewriter.getStringAttr(program.getDimName(colDims.front())));
  Value count;
  for (unsigned dim : colDims) {
    Value extent =
        ExtentOp::create(rewriter, loc, rewriter.getI64Type(),
                         rewriter.getStringAttr(program.getDimName(dim)));
    count = count ? emit<arith::MulIOp>(count, extent) : extent;
  }
  return arith::SIToFPOp::create(rewriter, loc, compute, count);
}

Value NamedBody::getRstd(Value sum, Value count, const APFloat &eps) {
  Value variance = emit<arith::DivFOp>(sum, count);
  variance = emit<arith::AddFOp>(variance, constant(eps.convertToDouble()));
  Value deviation = emit<math::SqrtOp>(variance);
  return emit<arith::DivFOp>(constant(1.0), deviation);
}

Value NamedBody::applyScaleAndBias(Value value, std::optional<unsigned> scale,
                                   const APFloat &offset,
                                   std::optional<unsigned> bias) {
  Value factor;
  if (scale) {
    factor = read(*scale);
    if (!offset.isZero())
      factor = emit<arith::AddFOp>(factor, constant(offset.convertToDouble()));
  }
  if (factor && bias)
    return emit<math::FmaOp>(value, factor, read(*bias));
  if (factor)
    return emit<arith::MulFOp>(value, factor);
  if (bias)
    return emit<arith::AddFOp>(value, read(*bias));
  return value;
}

void NamedBody::finish(Operation *op, ArrayRef<Value> values, StringRef name) {
  SmallVector<Value> rounded;
  for (auto [value, result] : llvm::zip_equal(values, op->getResults()))
    rounded.push_back(convert(value, getElementTypeOrSelf(result.getType())));
  GenericOp generic = program.finish(rounded, name);
  rewriter.replaceOp(op, generic.getResults());
}

void norm::generalizeNamed(RewriterBase &rewriter, DimSizes &sizes,
                           LayerNormOp op) {
  NamedBody body(rewriter, sizes, op);
  unsigned xInput = body.getProgram().addInput(op.getX(), body.getAllDims());
  auto scale = body.addOptionalInput(op.getScale(), body.getColDims());
  auto bias = body.addOptionalInput(op.getBias(), body.getColDims());
  body.addOutput(op.getY(), body.getAllDims());
  body.addOutput(op.getMean(), body.getRowDims());
  body.addOutput(op.getRstd(), body.getRowDims());
  body.begin();

  Value x = body.read(xInput);
  Value count = body.getCount();
  Value sum = body.reduce(ReduceKind::Add, x);
  Value mean = body.emit<arith::DivFOp>(sum, count);
  Value centred = body.emit<arith::SubFOp>(x, mean);
  Value square = body.emit<arith::MulFOp>(centred, centred);
  Value squares = body.reduce(ReduceKind::Add, square);
  Value rstd = body.getRstd(squares, count, op.getEps());
  Value y = body.emit<arith::MulFOp>(centred, rstd);
  SmallVector<Value> values{
      body.applyScaleAndBias(y, scale, op.getOffset(), bias)};
  if (op.getMean())
    values.push_back(mean);
  if (op.getRstd())
    values.push_back(rstd);
  body.finish(op, values, "layer_norm");
}

void norm::generalizeNamed(RewriterBase &rewriter, DimSizes &sizes,
                           RmsNormOp op) {
  NamedBody body(rewriter, sizes, op);
  unsigned xInput = body.getProgram().addInput(op.getX(), body.getAllDims());
  auto scale = body.addOptionalInput(op.getScale(), body.getColDims());
  body.addOutput(op.getY(), body.getAllDims());
  body.addOutput(op.getRstd(), body.getRowDims());
  body.begin();

  Value x = body.read(xInput);
  Value count = body.getCount();
  Value square = body.emit<arith::MulFOp>(x, x);
  Value squares = body.reduce(ReduceKind::Add, square);
  Value rstd = body.getRstd(squares, count, op.getEps());
  Value y = body.emit<arith::MulFOp>(x, rstd);
  SmallVector<Value> values{
      body.applyScaleAndBias(y, scale, op.getOffset(), std::nullopt)};
  if (op.getRstd())
    values.push_back(rstd);
  body.finish(op, values, "rms_norm");
}

void norm::generalizeNamed(RewriterBase &rewriter, DimSizes &sizes,
                           SoftmaxOp op) {
  NamedBody body(rewriter, sizes, op);
  unsigned xInput = body.getProgram().addInput(op.getX(), body.getAllDims());
  body.addOutput(op.getY(), body.getAllDims());
  body.begin();

  Value x = body.read(xInput);
  Value max = body.reduce(ReduceKind::Max, x);
  Value shifted = body.emit<arith::SubFOp>(x, max);
  Value power = body.emit<math::ExpOp>(shifted);
  Value sum = body.reduce(ReduceKind::Add, power);
  // One division per row; a division per element would cost as much as the
  // exponential.
  Value inverse = body.emit<arith::DivFOp>(body.constant(1.0), sum);
  body.finish(op, {body.emit<arith::MulFOp>(power, inverse)}, "softmax");
}
