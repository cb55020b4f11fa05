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

ParseResult RandomOp::parse(OpAsmParser &parser, OperationState &result) {
  OpAsmParser::UnresolvedOperand seed, offset;
  Builder &builder = parser.getBuilder();
  SmallVector<Attribute> dims;
  Type type;
  auto parseDim = [&]() -> ParseResult {
    StringRef name;
    if (parser.parseKeyword(&name))
      return failure();
    dims.push_back(builder.getStringAttr(name));
    return success();
  };
  if (parser.parseOperand(seed) || parser.parseComma() ||
      parser.parseOperand(offset) || parser.parseKeyword("at") ||
      parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Square,
                                     parseDim) ||
      parser.parseOptionalAttrDict(result.attributes) ||
      parser.parseColonType(type) ||
      parser.resolveOperand(seed, builder.getI64Type(), result.operands) ||
      parser.resolveOperand(offset, builder.getI64Type(), result.operands))
    return failure();
  result.getOrAddProperties<Properties>().dims = builder.getArrayAttr(dims);
  result.addTypes(type);
  return success();
}

void RandomOp::print(OpAsmPrinter &p) {
  p << ' ' << getSeed() << ", " << getOffset() << " at [";
  llvm::interleaveComma(getDims().getAsValueRange<StringAttr>(), p,
                        [&](StringRef name) { p << name; });
  p << ']';
  p.printOptionalAttrDict((*this)->getAttrs(), {"dims"});
  p << " : " << getType();
}

LogicalResult RandomOp::verify() {
  if (getDims().empty())
    return emitOpError("expects at least one dim but got none");
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
  // [DROP-C1]
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
