//===- NormNamedOps.h - What the named ops share ----------------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The named ops are written as an operand, clauses in a fixed order, and types:
//
//   x scale(..) bias(..) running(..) mask(..) lengths(..) stats(..)
//     axes = [..] groups = .. channel_axis = .. eps = .. and further attributes
//     {attributes} : operand types -> result types
//
// An op takes some of the clauses. Here are their assembly and the constraints
// that several ops have; labels in brackets are those of NormSpec.md.
//
//===----------------------------------------------------------------------===//

#ifndef NORM_LIB_DIALECT_NORM_IR_NORMNAMEDOPS_H
#define NORM_LIB_DIALECT_NORM_IR_NORMNAMEDOPS_H

#include "norm/Dialect/Norm/IR/Norm.h"

namespace mlir::norm {

//===----------------------------------------------------------------------===//
// Assembly
//===----------------------------------------------------------------------===//

/// Parses the clauses of an op, in the order of the calls.
class ClauseParser {
public:
  ClauseParser(OpAsmParser &parser, OperationState &result)
      : parser(parser), result(result) {}

  ParseResult parseOperand() { return parser.parseOperand(add()); }
  /// `scale(%w)` or `scale(%w, offset = 1.0)`.
  ParseResult parseScale(FloatAttr &offset, int32_t &count);
  /// `keyword(%v)`, or with `operands` = 2 `keyword(%v, %w)`.
  ParseResult parseOptionalOperands(StringRef keyword, int32_t &count,
                                    unsigned operands = 1);
  /// `stats(..)` of the names `known`, in their order.
  ParseResult parseStats(ArrayRef<StringRef> known);
  bool hasStat(StringRef name) const { return llvm::is_contained(stats, name); }

  ParseResult parseAxes(DenseI64ArrayAttr &axes) {
    return parseIntegers("axes", axes);
  }
  /// `keyword = [1, 2]`.
  ParseResult parseIntegers(StringRef keyword, DenseI64ArrayAttr &attr);
  /// `keyword = name`, one of those that `symbolize` knows.
  template <typename EnumAttr, typename Enum>
  ParseResult parseOptionalEnum(StringRef keyword, EnumAttr &attr,
                                std::optional<Enum> (*symbolize)(StringRef));
  /// `keyword = 3` and `keyword = 1.0`.
  ParseResult parseInteger(StringRef keyword, IntegerAttr &attr);
  ParseResult parseFloat(StringRef keyword, FloatAttr &attr);
  ParseResult parseOptionalInteger(StringRef keyword, IntegerAttr &attr);
  ParseResult parseOptionalFloat(StringRef keyword, FloatAttr &attr);
  /// `keyword = true` or `keyword = false`.
  ParseResult parseOptionalBool(StringRef keyword, BoolAttr &attr);

  /// The attribute dictionary and the types, those of `results` results and of
  /// the stats.
  ParseResult parseEnd(unsigned results);

private:
  OpAsmParser::UnresolvedOperand &add() { return operands.emplace_back(); }
  ParseResult parseNumber(FloatAttr &attr);
  ParseResult parseNumber(IntegerAttr &attr);

  OpAsmParser &parser;
  OperationState &result;
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  SmallVector<StringRef> stats;
};

template <typename EnumAttr, typename Enum>
ParseResult
ClauseParser::parseOptionalEnum(StringRef keyword, EnumAttr &attr,
                                std::optional<Enum> (*symbolize)(StringRef)) {
  if (failed(parser.parseOptionalKeyword(keyword)))
    return success();
  if (parser.parseEqual())
    return failure();
  SMLoc loc = parser.getCurrentLocation();
  StringRef name;
  if (parser.parseKeyword(&name))
    return failure();
  std::optional<Enum> known = symbolize(name);
  if (!known)
    return parser.emitError(loc)
           << "expects a known '" << keyword << "' but got '" << name << "'";
  attr = EnumAttr::get(parser.getContext(), *known);
  return success();
}

/// Prints what ClauseParser parses.
class ClausePrinter {
public:
  ClausePrinter(OpAsmPrinter &p, Operation *op) : p(p), op(op) {
    p << ' ' << op->getOperand(0);
  }

  void printScale(Value scale, const APFloat &offset);
  /// Nothing without the first operand.
  void printOperands(StringRef keyword, ArrayRef<Value> operands);
  /// The names whose value is there.
  void printStats(ArrayRef<std::pair<StringRef, Value>> stats);
  void printAxes(ArrayRef<int64_t> axes) { printIntegers("axes", axes); }
  void printIntegers(StringRef keyword, ArrayRef<int64_t> values);
  void printName(StringRef keyword, StringRef name) {
    p << ' ' << keyword << " = " << name;
  }
  void printInteger(StringRef keyword, int64_t value) {
    p << ' ' << keyword << " = " << value;
  }
  void printFloat(StringRef keyword, const APFloat &value) {
    p << ' ' << keyword << " = ";
    p.printFloat(value);
  }
  void printEnd();

private:
  OpAsmPrinter &p;
  Operation *op;
};

//===----------------------------------------------------------------------===//
// Constraints
//===----------------------------------------------------------------------===//

/// The extents of `shape` along axes other than `axes`.
SmallVector<int64_t> dropAxes(ArrayRef<int64_t> shape, ArrayRef<int64_t> axes);

LogicalResult verifyAxes(Operation *op, ArrayRef<int64_t> axes, int64_t rank);

/// Succeeds if the value is absent, or of a shape that may be `expected`.
LogicalResult verifyShape(Operation *op, StringRef what, Value value,
                          ArrayRef<int64_t> expected);

/// The same of a statistic, in the type of the arithmetic.
LogicalResult verifyStat(Operation *op, StringRef what, Value value,
                         ArrayRef<int64_t> expected);

/// Succeeds if the value is absent, or broadcasts to the axes of `alignAxes`.
LogicalResult verifyBroadcast(Operation *op, StringRef what, Value value,
                              Value x, ArrayRef<int64_t> axes);

LogicalResult verifyEps(Operation *op, const APFloat &eps);
LogicalResult verifyOffset(Operation *op, const APFloat &offset, bool hasScale);
LogicalResult verifyChannelAxis(Operation *op, int64_t axis, int64_t first,
                                int64_t rank);
/// At least `rank` axes of x.
LogicalResult verifyRank(Operation *op, Value x, int64_t rank);

/// A number for a diagnostic.
std::string toText(const APFloat &value);

/// The shapes of results: the first one's is that of `x`, all others' are the
/// extents of `x` along `others`.
LogicalResult reifyNamed(Operation *op, OpBuilder &builder,
                         ArrayRef<int64_t> others,
                         ReifiedRankedShapedTypeDims &reified);

inline ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

/// All axes of a shape but `axes`, in order.
SmallVector<int64_t> otherAxes(int64_t rank, ArrayRef<int64_t> axes);

} // namespace mlir::norm

#endif // NORM_LIB_DIALECT_NORM_IR_NORMNAMEDOPS_H
