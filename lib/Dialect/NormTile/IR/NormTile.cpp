//===- NormTile.cpp - The norm_tile dialect ------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Dialect/NormTile/IR/NormTile.h"

#include "mlir/Dialect/LLVMIR/LLVMTypes.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::norm_tile;

/// `row, column`, or `column` of an operand without rows.
static ParseResult
parsePosition(OpAsmParser &parser,
              std::optional<OpAsmParser::UnresolvedOperand> &row,
              OpAsmParser::UnresolvedOperand &column) {
  if (parser.parseOperand(column))
    return failure();
  if (failed(parser.parseOptionalComma()))
    return success();
  row = column;
  column = {};
  return parser.parseOperand(column);
}

static void printPosition(OpAsmPrinter &p, Operation *, Value row,
                          Value column) {
  if (row)
    p << row << ", ";
  p << column;
}

static bool isGlobalAddress(Type type) {
  auto pointer = dyn_cast<LLVM::LLVMPointerType>(type);
  return pointer && pointer.getAddressSpace() == 1;
}

#include "norm/Dialect/NormTile/IR/NormTileDialect.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "norm/Dialect/NormTile/IR/NormTileTypes.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "norm/Dialect/NormTile/IR/NormTileAttrs.cpp.inc"

#define GET_OP_CLASSES
#include "norm/Dialect/NormTile/IR/NormTileOps.cpp.inc"

void NormTileDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "norm/Dialect/NormTile/IR/NormTileOps.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "norm/Dialect/NormTile/IR/NormTileAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "norm/Dialect/NormTile/IR/NormTileTypes.cpp.inc"
      >();
}

SmallVector<KernelParam> mlir::norm_tile::getKernelParams(TypeRange operands,
                                                          int64_t columns) {
  SmallVector<KernelParam> params;
  for (auto [i, type] : llvm::enumerate(operands)) {
    auto memref = dyn_cast<MemRefType>(type);
    unsigned operand = i;
    if (!memref) {
      params.push_back({KernelParam::Scalar, operand});
      continue;
    }
    params.push_back({KernelParam::Pointer, operand});
    if (memref.getRank() == 2)
      params.push_back({KernelParam::Stride, operand});
  }
  params.push_back({KernelParam::Rows});
  if (columns < 0)
    params.push_back({KernelParam::Columns});
  return params;
}

//===----------------------------------------------------------------------===//
// Kernel
//===----------------------------------------------------------------------===//

ParseResult KernelOp::parse(OpAsmParser &parser, OperationState &result) {
  StringAttr name;
  SmallVector<OpAsmParser::Argument> arguments;
  if (parser.parseSymbolName(name, "sym_name", result.attributes) ||
      parser.parseArgumentList(arguments, OpAsmParser::Delimiter::Paren,
                               /*allowType=*/true) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  return parser.parseRegion(*result.addRegion(), arguments);
}

void KernelOp::print(OpAsmPrinter &p) {
  p << ' ';
  p.printSymbolName(getSymName());
  p << '(';
  llvm::interleaveComma(getBlock()->getArguments(), p, [&](BlockArgument arg) {
    p.printRegionArgument(arg);
  });
  p << ')';
  p.printOptionalAttrDictWithKeyword((*this)->getAttrs(), {"sym_name"});
  p << ' ';
  p.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

//===----------------------------------------------------------------------===//
// Work and phases
//===----------------------------------------------------------------------===//

/// Parses `(%arg) { ... }` with one index argument.
static ParseResult parseIndexRegion(OpAsmParser &parser,
                                    OperationState &result) {
  OpAsmParser::Argument argument;
  if (parser.parseLParen() || parser.parseArgument(argument) ||
      parser.parseRParen())
    return failure();
  argument.type = parser.getBuilder().getIndexType();
  return parser.parseRegion(*result.addRegion(), argument);
}

static void printIndexRegion(OpAsmPrinter &p, Region &region,
                             bool printTerminator) {
  p << '(' << region.front().getArgument(0) << ") ";
  p.printRegion(region, /*printEntryBlockArgs=*/false, printTerminator);
}

ParseResult WorkOp::parse(OpAsmParser &parser, OperationState &result) {
  return failure(parseIndexRegion(parser, result) ||
                 parser.parseOptionalAttrDict(result.attributes));
}

void WorkOp::print(OpAsmPrinter &p) {
  p << ' ';
  printIndexRegion(p, getBody(), true);
  p.printOptionalAttrDict((*this)->getAttrs());
}

ParseResult PhaseOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<Attribute> kinds;
  if (succeeded(parser.parseOptionalKeyword("reduce"))) {
    auto parseKind = [&]() -> ParseResult {
      SMLoc loc = parser.getCurrentLocation();
      StringRef keyword;
      if (parser.parseKeyword(&keyword))
        return failure();
      auto kind = norm::symbolizeReduceKind(keyword);
      if (!kind)
        return parser.emitError(loc)
               << "expects a kind of reduction but got '" << keyword << "'";
      kinds.push_back(norm::ReduceKindAttr::get(parser.getContext(), *kind));
      return success();
    };
    if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Square,
                                       parseKind))
      return failure();
  }
  result.addAttribute("kinds", parser.getBuilder().getArrayAttr(kinds));
  if (parseIndexRegion(parser, result) ||
      parser.parseOptionalAttrDict(result.attributes) ||
      parser.parseOptionalColonTypeList(result.types))
    return failure();
  Region &region = *result.regions.front();
  if (region.front().empty() ||
      !region.front().back().hasTrait<OpTrait::IsTerminator>()) {
    OpBuilder builder(parser.getContext());
    builder.setInsertionPointToEnd(&region.front());
    YieldOp::create(builder, result.location, ValueRange());
  }
  return success();
}

void PhaseOp::print(OpAsmPrinter &p) {
  p << ' ';
  if (!getKinds().empty()) {
    p << "reduce [";
    llvm::interleaveComma(getKinds().getAsRange<norm::ReduceKindAttr>(), p,
                          [&](norm::ReduceKindAttr kind) {
                            p << norm::stringifyReduceKind(kind.getValue());
                          });
    p << "] ";
  }
  printIndexRegion(p, getBody(), true);
  p.printOptionalAttrDict((*this)->getAttrs(), {"kinds"});
  if (getNumResults())
    p << " : " << getResultTypes();
}
