//===- NormNamedClauses.cpp - Clauses and constraints of named ops --------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NormNamedOps.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::norm;

//===----------------------------------------------------------------------===//
// ClauseParser
//===----------------------------------------------------------------------===//

ParseResult ClauseParser::parseNumber(FloatAttr &attr) {
  double value;
  if (parser.parseFloat(value))
    return failure();
  attr = parser.getBuilder().getF64FloatAttr(value);
  return success();
}

ParseResult ClauseParser::parseNumber(IntegerAttr &attr) {
  int64_t value;
  if (parser.parseInteger(value))
    return failure();
  attr = parser.getBuilder().getI64IntegerAttr(value);
  return success();
}

ParseResult ClauseParser::parseScale(FloatAttr &offset, int32_t &count) {
  count = succeeded(parser.parseOptionalKeyword("scale"));
  if (!count)
    return success();
  if (parser.parseLParen() || parser.parseOperand(add()))
    return failure();
  if (succeeded(parser.parseOptionalComma()))
    if (parser.parseKeyword("offset") || parser.parseEqual() ||
        parseNumber(offset))
      return failure();
  return parser.parseRParen();
}

ParseResult ClauseParser::parseOptionalOperands(StringRef keyword,
                                                int32_t &count,
                                                unsigned operands) {
  count = succeeded(parser.parseOptionalKeyword(keyword));
  if (!count)
    return success();
  if (parser.parseLParen() || parser.parseOperand(add()))
    return failure();
  for (unsigned i = 1; i != operands; ++i)
    if (parser.parseComma() || parser.parseOperand(add()))
      return failure();
  return parser.parseRParen();
}

/// "'a'", or "'a' or 'b'".
static std::string quoted(ArrayRef<StringRef> names, StringRef separator) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::interleave(
      names, os, [&](StringRef name) { os << '\'' << name << '\''; },
      separator);
  return text;
}

ParseResult ClauseParser::parseStats(ArrayRef<StringRef> known) {
  if (failed(parser.parseOptionalKeyword("stats")))
    return success();
  return parser.parseCommaSeparatedList(
      OpAsmParser::Delimiter::Paren, [&]() -> ParseResult {
        SMLoc loc = parser.getCurrentLocation();
        StringRef name;
        if (parser.parseKeyword(&name))
          return failure();
        const auto *position = llvm::find(known, name);
        // [STAT-C1]
        if (position == known.end())
          return parser.emitError(loc)
                 << "expects " << quoted(known, " or ")
                 << " of this op but got '" << name << "'";
        // [STAT-C2]
        if (!stats.empty() && position <= llvm::find(known, stats.back()))
          return parser.emitError(loc)
                 << "expects " << quoted(known, " before ") << ", each once";
        stats.push_back(name);
        return success();
      });
}

ParseResult ClauseParser::parseIntegers(StringRef keyword,
                                        DenseI64ArrayAttr &attr) {
  SmallVector<int64_t> values;
  if (parser.parseKeyword(keyword) || parser.parseEqual() ||
      parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Square, [&]() {
        return parser.parseInteger(values.emplace_back());
      }))
    return failure();
  attr = parser.getBuilder().getDenseI64ArrayAttr(values);
  return success();
}

ParseResult ClauseParser::parseInteger(StringRef keyword, IntegerAttr &attr) {
  return failure(parser.parseKeyword(keyword) || parser.parseEqual() ||
                 parseNumber(attr));
}

ParseResult ClauseParser::parseFloat(StringRef keyword, FloatAttr &attr) {
  return failure(parser.parseKeyword(keyword) || parser.parseEqual() ||
                 parseNumber(attr));
}

ParseResult ClauseParser::parseOptionalInteger(StringRef keyword,
                                               IntegerAttr &attr) {
  if (failed(parser.parseOptionalKeyword(keyword)))
    return success();
  return failure(parser.parseEqual() || parseNumber(attr));
}

ParseResult ClauseParser::parseOptionalFloat(StringRef keyword,
                                             FloatAttr &attr) {
  if (failed(parser.parseOptionalKeyword(keyword)))
    return success();
  return failure(parser.parseEqual() || parseNumber(attr));
}

ParseResult ClauseParser::parseOptionalBool(StringRef keyword, BoolAttr &attr) {
  if (failed(parser.parseOptionalKeyword(keyword)))
    return success();
  if (parser.parseEqual())
    return failure();
  SMLoc loc = parser.getCurrentLocation();
  StringRef name;
  if (parser.parseKeyword(&name))
    return failure();
  if (name != "true" && name != "false")
    return parser.emitError(loc)
           << "expects '" << keyword << "' to be true or false but got '"
           << name << "'";
  attr = parser.getBuilder().getBoolAttr(name == "true");
  return success();
}

ParseResult ClauseParser::parseEnd(unsigned results) {
  SMLoc loc = parser.getCurrentLocation();
  SmallVector<Type> inputs, outputs;
  if (parser.parseOptionalAttrDict(result.attributes) || parser.parseColon() ||
      parser.parseTypeList(inputs) || parser.parseArrow() ||
      parser.parseTypeList(outputs) ||
      parser.resolveOperands(operands, inputs, loc, result.operands))
    return failure();
  size_t expected = results + stats.size();
  // [STAT-C5]
  if (outputs.size() != expected)
    return parser.emitError(loc) << "expects " << expected
                                 << " result types but got " << outputs.size();
  result.addTypes(outputs);
  return success();
}

//===----------------------------------------------------------------------===//
// ClausePrinter
//===----------------------------------------------------------------------===//

void ClausePrinter::printScale(Value scale, const APFloat &offset) {
  if (!scale)
    return;
  p << " scale(" << scale;
  if (!offset.isZero()) {
    p << ", offset = ";
    p.printFloat(offset);
  }
  p << ')';
}

void ClausePrinter::printOperands(StringRef keyword, ArrayRef<Value> operands) {
  if (!operands.front())
    return;
  p << ' ' << keyword << '(';
  llvm::interleaveComma(operands, p);
  p << ')';
}

void ClausePrinter::printStats(ArrayRef<std::pair<StringRef, Value>> stats) {
  SmallVector<StringRef> names;
  for (auto &[name, value] : stats)
    if (value)
      names.push_back(name);
  if (names.empty())
    return;
  p << " stats(";
  llvm::interleaveComma(names, p);
  p << ')';
}

void ClausePrinter::printIntegers(StringRef keyword, ArrayRef<int64_t> values) {
  p << ' ' << keyword << " = [";
  llvm::interleaveComma(values, p);
  p << ']';
}

void ClausePrinter::printEnd() {
  // What is inherent to an op has its own clause.
  SmallVector<StringRef> own{"operandSegmentSizes", "resultSegmentSizes"};
  if (std::optional<RegisteredOperationName> info = op->getRegisteredInfo())
    for (StringAttr name : info->getAttributeNames())
      own.push_back(name.getValue());
  p.printOptionalAttrDict(op->getAttrs(), own);
  p << " : " << op->getOperandTypes() << " -> " << op->getResultTypes();
}

//===----------------------------------------------------------------------===//
// Axes
//===----------------------------------------------------------------------===//

SmallVector<int64_t> norm::otherAxes(int64_t rank, ArrayRef<int64_t> axes) {
  SmallVector<int64_t> others;
  for (int64_t axis = 0; axis != rank; ++axis)
    if (!llvm::is_contained(axes, axis))
      others.push_back(axis);
  return others;
}

SmallVector<int64_t> norm::dropAxes(ArrayRef<int64_t> shape,
                                    ArrayRef<int64_t> axes) {
  return llvm::map_to_vector(otherAxes(shape.size(), axes),
                             [&](int64_t axis) { return shape[axis]; });
}

SmallVector<int64_t> norm::alignAxes(int64_t operandRank,
                                     ArrayRef<int64_t> axes, int64_t rank) {
  if (operandRank <= static_cast<int64_t>(axes.size()))
    return SmallVector<int64_t>(axes.take_back(operandRank));
  SmallVector<int64_t> last;
  for (int64_t axis = rank - operandRank; axis < rank; ++axis)
    last.push_back(axis);
  return last;
}

LogicalResult norm::verifyAxes(Operation *op, ArrayRef<int64_t> axes,
                               int64_t rank) {
  // [AXES-C1]
  if (axes.empty())
    return op->emitOpError("expects at least one axis but got none");
  for (auto [i, axis] : llvm::enumerate(axes)) {
    // [AXES-C2]
    if (axis < 0 || axis >= rank)
      return op->emitOpError()
             << "expects axes from 0 to " << rank - 1 << " but got " << axis;
    // [AXES-C3]
    if (i != 0 && axis <= axes[i - 1])
      return op->emitOpError()
             << "expects axes in rising order, each once, but "
                "got "
             << axis << " after " << axes[i - 1];
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Shapes and types
//===----------------------------------------------------------------------===//

static bool mayBeEqual(int64_t a, int64_t b) {
  return a == b || ShapedType::isDynamic(a) || ShapedType::isDynamic(b);
}

static bool mayBeEqual(ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
  if (a.size() != b.size())
    return false;
  for (auto [x, y] : llvm::zip(a, b))
    if (!mayBeEqual(x, y))
      return false;
  return true;
}

LogicalResult norm::verifyShape(Operation *op, StringRef what, Value value,
                                ArrayRef<int64_t> expected) {
  if (!value)
    return success();
  auto type = cast<RankedTensorType>(value.getType());
  // [SHAPE-C1] of y, [STAT-C4] of statistics, [CH-C3] by channel, [LSE-C1]
  if (mayBeEqual(type.getShape(), expected))
    return success();
  return op->emitOpError() << "expects '" << what << "' of shape "
                           << RankedTensorType::get(expected,
                                                    type.getElementType())
                           << " but got " << type;
}

bool norm::usesF64(Operation *op) {
  return llvm::any_of(op->getOperandTypes(),
                      [](Type t) { return getElementTypeOrSelf(t).isF64(); }) ||
         getElementTypeOrSelf(op->getResult(0).getType()).isF64();
}

LogicalResult norm::verifyStat(Operation *op, StringRef what, Value value,
                               ArrayRef<int64_t> expected) {
  if (!value)
    return success();
  bool wantsF64 = usesF64(op);
  Type element = getElementTypeOrSelf(value.getType());
  // [STAT-C3]
  if (element.isF64() != wantsF64)
    return op->emitOpError()
           << "expects '" << what << "' in the type of the arithmetic, "
           << (wantsF64 ? "f64" : "f32") << ", but got " << element;
  return verifyShape(op, what, value, expected);
}

LogicalResult norm::verifyBroadcast(Operation *op, StringRef what, Value value,
                                    Value x, ArrayRef<int64_t> axes) {
  if (!value)
    return success();
  auto type = cast<RankedTensorType>(value.getType());
  ArrayRef<int64_t> shape = shapeOf(x);
  int64_t rank = shape.size();
  // [BC-C1]
  if (type.getRank() > rank)
    return op->emitOpError() << "expects '" << what << "' of at most " << rank
                             << " axes but got " << type;
  SmallVector<int64_t> expected;
  bool fits = true;
  for (auto [axis, extent] :
       llvm::zip(alignAxes(type.getRank(), axes, rank), type.getShape())) {
    expected.push_back(shape[axis]);
    fits &= extent == 1 || mayBeEqual(extent, shape[axis]);
  }
  // [BC-C2]
  if (fits)
    return success();
  return op->emitOpError() << "expects '" << what << "' that broadcasts to "
                           << RankedTensorType::get(expected,
                                                    type.getElementType())
                           << " but got " << type;
}

LogicalResult norm::verifyRank(Operation *op, Value x, int64_t rank) {
  auto type = cast<RankedTensorType>(x.getType());
  // [CH-C1]
  if (type.getRank() >= rank)
    return success();
  return op->emitOpError() << "expects 'x' of at least " << rank
                           << " axes but got " << type;
}

LogicalResult norm::verifyChannelAxis(Operation *op, int64_t axis,
                                      int64_t first, int64_t rank) {
  // [CH-C2]
  if (axis >= first && axis < rank)
    return success();
  return op->emitOpError() << "expects 'channel_axis' from " << first << " to "
                           << rank - 1 << " but got " << axis;
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

std::string norm::toText(const APFloat &value) {
  SmallString<16> text;
  value.toString(text);
  return std::string(text);
}

LogicalResult norm::verifyEps(Operation *op, const APFloat &eps) {
  // [EPS-C1]
  if (eps.isFinite() && (!eps.isNegative() || eps.isZero()))
    return success();
  return op->emitOpError() << "expects 'eps' to be finite and not negative but "
                              "got "
                           << toText(eps);
}

LogicalResult norm::verifyOffset(Operation *op, const APFloat &offset,
                                 bool hasScale) {
  // [OFF-C1]
  if (!offset.isFinite())
    return op->emitOpError()
           << "expects a finite 'offset' of the scale but got "
           << toText(offset);
  // [OFF-C2]
  if (!hasScale && !offset.isZero())
    return op->emitOpError()
           << "expects 'offset' only beside a scale but got " << toText(offset);
  return success();
}

LogicalResult norm::reifyNamed(Operation *op, OpBuilder &builder,
                               ArrayRef<int64_t> others,
                               ReifiedRankedShapedTypeDims &reified) {
  SmallVector<OpFoldResult> sizes =
      tensor::getMixedSizes(builder, op->getLoc(), op->getOperand(0));
  reified.push_back(sizes);
  for (unsigned i = 1, e = op->getNumResults(); i != e; ++i)
    reified.push_back(
        llvm::map_to_vector(others, [&](int64_t axis) { return sizes[axis]; }));
  return success();
}
