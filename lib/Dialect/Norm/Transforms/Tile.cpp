//===- Tile.cpp - Programs on buffers as tiled kernels ------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Analysis/Program.h"
#include "norm/Dialect/Norm/Transforms/Passes.h"
#include "norm/Dialect/NormTile/IR/NormTile.h"

#include "TileRandom.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Pass/PassManager.h"

namespace mlir::norm {
#define GEN_PASS_DEF_NORMTILEPASS
#include "norm/Dialect/Norm/Transforms/Passes.h.inc"
} // namespace mlir::norm

using namespace mlir;
using namespace mlir::norm;
namespace tile = mlir::norm_tile;

//===----------------------------------------------------------------------===//
// Space: dims that lie in memory like one are one
//===----------------------------------------------------------------------===//

/// The axis of an operand that walks a dim, -1 for none.
static int64_t axisOf(AffineMap map, unsigned dim) {
  for (auto [axis, expr] : llvm::enumerate(map.getResults()))
    if (expr == getAffineDimExpr(dim, map.getContext()))
      return axis;
  return -1;
}

/// Whether steps along `first` and the following `second` are in one operand
/// like those along a single dim.
static bool liesLikeOne(OpOperand &operand, AffineMap map, unsigned first,
                        unsigned second) {
  auto type = dyn_cast<MemRefType>(operand.get().getType());
  if (!type)
    return true;
  int64_t outer = axisOf(map, first), inner = axisOf(map, second);
  if (outer < 0 && inner < 0)
    return true;
  if (outer < 0 || inner < outer)
    return false;
  for (int64_t between = outer + 1; between < inner; ++between)
    if (type.getDimSize(between) != 1)
      return false;
  if (type.getLayout().isIdentity())
    return true;
  auto [strides, offset] = type.getStridesAndOffset();
  return ShapedType::isStatic(strides[outer]) &&
         ShapedType::isStatic(strides[inner]) && !type.isDynamicDim(inner) &&
         strides[outer] == strides[inner] * type.getDimSize(inner);
}

namespace {
/// The dims of a program as those of its kernel.
struct Space {
  /// The dims of the program that each dim of the kernel stands for.
  SmallVector<SmallVector<unsigned>> rows, columns;

  tile::SpaceAttr toAttribute(const Program &program) const;
  /// Number of the kernel's dim that stands for `dim` alone.
  std::optional<unsigned> find(unsigned dim) const {
    for (auto [number, group] : llvm::enumerate(
             llvm::concat<const SmallVector<unsigned>>(rows, columns)))
      if (group.size() == 1 && group.front() == dim)
        return number;
    return std::nullopt;
  }
  /// Number of the kernel's dim that stands for `dim` and those after it.
  std::optional<unsigned> findFrom(unsigned dim) const {
    for (auto [number, group] : llvm::enumerate(
             llvm::concat<const SmallVector<unsigned>>(rows, columns)))
      if (group.front() == dim)
        return number;
    return std::nullopt;
  }
  ArrayRef<unsigned> getGroup(unsigned number) const {
    return number < rows.size() ? rows[number] : columns[number - rows.size()];
  }
};
} // namespace

/// Those of a `norm.random`'s dims on which its position differs.
static SmallVector<unsigned> findRandomDims(GenericOp op,
                                            ArrayRef<Attribute> names) {
  SmallVector<unsigned> dims;
  for (Attribute name : names) {
    unsigned dim = *op.getDimNumber(cast<StringAttr>(name));
    if (op.getExtents()[dim] != 1)
      dims.push_back(dim);
  }
  return dims;
}

/// Whether the position that each `norm.random` takes is the same where two
/// dims are one.
static bool isRandomOfBoth(GenericOp op, unsigned first, unsigned second) {
  for (auto random : op.getBlock()->getOps<RandomOp>())
    for (ArrayRef<Attribute> names :
         {random.getOuterDims(), random.getInnerDims()}) {
      SmallVector<unsigned> dims = findRandomDims(op, names);
      auto at = llvm::find(dims, first), next = llvm::find(dims, second);
      bool isNone = at == dims.end() && next == dims.end();
      if (!isNone && (next == dims.end() || at + 1 != next))
        return false;
    }
  return true;
}

/// Dims whose position or unknown extent the body asks for.
static uint64_t findNamedDims(GenericOp op) {
  uint64_t mask = 0;
  for (Operation &inner : op.getBody().front()) {
    if (auto index = dyn_cast<IndexOp>(inner))
      mask |= uint64_t(1) << *op.getDimNumber(index.getDim());
    if (auto extent = dyn_cast<ExtentOp>(inner)) {
      unsigned dim = *op.getDimNumber(extent.getDim());
      if (ShapedType::isDynamic(op.getExtents()[dim]))
        mask |= uint64_t(1) << dim;
    }
  }
  return mask;
}

/// Puts dims that lie in memory like one into one group. With `keepsStatic`, a
/// static one stays apart from a dynamic one before it, where it is known to be
/// a multiple of a chunk.
static SmallVector<SmallVector<unsigned>> collapse(GenericOp op,
                                                   ArrayRef<unsigned> dims,
                                                   uint64_t separate,
                                                   bool keepsStatic = false) {
  SmallVector<int64_t> extents = op.getExtents();
  SmallVector<SmallVector<unsigned>> groups;
  for (unsigned dim : dims) {
    bool joins =
        !groups.empty() && !(separate >> dim & 1) &&
        !(separate >> groups.back().back() & 1) &&
        !(keepsStatic && ShapedType::isStatic(extents[dim]) &&
          ShapedType::isDynamic(extents[groups.back().back()])) &&
        isRandomOfBoth(op, groups.back().back(), dim) &&
        llvm::all_of(op->getOpOperands(), [&](OpOperand &operand) {
          return liesLikeOne(operand, op.getMatchingIndexingMap(&operand),
                             groups.back().back(), dim);
        });
    if (!joins)
      groups.emplace_back();
    groups.back().push_back(dim);
  }
  return groups;
}

static Space findSpace(const Program &program) {
  GenericOp op = program.op;
  uint64_t separate = findNamedDims(op);
  if (program.order.getInner() > 1)
    separate |= uint64_t(1) << program.columnDims.back();
  Space space;
  space.rows =
      collapse(op, program.rowDims, separate, program.order.isAcross());
  space.columns = collapse(op, program.columnDims, separate);
  return space;
}

tile::SpaceAttr Space::toAttribute(const Program &program) const {
  GenericOp op = program.op;
  SmallVector<int64_t> extents = op.getExtents();
  auto extentsOf = [&](ArrayRef<SmallVector<unsigned>> groups) {
    SmallVector<int64_t> result;
    for (ArrayRef<unsigned> group : groups) {
      int64_t extent = 1;
      for (unsigned dim : group)
        // None at all where one of them is 0, whatever the others are.
        extent = extent == 0 || extents[dim] == 0 ? 0
                 : extent < 0 || ShapedType::isDynamic(extents[dim])
                     ? -1
                     : extent * extents[dim];
      result.push_back(extent);
    }
    return result;
  };
  SmallVector<DenseI64ArrayAttr> axes;
  for (OpOperand &operand : op->getOpOperands()) {
    SmallVector<int64_t> list;
    if (isa<MemRefType>(operand.get().getType()))
      for (const auto &groups : {rows, columns})
        for (ArrayRef<unsigned> group : groups)
          // Nobody steps along a dim of one element, which may lie between
          // those that another dim stands for.
          list.push_back(
              group.size() == 1 && extents[group.front()] == 1
                  ? -1
                  : axisOf(op.getMatchingIndexingMap(&operand), group.back()));
    axes.push_back(DenseI64ArrayAttr::get(op.getContext(), list));
  }
  return tile::SpaceAttr::get(op.getContext(), extentsOf(rows),
                              extentsOf(columns), axes, program.workers,
                              program.strands);
}

//===----------------------------------------------------------------------===//
// Kernel bodies
//===----------------------------------------------------------------------===//

namespace {
/// Writes the phases of one program into the `work` region of its kernel.
class KernelBuilder {
public:
  KernelBuilder(const Program &program, const Space &space,
                tile::KernelOp kernel)
      : program(program), space(space), generic(program.op), kernel(kernel),
        isAcross(kernel.getOrder().isAcross()), rows(kernel.getContext()),
        chunks(kernel.getContext()), loc(program.op->getLoc()) {}

  LogicalResult build();

private:
  LogicalResult buildPhase(unsigned phase, tile::PhaseOp op);
  void buildPrefetch();
  void buildExchange(unsigned phase, tile::PhaseOp op);
  void storeChunk(unsigned number, Value value);
  LogicalResult storeRows(unsigned phase);

  /// Value of the body on the current chunk or, where it doesn't vary on
  /// columns, on the row. Null after a diagnostic.
  Value get(Value value);
  Value getChunk(Value value);
  Value getRow(Value value);
  Value getArgumentChunk(BlockArgument arg);
  Value getArgumentRow(BlockArgument arg);
  Value getVector(Value value);
  /// `value` as a vector on the current chunk; across memory also the values
  /// that don't vary on columns are vectors, of neighbours.
  Value broadcast(OpBuilder &b, Value scalar);
  Value emitOp(OpResult wanted, bool onChunk);
  Value emitExtent(ExtentOp op);
  Value emitIndex(IndexOp op, bool onChunk);
  Value emitRandom(RandomOp op);
  RandomPlace findPlace(ArrayRef<Attribute> names);
  bool isInBlocks(const TiledRandom &random, ArrayRef<Attribute> lastNames);
  Value emitExtentOf(unsigned number);

  VectorType vectorOf(Type element) {
    return VectorType::get({kernel.getChunkSize()}, element);
  }
  Value toType(OpBuilder &b, Value index, Type type);
  bool holds() {
    return program.numExchanges != 0 &&
           kernel.getSchedule().getResidency() != Residency::Stream;
  }

  const Program &program;
  const Space &space;
  GenericOp generic;
  tile::KernelOp kernel;
  bool isAcross;
  /// Builders of row-level code, before the current phase, and of its region.
  OpBuilder rows, chunks;
  Location loc;
  Value row, column;
  IRMapping rowValues, chunkValues;
  /// Slots of values kept by earlier phases.
  llvm::DenseMap<Value, int64_t> slots;
};
} // namespace

Value KernelBuilder::get(Value value) {
  return program.variesOnColumns(value) ? getChunk(value) : getRow(value);
}

Value KernelBuilder::getChunk(Value value) {
  if (Value known = chunkValues.lookupOrNull(value))
    return known;
  Value result;
  auto slot = slots.find(value);
  if (slot != slots.end())
    result = tile::HeldOp::create(chunks, loc, vectorOf(value.getType()),
                                  slot->second);
  else if (auto arg = dyn_cast<BlockArgument>(value))
    result = getArgumentChunk(arg);
  else
    result = emitOp(cast<OpResult>(value), /*onChunk=*/true);
  if (result)
    chunkValues.map(value, result);
  return result;
}

Value KernelBuilder::getRow(Value value) {
  if (Value known = rowValues.lookupOrNull(value))
    return known;
  Value result;
  if (auto arg = dyn_cast<BlockArgument>(value))
    result = getArgumentRow(arg);
  else
    result = emitOp(cast<OpResult>(value), /*onChunk=*/false);
  if (result)
    rowValues.map(value, result);
  return result;
}

Value KernelBuilder::getArgumentChunk(BlockArgument arg) {
  Value source = kernel.getBlock()->getArgument(arg.getArgNumber());
  bool isFull = kernel.getSpace().hasRows(arg.getArgNumber());
  return tile::LoadOp::create(chunks, loc, vectorOf(arg.getType()), source,
                              isFull ? row : Value(), column);
}

Value KernelBuilder::getArgumentRow(BlockArgument arg) {
  Value source = kernel.getBlock()->getArgument(arg.getArgNumber());
  if (!isa<MemRefType>(source.getType()))
    return source;
  Type type = isAcross ? Type(vectorOf(arg.getType())) : arg.getType();
  return tile::LoadRowOp::create(rows, loc, type, source, row);
}

Value KernelBuilder::broadcast(OpBuilder &b, Value value) {
  if (!value || isa<VectorType>(value.getType()))
    return value;
  return vector::BroadcastOp::create(b, loc, vectorOf(value.getType()), value);
}

Value KernelBuilder::getVector(Value value) {
  if (program.variesOnColumns(value))
    return getChunk(value);
  return broadcast(chunks, getRow(value));
}

Value KernelBuilder::toType(OpBuilder &b, Value index, Type type) {
  if (type.isIndex())
    return index;
  if (isa<IntegerType>(type))
    return arith::IndexCastOp::create(b, loc, type, index);
  Value integer = arith::IndexCastOp::create(b, loc, b.getI64Type(), index);
  return arith::SIToFPOp::create(b, loc, type, integer);
}

Value KernelBuilder::emitExtent(ExtentOp op) {
  unsigned dim = *generic.getDimNumber(op.getDim());
  int64_t extent = generic.getExtents()[dim];
  if (ShapedType::isStatic(extent))
    return toType(rows, arith::ConstantIndexOp::create(rows, loc, extent),
                  op.getType());
  return toType(rows, emitExtentOf(*space.find(dim)), op.getType());
}

/// The extent of a dim of the kernel.
Value KernelBuilder::emitExtentOf(unsigned number) {
  int64_t extent = kernel.getSpace().getExtent(number);
  if (extent >= 0)
    return arith::ConstantIndexOp::create(rows, loc, extent);
  bool isColumn = number >= space.rows.size();
  Type index = rows.getIndexType();
  if ((isColumn ? space.columns : space.rows).size() > 1 || isAcross)
    return tile::ExtentOp::create(rows, loc, index, number);
  if (isColumn)
    return tile::ColumnsOp::create(rows, loc, index);
  return tile::RowsOp::create(rows, loc, index);
}

/// Where the row or chunk is on dims that a `norm.random` names.
RandomPlace KernelBuilder::findPlace(ArrayRef<Attribute> names) {
  RandomPlace place;
  SmallVector<unsigned> dims = findRandomDims(generic, names);
  for (size_t i = 0; i < dims.size();) {
    unsigned number = *space.findFrom(dims[i]);
    bool isWalked = program.isWalkedDim(dims[i]);
    i += space.getGroup(number).size();
    OpBuilder &b = isWalked ? chunks : rows;
    if (!isWalked && !isAcross && space.rows.size() == 1) {
      place.positions.push_back(row);
    } else {
      Type type = b.getIndexType();
      if (isWalked || isAcross)
        type = vectorOf(type);
      place.positions.push_back(tile::IndexOp::create(b, loc, type, number));
    }
    place.extents.push_back(emitExtentOf(number));
  }
  return place;
}

/// Whether each four elements of a chunk share one evaluation: the last of the
/// dims is the one along which chunks are, in whole blocks.
bool KernelBuilder::isInBlocks(const TiledRandom &random,
                               ArrayRef<Attribute> lastNames) {
  SmallVector<unsigned> dims = findRandomDims(generic, lastNames);
  if (dims.empty() || random.chunkSize % 4 != 0 ||
      isa<VectorType>(random.seed.getType()) ||
      isa<VectorType>(random.offset.getType()))
    return false;
  // A chunk is along all dims of one kind, and across memory along the inner
  // columns as well.
  bool hasInner = kernel.getOrder().getInner() > 1;
  bool isAlongRows = isAcross && !hasInner;
  unsigned first = isAcross ? 0 : space.rows.size();
  unsigned last = (isAlongRows ? space.rows.size()
                               : space.rows.size() + space.columns.size()) -
                  1;
  bool isLast = llvm::is_contained(space.getGroup(last), dims.back());
  bool isOnly = first == last && random.inner.positions.size() == 1;
  return isLast && (isOnly || kernel.getSpace().getExtent(last) % 4 == 0);
}

Value KernelBuilder::emitRandom(RandomOp op) {
  TiledRandom random;
  random.seed = get(op.getSeed());
  random.offset = get(op.getOffset());
  if (!random.seed || !random.offset)
    return {};
  random.outer = findPlace(op.getOuterDims());
  random.inner = findPlace(op.getInnerDims());
  random.chunkSize = kernel.getChunkSize();
  random.isInBlocks = isInBlocks(random, op.getInnerDims());
  // What a row's chunks have in common is computed once.
  auto builderFor = [&](ArrayRef<Value> operands) -> OpBuilder & {
    bool isOnChunk = llvm::any_of(operands, [&](Value operand) {
      return operand.getParentBlock() == chunks.getInsertionBlock();
    });
    return isOnChunk ? chunks : rows;
  };
  return mlir::norm::emitRandom(builderFor, loc, random);
}

Value KernelBuilder::emitIndex(IndexOp op, bool onChunk) {
  unsigned dim = *generic.getDimNumber(op.getDim());
  OpBuilder &b = onChunk ? chunks : rows;
  std::optional<unsigned> number = space.find(dim);
  // A dim of one element among others has no place in the kernel.
  if (!number)
    return broadcast(
        b, toType(b, arith::ConstantIndexOp::create(b, loc, 0), op.getType()));
  if (!onChunk && !isAcross && space.rows.size() == 1)
    return toType(rows, row, op.getType());
  bool isVector = onChunk || isAcross;
  Type type = isVector ? Type(vectorOf(b.getIndexType())) : b.getIndexType();
  Value value = tile::IndexOp::create(b, loc, type, *number);
  if (op.getType().isIndex())
    return value;
  auto like = [&](Type element) {
    return isVector ? Type(vectorOf(element)) : element;
  };
  if (isa<IntegerType>(op.getType()))
    return arith::IndexCastOp::create(b, loc, like(op.getType()), value);
  Value integer =
      arith::IndexCastOp::create(b, loc, like(b.getI64Type()), value);
  return arith::SIToFPOp::create(b, loc, like(op.getType()), integer);
}

/// Emits the op that defines a value, on vectors where it is on a chunk.
Value KernelBuilder::emitOp(OpResult wanted, bool onChunk) {
  Operation *op = wanted.getOwner();
  if (auto extent = dyn_cast<ExtentOp>(op))
    return emitExtent(extent);
  if (auto index = dyn_cast<IndexOp>(op))
    return emitIndex(index, onChunk);
  if (auto random = dyn_cast<RandomOp>(op)) {
    Value number = emitRandom(random);
    return onChunk ? broadcast(chunks, number) : number;
  }
  if (auto reduce = dyn_cast<ReduceOp>(op)) {
    int64_t group = program.groupOf(reduce);
    assert(group && "results of reductions over rows are mapped by the wait");
    Value value = getVector(reduce.getValue());
    return value ? tile::GroupReduceOp::create(chunks, loc, reduce.getKind(),
                                               value, group)
                 : Value();
  }
  bool onVectors = onChunk;
  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    Value value = onChunk ? getVector(operand) : getRow(operand);
    if (!value)
      return {};
    operands.push_back(value);
    onVectors |= isa<VectorType>(value.getType());
  }
  if (onVectors)
    for (Value &operand : operands)
      operand = broadcast(onChunk ? chunks : rows, operand);
  SmallVector<Type> types;
  for (Type type : op->getResultTypes())
    types.push_back(onVectors ? Type(vectorOf(type)) : type);
  OperationState state(op->getLoc(), op->getName(), operands, types);
  state.addAttributes(llvm::to_vector(op->getDiscardableAttrs()));
  state.propertiesAttr = op->getPropertiesAsAttribute();
  OpBuilder &b = onChunk ? chunks : rows;
  Operation *created = b.create(state);
  IRMapping &map = onChunk ? chunkValues : rowValues;
  map.map(op->getResults(), created->getResults());
  return created->getResult(wanted.getResultNumber());
}

/// Stores the current chunk of the output that is operand `number`.
void KernelBuilder::storeChunk(unsigned number, Value value) {
  Value destination = kernel.getBlock()->getArgument(number);
  bool hasRow = kernel.getSpace().hasRows(number);
  int64_t group = isAcross ? 1 : program.groupOfOperand(number);
  tile::StoreOp::create(chunks, loc, value, destination, hasRow ? row : Value(),
                        column, group);
}

LogicalResult KernelBuilder::buildPhase(unsigned phase, tile::PhaseOp op) {
  rows.setInsertionPoint(op);
  Block *block = op.getBlock();
  chunks.setInsertionPointToEnd(block);
  column = block->getArgument(0);
  chunkValues.clear();

  SmallVector<Value> reduced;
  for (ReduceOp reduce : program.reductionsOf(phase)) {
    Value value = getVector(reduce.getValue());
    if (!value)
      return failure();
    reduced.push_back(value);
  }
  auto yield = cast<YieldOp>(generic.getBlock()->getTerminator());
  // Nothing is loaded once what replaces it is stored.
  SmallVector<std::pair<unsigned, Value>> replacements;
  for (auto [i, result] : llvm::enumerate(yield.getOperands())) {
    unsigned number = generic.getInputs().size() + i;
    if (program.accesses[number] == Access::Row ||
        program.storePhase(i) != phase)
      continue;
    auto sum = result.getDefiningOp<AccumulateOp>();
    Value value = getVector(sum ? sum.getValue() : result);
    if (!value)
      return failure();
    if (sum)
      tile::SumRowsOp::create(chunks, loc, value,
                                 kernel.getBlock()->getArgument(number),
                                 column);
    else if (generic.getBlock()->getArgument(number).use_empty())
      storeChunk(number, value);
    else
      replacements.emplace_back(number, value);
  }
  for (auto [number, value] : replacements)
    storeChunk(number, value);
  if (holds()) {
    llvm::SetVector<Value> kept = program.valuesToHold(phase);
    int64_t firstSlot = slots.size();
    for (auto [i, value] : llvm::enumerate(kept)) {
      Value chunk = getChunk(value);
      if (!chunk)
        return failure();
      tile::HoldOp::create(chunks, loc, chunk, firstSlot + i);
    }
    for (auto [i, value] : llvm::enumerate(kept))
      slots[value] = firstSlot + i;
  }
  tile::YieldOp::create(chunks, loc, reduced);
  return success();
}

/// Loads the column operands of later phases while the exchange is in flight.
void KernelBuilder::buildPrefetch() {
  SmallVector<BlockArgument> operands = program.columnOperandsToPrefetch();
  if (!holds() || !kernel.getSchedule().getPrefetch() || operands.empty() ||
      kernel.getSchedule().getResidency() != Residency::Registers)
    return;
  auto op =
      tile::PhaseOp::create(rows, loc, TypeRange(), rows.getArrayAttr({}));
  Block &block = op.getBody().emplaceBlock();
  column = block.addArgument(rows.getIndexType(), loc);
  chunks.setInsertionPointToEnd(&block);
  for (BlockArgument arg : operands) {
    int64_t slot = slots.size();
    Value value = getArgumentChunk(arg);
    tile::HoldOp::create(chunks, loc, value, slot);
    slots[arg] = slot;
  }
  tile::YieldOp::create(chunks, loc, ValueRange());
}

void KernelBuilder::buildExchange(unsigned phase, tile::PhaseOp op) {
  rows.setInsertionPointAfter(op);
  auto start = tile::ExchangeStartOp::create(
      rows, loc, tile::TokenType::get(rows.getContext()), op.getResults());
  if (phase == 0)
    buildPrefetch();
  SmallVector<Value> results;
  for (ReduceOp reduce : program.reductionsOf(phase))
    llvm::append_range(results, reduce.getResults());
  SmallVector<Type> types;
  for (Value result : results)
    types.push_back(isAcross ? Type(vectorOf(result.getType()))
                             : result.getType());
  auto wait = tile::ExchangeWaitOp::create(rows, loc, types, start.getToken());
  for (auto [from, to] : llvm::zip(results, wait.getResults()))
    rowValues.map(from, to);
}

/// Stores the per-row outputs that are ready.
LogicalResult KernelBuilder::storeRows(unsigned phase) {
  auto yield = cast<YieldOp>(generic.getBlock()->getTerminator());
  for (auto [i, result] : llvm::enumerate(yield.getOperands())) {
    unsigned number = generic.getInputs().size() + i;
    if (program.accesses[number] != Access::Row ||
        program.storePhase(i) != phase)
      continue;
    Value value = getRow(result);
    if (isAcross)
      value = broadcast(rows, value);
    if (!value)
      return failure();
    tile::StoreRowOp::create(rows, loc, value,
                             kernel.getBlock()->getArgument(number), row);
  }
  return success();
}

LogicalResult KernelBuilder::build() {
  rows.setInsertionPointToEnd(kernel.getBlock());
  auto work = tile::WorkOp::create(rows, loc);
  Block &block = work.getBody().emplaceBlock();
  row = block.addArgument(rows.getIndexType(), loc);
  rows.setInsertionPointToEnd(&block);
  for (unsigned phase = 0; phase <= program.numExchanges; ++phase) {
    if (failed(storeRows(phase)))
      return failure();
    SmallVector<Attribute> kinds;
    SmallVector<Type> types;
    for (ReduceOp reduce : program.reductionsOf(phase)) {
      kinds.push_back(
          ReduceKindAttr::get(reduce.getContext(), reduce.getKind()));
      types.push_back(tile::PartialType::get(
          reduce.getContext(), reduce.getKind(), reduce.getValue().getType()));
    }
    auto op = tile::PhaseOp::create(rows, loc, types, rows.getArrayAttr(kinds));
    op.getBody().emplaceBlock().addArgument(rows.getIndexType(), loc);
    if (failed(buildPhase(phase, op)))
      return failure();
    if (phase != program.numExchanges) {
      buildExchange(phase, op);
      rows.setInsertionPointToEnd(&block);
    } else if (op.getBlock()->without_terminator().empty()) {
      op.erase();
    }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

namespace {
struct NormTile : public mlir::norm::impl::NormTilePassBase<NormTile> {
  /// How programs on tensors come to buffers.
  static OpPassManager bufferization() {
    OpPassManager passes(ModuleOp::getOperationName());
    passes.addPass(createNormResultsToDestinationsPass());
    passes.addPass(createNormBufferizePass());
    return passes;
  }

  void getDependentDialects(DialectRegistry &registry) const override {
    NormTilePassBase::getDependentDialects(registry);
    bufferization().getDependentDialects(registry);
  }

  void runOnOperation() override {
    bool onTensors = getOperation()
                         .walk([](GenericOp op) {
                           return op.hasTensorSemantics()
                                      ? WalkResult::interrupt()
                                      : WalkResult::advance();
                         })
                         .wasInterrupted();
    OpPassManager passes = bufferization();
    if (onTensors && failed(runPipeline(passes, getOperation())))
      return signalPassFailure();
    SymbolTable symbols(getOperation());
    SmallVector<GenericOp> generics;
    getOperation().walk([&](GenericOp op) { generics.push_back(op); });
    for (GenericOp op : generics)
      if (failed(tileOne(op, symbols)))
        return signalPassFailure();
  }

  LogicalResult tileOne(GenericOp op, SymbolTable &symbols);
};
} // namespace

LogicalResult NormTile::tileOne(GenericOp op, SymbolTable &symbols) {
  if (op.hasTensorSemantics())
    return op.emitOpError("expects buffers; run bufferization before tiling");
  if (!op.getOrder() || !op.getSchedule())
    return op.emitOpError("expects an order and a schedule; run norm-schedule");
  FailureOr<Program> program = Program::analyze(op);
  if (failed(program))
    return failure();
  OpBuilder b(op);
  Space space = findSpace(*program);
  tile::SpaceAttr spaceAttr = space.toAttribute(*program);
  for (unsigned dim = 0; dim < spaceAttr.getNumDims(); ++dim)
    if (spaceAttr.getExtent(dim) < 0 && spaceAttr.findOperand(dim) < 0)
      return op.emitOpError("expects an operand that tells every extent");

  auto function = op->getParentOfType<FunctionOpInterface>();
  StringRef name =
      function ? SymbolTable::getSymbolName(function).getValue() : "kernel";
  StringRef programName = op.getName().value_or("generic");
  OpBuilder moduleBuilder(getOperation().getBodyRegion());
  auto kernel = tile::KernelOp::create(
      moduleBuilder, op.getLoc(), (name + "_0").str(), programName, spaceAttr,
      *op.getOrder(), *op.getSchedule());
  Block &block = kernel.getBody().emplaceBlock();
  for (Value operand : op->getOperands())
    block.addArgument(operand.getType(), op.getLoc());
  StringAttr symbol = symbols.insert(kernel, getOperation().getBody()->begin());
  if (failed(KernelBuilder(*program, space, kernel).build()))
    return failure();
  SmallVector<int64_t> unread;
  for (unsigned input = 0; input < op.getInputs().size(); ++input)
    if (isa<MemRefType>(block.getArgument(input).getType()) &&
        block.getArgument(input).use_empty())
      unread.push_back(input);
  tile::LaunchOp::create(b, op.getLoc(), FlatSymbolRefAttr::get(symbol),
                         op->getOperands(), kernel.getProgramAttr(), spaceAttr,
                         b.getI64IntegerAttr(op.getOutputs().size()),
                         kernel.getOrder(), kernel.getSchedule(),
                         unread.empty() ? DenseI64ArrayAttr()
                                        : b.getDenseI64ArrayAttr(unread),
                         ArrayAttr());
  op.erase();
  return success();
}
