//===- GeneralizeQuant.cpp - quantize and dequantize as programs ----------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Axes that are cut into groups, and those that a layout of the scales takes
// apart, are split by a reshape around the program. A dim then is a column,
// over which the largest magnitude is taken, or a row; every layout of the
// scales is a map of rows.
//
//===----------------------------------------------------------------------===//

#include "GeneralizeNamed.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::norm;

//===----------------------------------------------------------------------===//
// Splitting axes
//===----------------------------------------------------------------------===//

/// Whether a group goes over all of an axis. An axis of a single element has a
/// group for each, so that nothing is reduced along it but by who else does.
static bool isWholeAxis(int64_t extent, int64_t count) {
  return extent != 1 && (count < 0 || count == extent);
}

namespace {
/// The axes of a quantized tensor, each as one or more dims.
class GroupSpace {
public:
  GroupSpace(ArrayRef<int64_t> shape, ArrayRef<int64_t> group,
             ScaleLayout layout);

  /// Dims that a group goes over.
  SmallVector<int64_t> columns;
  /// The map of scales with a layout.
  AffineMap getScaleMap(MLIRContext *context, ScaleLayout layout) const;

  Value split(RewriterBase &rewriter, DimSizes &sizes, Location loc,
              Value tensor) const;
  RankedTensorType getSplitType(RankedTensorType type) const {
    return RankedTensorType::get(extents, type.getElementType());
  }
  Value merge(RewriterBase &rewriter, Location loc, Value tensor,
              RankedTensorType type) const;

  /// The same of what each group has one of, row-major.
  AffineMap getGridMap(MLIRContext *context) const;
  RankedTensorType getSplitGridType(RankedTensorType type) const;
  Value mergeGrid(RewriterBase &rewriter, Location loc, Value tensor,
                  RankedTensorType type) const;

private:
  void addDim(int64_t extent) {
    axes.back().push_back(extents.size());
    extents.push_back(extent);
  }

  SmallVector<int64_t> extents;
  SmallVector<ReassociationIndices> axes;
  /// Of each axis, the dims that tell its groups apart; -1 for one of extent 1.
  SmallVector<SmallVector<int64_t>> grid;
};
} // namespace

GroupSpace::GroupSpace(ArrayRef<int64_t> shape, ArrayRef<int64_t> group,
                       ScaleLayout layout) {
  bool isPacked =
      layout == ScaleLayout::Packed || layout == ScaleLayout::Swizzle128x4;
  for (auto [axis, extent, count] : llvm::enumerate(shape, group)) {
    axes.emplace_back();
    grid.emplace_back();
    bool isWhole = isWholeAxis(extent, count);
    if (!isWhole) {
      int64_t groups = ShapedType::isDynamic(extent) || extent == 1
                           ? extent
                           : extent / count;
      // The parts that a layout takes apart, innermost last.
      SmallVector<int64_t> inner;
      if (layout == ScaleLayout::Swizzle128x4 && axis == 0)
        inner = {4, 32};
      else if (isPacked && axis == 1)
        inner = {4};
      for (int64_t part : inner)
        groups /= part;
      inner.insert(inner.begin(), groups);
      for (auto [number, part] : llvm::enumerate(inner)) {
        bool isOne = part == 1 && number + 1 != inner.size();
        grid.back().push_back(isOne ? -1 : extents.size());
        if (!isOne)
          addDim(part);
      }
    }
    if (isWhole || (count > 1 && extent != 1)) {
      columns.push_back(extents.size());
      addDim(isWhole ? extent : count);
    }
  }
}

AffineMap GroupSpace::getScaleMap(MLIRContext *context,
                                  ScaleLayout layout) const {
  SmallVector<AffineExpr> exprs;
  auto add = [&](size_t axis, size_t part) {
    bool isDim = part < grid[axis].size() && grid[axis][part] >= 0;
    exprs.push_back(isDim ? getAffineDimExpr(grid[axis][part], context)
                          : getAffineConstantExpr(0, context));
  };
  switch (layout) {
  case ScaleLayout::RowMajor:
    for (size_t axis = 0; axis != axes.size(); ++axis)
      add(axis, 0);
    break;
  case ScaleLayout::ColumnMajor:
    add(1, 0);
    add(0, 0);
    break;
  case ScaleLayout::Packed:
    add(1, 0);
    add(0, 0);
    add(1, 1);
    break;
  case ScaleLayout::Swizzle128x4:
    add(0, 0);
    add(1, 0);
    add(0, 2);
    add(0, 1);
    add(1, 1);
    break;
  }
  return AffineMap::get(extents.size(), 0, exprs, context);
}

AffineMap GroupSpace::getGridMap(MLIRContext *context) const {
  SmallVector<AffineExpr> exprs;
  for (ArrayRef<int64_t> parts : grid) {
    size_t first = exprs.size();
    for (int64_t dim : parts)
      if (dim >= 0)
        exprs.push_back(getAffineDimExpr(dim, context));
    if (exprs.size() == first)
      exprs.push_back(getAffineConstantExpr(0, context));
  }
  return AffineMap::get(extents.size(), 0, exprs, context);
}

RankedTensorType GroupSpace::getSplitGridType(RankedTensorType type) const {
  SmallVector<int64_t> shape;
  for (AffineExpr expr : getGridMap(type.getContext()).getResults()) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    shape.push_back(dim ? extents[dim.getPosition()] : 1);
  }
  return RankedTensorType::get(shape, type.getElementType());
}

Value GroupSpace::mergeGrid(RewriterBase &rewriter, Location loc, Value tensor,
                            RankedTensorType type) const {
  SmallVector<ReassociationIndices> parts;
  int64_t next = 0;
  for (ArrayRef<int64_t> dims : grid) {
    int64_t count = llvm::count_if(dims, [](int64_t dim) { return dim >= 0; });
    parts.emplace_back();
    for (int64_t part = 0; part != std::max<int64_t>(count, 1); ++part)
      parts.back().push_back(next++);
  }
  if (next == type.getRank())
    return tensor;
  return tensor::CollapseShapeOp::create(rewriter, loc, type, tensor, parts);
}

Value GroupSpace::split(RewriterBase &rewriter, DimSizes &sizes, Location loc,
                        Value tensor) const {
  auto type = cast<RankedTensorType>(tensor.getType());
  if (extents.size() == axes.size())
    return tensor;
  SmallVector<OpFoldResult> shape;
  // Axes that are taken apart have known extents.
  for (auto [axis, dims] : llvm::enumerate(axes))
    for (int64_t dim : dims)
      shape.push_back(ShapedType::isDynamic(extents[dim])
                          ? OpFoldResult(sizes.get(loc, tensor, axis))
                          : rewriter.getIndexAttr(extents[dim]));
  return tensor::ExpandShapeOp::create(rewriter, loc, getSplitType(type),
                                       tensor, axes, shape);
}

Value GroupSpace::merge(RewriterBase &rewriter, Location loc, Value tensor,
                        RankedTensorType type) const {
  if (extents.size() == axes.size())
    return tensor;
  return tensor::CollapseShapeOp::create(rewriter, loc, type, tensor, axes);
}

//===----------------------------------------------------------------------===//
// Codes
//===----------------------------------------------------------------------===//

/// The largest magnitude of a code, and the range that codes are clamped to.
static double largestCode(Type code) {
  if (auto type = dyn_cast<FloatType>(code))
    return APFloat::getLargest(type.getFloatSemantics()).convertToDouble();
  return 127;
}

/// The code that is nearest to `value`, ties to even.
static Value emitCode(NamedBody &body, QuantizeOp op, Value value) {
  Type code = getElementTypeOrSelf(op.getQ().getType());
  if (!op.getSaturate())
    return body.emit<arith::TruncFOp>(code, value);
  // A comparison that a NaN passes, as NaN.
  auto clamp = [&](double least, double most) {
    value = body.emit<arith::MaximumFOp>(value, body.constant(least));
    value = body.emit<arith::MinimumFOp>(value, body.constant(most));
  };
  if (isa<FloatType>(code)) {
    double most = largestCode(code);
    clamp(-most, most);
    // A format without NaN has zero for it.
    if (isa<Float4E2M1FNType>(code)) {
      Value isNumber =
          body.emit<arith::CmpFOp>(arith::CmpFPredicate::ORD, value, value);
      value = body.emit<arith::SelectOp>(isNumber, value, body.constant(0.0));
    }
    return body.emit<arith::TruncFOp>(code, value);
  }
  Value isNumber =
      body.emit<arith::CmpFOp>(arith::CmpFPredicate::ORD, value, value);
  clamp(-128, 127);
  value = body.emit<arith::SelectOp>(isNumber, value, body.constant(0.0));
  return body.emit<arith::FPToSIOp>(code,
                                    body.emit<math::RoundEvenOp>(value));
}

//===----------------------------------------------------------------------===//
// Scales
//===----------------------------------------------------------------------===//

/// value / divisor, exactly rounded, for normal quotients and the divisors 3 *
/// 2^n, 7 * 2^n and 127: one step of Markstein's correction of the product with
/// the rounded inverse. (P. Markstein, IA-64 and Elementary Functions, 2000.)
static Value emitQuotient(NamedBody &body, Value value, double divisor) {
  Value inverse = body.constant(1.0 / divisor);
  Value quotient = body.emit<arith::MulFOp>(value, inverse);
  Value rest = body.emit<math::FmaOp>(quotient, body.constant(-divisor), value);
  return body.emit<math::FmaOp>(rest, inverse, quotient);
}

namespace {
/// A scale as it is stored, and what elements are multiplied with.
struct Scale {
  Value stored, inverse;
};
} // namespace

static APFloat largestFloat() {
  return APFloat::getLargest(APFloat::IEEEsingle());
}

/// 1 / scale; of a scale that may be small, at most the largest finite number,
/// with which zero is zero.
static Value emitInverse(NamedBody &body, Value scale, bool mayBeSmall) {
  Value inverse = body.emit<arith::DivFOp>(body.constant(1.0), scale);
  if (mayBeSmall)
    inverse =
        body.emit<arith::MinimumFOp>(inverse, body.constant(largestFloat()));
  return inverse;
}

/// A number within bounds. A NaN is one for its group, or is left out.
static Value emitAtLeast(NamedBody &body, QuantizeOp op, Value value,
                         double least) {
  if (op.getNan() == NaNScope::Group)
    return body.emit<arith::MaximumFOp>(value, body.constant(least));
  return body.emit<arith::MaxNumFOp>(value, body.constant(least));
}

static Value emitAtMost(NamedBody &body, QuantizeOp op, Value value,
                        const APFloat &most) {
  if (op.getNan() == NaNScope::Group)
    return body.emit<arith::MinimumFOp>(value, body.constant(most));
  return body.emit<arith::MinNumFOp>(value, body.constant(most));
}

/// A magnitude as it is taken on, finite and not negative.
static Value emitFinite(NamedBody &body, QuantizeOp op, Value value) {
  return emitAtMost(body, op, emitAtLeast(body, op, value, 0.0),
                    largestFloat());
}

/// A power of two, stored as its biased exponent.
static Scale emitPowerOfTwo(NamedBody &body, QuantizeOp op, Value amax,
                            Value tensorScale) {
  Type stored = getElementTypeOrSelf(op.getScale().getType());
  double largest = largestCode(getElementTypeOrSelf(op.getQ().getType()));
  Type i32 = body.getI32Type();
  auto number = [&](int64_t value) { return body.constant(value, i32); };
  int64_t field = 23;
  Value exponent;
  if (op.getScaleRounding() == ScaleRounding::Floor) {
    exponent = body.emit<arith::BitcastOp>(i32, amax);
    exponent = body.emit<arith::ShRUIOp>(exponent, number(field));
    int64_t ofLargest = std::ilogb(largest);
    exponent = body.emit<arith::SubIOp>(exponent, number(ofLargest));
  } else {
    Value quotient = emitQuotient(body, amax, largest);
    exponent = body.emit<arith::BitcastOp>(i32, quotient);
    // Any fraction carries into the exponent.
    exponent = body.emit<arith::AddIOp>(exponent, number((1 << field) - 1));
    exponent = body.emit<arith::ShRUIOp>(exponent, number(field));
  }
  int64_t least = std::ilogb(op.getLeastScale()) + 127;
  exponent = body.emit<arith::MaxSIOp>(exponent, number(least));
  // The bits of the scale, or of its inverse.
  Value bits =
      tensorScale ? exponent : body.emit<arith::SubIOp>(number(254), exponent);
  bits = body.emit<arith::ShLIOp>(bits, number(field));
  Value inverse = body.emit<arith::BitcastOp>(body.getF32Type(), bits);
  if (tensorScale) {
    Value scale = body.emit<arith::MulFOp>(inverse, tensorScale);
    inverse = emitInverse(body, scale, /*mayBeSmall=*/true);
  }
  if (op.getNan() == NaNScope::Group) {
    Value isNumber =
        body.emit<arith::CmpFOp>(arith::CmpFPredicate::ORD, amax, amax);
    exponent = body.emit<arith::SelectOp>(isNumber, exponent, number(255));
    inverse = body.emit<arith::SelectOp>(isNumber, inverse, amax);
  }
  Value code = body.emit<arith::TruncIOp>(body.getI8Type(), exponent);
  return {body.emit<arith::BitcastOp>(stored, code), inverse};
}

static Scale emitScale(NamedBody &body, QuantizeOp op, Value amax,
                       Value tensorScale) {
  Type stored = getElementTypeOrSelf(op.getScale().getType());
  double largest = largestCode(getElementTypeOrSelf(op.getQ().getType()));
  if (tensorScale)
    amax = emitFinite(body, op, body.emit<arith::DivFOp>(amax, tensorScale));
  if (isa<Float8E8M0FNUType>(stored))
    return emitPowerOfTwo(body, op, amax, tensorScale);
  Value scale = emitQuotient(body, amax, largest);
  scale = emitAtLeast(body, op, scale, op.getLeastScale());
  Value kept = scale;
  if (!stored.isF32()) {
    scale = emitAtMost(body, op, scale,
                       APFloat(static_cast<float>(largestCode(stored))));
    kept = body.emit<arith::TruncFOp>(stored, scale);
    scale = body.emit<arith::ExtFOp>(body.getF32Type(), kept);
  }
  if (tensorScale)
    scale = body.emit<arith::MulFOp>(scale, tensorScale);
  return {kept, emitInverse(body, scale, bool(tensorScale))};
}

static ReduceKind largestKind(QuantizeOp op) {
  return op.getNan() == NaNScope::Group ? ReduceKind::Max : ReduceKind::MaxNum;
}

/// The largest magnitude of a group, finite; 0 where there is none.
static Value emitAmax(NamedBody &body, QuantizeOp op, Value x,
                      bool hasColumns) {
  Value amax = body.emit<math::AbsFOp>(x);
  if (hasColumns)
    amax = body.reduce(largestKind(op), amax);
  return emitFinite(body, op, amax);
}

//===----------------------------------------------------------------------===//
// The ops
//===----------------------------------------------------------------------===//

/// The scale of each group, or that of the tensor.
static std::optional<unsigned> addScale(NamedBody &body, Value scale,
                                        AffineMap map) {
  if (!scale)
    return std::nullopt;
  bool isOne = cast<RankedTensorType>(scale.getType()).getRank() == 0;
  return body.addInput(
      scale,
      isOne ? AffineMap::get(map.getNumDims(), 0, map.getContext()) : map);
}

/// Names of dims only, where nothing is reduced.
static SmallVector<int64_t> lastDim(Value x) {
  return {cast<RankedTensorType>(x.getType()).getRank() - 1};
}

static bool needsAmax(QuantizeOp op) { return op.getScale() || op.getAmax(); }

/// Whether groups hold several rows whole and may be large: the largest
/// magnitude of each row is found first, which a norm can do on its way, and
/// then that of all rows. One of a few elements is walked as one row.
static bool hasManyRows(QuantizeOp op) {
  ArrayRef<int64_t> shape =
      cast<RankedTensorType>(op.getX().getType()).getShape();
  constexpr int64_t mostInRow = 1 << 15;
  bool isOfRows = false;
  int64_t elements = 1;
  for (auto [axis, extent, count] : llvm::enumerate(shape, op.getGroup())) {
    bool isWhole = isWholeAxis(extent, count);
    if (!isWhole && extent != 1 && (count != 1 || axis + 1 == shape.size()))
      return false;
    isOfRows |= isWhole && axis + 1 != shape.size();
    if (isWhole)
      elements = ShapedType::isDynamic(extent) || elements > mostInRow
                     ? mostInRow + 1
                     : elements * extent;
  }
  bool isGivenByGroup =
      op.getGivenScale() &&
      cast<RankedTensorType>(op.getGivenScale().getType()).getRank() != 0;
  return isOfRows && elements > mostInRow &&
         op.getScaleLayout() == ScaleLayout::RowMajor && !isGivenByGroup;
}

static RankedTensorType rowAmaxType(QuantizeOp op) {
  auto type = cast<RankedTensorType>(op.getX().getType());
  SmallVector<int64_t> shape(type.getShape());
  shape.back() = 1;
  return RankedTensorType::get(shape, Float32Type::get(op.getContext()));
}

/// The largest magnitude of each row.
static Value findRowAmax(RewriterBase &rewriter, DimSizes &sizes,
                         QuantizeOp op) {
  SmallVector<int64_t> columns = lastDim(op.getX());
  NamedBody body(rewriter, sizes, op, op.getX(), columns);
  SmallVector<AffineExpr> exprs;
  for (unsigned dim : body.getRowDims())
    exprs.push_back(rewriter.getAffineDimExpr(dim));
  exprs.push_back(rewriter.getAffineConstantExpr(0));
  body.addOutput(rowAmaxType(op),
                 AffineMap::get(exprs.size(), 0, exprs, rewriter.getContext()));
  body.begin();
  Value amax = emitAmax(body, op, body.readX(), /*hasColumns=*/true);
  return body.finish(amax, "amax").front();
}

/// The results that groups have: scales and largest magnitudes.
static SmallVector<Value> finishGroups(RewriterBase &rewriter, DimSizes &sizes,
                                       QuantizeOp op, Value rowAmax) {
  MLIRContext *context = op.getContext();
  SmallVector<int64_t> columns;
  SmallVector<AffineExpr> exprs;
  for (auto [axis, grid] : llvm::enumerate(op.getGridShape())) {
    bool isWhole = op.getGroup()[axis] != 1;
    if (isWhole)
      columns.push_back(axis);
    exprs.push_back(isWhole ? getAffineConstantExpr(0, context)
                            : getAffineDimExpr(axis, context));
  }
  AffineMap map = AffineMap::get(exprs.size(), 0, exprs, context);
  NamedBody body(rewriter, sizes, op, rowAmax, columns);
  std::optional<unsigned> second = addScale(body, op.getTensorScale(), map);
  for (Value result : op->getResults().drop_front())
    body.addOutput(cast<RankedTensorType>(result.getType()), map);
  body.begin();
  Value amax = body.reduce(largestKind(op), body.readX());
  // No row has none.
  amax = emitAtLeast(body, op, amax, 0.0);
  SmallVector<Value> results;
  if (op.getScale())
    results.push_back(
        emitScale(body, op, amax, second ? body.read(*second) : Value())
            .stored);
  if (op.getAmax())
    results.push_back(amax);
  return body.finish(results, "scales");
}

/// Codes by given scales are elementwise, and come last; or first, where only
/// the largest magnitudes are asked for.
static void quantizeManyRows(RewriterBase &rewriter, DimSizes &sizes,
                             QuantizeOp op) {
  auto quantizeBy = [&](Value scale, Type amax, ArrayRef<int64_t> group) {
    return QuantizeOp::create(rewriter, op.getLoc(), op.getQ().getType(),
                              /*scale=*/Type(), amax, op.getX(), scale,
                              op.getTensorScale(), group, ScaleLayout::RowMajor,
                              ScaleRounding::Floor, FloatAttr(),
                              op.getSaturate(), op.getNan());
  };
  SmallVector<Value> results;
  QuantizeOp codes;
  if (op.getScale()) {
    Value rowAmax = findRowAmax(rewriter, sizes, op);
    results = finishGroups(rewriter, sizes, op, rowAmax);
    codes = quantizeBy(results.front(), Type(), op.getGroup());
  } else {
    SmallVector<int64_t> rows(op.getGroup().size(), 1);
    rows.back() = -1;
    codes = quantizeBy(op.getGivenScale(), rowAmaxType(op), rows);
    results = finishGroups(rewriter, sizes, op, codes.getAmax());
  }
  results.insert(results.begin(), codes.getQ());
  rewriter.replaceOp(op, results);
  rewriter.setInsertionPoint(codes);
  generalizeNorm(rewriter, sizes, codes);
}

void norm::generalizeNorm(RewriterBase &rewriter, DimSizes &sizes,
                          QuantizeOp op) {
  if (needsAmax(op) && hasManyRows(op))
    return quantizeManyRows(rewriter, sizes, op);
  Location loc = op.getLoc();
  MLIRContext *context = op.getContext();
  auto qType = cast<RankedTensorType>(op.getQ().getType());
  GroupSpace space(cast<RankedTensorType>(op.getX().getType()).getShape(),
                   op.getGroup(), op.getScaleLayout());
  Value split = space.split(rewriter, sizes, loc, op.getX());
  NamedBody body(rewriter, sizes, op, split,
                 needsAmax(op) ? space.columns : lastDim(split));
  AffineMap scaleMap = space.getScaleMap(context, op.getScaleLayout());
  std::optional<unsigned> given = addScale(body, op.getGivenScale(), scaleMap);
  std::optional<unsigned> second =
      addScale(body, op.getTensorScale(), scaleMap);
  body.addOutput(space.getSplitType(qType), body.getAllDims());
  if (op.getScale())
    body.addOutput(cast<RankedTensorType>(op.getScale().getType()), scaleMap);
  if (op.getAmax())
    body.addOutput(
        space.getSplitGridType(cast<RankedTensorType>(op.getAmax().getType())),
        space.getGridMap(context));
  body.begin();

  Value x = body.readX();
  Value tensorScale = second ? body.read(*second) : Value();
  Value amax;
  if (needsAmax(op))
    amax = emitAmax(body, op, x, !space.columns.empty());
  Scale scale;
  if (op.getScale()) {
    scale = emitScale(body, op, amax, tensorScale);
  } else {
    Value value = body.read(*given);
    if (tensorScale)
      value = body.emit<arith::MulFOp>(value, tensorScale);
    scale.inverse = emitInverse(body, value, /*mayBeSmall=*/true);
  }
  Value scaled = body.emit<arith::MulFOp>(x, scale.inverse);
  SmallVector<Value> results{emitCode(body, op, scaled)};
  if (op.getScale())
    results.push_back(scale.stored);
  if (op.getAmax())
    results.push_back(amax);
  results = body.finish(results, "quantize");
  results[0] = space.merge(rewriter, loc, results[0], qType);
  if (op.getAmax())
    results.back() =
        space.mergeGrid(rewriter, loc, results.back(),
                        cast<RankedTensorType>(op.getAmax().getType()));
  rewriter.replaceOp(op, results);
}

void norm::generalizeNorm(RewriterBase &rewriter, DimSizes &sizes,
                          DequantizeOp op) {
  Location loc = op.getLoc();
  auto yType = cast<RankedTensorType>(op.getY().getType());
  GroupSpace space(cast<RankedTensorType>(op.getQ().getType()).getShape(),
                   op.getGroup(), op.getScaleLayout());
  Value split = space.split(rewriter, sizes, loc, op.getQ());
  NamedBody body(rewriter, sizes, op, split, lastDim(split));
  AffineMap scaleMap = space.getScaleMap(op.getContext(), op.getScaleLayout());
  std::optional<unsigned> given = addScale(body, op.getGivenScale(), scaleMap);
  std::optional<unsigned> second =
      addScale(body, op.getTensorScale(), scaleMap);
  body.addOutput(space.getSplitType(yType), body.getAllDims());
  body.begin();

  Value scale = body.read(*given);
  if (second)
    scale = body.emit<arith::MulFOp>(scale, body.read(*second));
  Value y = body.emit<arith::MulFOp>(body.readX(), scale);
  SmallVector<Value> results = body.finish(y, "dequantize");
  rewriter.replaceOp(op, space.merge(rewriter, loc, results[0], yType));
}
