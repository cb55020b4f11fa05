//===- NormNamedOps.cpp - Named ops ---------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Dialect/Norm/IR/Norm.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::norm;

//===----------------------------------------------------------------------===//
// Assembly
//===----------------------------------------------------------------------===//

namespace {
/// What the custom assembly of a named op may hold beside `x` and `axes`.
struct Clauses {
  bool scale = false, offset = false, bias = false, eps = false;
  ArrayRef<StringRef> stats;
};

struct ParsedClauses {
  OpAsmParser::UnresolvedOperand x;
  std::optional<OpAsmParser::UnresolvedOperand> scale, bias;
  FloatAttr offset;
  SmallVector<StringRef> stats;
};
} // namespace

static ParseResult parseNumber(OpAsmParser &parser, FloatAttr &attr) {
  double value;
  if (parser.parseFloat(value))
    return failure();
  attr = parser.getBuilder().getF64FloatAttr(value);
  return success();
}

static ParseResult parseStats(OpAsmParser &parser, ArrayRef<StringRef> known,
                              SmallVectorImpl<StringRef> &stats) {
  return parser.parseCommaSeparatedList(
      OpAsmParser::Delimiter::Paren, [&]() -> ParseResult {
        SMLoc loc = parser.getCurrentLocation();
        StringRef name;
        if (parser.parseKeyword(&name))
          return failure();
        if (!llvm::is_contained(known, name))
          return parser.emitError(loc) << "expects 'mean' or 'rstd' of this op "
                                          "but got '"
                                       << name << "'";
        // Results come in the order (mean, rstd).
        if (!stats.empty() && (stats.back() == name || name == "mean"))
          return parser.emitError(loc)
                 << "expects 'mean' before 'rstd', each once";
        stats.push_back(name);
        return success();
      });
}

template <typename OpTy>
static ParseResult parseNamed(OpAsmParser &parser, OperationState &result,
                              const Clauses &clauses) {
  auto &properties = result.getOrAddProperties<typename OpTy::Properties>();
  ParsedClauses parsed;
  SmallVector<OpAsmParser::UnresolvedOperand> operands(1);
  if (parser.parseOperand(operands[0]))
    return failure();
  if (clauses.scale && succeeded(parser.parseOptionalKeyword("scale"))) {
    if (parser.parseLParen() || parser.parseOperand(operands.emplace_back()))
      return failure();
    if (succeeded(parser.parseOptionalComma()))
      if (parser.parseKeyword("offset") || parser.parseEqual() ||
          parseNumber(parser, parsed.offset))
        return failure();
    if (parser.parseRParen())
      return failure();
    parsed.scale = operands.back();
  }
  if (clauses.bias && succeeded(parser.parseOptionalKeyword("bias"))) {
    if (parser.parseLParen() || parser.parseOperand(operands.emplace_back()) ||
        parser.parseRParen())
      return failure();
    parsed.bias = operands.back();
  }
  if (!clauses.stats.empty() &&
      succeeded(parser.parseOptionalKeyword("stats")) &&
      parseStats(parser, clauses.stats, parsed.stats))
    return failure();

  SmallVector<int64_t> axes;
  if (parser.parseKeyword("axes") || parser.parseEqual() ||
      parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Square, [&]() {
        return parser.parseInteger(axes.emplace_back());
      }))
    return failure();
  properties.axes = parser.getBuilder().getDenseI64ArrayAttr(axes);
  if constexpr (!std::is_same_v<OpTy, SoftmaxOp>) {
    if (parser.parseKeyword("eps") || parser.parseEqual() ||
        parseNumber(parser, properties.eps))
      return failure();
    if (parsed.offset)
      properties.offset = parsed.offset;
    auto has = [&](StringRef name) -> int {
      return llvm::is_contained(parsed.stats, name);
    };
    if constexpr (std::is_same_v<OpTy, LayerNormOp>) {
      properties.operandSegmentSizes = {1, parsed.scale ? 1 : 0,
                                        parsed.bias ? 1 : 0};
      properties.resultSegmentSizes = {1, has("mean"), has("rstd")};
    }
  }

  SMLoc loc = parser.getCurrentLocation();
  SmallVector<Type> inputs, results;
  if (parser.parseOptionalAttrDict(result.attributes) || parser.parseColon() ||
      parser.parseTypeList(inputs) || parser.parseArrow() ||
      parser.parseTypeList(results) ||
      parser.resolveOperands(operands, inputs, loc, result.operands))
    return failure();
  size_t expected = 1 + parsed.stats.size();
  if (results.size() != expected)
    return parser.emitError(loc) << "expects " << expected
                                 << " result types but got " << results.size();
  result.addTypes(results);
  return success();
}

template <typename OpTy>
static void printNamed(OpAsmPrinter &p, OpTy op) {
  p << ' ' << op.getX();
  SmallVector<StringRef> stats;
  if constexpr (!std::is_same_v<OpTy, SoftmaxOp>) {
    if (op.getScale()) {
      p << " scale(" << op.getScale();
      if (!op.getOffset().isZero()) {
        p << ", offset = ";
        p.printFloat(op.getOffset());
      }
      p << ')';
    }
    if constexpr (std::is_same_v<OpTy, LayerNormOp>) {
      if (op.getBias())
        p << " bias(" << op.getBias() << ')';
      if (op.getMean())
        stats.push_back("mean");
    }
    if (op.getRstd())
      stats.push_back("rstd");
  }
  if (!stats.empty()) {
    p << " stats(";
    llvm::interleaveComma(stats, p);
    p << ')';
  }
  p << " axes = [";
  llvm::interleaveComma(op.getAxes(), p);
  p << ']';
  if constexpr (!std::is_same_v<OpTy, SoftmaxOp>) {
    p << " eps = ";
    p.printFloat(op.getEps());
  }
  p.printOptionalAttrDict(
      op->getAttrs(),
      {"axes", "eps", "offset", "operandSegmentSizes", "resultSegmentSizes"});
  p << " : " << op->getOperandTypes() << " -> " << op->getResultTypes();
}

static const StringRef layerNormStats[] = {"mean", "rstd"};
static const StringRef rmsNormStats[] = {"rstd"};

ParseResult LayerNormOp::parse(OpAsmParser &parser, OperationState &result) {
  return parseNamed<LayerNormOp>(parser, result,
                                 {true, true, true, true, layerNormStats});
}
void LayerNormOp::print(OpAsmPrinter &p) { printNamed(p, *this); }
ParseResult RmsNormOp::parse(OpAsmParser &parser, OperationState &result) {
  return parseNamed<RmsNormOp>(parser, result,
                               {true, true, false, true, rmsNormStats});
}
void RmsNormOp::print(OpAsmPrinter &p) { printNamed(p, *this); }
ParseResult SoftmaxOp::parse(OpAsmParser &parser, OperationState &result) {
  return parseNamed<SoftmaxOp>(parser, result, {});
}
void SoftmaxOp::print(OpAsmPrinter &p) { printNamed(p, *this); }

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

static bool compatible(ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
  if (a.size() != b.size())
    return false;
  for (auto [x, y] : llvm::zip(a, b))
    if (x != y && ShapedType::isStatic(x) && ShapedType::isStatic(y))
      return false;
  return true;
}

static LogicalResult verifyShape(Operation *op, StringRef what, Value value,
                                 ArrayRef<int64_t> expected) {
  if (!value)
    return success();
  auto type = cast<RankedTensorType>(value.getType());
  if (compatible(type.getShape(), expected))
    return success();
  return op->emitOpError() << "expects '" << what << "' of shape "
                           << RankedTensorType::get(expected,
                                                    type.getElementType())
                           << " but got " << type;
}

/// Axes are the trailing ones, in rising order.
static LogicalResult verifyAxes(Operation *op, ArrayRef<int64_t> axes,
                                int64_t rank) {
  if (axes.empty())
    return op->emitOpError("expects at least one axis but got none");
  int64_t first = rank - static_cast<int64_t>(axes.size());
  for (auto [i, axis] : llvm::enumerate(axes)) {
    if (axis < 0 || axis >= rank)
      return op->emitOpError()
             << "expects axes from 0 to " << rank - 1 << " but got " << axis;
    if (axis != first + static_cast<int64_t>(i))
      return op->emitOpError()
             << "expects the trailing axes in rising order, from "
             << std::max<int64_t>(first, 0) << " to " << rank - 1
             << ", but got " << axis << " at position " << i;
  }
  return success();
}

static bool usesF64(Operation *op) {
  return llvm::any_of(op->getOperandTypes(),
                      [](Type t) { return getElementTypeOrSelf(t).isF64(); }) ||
         getElementTypeOrSelf(op->getResult(0).getType()).isF64();
}

static LogicalResult verifyStat(Operation *op, StringRef what, Value value,
                                ArrayRef<int64_t> shape) {
  if (!value)
    return success();
  bool wantsF64 = usesF64(op);
  Type element = getElementTypeOrSelf(value.getType());
  if (element.isF64() != wantsF64)
    return op->emitOpError()
           << "expects '" << what << "' in the type of the arithmetic, "
           << (wantsF64 ? "f64" : "f32") << ", but got " << element;
  return verifyShape(op, what, value, shape);
}

static LogicalResult verifyEps(Operation *op, const APFloat &eps) {
  if (eps.isNaN() || eps.isInfinity() || (eps.isNegative() && !eps.isZero())) {
    SmallString<16> text;
    eps.toString(text);
    return op->emitOpError()
           << "expects 'eps' to be finite and not negative but got " << text;
  }
  return success();
}

template <typename OpTy>
static LogicalResult verifyCommon(OpTy op) {
  auto type = cast<RankedTensorType>(op.getX().getType());
  if (failed(verifyAxes(op, op.getAxes(), type.getRank())))
    return failure();
  return verifyShape(op, "y", op.getY(), type.getShape());
}

template <typename OpTy>
static ArrayRef<int64_t> normalizedShape(OpTy op) {
  return cast<RankedTensorType>(op.getX().getType())
      .getShape()
      .take_back(op.getAxes().size());
}
template <typename OpTy>
static ArrayRef<int64_t> rowShape(OpTy op) {
  return cast<RankedTensorType>(op.getX().getType())
      .getShape()
      .drop_back(op.getAxes().size());
}

static LogicalResult verifyOffset(Operation *op, const APFloat &offset,
                                  bool hasScale) {
  if (!offset.isFinite())
    return op->emitOpError("expects a finite 'offset' of the scale");
  if (!hasScale && !offset.isZero())
    return op->emitOpError("expects 'offset' only beside a scale");
  return success();
}

LogicalResult LayerNormOp::verify() {
  if (failed(verifyCommon(*this)) ||
      failed(verifyShape(*this, "scale", getScale(), normalizedShape(*this))) ||
      failed(verifyShape(*this, "bias", getBias(), normalizedShape(*this))) ||
      failed(verifyStat(*this, "mean", getMean(), rowShape(*this))) ||
      failed(verifyStat(*this, "rstd", getRstd(), rowShape(*this))) ||
      failed(verifyOffset(*this, getOffset(), bool(getScale()))))
    return failure();
  return verifyEps(*this, getEps());
}

LogicalResult RmsNormOp::verify() {
  if (failed(verifyCommon(*this)) ||
      failed(verifyShape(*this, "scale", getScale(), normalizedShape(*this))) ||
      failed(verifyStat(*this, "rstd", getRstd(), rowShape(*this))) ||
      failed(verifyOffset(*this, getOffset(), bool(getScale()))))
    return failure();
  return verifyEps(*this, getEps());
}

LogicalResult SoftmaxOp::verify() { return verifyCommon(*this); }

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

/// Every result has the leading axes of `x`.
static LogicalResult reify(Operation *op, OpBuilder &builder,
                           ReifiedRankedShapedTypeDims &reified) {
  SmallVector<OpFoldResult> sizes =
      tensor::getMixedSizes(builder, op->getLoc(), op->getOperand(0));
  for (Value result : op->getResults()) {
    auto rank = cast<RankedTensorType>(result.getType()).getRank();
    reified.emplace_back(sizes.begin(), sizes.begin() + rank);
  }
  return success();
}

LogicalResult
LayerNormOp::reifyResultShapes(OpBuilder &builder,
                               ReifiedRankedShapedTypeDims &reified) {
  return reify(*this, builder, reified);
}
LogicalResult
RmsNormOp::reifyResultShapes(OpBuilder &builder,
                             ReifiedRankedShapedTypeDims &reified) {
  return reify(*this, builder, reified);
}
LogicalResult
SoftmaxOp::reifyResultShapes(OpBuilder &builder,
                             ReifiedRankedShapedTypeDims &reified) {
  return reify(*this, builder, reified);
}
