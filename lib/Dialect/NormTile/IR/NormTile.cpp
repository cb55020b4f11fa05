//===- NormTile.cpp - The norm_tile dialect ------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Dialect/NormTile/IR/NormTile.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::norm_tile;

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

LogicalResult KernelOp::verifyRegions() {
  for (BlockArgument arg : getBlock()->getArguments()) {
    auto memref = dyn_cast<MemRefType>(arg.getType());
    if (!memref)
      continue;
    if (memref.getRank() < 1 || memref.getRank() > 2)
      return emitOpError() << "expects memrefs of 1 or 2 dims but operand #"
                           << arg.getArgNumber() << " is " << memref;
    SmallVector<int64_t> strides;
    int64_t offset;
    if (failed(memref.getStridesAndOffset(strides, offset)) ||
        strides.back() != 1)
      return emitOpError() << "expects columns with stride 1 but operand #"
                           << arg.getArgNumber() << " is " << memref;
  }
  auto checkOperand = [&](StringRef what, int64_t number) -> LogicalResult {
    auto args = getBlock()->getArguments();
    if (number >= 0 && number < static_cast<int64_t>(args.size()) &&
        isa<MemRefType>(args[number].getType()))
      return success();
    return emitOpError() << "expects '" << what
                         << "' to be the number of a memref operand but got "
                         << number;
  };
  if (failed(checkOperand("rows_of", getRowsOf())) ||
      failed(checkOperand("columns_of", getColumnsOf())))
    return failure();
  // Slots: held after being kept, with one type.
  llvm::DenseMap<int64_t, Type> slots;
  WalkResult walk = getBody().walk([&](Operation *op) -> WalkResult {
    if (auto hold = dyn_cast<HoldOp>(op)) {
      slots[hold.getSlot()] = hold.getValue().getType();
    } else if (auto held = dyn_cast<HeldOp>(op)) {
      Type kept = slots.lookup(held.getSlot());
      if (kept != held.getType()) {
        InFlightDiagnostic diag = held.emitOpError()
                                  << "expects slot " << held.getSlot()
                                  << " of type " << held.getType() << " but ";
        if (kept)
          diag << "it holds " << kept;
        else
          diag << "nothing is kept in it before";
        return WalkResult(failure());
      }
    }
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
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

LogicalResult PhaseOp::verifyRegions() {
  auto yield = dyn_cast<YieldOp>(getBlock()->getTerminator());
  if (!yield)
    return emitOpError("expects the region to end in 'norm_tile.yield'");
  if (yield.getNumOperands() != getKinds().size() ||
      getNumResults() != getKinds().size())
    return emitOpError() << "expects " << getKinds().size()
                         << " values and results, one for each kind, but got "
                         << yield.getNumOperands() << " and "
                         << getNumResults();
  for (auto [i, kind] :
       llvm::enumerate(getKinds().getAsRange<norm::ReduceKindAttr>())) {
    auto vector = dyn_cast<VectorType>(yield.getOperand(i).getType());
    auto partial = cast<PartialType>(getResult(i).getType());
    if (!vector || partial.getType() != vector.getElementType() ||
        partial.getKind() != kind.getValue())
      return emitOpError() << "expects result #" << i << " to hold '"
                           << norm::stringifyReduceKind(kind.getValue())
                           << "' of the yielded vector's elements but got "
                           << partial << " for " << yield.getOperand(i).getType();
  }
  return success();
}

LogicalResult ExchangeWaitOp::verify() {
  auto start = getToken().getDefiningOp<ExchangeStartOp>();
  if (!start)
    return emitOpError("expects the token of a 'norm_tile.exchange_start'");
  SmallVector<Type> expected;
  for (Type type : start.getPartials().getTypes()) {
    auto partial = cast<PartialType>(type);
    bool pair = partial.getKind() == norm::ReduceKind::Welford ||
                partial.getKind() == norm::ReduceKind::MaxExpSum;
    expected.append(pair ? 2 : 1, partial.getType());
  }
  if (TypeRange(expected) != getResultTypes())
    return emitOpError() << "expects results of types " << TypeRange(expected)
                         << " but got " << getResultTypes();
  return success();
}
