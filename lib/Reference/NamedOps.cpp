//===- NamedOps.cpp - layer_norm, rms_norm and softmax --------------------===//
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

#include "Evaluator.h"
#include "Reductions.h"
#include "ScalarOps.h"
#include "norm/Dialect/Norm/IR/Norm.h"

using namespace mlir;
using namespace ::norm;
using namespace ::norm::reference;

namespace {
/// The rows of an op, and the type of its arithmetic.
struct RowSpace {
  int64_t rows = 1, columns = 1;
  int64_t depth = 0;
  DType type = DType::F32;
};
} // namespace

static RowSpace rowSpaceOf(Operation *op, size_t axes, const Array &x) {
  RowSpace space;
  llvm::ArrayRef<int64_t> shape(x.shape);
  space.rows = countElements(shape.drop_back(axes));
  space.columns = countElements(shape.take_back(axes));
  auto isF64 = [](Type type) { return dtypeOf(type) == DType::F64; };
  if (llvm::any_of(op->getOperandTypes(), isF64) ||
      isF64(op->getResult(0).getType()))
    space.type = DType::F64;
  // 16 bytes of the type of the arithmetic: no streamed input is wider.
  space.depth = reductionDepth(space.columns, 16 / byteSize(space.type));
  return space;
}

/// The only rounding of a result.
static Element finish(DType type, const RowSpace &space, Element x) {
  return type == space.type ? overflowed(type, x) : rounded(type, x);
}

/// The values that scale and shift a row, or none.
struct Affine {
  const Array *scale = nullptr;
  const Array *bias = nullptr;
  Element offset;
};

/// `centred * rstd * (scale + offset) + bias` at column `column`.
static Element applyAffine(const RowSpace &space, const Affine &affine,
                           Element centred, Element rstd, int64_t column) {
  DType type = space.type;
  Element y = loose(type, multiply(centred, rstd));
  if (affine.scale) {
    Element scale = affine.scale->at(column);
    if (affine.offset.value != 0)
      scale = loose(type, add(scale, affine.offset));
    y = loose(type, multiply(y, scale));
  }
  if (affine.bias)
    y = loose(type, add(y, affine.bias->at(column)));
  return y;
}

/// `1 / sqrt(sum / N + eps)`, of a sum that isn't negative.
static Element reciprocalRoot(const RowSpace &space, Element sum, double eps) {
  DType type = space.type;
  Element count = rounded(type, {double(space.columns), 0});
  Element mean = nonNegative(loose(type, divide(sum, count)));
  Element shifted = loose(type, add(mean, rounded(type, {eps, 0})));
  Element root = loose(type, squareRoot(nonNegative(shifted)));
  return loose(type, divide({1, 0}, root));
}

/// Whether the row certainly holds a NaN or an infinity.
static bool holdsNonFinite(Row row) {
  for (int64_t i = 0, e = row.size(); i < e; ++i)
    if (!row.at(i).isUnknown() && !std::isfinite(row.value[i]))
      return true;
  return false;
}

static Element roundedOffset(const RowSpace &space, const APFloat &offset) {
  return rounded(space.type, {offset.convertToDouble(), 0});
}

/// A result with the extents of the leading axes.
static Array rowResult(Value value, const Array &x, size_t axes) {
  return Array(*dtypeOf(value.getType()),
               llvm::ArrayRef<int64_t>(x.shape).drop_back(axes));
}

/// Fails unless `operand` has the extents of the normalized axes.
static llvm::Error checkColumns(Operation *op, llvm::StringRef name,
                                const Array *operand, const Array &x,
                                size_t axes) {
  if (!operand || llvm::ArrayRef<int64_t>(operand->shape) ==
                      llvm::ArrayRef<int64_t>(x.shape).take_back(axes))
    return llvm::Error::success();
  return errorAt(op, "expects '" + name + "' of the extents of the " +
                         "normalized axes");
}

static llvm::Expected<Arrays> layerNorm(mlir::norm::LayerNormOp op,
                                        llvm::ArrayRef<const Array *> in) {
  const Array &x = *in[0];
  size_t axes = op.getAxes().size(), next = 1;
  RowSpace space = rowSpaceOf(op, axes, x);
  Affine affine;
  affine.scale = op.getScale() ? in[next++] : nullptr;
  affine.bias = op.getBias() ? in[next++] : nullptr;
  affine.offset = roundedOffset(space, op.getOffset());
  if (llvm::Error error = checkColumns(op, "scale", affine.scale, x, axes))
    return std::move(error);
  if (llvm::Error error = checkColumns(op, "bias", affine.bias, x, axes))
    return std::move(error);

  DType type = *dtypeOf(op.getY().getType());
  Arrays results{Array(type, x.shape)};
  Array means, rstds;
  if (op.getMean())
    means = rowResult(op.getMean(), x, axes);
  if (op.getRstd())
    rstds = rowResult(op.getRstd(), x, axes);
  double eps = op.getEps().convertToDouble();
  for (int64_t r = 0; r < space.rows; ++r) {
    Row row = rowOf(x, r, space.columns);
    Moments found = moments(space.type, row, space.depth, MomentsForm::Any);
    Element rstd = reciprocalRoot(space, found.m2, eps);
    if (op.getMean())
      means.set(r, found.mean);
    if (op.getRstd())
      rstds.set(r, rstd);
    bool isLost = holdsNonFinite(row);
    for (int64_t c = 0; c < space.columns; ++c) {
      Element y{kNaN, 0};
      if (!isLost)
        y = applyAffine(space, affine,
                        loose(space.type, subtract(row.at(c), found.mean)),
                        rstd, c);
      results[0].set(r * space.columns + c, finish(type, space, y));
    }
  }
  if (op.getMean())
    results.push_back(std::move(means));
  if (op.getRstd())
    results.push_back(std::move(rstds));
  return results;
}

static llvm::Expected<Arrays> rmsNorm(mlir::norm::RmsNormOp op,
                                      llvm::ArrayRef<const Array *> in) {
  const Array &x = *in[0];
  size_t axes = op.getAxes().size();
  RowSpace space = rowSpaceOf(op, axes, x);
  Affine affine;
  affine.scale = op.getScale() ? in[1] : nullptr;
  affine.offset = roundedOffset(space, op.getOffset());
  if (llvm::Error error = checkColumns(op, "scale", affine.scale, x, axes))
    return std::move(error);

  DType type = *dtypeOf(op.getY().getType());
  Arrays results{Array(type, x.shape)};
  Array rstds;
  if (op.getRstd())
    rstds = rowResult(op.getRstd(), x, axes);
  double eps = op.getEps().convertToDouble();
  Array squares(space.type, {space.columns});
  for (int64_t r = 0; r < space.rows; ++r) {
    Row row = rowOf(x, r, space.columns);
    squares.bound.clear();
    for (int64_t c = 0; c < space.columns; ++c)
      squares.set(c, nonNegative(loose(space.type, square(row.at(c)))));
    Element total =
        sum(space.type, rowOf(squares, 0, space.columns), space.depth);
    Element rstd = reciprocalRoot(space, nonNegative(total), eps);
    if (op.getRstd())
      rstds.set(r, rstd);
    for (int64_t c = 0; c < space.columns; ++c)
      results[0].set(
          r * space.columns + c,
          finish(type, space, applyAffine(space, affine, row.at(c), rstd, c)));
  }
  if (op.getRstd())
    results.push_back(std::move(rstds));
  return results;
}

static llvm::Expected<Arrays> softmax(mlir::norm::SoftmaxOp op,
                                      llvm::ArrayRef<const Array *> in) {
  const Array &x = *in[0];
  RowSpace space = rowSpaceOf(op, op.getAxes().size(), x);
  DType type = *dtypeOf(op.getY().getType());
  Arrays results{Array(type, x.shape)};
  auto exponential = [](double v) { return std::exp(v); };
  for (int64_t r = 0; r < space.rows; ++r) {
    Row row = rowOf(x, r, space.columns);
    Element max = extremum(maximum, row, {-kInfinity, 0});
    Element total = sumOfExponentials(space.type, row, max, space.depth);
    for (int64_t c = 0; c < space.columns; ++c) {
      Element distance = loose(space.type, subtract(row.at(c), max));
      Element term = nonNegative(
          approximated(space.type, monotone(exponential, distance), kExpUlps));
      Element y = loose(space.type, divide(term, total));
      results[0].set(r * space.columns + c, finish(type, space, y));
    }
  }
  return results;
}

bool reference::isNamedOp(Operation *op) {
  return isa<mlir::norm::LayerNormOp, mlir::norm::RmsNormOp,
             mlir::norm::SoftmaxOp>(op);
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
  if (auto soft = dyn_cast<mlir::norm::SoftmaxOp>(op))
    return softmax(soft, in);
  return errorAt(op, "can't be evaluated by the reference");
}
