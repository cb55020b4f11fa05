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
#include "llvm/Support/MathExtras.h"

#include <limits>

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

static bool isSharedAddress(Type type) {
  auto pointer = dyn_cast<LLVM::LLVMPointerType>(type);
  return pointer && pointer.getAddressSpace() == 3;
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

//===----------------------------------------------------------------------===//
// Spaces
//===----------------------------------------------------------------------===//

/// Parses `[4096, -1]`; `_` stands for -1.
static ParseResult parseNumbers(AsmParser &parser,
                                SmallVectorImpl<int64_t> &numbers) {
  return parser.parseCommaSeparatedList(
      AsmParser::Delimiter::Square, [&]() -> ParseResult {
        if (succeeded(parser.parseOptionalKeyword("_"))) {
          numbers.push_back(-1);
          return success();
        }
        return parser.parseInteger(numbers.emplace_back());
      });
}

Attribute SpaceAttr::parse(AsmParser &parser, Type) {
  SmallVector<int64_t> rows, columns;
  SmallVector<DenseI64ArrayAttr> axes;
  auto parseAxes = [&]() -> ParseResult {
    SmallVector<int64_t> numbers;
    if (parseNumbers(parser, numbers))
      return failure();
    axes.push_back(DenseI64ArrayAttr::get(parser.getContext(), numbers));
    return success();
  };
  SMLoc loc = parser.getCurrentLocation();
  int64_t workers = 0, strands = 0;
  auto parseWorkers = [&]() -> ParseResult {
    if (failed(parser.parseOptionalComma()))
      return success();
    return failure(parser.parseKeyword("workers") || parser.parseEqual() ||
                   parser.parseInteger(workers) || parser.parseComma() ||
                   parser.parseKeyword("strands") || parser.parseEqual() ||
                   parser.parseInteger(strands));
  };
  if (parser.parseLess() || parser.parseKeyword("rows") ||
      parser.parseEqual() || parseNumbers(parser, rows) ||
      parser.parseComma() || parser.parseKeyword("columns") ||
      parser.parseEqual() || parseNumbers(parser, columns) ||
      parser.parseComma() || parser.parseKeyword("axes") ||
      parser.parseEqual() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseAxes) ||
      parseWorkers() || parser.parseGreater())
    return {};
  return SpaceAttr::getChecked([&] { return parser.emitError(loc); },
                               parser.getContext(), rows, columns, axes,
                               workers, strands);
}

void SpaceAttr::print(AsmPrinter &p) const {
  auto printNumbers = [&](ArrayRef<int64_t> numbers, bool isAxes) {
    p << '[';
    llvm::interleaveComma(numbers, p, [&](int64_t number) {
      if (isAxes && number < 0)
        p << '_';
      else
        p << number;
    });
    p << ']';
  };
  p << "<rows = ";
  printNumbers(getRows(), false);
  p << ", columns = ";
  printNumbers(getColumns(), false);
  p << ", axes = [";
  llvm::interleaveComma(getAxes(), p, [&](DenseI64ArrayAttr axes) {
    printNumbers(axes.asArrayRef(), true);
  });
  p << ']';
  if (getWorkers() != 0)
    p << ", workers = " << getWorkers() << ", strands = " << getStrands();
  p << '>';
}

LogicalResult SpaceAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                ArrayRef<int64_t> rows,
                                ArrayRef<int64_t> columns,
                                ArrayRef<DenseI64ArrayAttr> axes,
                                int64_t workers, int64_t strands) {
  if (workers < 0 || (workers > 0) != (strands > 0) ||
      (strands > 0 && !llvm::isPowerOf2_64(strands)))
    return emitError() << "expects workers of a power of two of strands, or "
                          "none, but got "
                       << workers << " of " << strands;
  for (ArrayRef<int64_t> extents : {rows, columns})
    for (int64_t extent : extents)
      if (extent < -1)
        return emitError() << "expects extents, or -1, but got " << extent;
  for (auto [operand, list] : llvm::enumerate(axes)) {
    size_t size = list.size();
    if (size != 0 && size != rows.size() + columns.size())
      return emitError() << "expects " << rows.size() + columns.size()
                         << " axes for operand #" << operand << " but got "
                         << size;
    SmallVector<int64_t> seen;
    for (int64_t axis : list.asArrayRef()) {
      if (axis < -1)
        return emitError() << "expects an axis, or _, but got " << axis;
      if (axis >= 0 && llvm::is_contained(seen, axis))
        return emitError() << "expects different axes for operand #" << operand
                           << " but got " << axis << " twice";
      seen.push_back(axis);
    }
  }
  return success();
}

static bool hasAny(ArrayRef<int64_t> axes) {
  return llvm::any_of(axes, [](int64_t axis) { return axis >= 0; });
}

bool SpaceAttr::hasRows(unsigned operand) const {
  ArrayRef<int64_t> axes = getAxes()[operand].asArrayRef();
  return hasAny(axes.take_front(std::min<size_t>(axes.size(), getNumRowDims())));
}

bool SpaceAttr::hasColumns(unsigned operand) const {
  ArrayRef<int64_t> axes = getAxes()[operand].asArrayRef();
  return hasAny(axes.drop_front(std::min<size_t>(axes.size(), getNumRowDims())));
}

static int64_t countAll(ArrayRef<int64_t> extents) {
  // None at all where one of them is 0, whatever the others are.
  if (llvm::is_contained(extents, 0))
    return 0;
  int64_t product = 1;
  for (int64_t extent : extents) {
    if (extent < 0)
      return -1;
    if (llvm::MulOverflow(product, extent, product))
      product = std::numeric_limits<int64_t>::max();
  }
  return product;
}

int64_t SpaceAttr::countColumns() const { return countAll(getColumns()); }
int64_t SpaceAttr::countRows() const { return countAll(getRows()); }

SmallVector<unsigned> SpaceAttr::getAxesOf(unsigned operand,
                                           unsigned dim) const {
  int64_t last = getAxis(operand, dim), first = 0;
  SmallVector<unsigned> result;
  if (last < 0)
    return result;
  for (int64_t axis : getAxes()[operand].asArrayRef())
    if (axis < last)
      first = std::max(first, axis + 1);
  for (int64_t axis = first; axis <= last; ++axis)
    result.push_back(axis);
  return result;
}

int64_t SpaceAttr::findOperand(unsigned dim) const {
  for (auto [operand, axes] : llvm::enumerate(getAxes()))
    if (!axes.empty() && axes[dim] >= 0)
      return operand;
  return -1;
}

SmallVector<KernelParam>
mlir::norm_tile::getKernelParams(TypeRange operands, SpaceAttr space,
                                 norm::OrderAttr order,
                                 norm::ScheduleAttr schedule) {
  SmallVector<KernelParam> params;
  for (auto [i, type] : llvm::enumerate(operands)) {
    auto memref = dyn_cast<MemRefType>(type);
    unsigned operand = i;
    if (!memref) {
      params.push_back({KernelParam::Scalar, operand});
      continue;
    }
    params.push_back({KernelParam::Pointer, operand});
    auto [strides, offset] = memref.getStridesAndOffset();
    for (unsigned dim = 0; dim < space.getNumDims(); ++dim) {
      int64_t axis = space.getAxis(operand, dim);
      if (axis >= 0 && ShapedType::isDynamic(strides[axis]))
        params.push_back(
            {KernelParam::Stride, operand, static_cast<unsigned>(axis)});
    }
  }
  params.push_back({KernelParam::Rows});
  if (space.countColumns() < 0)
    params.push_back({KernelParam::Columns});
  // Of a single dim, the extent is the number of rows (columns).
  for (unsigned dim = 0; dim < space.getNumDims(); ++dim) {
    unsigned siblings = dim < space.getNumRowDims() ? space.getNumRowDims()
                                                    : space.getColumns().size();
    if (space.getExtent(dim) < 0 && (siblings > 1 || order.isAcross()))
      params.push_back({KernelParam::Extent, 0, dim});
  }
  if (order.isAcross())
    params.push_back({KernelParam::Split});
  if (order.isAcross() || schedule.getCluster() > 1)
    params.push_back({KernelParam::Workspace});
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
