//===- NormRandom.cpp - random numbers and dropout ------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NormNamedOps.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::norm;

//===----------------------------------------------------------------------===//
// random
//===----------------------------------------------------------------------===//

/// `[a, b]` or, where the last of them were one dim, `[a, (b, c)]`.
static ParseResult parsePosition(OpAsmParser &parser,
                                 SmallVectorImpl<Attribute> &dims,
                                 int64_t &inner) {
  auto parseDim = [&]() -> ParseResult {
    StringRef name;
    if (parser.parseKeyword(&name))
      return failure();
    dims.push_back(parser.getBuilder().getStringAttr(name));
    return success();
  };
  inner = 1;
  if (parser.parseLSquare())
    return failure();
  if (succeeded(parser.parseOptionalRSquare()))
    return success();
  while (true) {
    if (succeeded(parser.parseOptionalLParen())) {
      size_t before = dims.size();
      if (parser.parseCommaSeparatedList(parseDim) || parser.parseRParen())
        return failure();
      inner = dims.size() - before;
      return parser.parseRSquare();
    }
    if (parseDim())
      return failure();
    if (failed(parser.parseOptionalComma()))
      return parser.parseRSquare();
  }
}

ParseResult RandomOp::parse(OpAsmParser &parser, OperationState &result) {
  OpAsmParser::UnresolvedOperand seed, offset;
  Builder &builder = parser.getBuilder();
  SmallVector<Attribute> dims;
  int64_t inner;
  Type type;
  if (parser.parseOperand(seed) || parser.parseComma() ||
      parser.parseOperand(offset) || parser.parseKeyword("at") ||
      parsePosition(parser, dims, inner) ||
      parser.parseOptionalAttrDict(result.attributes) ||
      parser.parseColonType(type) ||
      parser.resolveOperand(seed, builder.getI64Type(), result.operands) ||
      parser.resolveOperand(offset, builder.getI64Type(), result.operands))
    return failure();
  auto &properties = result.getOrAddProperties<Properties>();
  properties.dims = builder.getArrayAttr(dims);
  properties.inner = builder.getI64IntegerAttr(inner);
  result.addTypes(type);
  return success();
}

void RandomOp::print(OpAsmPrinter &p) {
  p << ' ' << getSeed() << ", " << getOffset() << " at [";
  size_t first = getDims().size() - getInner();
  bool isGroup = getInner() > 1;
  for (auto [i, name] :
       llvm::enumerate(getDims().getAsValueRange<StringAttr>()))
    p << (i ? ", " : "") << (isGroup && i == first ? "(" : "") << name;
  p << (isGroup ? ")]" : "]");
  p.printOptionalAttrDict((*this)->getAttrs(), {"dims", "inner"});
  p << " : " << getType();
}

LogicalResult RandomOp::verify() {
  int64_t count = getDims().size();
  if (count == 0)
    return emitOpError("expects at least one dim but got none");
  int64_t inner = getInnerAttr().getInt();
  if (inner < 1 || inner > count)
    return emitOpError() << "expects 'inner' from 1 to " << count
                         << ", the number of its dims, but got " << inner;
  return success();
}

//===----------------------------------------------------------------------===//
// dropout
//===----------------------------------------------------------------------===//

ParseResult DropoutOp::parse(OpAsmParser &parser, OperationState &result) {
  auto &properties = result.getOrAddProperties<Properties>();
  ClauseParser clauses(parser, result);
  int32_t seed = 0, offset = 0;
  SMLoc loc = parser.getCurrentLocation();
  if (clauses.parseOperand() || clauses.parseOptionalOperands("seed", seed) ||
      clauses.parseOptionalOperands("offset", offset))
    return failure();
  if (!seed || !offset)
    return parser.emitError(loc, "expects 'seed(..)' and 'offset(..)'");
  return failure(clauses.parseFloat("p", properties.p) || clauses.parseEnd(1));
}

void DropoutOp::print(OpAsmPrinter &p) {
  ClausePrinter clauses(p, *this);
  clauses.printOperands("seed", Value(getSeed()));
  clauses.printOperands("offset", Value(getOffset()));
  clauses.printFloat("p", getP());
  clauses.printEnd();
}

LogicalResult DropoutOp::verify() {
  double p = getP().convertToDouble();
  auto type = cast<RankedTensorType>(getX().getType());
  // [DROP-C1]
  if (type.getRank() == 0)
    return emitOpError() << "expects 'x' of rank 1 or more but got " << type;
  // [DROP-C2]
  if (!(p >= 0) || !(p < 1))
    return emitOpError() << "expects 'p' from 0 to less than 1 but got "
                         << toText(getP());
  return verifyShape(*this, "y", getY(), shapeOf(getX()));
}

LogicalResult
DropoutOp::reifyResultShapes(OpBuilder &builder,
                             ReifiedRankedShapedTypeDims &reified) {
  reified.push_back(tensor::getMixedSizes(builder, getLoc(), getX()));
  return success();
}
