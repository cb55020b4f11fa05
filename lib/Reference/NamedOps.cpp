//===- NamedOps.cpp - Named ops by their formulas -------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Each op by the formula of its documentation. An implementation may form an
// fma, so only the result is rounded; in between the bounds grow.
//
//===----------------------------------------------------------------------===//

#include "NamedOps.h"

#include "Random.h"

using namespace mlir;
using namespace ::norm;
using namespace ::norm::reference;

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

RowSpace::RowSpace(Operation *op, const Array &x, llvm::ArrayRef<int64_t> shape,
                   llvm::ArrayRef<int64_t> columnDims)
    : isNarrow(bitSize(x.type) <= 16), shape(shape), x(x),
      columnDims(columnDims) {
  int64_t rank = int64_t(shape.size());
  for (int64_t dim = 0; dim < rank; ++dim) {
    if (llvm::is_contained(columnDims, dim)) {
      columns *= shape[dim];
      continue;
    }
    rows *= shape[dim];
    rowDims.push_back(dim);
    rowShape.push_back(shape[dim]);
  }
  for (auto [i, dim] : llvm::enumerate(columnDims))
    isContiguous &= dim == rank - int64_t(columnDims.size()) + int64_t(i);
  if (mlir::norm::usesF64(op))
    type = DType::F64;
  // 16 bytes of the type of the arithmetic: no streamed input is wider. Columns
  // that aren't the last dims have an order of their own.
  depth = isContiguous ? reductionDepth(columns, 16 / byteSize(type))
                       : unorderedDepth(columns);
  own = offsetsOf(rowMajorStrides(shape));
  if (!isContiguous)
    buffer = Array(x.type, {columns});
}

/// The offsets of all points of some dims, in row-major order.
static std::vector<int64_t> walk(llvm::ArrayRef<int64_t> shape,
                                 llvm::ArrayRef<int64_t> strides,
                                 llvm::ArrayRef<int64_t> dims) {
  std::vector<int64_t> offsets{0};
  for (int64_t dim : dims) {
    std::vector<int64_t> next;
    next.reserve(offsets.size() * shape[dim]);
    for (int64_t offset : offsets)
      for (int64_t i = 0; i < shape[dim]; ++i)
        next.push_back(offset + i * strides[dim]);
    offsets = std::move(next);
  }
  return offsets;
}

Offsets RowSpace::offsetsOf(llvm::ArrayRef<int64_t> strides) const {
  return {walk(shape, strides, rowDims), walk(shape, strides, columnDims)};
}

Offsets RowSpace::positionsAlong(int64_t dim) const {
  Shape strides(shape.size(), 0);
  strides[dim] = 1;
  return offsetsOf(strides);
}

Row RowSpace::row(int64_t r) {
  if (isContiguous)
    return rowOf(x, r, columns);
  buffer.bound.clear();
  for (int64_t c = 0; c < columns; ++c)
    buffer.set(c, at(r, c));
  return rowOf(buffer, 0, columns);
}

llvm::Expected<RowOperand>
reference::alignedOperand(Operation *op, const RowSpace &space,
                          llvm::StringRef name, const Array *array,
                          llvm::ArrayRef<int64_t> dims) {
  if (!array)
    return RowOperand();
  // Several dims may share an axis that a reshape split.
  Shape strides(space.shape.size(), 0);
  int64_t stride = 1;
  for (int64_t dim : llvm::reverse(dims)) {
    strides[dim] = stride;
    stride *= space.shape[dim];
  }
  if (stride != array->size())
    return errorAt(op, "expects '" + name + "' of " + llvm::Twine(stride) +
                           " elements but got " + llvm::Twine(array->size()));
  return RowOperand{array, space.offsetsOf(strides)};
}

llvm::Expected<RowOperand>
reference::broadcastOperand(Operation *op, const RowSpace &space,
                            llvm::StringRef name, Value value,
                            const Array *array, llvm::ArrayRef<int64_t> axes) {
  if (!array)
    return RowOperand();
  int64_t rank = int64_t(array->shape.size());
  int64_t allAxes = int64_t(space.shape.size());
  Shape own = rowMajorStrides(array->shape), strides(allAxes, 0);
  auto type = cast<RankedTensorType>(value.getType());
  for (int64_t i = 0; i < rank; ++i) {
    int64_t fromLast = rank - i;
    int64_t dim = rank <= int64_t(axes.size()) ? axes[axes.size() - fromLast]
                                               : allAxes - fromLast;
    if (type.getDimSize(i) == 1)
      continue;
    if (array->shape[i] != space.shape[dim])
      return errorAt(op, "expects extent " + llvm::Twine(space.shape[dim]) +
                             " at axis " + llvm::Twine(i) + " of '" + name +
                             "' but got " + llvm::Twine(array->shape[i]));
    strides[dim] = own[i];
  }
  return RowOperand{array, space.offsetsOf(strides)};
}

//===----------------------------------------------------------------------===//
// Elements and rows
//===----------------------------------------------------------------------===//

Element reference::finish(DType type, const RowSpace &space, Element x) {
  return type == space.type ? overflowed(type, x) : rounded(type, x);
}

Element reference::constantOf(const RowSpace &space, double value) {
  return rounded(space.type, {value, 0});
}

/// A product that overflows by itself may be a finite sum in an fma: certain is
/// what both agree on.
Element reference::scaleAndShift(DType type, Element x, Element scale,
                                 Element bias) {
  Element product = multiply(x, scale);
  Element apart = loose(type, product);
  Element result = loose(type, add(apart, bias));
  if (!std::isinf(apart.value) || std::isinf(x.value) ||
      std::isinf(scale.value))
    return result;
  // Beyond the largest float64 the evaluator can't tell either.
  if (std::isinf(product.value))
    return unknown(result.value);
  product.bound += halfUlp(type, product.value);
  Element fused = loose(type, add(product, bias));
  bool agree = fused.value == result.value && fused.bound == 0;
  return agree ? result : unknown(result.value);
}

Element reference::applyAffine(const RowSpace &space, const Affine &affine,
                               Element centred, Element rstd, int64_t r,
                               int64_t c) {
  DType type = space.type;
  Element y = loose(type, multiply(centred, rstd));
  if (affine.scale) {
    Element scale = affine.scale.at(r, c);
    if (affine.offset.value != 0)
      scale = loose(type, add(scale, affine.offset));
    if (affine.bias)
      return scaleAndShift(type, y, scale, affine.bias.at(r, c));
    y = loose(type, multiply(y, scale));
  }
  if (affine.bias)
    y = loose(type, add(y, affine.bias.at(r, c)));
  return y;
}

Element reference::meanOf(const RowSpace &space, Element sum) {
  Element count = constantOf(space, double(space.columns));
  return nonNegative(loose(space.type, divide(sum, count)));
}

Element reference::reciprocalRoot(const RowSpace &space, Element variance,
                                  double eps) {
  DType type = space.type;
  Element shifted = loose(type, add(variance, constantOf(space, eps)));
  if (!variance.isUnknown() && variance.low() >= 0)
    shifted = nonNegative(shifted);
  Element root = loose(type, squareRoot(shifted));
  return loose(type, divide({1, 0}, root));
}

Element reference::sumOfSquares(const RowSpace &space, Row row) {
  Array squares(space.type, {space.columns});
  for (int64_t c = 0; c < space.columns; ++c)
    squares.set(c, nonNegative(loose(space.type, square(row.at(c)))));
  return nonNegative(
      sum(space.type, rowOf(squares, 0, space.columns), space.depth));
}

bool reference::holdsNonFinite(Row row) {
  for (int64_t i = 0, e = row.size(); i < e; ++i)
    if (!row.at(i).isUnknown() && !std::isfinite(row.value[i]))
      return true;
  return false;
}

MomentResults reference::normalizeByMoments(RowSpace &space,
                                            const Affine &affine, double eps,
                                            DType yType) {
  MomentResults results{
      Array(yType, space.shape), Array(space.type, space.rowShape),
      Array(space.type, space.rowShape), Array(space.type, space.rowShape)};
  for (int64_t r = 0; r < space.rows; ++r) {
    Row row = space.row(r);
    Moments found =
        moments(space.type, row, space.depth,
                space.isNarrow ? MomentsForm::AnyNarrow : MomentsForm::Any);
    Element rstd = reciprocalRoot(space, meanOf(space, found.m2), eps);
    results.mean.set(r, found.mean);
    results.m2.set(r, found.m2);
    results.rstd.set(r, rstd);
    bool isLost = holdsNonFinite(row);
    for (int64_t c = 0; c < space.columns; ++c) {
      Element y{kNaN, 0};
      if (!isLost)
        y = applyAffine(space, affine,
                        loose(space.type, subtract(row.at(c), found.mean)),
                        rstd, r, c);
      results.y.set(space.offset(r, c), finish(yType, space, y));
    }
  }
  return results;
}

//===----------------------------------------------------------------------===//
// layer_norm, rms_norm and l2_normalize
//===----------------------------------------------------------------------===//

static llvm::Expected<Arrays> layerNorm(mlir::norm::LayerNormOp op,
                                        llvm::ArrayRef<const Array *> in) {
  const Array &x = *in[0];
  size_t next = 1;
  RowSpace space(op, x, x.shape, op.getAxes());
  Affine affine;
  affine.offset = constantOf(space, op.getOffset().convertToDouble());
  auto scale =
      broadcastOperand(op, space, "scale", op.getScale(),
                       op.getScale() ? in[next++] : nullptr, op.getAxes());
  if (!scale)
    return scale.takeError();
  affine.scale = std::move(*scale);
  auto bias =
      broadcastOperand(op, space, "bias", op.getBias(),
                       op.getBias() ? in[next++] : nullptr, op.getAxes());
  if (!bias)
    return bias.takeError();
  affine.bias = std::move(*bias);

  MomentResults found = normalizeByMoments(
      space, affine, op.getEps().convertToDouble(), elementTypeOf(op.getY()));
  Arrays results{std::move(found.y)};
  if (op.getMean())
    results.push_back(std::move(found.mean));
  if (op.getRstd())
    results.push_back(std::move(found.rstd));
  return results;
}

static llvm::Expected<Arrays> rmsNorm(mlir::norm::RmsNormOp op,
                                      llvm::ArrayRef<const Array *> in) {
  const Array &x = *in[0];
  RowSpace space(op, x, x.shape, op.getAxes());
  Affine affine;
  affine.offset = constantOf(space, op.getOffset().convertToDouble());
  auto scale = broadcastOperand(op, space, "scale", op.getScale(),
                                op.getScale() ? in[1] : nullptr, op.getAxes());
  if (!scale)
    return scale.takeError();
  affine.scale = std::move(*scale);

  DType type = elementTypeOf(op.getY());
  Arrays results{Array(type, x.shape)};
  Array rstds(space.type, space.rowShape);
  double eps = op.getEps().convertToDouble();
  for (int64_t r = 0; r < space.rows; ++r) {
    Row row = space.row(r);
    Element mean = meanOf(space, sumOfSquares(space, row));
    Element rstd = reciprocalRoot(space, mean, eps);
    rstds.set(r, rstd);
    for (int64_t c = 0; c < space.columns; ++c)
      results[0].set(space.offset(r, c),
                     finish(type, space,
                            applyAffine(space, affine, row.at(c), rstd, r, c)));
  }
  if (op.getRstd())
    results.push_back(std::move(rstds));
  return results;
}

static Arrays l2Normalize(mlir::norm::L2NormalizeOp op, const Array &x) {
  RowSpace space(op, x, x.shape, op.getAxes());
  DType type = elementTypeOf(op.getY());
  Arrays results{Array(type, x.shape)};
  Element least = constantOf(space, op.getEps().convertToDouble());
  for (int64_t r = 0; r < space.rows; ++r) {
    Row row = space.row(r);
    Element length = loose(space.type, squareRoot(sumOfSquares(space, row)));
    Element inverse = loose(space.type, divide({1, 0}, maximum(length, least)));
    for (int64_t c = 0; c < space.columns; ++c)
      results[0].set(
          space.offset(r, c),
          finish(type, space, loose(space.type, multiply(row.at(c), inverse))));
  }
  return results;
}

//===----------------------------------------------------------------------===//
// Dispatch
//===----------------------------------------------------------------------===//

bool reference::isNamedOp(Operation *op) {
  return isa<mlir::norm::LayerNormOp, mlir::norm::RmsNormOp,
             mlir::norm::L2NormalizeOp, mlir::norm::SoftmaxOp,
             mlir::norm::LogSoftmaxOp, mlir::norm::LogSumExpOp,
             mlir::norm::GroupNormOp, mlir::norm::InstanceNormOp,
             mlir::norm::BatchNormOp, mlir::norm::DropoutOp,
             mlir::norm::QuantizeOp, mlir::norm::DequantizeOp>(op);
}

llvm::Expected<Arrays>
reference::evaluateNamedOp(Operation *op, llvm::ArrayRef<const Array *> in) {
  for (Type type : op->getResultTypes())
    if (!dtypeOf(type))
      return errorAt(op, "yields a type that the reference can't evaluate");
  if (auto layer = dyn_cast<mlir::norm::LayerNormOp>(op))
    return layerNorm(layer, in);
  if (auto rms = dyn_cast<mlir::norm::RmsNormOp>(op))
    return rmsNorm(rms, in);
  if (auto l2 = dyn_cast<mlir::norm::L2NormalizeOp>(op))
    return l2Normalize(l2, *in[0]);
  if (auto soft = dyn_cast<mlir::norm::SoftmaxOp>(op))
    return evaluateSoftmax(soft, in);
  if (auto logSoft = dyn_cast<mlir::norm::LogSoftmaxOp>(op))
    return evaluateLogSoftmax(logSoft, *in[0]);
  if (auto logSum = dyn_cast<mlir::norm::LogSumExpOp>(op))
    return evaluateLogSumExp(logSum, *in[0]);
  if (auto group = dyn_cast<mlir::norm::GroupNormOp>(op))
    return evaluateGroupNorm(group, in);
  if (auto instance = dyn_cast<mlir::norm::InstanceNormOp>(op))
    return evaluateInstanceNorm(instance, in);
  if (auto batch = dyn_cast<mlir::norm::BatchNormOp>(op))
    return evaluateBatchNorm(batch, in);
  if (auto dropout = dyn_cast<mlir::norm::DropoutOp>(op))
    return evaluateDropout(dropout, in);
  if (auto quantize = dyn_cast<mlir::norm::QuantizeOp>(op))
    return evaluateQuantize(quantize, in);
  if (auto dequantize = dyn_cast<mlir::norm::DequantizeOp>(op))
    return evaluateDequantize(dequantize, in);
  return errorAt(op, "can't be evaluated by the reference");
}
