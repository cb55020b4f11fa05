//===- NormGeneric.cpp - norm.generic and the ops of its body -------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Dialect/Norm/IR/Norm.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/SmallSet.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::norm;

//===----------------------------------------------------------------------===//
// Queries
//===----------------------------------------------------------------------===//

void GenericOp::build(OpBuilder &builder, OperationState &state,
                      ValueRange inputs, ValueRange outputs,
                      ArrayRef<StringRef> dims, ArrayRef<AffineMap> maps) {
  state.addOperands(inputs);
  state.addOperands(outputs);
  auto &properties = state.getOrAddProperties<Properties>();
  properties.operandSegmentSizes = {static_cast<int>(inputs.size()),
                                    static_cast<int>(outputs.size())};
  properties.dims = builder.getStrArrayAttr(dims);
  properties.indexing_maps = builder.getAffineMapArrayAttr(maps);
  for (Value output : outputs)
    if (isa<RankedTensorType>(output.getType()))
      state.addTypes(output.getType());
  Region *region = state.addRegion();
  Block &block = region->emplaceBlock();
  for (Value operand : state.operands)
    block.addArgument(getElementTypeOrSelf(operand.getType()),
                      operand.getLoc());
}

ArrayRef<int64_t> GenericOp::getShape(OpOperand *operand) {
  auto type = dyn_cast<ShapedType>(operand->get().getType());
  return type ? type.getShape() : ArrayRef<int64_t>();
}

AffineMap GenericOp::getMatchingIndexingMap(OpOperand *operand) {
  return getMap(operand->getOperandNumber());
}

SmallVector<int64_t> GenericOp::getStaticLoopRanges() { return getExtents(); }

std::optional<unsigned> GenericOp::getDimNumber(StringRef name) {
  for (unsigned i = 0, e = getNumDims(); i != e; ++i)
    if (getDimName(i) == name)
      return i;
  return std::nullopt;
}

SmallVector<int64_t> GenericOp::getExtents() {
  SmallVector<int64_t> extents(getNumDims(), ShapedType::kDynamic);
  for (OpOperand &operand : (*this)->getOpOperands()) {
    ArrayRef<int64_t> shape = getShape(&operand);
    AffineMap map = getMatchingIndexingMap(&operand);
    for (auto [axis, expr] : llvm::enumerate(map.getResults()))
      if (auto dim = dyn_cast<AffineDimExpr>(expr))
        if (ShapedType::isStatic(shape[axis]))
          extents[dim.getPosition()] = shape[axis];
  }
  return extents;
}

std::pair<unsigned, unsigned> GenericOp::getExtentSource(unsigned dim) {
  for (OpOperand &operand : (*this)->getOpOperands())
    for (auto [axis, expr] :
         llvm::enumerate(getMatchingIndexingMap(&operand).getResults()))
      if (auto dimExpr = dyn_cast<AffineDimExpr>(expr))
        if (dimExpr.getPosition() == dim)
          return {operand.getOperandNumber(), axis};
  llvm_unreachable("the verifier lets no dim without an operand pass");
}

llvm::DenseMap<Value, uint64_t> GenericOp::computeSupports() {
  llvm::DenseMap<Value, uint64_t> supports;
  auto maskOf = [&](ArrayAttr names) {
    uint64_t mask = 0;
    for (auto name : names.getAsValueRange<StringAttr>())
      if (auto dim = getDimNumber(name))
        mask |= uint64_t(1) << *dim;
    return mask;
  };
  for (BlockArgument arg : getBlock()->getArguments()) {
    uint64_t mask = 0;
    for (AffineExpr expr : getMap(arg.getArgNumber()).getResults())
      if (auto dim = dyn_cast<AffineDimExpr>(expr))
        mask |= uint64_t(1) << dim.getPosition();
    supports[arg] = mask;
  }
  for (Operation &op : *getBlock()) {
    uint64_t mask = 0;
    for (Value operand : op.getOperands())
      mask |= supports.lookup(operand);
    if (auto reduce = dyn_cast<ReduceOp>(op))
      mask &= ~maskOf(reduce.getDims());
    else if (auto sum = dyn_cast<AccumulateOp>(op))
      mask = (mask & ~maskOf(sum.getDims())) |
             maskOf(ArrayAttr::get(getContext(), sum.getWorkerAttr()));
    else if (auto random = dyn_cast<RandomOp>(op))
      mask |= maskOf(random.getDims());
    else if (auto index = dyn_cast<IndexOp>(op))
      if (auto dim = getDimNumber(index.getDim()))
        mask = uint64_t(1) << *dim;
    for (Value result : op.getResults())
      supports[result] = mask;
  }
  return supports;
}

//===----------------------------------------------------------------------===//
// Assembly
//===----------------------------------------------------------------------===//

namespace {
using DimIndex = llvm::StringMap<unsigned>;

struct ParsedOperand {
  OpAsmParser::Argument argument;
  OpAsmParser::UnresolvedOperand operand;
  AffineMap map;
  Type type;
};
} // namespace

/// `[row, 0, col]`, or nothing for a scalar.
static ParseResult parseMap(OpAsmParser &parser, const DimIndex &dims,
                            AffineMap &map) {
  MLIRContext *context = parser.getContext();
  SmallVector<AffineExpr> results;
  auto parseOne = [&]() -> ParseResult {
    SMLoc loc = parser.getCurrentLocation();
    int64_t zero;
    OptionalParseResult number = parser.parseOptionalInteger(zero);
    if (number.has_value()) {
      if (failed(*number))
        return failure();
      if (zero != 0)
        return parser.emitError(loc)
               << "expects a dim or 0 in a map but got " << zero;
      results.push_back(getAffineConstantExpr(0, context));
      return success();
    }
    StringRef name;
    if (parser.parseKeyword(&name))
      return failure();
    auto it = dims.find(name);
    if (it == dims.end())
      return parser.emitError(loc)
             << "expects a dim of the space but got '" << name << "'";
    results.push_back(getAffineDimExpr(it->second, context));
    return success();
  };
  if (succeeded(parser.parseOptionalLSquare())) {
    if (failed(parser.parseOptionalRSquare()))
      if (parser.parseCommaSeparatedList(parseOne) || parser.parseRSquare())
        return failure();
  }
  map = AffineMap::get(dims.size(), 0, results, context);
  return success();
}

static ParseResult parseOperands(OpAsmParser &parser, const DimIndex &dims,
                                 SmallVectorImpl<ParsedOperand> &operands) {
  return parser.parseCommaSeparatedList(
      OpAsmParser::Delimiter::OptionalParen, [&]() -> ParseResult {
        ParsedOperand &o = operands.emplace_back();
        if (parser.parseArgument(o.argument) || parser.parseEqual() ||
            parser.parseOperand(o.operand) || parseMap(parser, dims, o.map) ||
            parser.parseColonType(o.type))
          return failure();
        o.argument.type = getElementTypeOrSelf(o.type);
        return success();
      });
}

ParseResult GenericOp::parse(OpAsmParser &parser, OperationState &result) {
  Builder &builder = parser.getBuilder();
  DimIndex dims;
  SmallVector<Attribute> dimNames;
  auto parseDim = [&]() -> ParseResult {
    SMLoc loc = parser.getCurrentLocation();
    StringRef name;
    if (parser.parseKeyword(&name))
      return failure();
    if (!dims.try_emplace(name, dims.size()).second)
      return parser.emitError(loc)
             << "expects distinct dims but got '" << name << "' twice";
    dimNames.push_back(builder.getStringAttr(name));
    return success();
  };
  SmallVector<ParsedOperand> inputs, outputs;
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, parseDim))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("ins")) &&
      parseOperands(parser, dims, inputs))
    return failure();
  if (parser.parseKeyword("outs") || parseOperands(parser, dims, outputs) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();

  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<AffineMap> maps;
  for (auto *list : {&inputs, &outputs})
    for (ParsedOperand &o : *list) {
      arguments.push_back(o.argument);
      maps.push_back(o.map);
      if (parser.resolveOperand(o.operand, o.type, result.operands))
        return failure();
      if (list == &outputs && isa<RankedTensorType>(o.type))
        result.addTypes(o.type);
    }
  auto &properties = result.getOrAddProperties<Properties>();
  properties.operandSegmentSizes = {static_cast<int>(inputs.size()),
                                    static_cast<int>(outputs.size())};
  properties.dims = builder.getArrayAttr(dimNames);
  properties.indexing_maps = builder.getAffineMapArrayAttr(maps);

  Region *body = result.addRegion();
  if (parser.parseRegion(*body, arguments))
    return failure();
  ensureTerminator(*body, builder, result.location);
  return success();
}

static void printOperands(OpAsmPrinter &p, GenericOp op, OperandRange operands,
                          unsigned first) {
  p << '(';
  llvm::interleaveComma(llvm::enumerate(operands), p, [&](auto pair) {
    unsigned number = first + pair.index();
    p << op.getBlock()->getArgument(number) << " = " << pair.value();
    AffineMap map = op.getMap(number);
    if (isa<ShapedType>(pair.value().getType())) {
      p << '[';
      llvm::interleaveComma(map.getResults(), p, [&](AffineExpr expr) {
        if (auto dim = dyn_cast<AffineDimExpr>(expr))
          p << op.getDimName(dim.getPosition());
        else
          p << '0';
      });
      p << ']';
    }
    p << " : " << pair.value().getType();
  });
  p << ')';
}

void GenericOp::print(OpAsmPrinter &p) {
  p << " (";
  llvm::interleaveComma(getDims().getAsValueRange<StringAttr>(), p,
                        [&](StringRef name) { p << name; });
  p << ')';
  if (!getInputs().empty()) {
    p.printNewline();
    p << "    ins";
    printOperands(p, *this, getInputs(), 0);
  }
  p.printNewline();
  p << "    outs";
  printOperands(p, *this, getOutputs(), getInputs().size());
  p.printOptionalAttrDictWithKeyword(
      (*this)->getAttrs(), {"operandSegmentSizes", "dims", "indexing_maps"});
  p << ' ';
  p.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

template <typename T>
static std::string toString(T value) {
  std::string text;
  llvm::raw_string_ostream(text) << value;
  return text;
}

/// Checks one operand's map against its shape and the extents seen so far.
static LogicalResult
verifyOperand(GenericOp op, OpOperand &operand,
              MutableArrayRef<std::optional<int64_t>> extents) {
  unsigned number = operand.getOperandNumber();
  AffineMap map = op.getMap(number);
  Type type = operand.get().getType();
  auto shaped = dyn_cast<ShapedType>(type);
  if ((shaped && !isa<TensorType, BaseMemRefType>(type)) ||
      !getElementTypeOrSelf(type).isIntOrIndexOrFloat())
    return op.emitOpError()
           << "expects operand #" << number
           << " to be a tensor, memref or scalar of an integer, index or float "
              "type but got "
           << type;
  if (map.getNumDims() != op.getNumDims() || map.getNumSymbols() != 0)
    return op.emitOpError()
           << "expects a map of " << op.getNumDims() << " dims for operand #"
           << number << " but got " << toString(map);
  if (shaped && !shaped.hasRank())
    return op.emitOpError() << "expects operand #" << number
                            << " to be ranked but got " << shaped;
  unsigned rank = shaped ? shaped.getRank() : 0;
  if (map.getNumResults() != rank)
    return op.emitOpError()
           << "expects a map with " << rank << " results for operand #"
           << number << " but got " << map.getNumResults();
  llvm::SmallSet<unsigned, 4> seen;
  for (auto [axis, expr] : llvm::enumerate(map.getResults())) {
    int64_t extent = shaped.getDimSize(axis);
    if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
      if (constant.getValue() != 0 || extent != 1)
        return op.emitOpError()
               << "expects 0 only on an axis of size 1 but axis " << axis
               << " of operand #" << number << " has "
               << (ShapedType::isDynamic(extent)
                       ? std::string("a dynamic size")
                       : "size " + std::to_string(extent));
      continue;
    }
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (!dim)
      return op.emitOpError()
             << "expects a dim or 0 for axis " << axis << " of operand #"
             << number << " but got " << toString(expr);
    if (!seen.insert(dim.getPosition()).second)
      return op.emitOpError()
             << "expects distinct dims in the map of operand #" << number
             << " but got '" << op.getDimName(dim.getPosition()) << "' twice";
    std::optional<int64_t> &known = extents[dim.getPosition()];
    if (known && ShapedType::isStatic(*known) && ShapedType::isStatic(extent) &&
        *known != extent)
      return op.emitOpError()
             << "expects extent " << *known << " of dim '"
             << op.getDimName(dim.getPosition()) << "' at axis " << axis
             << " of operand #" << number << " but got " << extent;
    if (!known || ShapedType::isDynamic(*known))
      known = extent;
  }
  return success();
}

/// Whether the custom assembly can hold a name.
static bool isIdentifier(StringRef name) {
  auto isWordChar = [](char c) {
    return llvm::isAlnum(c) || c == '_' || c == '$' || c == '.';
  };
  return !name.empty() && (llvm::isAlpha(name[0]) || name[0] == '_') &&
         llvm::all_of(name, isWordChar);
}

LogicalResult GenericOp::verify() {
  if (getNumDims() > 64)
    return emitOpError() << "expects at most 64 dims but got " << getNumDims();
  llvm::SmallSet<StringRef, 8> names;
  for (StringRef name : getDims().getAsValueRange<StringAttr>()) {
    if (!isIdentifier(name))
      return emitOpError()
             << "expects names of dims to be identifiers but got '" << name
             << "'";
    if (!names.insert(name).second)
      return emitOpError() << "expects distinct dims but got '" << name
                           << "' twice";
  }
  if (getOutputs().empty())
    return emitOpError("expects at least one output but got none");
  if (getIndexingMaps().size() != getNumOperands())
    return emitOpError() << "expects a map for each of " << getNumOperands()
                         << " operands but got " << getIndexingMaps().size();
  unsigned tensors = 0, memrefs = 0;
  for (Value operand : getOperands()) {
    tensors += isa<TensorType>(operand.getType());
    memrefs += isa<BaseMemRefType>(operand.getType());
  }
  if (tensors && memrefs)
    return emitOpError() << "expects all tensors or all memrefs but got "
                         << tensors << " tensors and " << memrefs << " memrefs";
  if (getNumResults() != (tensors ? getOutputs().size() : 0))
    return emitOpError() << "expects " << (tensors ? getOutputs().size() : 0)
                         << " results but got " << getNumResults();
  for (auto [output, result] : llvm::zip(getOutputs(), getResults()))
    if (output.getType() != result.getType())
      return emitOpError() << "expects a result of type " << output.getType()
                           << " but got " << result.getType();

  SmallVector<std::optional<int64_t>> extents(getNumDims());
  for (OpOperand &operand : (*this)->getOpOperands())
    if (failed(verifyOperand(*this, operand, extents)))
      return failure();
  for (auto [dim, extent] : llvm::enumerate(extents))
    if (!extent)
      return emitOpError() << "expects each dim in the map of an operand but '"
                           << getDimName(dim) << "' is in none";

  Block *block = getBlock();
  if (block->getNumArguments() != getNumOperands())
    return emitOpError() << "expects " << getNumOperands()
                         << " body arguments but got "
                         << block->getNumArguments();
  for (auto [operand, argument] :
       llvm::zip(getOperands(), block->getArguments())) {
    Type element = getElementTypeOrSelf(operand.getType());
    if (argument.getType() != element)
      return emitOpError() << "expects body argument #"
                           << argument.getArgNumber() << " of type " << element
                           << " but got " << argument.getType();
  }
  return success();
}

uint64_t GenericOp::getWorkerDims() {
  uint64_t mask = 0;
  for (auto sum : getBlock()->getOps<AccumulateOp>())
    if (std::optional<unsigned> dim = getDimNumber(sum.getWorker()))
      mask |= uint64_t(1) << *dim;
  return mask;
}

/// Checks that the dim of a sum's workers is none of the other dims: it is one
/// of outputs only, and as many as are known.
static LogicalResult verifyWorkers(GenericOp program, AccumulateOp sum) {
  unsigned dim = *program.getDimNumber(sum.getWorker());
  for (OpOperand &operand : program->getOpOperands())
    if (operand.getOperandNumber() < program.getInputs().size() &&
        program.getMatchingIndexingMap(&operand).isFunctionOfDim(dim))
      return sum.emitOpError()
             << "expects workers, '" << sum.getWorker()
             << "', to be a dim of outputs only but input #"
             << operand.getOperandNumber() << " has it";
  if (ShapedType::isDynamic(program.getExtents()[dim]))
    return sum.emitOpError() << "expects a static number of workers on '"
                             << sum.getWorker() << "' but got a dynamic one";
  for (Operation *user : sum->getUsers())
    if (!isa<YieldOp>(user))
      return sum.emitOpError()
             << "expects the sums of workers to be yielded, but '"
             << user->getName() << "' uses one";
  return success();
}

/// Whether an op may stand in a body.
static bool isBodyOp(Operation &op) {
  if (isa<ReduceOp, AccumulateOp, ExtentOp, IndexOp, RandomOp, YieldOp>(op))
    return true;
  if (op.getNumRegions() != 0)
    return false;
  return op.hasTrait<OpTrait::ConstantLike>() ||
         OpTrait::hasElementwiseMappableTraits(&op);
}

LogicalResult GenericOp::verifyRegions() {
  for (Operation &op : *getBlock()) {
    if (!isBodyOp(op))
      return op.emitOpError("is not an elementwise op, a constant or a body op "
                            "of norm, and can't stand in 'norm.generic'");
    for (Type type : op.getResultTypes())
      if (!type.isIntOrIndexOrFloat())
        return op.emitOpError() << "expects scalars in the body of "
                                   "'norm.generic' but yields "
                                << type;
    auto checkDim = [&](StringRef name) -> LogicalResult {
      if (getDimNumber(name))
        return success();
      return op.emitOpError()
             << "expects a dim of the space but got '" << name << "'";
    };
    auto checkDims = [&](ArrayAttr dims) -> LogicalResult {
      llvm::SmallSet<StringRef, 4> seen;
      for (StringRef name : dims.getAsValueRange<StringAttr>()) {
        if (failed(checkDim(name)))
          return failure();
        if (!seen.insert(name).second)
          return op.emitOpError()
                 << "expects distinct dims but got '" << name << "' twice";
      }
      return success();
    };
    if (auto reduce = dyn_cast<ReduceOp>(op)) {
      if (failed(checkDims(reduce.getDims())))
        return failure();
    } else if (auto sum = dyn_cast<AccumulateOp>(op)) {
      if (failed(checkDims(sum.getDims())) ||
          failed(checkDim(sum.getWorker())) ||
          failed(verifyWorkers(*this, sum)))
        return failure();
    } else if (auto random = dyn_cast<RandomOp>(op)) {
      if (failed(checkDims(random.getDims())))
        return failure();
    } else if (auto extent = dyn_cast<ExtentOp>(op)) {
      if (failed(checkDim(extent.getDim())))
        return failure();
    } else if (auto index = dyn_cast<IndexOp>(op)) {
      if (failed(checkDim(index.getDim())))
        return failure();
    }
  }
  auto yield = cast<YieldOp>(getBlock()->getTerminator());
  if (yield.getNumOperands() != getOutputs().size())
    return yield.emitOpError() << "expects " << getOutputs().size()
                               << " values but got " << yield.getNumOperands();
  auto supports = computeSupports();
  for (auto [i, value] : llvm::enumerate(yield.getOperands())) {
    unsigned number = getInputs().size() + i;
    Type element = getBlock()->getArgument(number).getType();
    if (value.getType() != element)
      return yield.emitOpError() << "expects value #" << i << " of type "
                                 << element << " but got " << value.getType();
    uint64_t outside = supports.lookup(value) &
                       ~supports.lookup(getBlock()->getArgument(number));
    if (outside)
      return yield.emitOpError()
             << "expects value #" << i
             << " to vary on dims of its output only but it varies on '"
             << getDimName(llvm::countr_zero(outside)) << "'";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Interfaces
//===----------------------------------------------------------------------===//

LogicalResult
GenericOp::reifyResultShapes(OpBuilder &builder,
                             ReifiedRankedShapedTypeDims &reified) {
  for (Value output : getDpsInits())
    if (isa<RankedTensorType>(output.getType()))
      reified.push_back(tensor::getMixedSizes(builder, getLoc(), output));
  return success();
}

void GenericOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  for (OpOperand &operand : (*this)->getOpOperands()) {
    if (!isa<MemRefType>(operand.get().getType()))
      continue;
    bool isOutput = operand.getOperandNumber() >= getInputs().size();
    if (!getBlock()->getArgument(operand.getOperandNumber()).use_empty())
      effects.emplace_back(MemoryEffects::Read::get(), &operand,
                           SideEffects::DefaultResource::get());
    if (isOutput)
      effects.emplace_back(MemoryEffects::Write::get(), &operand,
                           SideEffects::DefaultResource::get());
  }
}

// On tensors a body can be run anywhere unless one of its ops can't (an
// integer division, for example).
Speculation::Speculatability GenericOp::getSpeculatability() {
  if (!hasTensorSemantics())
    return Speculation::NotSpeculatable;
  for (Operation &op : *getBlock())
    if (!isPure(&op) && !isa<YieldOp>(op))
      return Speculation::NotSpeculatable;
  return Speculation::Speculatable;
}

//===----------------------------------------------------------------------===//
// Body ops
//===----------------------------------------------------------------------===//

static ParseResult parseDims(OpAsmParser &parser, ArrayAttr &dims) {
  SmallVector<Attribute> names;
  if (parser.parseCommaSeparatedList(
          OpAsmParser::Delimiter::Square, [&]() -> ParseResult {
            StringRef name;
            if (parser.parseKeyword(&name))
              return failure();
            names.push_back(parser.getBuilder().getStringAttr(name));
            return success();
          }))
    return failure();
  dims = parser.getBuilder().getArrayAttr(names);
  return success();
}

ParseResult ReduceOp::parse(OpAsmParser &parser, OperationState &result) {
  auto &properties = result.getOrAddProperties<Properties>();
  StringRef keyword;
  SMLoc loc = parser.getCurrentLocation();
  OpAsmParser::UnresolvedOperand value;
  Type type;
  ArrayAttr dims;
  if (parser.parseKeyword(&keyword))
    return failure();
  std::optional<ReduceKind> kind = symbolizeReduceKind(keyword);
  if (!kind)
    return parser.emitError(loc)
           << "expects a kind of reduction but got '" << keyword << "'";
  if (parser.parseOperand(value) || parser.parseKeyword("over") ||
      parseDims(parser, dims) ||
      parser.parseOptionalAttrDict(result.attributes) ||
      parser.parseColonType(type) ||
      parser.resolveOperand(value, type, result.operands))
    return failure();
  properties.kind = ReduceKindAttr::get(parser.getContext(), *kind);
  properties.dims = dims;
  unsigned count =
      isWelford(*kind) || *kind == ReduceKind::MaxExpSum ? 2 : 1;
  result.addTypes(SmallVector<Type>(count, type));
  return success();
}

void ReduceOp::print(OpAsmPrinter &p) {
  p << ' ' << stringifyReduceKind(getKind()) << ' ' << getValue() << " over [";
  llvm::interleaveComma(getDims().getAsValueRange<StringAttr>(), p,
                        [&](StringRef name) { p << name; });
  p << ']';
  p.printOptionalAttrDict((*this)->getAttrs(), {"kind", "dims"});
  p << " : " << getValue().getType();
}

LogicalResult ReduceOp::inferReturnTypes(MLIRContext *, std::optional<Location>,
                                         ValueRange operands,
                                         DictionaryAttr attributes,
                                         OpaqueProperties properties,
                                         RegionRange regions,
                                         SmallVectorImpl<Type> &types) {
  Adaptor adaptor(operands, attributes, properties, regions);
  bool pair = isWelford(adaptor.getKind()) ||
              adaptor.getKind() == ReduceKind::MaxExpSum;
  types.assign(pair ? 2 : 1, adaptor.getValue().getType());
  return success();
}

LogicalResult ReduceOp::verify() {
  if (getDims().empty())
    return emitOpError("expects at least one dim but got none");
  Type type = getValue().getType();
  switch (getKind()) {
  case ReduceKind::Welford:
  case ReduceKind::WelfordExact:
  case ReduceKind::MaxExpSum:
    if (!type.isF32() && !type.isF64())
      return emitOpError() << "expects f32 or f64 for kind '"
                           << stringifyReduceKind(getKind()) << "' but got "
                           << type;
    break;
  case ReduceKind::MaxNum:
  case ReduceKind::MinNum:
    if (!isa<FloatType>(type))
      return emitOpError() << "expects a float for kind '"
                           << stringifyReduceKind(getKind()) << "' but got "
                           << type;
    break;
  default:
    break;
  }
  // State is kept in the operand's type; narrow floats would lose the sum.
  if (auto floating = dyn_cast<FloatType>(type);
      floating && floating.getWidth() < 32)
    return emitOpError() << "expects f32, f64 or an integer but got " << type;
  return success();
}

ParseResult AccumulateOp::parse(OpAsmParser &parser, OperationState &result) {
  auto &properties = result.getOrAddProperties<Properties>();
  OpAsmParser::UnresolvedOperand value;
  StringRef worker;
  int64_t strands = 1;
  Type type;
  ArrayAttr dims;
  if (parser.parseOperand(value) || parser.parseKeyword("over") ||
      parseDims(parser, dims) || parser.parseKeyword("by") ||
      parser.parseKeyword(&worker))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("strands")) &&
      parser.parseInteger(strands))
    return failure();
  if (parser.parseOptionalAttrDict(result.attributes) ||
      parser.parseColonType(type) ||
      parser.resolveOperand(value, type, result.operands))
    return failure();
  Builder &builder = parser.getBuilder();
  properties.dims = dims;
  properties.worker = builder.getStringAttr(worker);
  properties.strands = builder.getI64IntegerAttr(strands);
  result.addTypes(type);
  return success();
}

void AccumulateOp::print(OpAsmPrinter &p) {
  p << ' ' << getValue() << " over [";
  llvm::interleaveComma(getDims().getAsValueRange<StringAttr>(), p,
                        [&](StringRef name) { p << name; });
  p << "] by " << getWorker();
  if (getStrands() != 1)
    p << " strands " << getStrands();
  p.printOptionalAttrDict((*this)->getAttrs(), {"dims", "worker", "strands"});
  p << " : " << getValue().getType();
}

LogicalResult AccumulateOp::verify() {
  if (getDims().empty())
    return emitOpError("expects at least one dim but got none");
  for (StringRef dim : getDims().getAsValueRange<StringAttr>())
    if (dim == getWorker())
      return emitOpError() << "expects another dim of workers than '" << dim
                           << "', which it sums over";
  if (!llvm::isPowerOf2_64(getStrands()))
    return emitOpError() << "expects a power of two of strands but got "
                         << getStrands();
  return success();
}

template <typename OpTy>
static ParseResult parseDimOp(OpAsmParser &parser, OperationState &result) {
  StringRef dim;
  Type type;
  if (parser.parseKeyword(&dim) ||
      parser.parseOptionalAttrDict(result.attributes) ||
      parser.parseColonType(type))
    return failure();
  result.getOrAddProperties<typename OpTy::Properties>().dim =
      parser.getBuilder().getStringAttr(dim);
  result.addTypes(type);
  return success();
}

template <typename OpTy>
static void printDimOp(OpAsmPrinter &p, OpTy op) {
  p << ' ' << op.getDim();
  p.printOptionalAttrDict(op->getAttrs(), {"dim"});
  p << " : " << op.getResult().getType();
}

ParseResult ExtentOp::parse(OpAsmParser &parser, OperationState &result) {
  return parseDimOp<ExtentOp>(parser, result);
}
void ExtentOp::print(OpAsmPrinter &p) { printDimOp(p, *this); }
ParseResult IndexOp::parse(OpAsmParser &parser, OperationState &result) {
  return parseDimOp<IndexOp>(parser, result);
}
void IndexOp::print(OpAsmPrinter &p) { printDimOp(p, *this); }

#define GET_OP_CLASSES
#include "norm/Dialect/Norm/IR/NormOps.cpp.inc"
