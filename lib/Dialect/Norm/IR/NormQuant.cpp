//===- NormQuant.cpp - quantize and dequantize ----------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NormNamedOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::norm;

static const StringRef quantizeStats[] = {"amax"};

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

/// How many groups of an extent there are along an axis.
static int64_t gridExtent(int64_t extent, int64_t group) {
  if (group < 0)
    return 1;
  return ShapedType::isDynamic(extent) ? extent : extent / group;
}

static SmallVector<int64_t> gridShape(Value x, ArrayRef<int64_t> group) {
  SmallVector<int64_t> shape;
  for (auto [extent, count] : llvm::zip(shapeOf(x), group))
    shape.push_back(gridExtent(extent, count));
  return shape;
}

SmallVector<int64_t> QuantizeOp::getGridShape() {
  return gridShape(getX(), getGroup());
}

SmallVector<int64_t> DequantizeOp::getGridShape() {
  return gridShape(getQ(), getGroup());
}

static LogicalResult verifyGroup(Operation *op, Value x,
                                 ArrayRef<int64_t> group) {
  ArrayRef<int64_t> shape = shapeOf(x);
  // [QGROUP-C1]
  if (group.size() != shape.size())
    return op->emitOpError()
           << "expects an entry of 'group' for each of " << shape.size()
           << " axes but got " << group.size();
  for (auto [axis, extent, count] : llvm::enumerate(shape, group)) {
    // [QGROUP-C2]
    if (count < 1 && count != -1)
      return op->emitOpError()
             << "expects a positive extent, or -1, of a group along axis "
             << axis << " but got " << count;
    if (count <= 1)
      continue;
    // [QGROUP-C3]
    if (ShapedType::isDynamic(extent))
      return op->emitOpError() << "expects a static extent of axis " << axis
                               << ", which is cut into groups of " << count;
    // [QGROUP-C4]
    if (extent % count != 0)
      return op->emitOpError() << "expects an extent of axis " << axis
                               << " that is a multiple of the group's " << count
                               << " but got " << extent;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Layouts of scales
//===----------------------------------------------------------------------===//

/// The shape of the scales of a grid.
static SmallVector<int64_t> layoutShape(ArrayRef<int64_t> grid,
                                        ScaleLayout layout) {
  if (layout == ScaleLayout::RowMajor)
    return SmallVector<int64_t>(grid);
  int64_t rows = grid[0], groups = grid[1];
  switch (layout) {
  case ScaleLayout::RowMajor:
  case ScaleLayout::ColumnMajor:
    break;
  case ScaleLayout::Packed:
    return {groups / 4, rows, 4};
  case ScaleLayout::Swizzle128x4:
    return {rows / 128, groups / 4, 32, 4, 4};
  }
  return {groups, rows};
}

static LogicalResult verifyLayout(Operation *op, ArrayRef<int64_t> grid,
                                  ScaleLayout layout) {
  if (layout == ScaleLayout::RowMajor)
    return success();
  // [LAYOUT-C1]
  if (grid.size() != 2)
    return op->emitOpError() << "expects a matrix for 'scale_layout = "
                             << stringifyScaleLayout(layout) << "' but got "
                             << grid.size() << " axes";
  if (layout == ScaleLayout::ColumnMajor)
    return success();
  // [LAYOUT-C2]
  if (ShapedType::isDynamic(grid[1]) || grid[1] % 4 != 0)
    return op->emitOpError()
           << "expects a multiple of 4 groups in a row for 'scale_layout = "
           << stringifyScaleLayout(layout) << "' but got "
           << (ShapedType::isDynamic(grid[1]) ? "any number"
                                              : std::to_string(grid[1]));
  // [LAYOUT-C3]
  if (layout == ScaleLayout::Swizzle128x4 &&
      (ShapedType::isDynamic(grid[0]) || grid[0] % 128 != 0))
    return op->emitOpError()
           << "expects a static multiple of 128 rows of scales for "
              "'scale_layout = swizzle_128x4' but got "
           << (ShapedType::isDynamic(grid[0]) ? "any number"
                                              : std::to_string(grid[0]));
  return success();
}

static LogicalResult verifyTensorScale(Operation *op, Value scale) {
  // [QUANT-C3]
  if (scale && cast<RankedTensorType>(scale.getType()).getRank() != 0)
    return op->emitOpError()
           << "expects 'tensor_scale' of rank 0 but got " << scale.getType();
  return success();
}

/// A scale that is given is that of the tensor, or has the shape of the groups.
static LogicalResult verifyGivenScale(Operation *op, Value scale,
                                      ArrayRef<int64_t> expected) {
  // [QUANT-C2]
  if (!scale || cast<RankedTensorType>(scale.getType()).getRank() == 0)
    return success();
  return verifyShape(op, "scale", scale, expected);
}

//===----------------------------------------------------------------------===//
// quantize
//===----------------------------------------------------------------------===//

ParseResult QuantizeOp::parse(OpAsmParser &parser, OperationState &result) {
  auto &properties = result.getOrAddProperties<Properties>();
  ClauseParser clauses(parser, result);
  int32_t scale = 0, tensorScale = 0;
  if (clauses.parseOperand() || clauses.parseOptionalOperands("scale", scale) ||
      clauses.parseOptionalOperands("tensor_scale", tensorScale) ||
      clauses.parseStats(quantizeStats) ||
      clauses.parseIntegers("group", properties.group) ||
      clauses.parseOptionalEnum("scale_layout", properties.scale_layout,
                                symbolizeScaleLayout) ||
      clauses.parseOptionalEnum("scale_rounding", properties.scale_rounding,
                                symbolizeScaleRounding) ||
      clauses.parseOptionalFloat("min_scale", properties.min_scale) ||
      clauses.parseOptionalBool("saturate", properties.saturate) ||
      clauses.parseOptionalEnum("nan", properties.nan, symbolizeNaNScope) ||
      clauses.parseEnd(scale ? 1 : 2))
    return failure();
  properties.operandSegmentSizes = {1, scale, tensorScale};
  properties.resultSegmentSizes = {1, !scale, clauses.hasStat("amax")};
  return success();
}

void QuantizeOp::print(OpAsmPrinter &p) {
  ClausePrinter clauses(p, *this);
  clauses.printOperands("scale", Value(getGivenScale()));
  clauses.printOperands("tensor_scale", Value(getTensorScale()));
  clauses.printStats({{"amax", getAmax()}});
  clauses.printIntegers("group", getGroup());
  if (getScaleLayout() != ScaleLayout::RowMajor)
    clauses.printName("scale_layout", stringifyScaleLayout(getScaleLayout()));
  if (getScaleRounding() != ScaleRounding::Floor)
    clauses.printName("scale_rounding",
                      stringifyScaleRounding(getScaleRounding()));
  if (std::optional<APFloat> least = getMinScale())
    clauses.printFloat("min_scale", *least);
  if (!getSaturate())
    clauses.printName("saturate", "false");
  if (getNan() != NaNScope::Element)
    clauses.printName("nan", stringifyNaNScope(getNan()));
  clauses.printEnd();
}

double QuantizeOp::getLeastScale() {
  if (std::optional<APFloat> least = getMinScale())
    return least->convertToDouble();
  bool isE4M3 = getScale() && isa<Float8E4M3FNType>(
                                  getElementTypeOrSelf(getScale().getType()));
  return isE4M3 ? 0x1p-6 : 0x1p-126;
}

static LogicalResult verifyScales(QuantizeOp op, ArrayRef<int64_t> grid) {
  SmallVector<int64_t> expected = layoutShape(grid, op.getScaleLayout());
  // [QUANT-C1]
  if (bool(op.getGivenScale()) == bool(op.getScale()))
    return op.emitOpError() << "expects a scale as an operand or as a result "
                               "but got "
                            << (op.getScale() ? "both" : "neither");
  if (failed(verifyGivenScale(op, op.getGivenScale(), expected)) ||
      failed(verifyShape(op, "scale", op.getScale(), expected)) ||
      failed(verifyTensorScale(op, op.getTensorScale())))
    return failure();
  // [QUANT-C4]
  Value scale = op.getScale();
  Type stored = scale ? getElementTypeOrSelf(scale.getType()) : Type();
  if (!scale && op.getMinScale())
    return op.emitOpError()
           << "expects 'min_scale' only beside a result 'scale'";
  // [QUANT-C5]
  double least = op.getLeastScale();
  bool isE4M3 = isa_and_present<Float8E4M3FNType>(stored);
  if (!(least >= (isE4M3 ? 0x1p-9 : 0x1p-126)) || !(least <= 1.0))
    return op.emitOpError()
           << "expects 'min_scale' from " << (isE4M3 ? "2^-9" : "2^-126")
           << " to 1 but got " << toText(APFloat(least));
  // [QUANT-C6]
  if (!isa_and_present<Float8E8M0FNUType>(stored) &&
      op.getScaleRounding() != ScaleRounding::Floor)
    return op.emitOpError()
           << "expects 'scale_rounding' only beside a result 'scale' of "
              "f8E8M0FNU";
  // [QUANT-C7]
  Type code = getElementTypeOrSelf(op.getQ().getType());
  if (!op.getSaturate() && !isa<Float8E4M3FNType, Float8E5M2Type>(code))
    return op.emitOpError() << "expects codes of f8E4M3FN or f8E5M2 for "
                               "'saturate = false' but got "
                            << code;
  return success();
}

LogicalResult QuantizeOp::verify() {
  if (failed(verifyGroup(*this, getX(), getGroup())))
    return failure();
  // [QTYPE-C2]
  if (usesF64(*this))
    return emitOpError("expects 'x' of at most 32 bits but got f64");
  SmallVector<int64_t> grid = getGridShape();
  if (failed(verifyShape(*this, "q", getQ(), shapeOf(getX()))) ||
      failed(verifyLayout(*this, grid, getScaleLayout())) ||
      failed(verifyScales(*this, grid)) ||
      failed(verifyStat(*this, "amax", getAmax(), grid)))
    return failure();
  return success();
}

/// The extents of the grid as values.
static SmallVector<OpFoldResult> gridSizes(OpBuilder &builder, Location loc,
                                           Value x, ArrayRef<int64_t> group) {
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(builder, loc, x);
  for (auto [axis, count] : llvm::enumerate(group))
    if (count != 1)
      sizes[axis] = builder.getIndexAttr(gridExtent(shapeOf(x)[axis], count));
  return sizes;
}

LogicalResult
QuantizeOp::reifyResultShapes(OpBuilder &builder,
                              ReifiedRankedShapedTypeDims &reified) {
  reified.push_back(tensor::getMixedSizes(builder, getLoc(), getX()));
  SmallVector<OpFoldResult> grid =
      gridSizes(builder, getLoc(), getX(), getGroup());
  if (getScale()) {
    SmallVector<OpFoldResult> scale;
    for (auto [axis, extent] :
         llvm::enumerate(layoutShape(getGridShape(), getScaleLayout()))) {
      if (!ShapedType::isDynamic(extent)) {
        scale.push_back(builder.getIndexAttr(extent));
        continue;
      }
      // A layout that takes an axis apart has its extent known.
      switch (getScaleLayout()) {
      case ScaleLayout::RowMajor:
        scale.push_back(grid[axis]);
        break;
      case ScaleLayout::ColumnMajor:
        scale.push_back(grid[1 - axis]);
        break;
      case ScaleLayout::Packed:
      case ScaleLayout::Swizzle128x4:
        scale.push_back(grid[0]);
        break;
      }
    }
    reified.push_back(std::move(scale));
  }
  if (getAmax())
    reified.push_back(grid);
  return success();
}

//===----------------------------------------------------------------------===//
// dequantize
//===----------------------------------------------------------------------===//

ParseResult DequantizeOp::parse(OpAsmParser &parser, OperationState &result) {
  auto &properties = result.getOrAddProperties<Properties>();
  ClauseParser clauses(parser, result);
  int32_t scale = 0, tensorScale = 0;
  SMLoc loc = parser.getCurrentLocation();
  if (clauses.parseOperand() || clauses.parseOptionalOperands("scale", scale))
    return failure();
  if (!scale)
    return parser.emitError(loc, "expects 'scale(..)'");
  if (clauses.parseOptionalOperands("tensor_scale", tensorScale) ||
      clauses.parseIntegers("group", properties.group) ||
      clauses.parseOptionalEnum("scale_layout", properties.scale_layout,
                                symbolizeScaleLayout) ||
      clauses.parseEnd(1))
    return failure();
  return success();
}

void DequantizeOp::print(OpAsmPrinter &p) {
  ClausePrinter clauses(p, *this);
  clauses.printOperands("scale", Value(getGivenScale()));
  clauses.printOperands("tensor_scale", Value(getTensorScale()));
  clauses.printIntegers("group", getGroup());
  if (getScaleLayout() != ScaleLayout::RowMajor)
    clauses.printName("scale_layout", stringifyScaleLayout(getScaleLayout()));
  clauses.printEnd();
}

LogicalResult DequantizeOp::verify() {
  if (failed(verifyGroup(*this, getQ(), getGroup())))
    return failure();
  SmallVector<int64_t> grid = getGridShape();
  return failure(
      failed(verifyShape(*this, "y", getY(), shapeOf(getQ()))) ||
      failed(verifyLayout(*this, grid, getScaleLayout())) ||
      failed(verifyGivenScale(*this, getGivenScale(),
                              layoutShape(grid, getScaleLayout()))) ||
      failed(verifyTensorScale(*this, getTensorScale())));
}

LogicalResult
DequantizeOp::reifyResultShapes(OpBuilder &builder,
                                ReifiedRankedShapedTypeDims &reified) {
  reified.push_back(tensor::getMixedSizes(builder, getLoc(), getQ()));
  return success();
}
