//===- Tile.cpp - Programs on buffers as tiled kernels ------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Analysis/Program.h"
#include "norm/Dialect/Norm/Transforms/Passes.h"
#include "norm/Dialect/NormTile/IR/NormTile.h"

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
// Operands: rows and columns collapsed to one dim each
//===----------------------------------------------------------------------===//

/// `value`, all of whose dims are columns, as one row.
static FailureOr<Value> expandToOneRow(OpBuilder &b, Location loc,
                                       Value value) {
  auto type = cast<MemRefType>(value.getType());
  SmallVector<ReassociationIndices> groups = {{0, 1}};
  int64_t columns = type.getDimSize(0);
  FailureOr<MemRefType> expanded =
      memref::ExpandShapeOp::computeExpandedType(type, {1, columns}, groups);
  if (failed(expanded))
    return emitError(loc) << "expects an operand that can be written as one "
                             "row but got "
                          << type;
  OpFoldResult extent = b.getIndexAttr(columns);
  if (ShapedType::isDynamic(columns))
    extent = memref::DimOp::create(b, loc, value, 0).getResult();
  return memref::ExpandShapeOp::create(
             b, loc, *expanded, value, groups,
             ArrayRef<OpFoldResult>{b.getIndexAttr(1), extent})
      .getResult();
}

/// `value` with its row dims and its column dims collapsed, as (row, column),
/// (row) or (column).
static FailureOr<Value> collapseOperand(OpBuilder &b, Location loc, Value value,
                                        Access access, unsigned numRowDims) {
  auto type = dyn_cast<MemRefType>(value.getType());
  if (!type)
    return value;
  int64_t rank = type.getRank();
  if (rank == 0) {
    auto one = MemRefType::get({1}, type.getElementType());
    return memref::ExpandShapeOp::create(b, loc, one, value,
                                         ArrayRef<ReassociationIndices>{})
        .getResult();
  }
  SmallVector<ReassociationIndices> groups;
  if (access == Access::Full && numRowDims != 0) {
    groups.push_back(llvm::to_vector(llvm::seq<int64_t>(0, numRowDims)));
    groups.push_back(llvm::to_vector(llvm::seq<int64_t>(numRowDims, rank)));
  } else {
    groups.push_back(llvm::to_vector(llvm::seq<int64_t>(0, rank)));
  }
  if (static_cast<int64_t>(groups.size()) != rank) {
    if (!memref::CollapseShapeOp::isGuaranteedCollapsible(type, groups))
      return emitError(loc) << "expects an operand whose dims can be collapsed "
                               "to rows and columns but got "
                            << type;
    value = memref::CollapseShapeOp::create(b, loc, value, groups);
    type = cast<MemRefType>(value.getType());
  }
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(type.getStridesAndOffset(strides, offset)) || strides.back() != 1)
    return emitError(loc) << "expects an operand with stride 1 along its last "
                             "dim but got "
                          << type;
  if (access == Access::Full && numRowDims == 0)
    return expandToOneRow(b, loc, value);
  return value;
}

//===----------------------------------------------------------------------===//
// Kernel bodies
//===----------------------------------------------------------------------===//

namespace {
/// Writes the phases of one program into the `work` region of its kernel.
class KernelBuilder {
public:
  KernelBuilder(const Program &program, tile::KernelOp kernel)
      : program(program), generic(program.op), kernel(kernel),
        rows(kernel.getContext()), chunks(kernel.getContext()),
        loc(program.op->getLoc()) {}

  LogicalResult build();

private:
  LogicalResult buildPhase(unsigned phase, tile::PhaseOp op);
  void buildPrefetch();
  void buildExchange(unsigned phase, tile::PhaseOp op);
  LogicalResult storeRows(unsigned phase);

  /// Value of the body on the current chunk or, where it doesn't vary on
  /// columns, on the row. Null after a diagnostic.
  Value get(Value value);
  Value getChunk(Value value);
  Value getRow(Value value);
  Value getArgumentChunk(BlockArgument arg);
  Value getArgumentRow(BlockArgument arg);
  Value getVector(Value value);
  Value emitOp(OpResult wanted, bool onChunk);
  Value emitExtent(ExtentOp op);
  Value emitIndex(IndexOp op, bool onChunk);

  VectorType vectorOf(Type element) {
    return VectorType::get({kernel.getChunkSize()}, element);
  }
  Value toType(OpBuilder &b, Value index, Type type);
  bool holds() {
    return program.numExchanges != 0 &&
           kernel.getSchedule().getResidency() != Residency::Stream;
  }

  const Program &program;
  GenericOp generic;
  tile::KernelOp kernel;
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
  bool isFull = cast<MemRefType>(source.getType()).getRank() == 2;
  return tile::LoadOp::create(chunks, loc, vectorOf(arg.getType()), source,
                              isFull ? row : Value(), column);
}

Value KernelBuilder::getArgumentRow(BlockArgument arg) {
  Value source = kernel.getBlock()->getArgument(arg.getArgNumber());
  if (!isa<MemRefType>(source.getType()))
    return source;
  return tile::LoadRowOp::create(rows, loc, arg.getType(), source, row);
}

Value KernelBuilder::getVector(Value value) {
  if (program.variesOnColumns(value))
    return getChunk(value);
  Value scalar = getRow(value);
  if (!scalar)
    return {};
  return vector::BroadcastOp::create(chunks, loc, vectorOf(scalar.getType()),
                                     scalar);
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
  bool isColumn = program.isColumnDim(dim);
  unsigned count =
      isColumn ? generic.getNumDims() - program.numRowDims : program.numRowDims;
  if (count != 1) {
    op.emitOpError() << "expects a static extent of dim '" << op.getDim()
                     << "', which is collapsed with others";
    return {};
  }
  Type index = rows.getIndexType();
  Value value = isColumn ? tile::ColumnsOp::create(rows, loc, index).getResult()
                         : tile::RowsOp::create(rows, loc, index).getResult();
  return toType(rows, value, op.getType());
}

Value KernelBuilder::emitIndex(IndexOp op, bool onChunk) {
  unsigned count =
      onChunk ? generic.getNumDims() - program.numRowDims : program.numRowDims;
  if (count != 1) {
    op.emitOpError() << "expects dim '" << op.getDim()
                     << "' not to be collapsed with others in a kernel";
    return {};
  }
  if (!onChunk)
    return toType(rows, row, op.getType());
  SmallVector<int64_t> steps =
      llvm::to_vector(llvm::seq<int64_t>(0, kernel.getChunkSize()));
  Value base = toType(chunks, column, op.getType());
  VectorType type = vectorOf(op.getType());
  SmallVector<Attribute> elements;
  for (int64_t step : steps)
    elements.push_back(chunks.getIntegerAttr(op.getType(), step));
  Value offsets = arith::ConstantOp::create(
      chunks, loc, DenseElementsAttr::get(type, elements));
  Value wide = vector::BroadcastOp::create(chunks, loc, type, base);
  return arith::AddIOp::create(chunks, loc, wide, offsets);
}

/// Emits the op that defines a value, on vectors where it is on a chunk.
Value KernelBuilder::emitOp(OpResult wanted, bool onChunk) {
  Operation *op = wanted.getOwner();
  if (auto extent = dyn_cast<ExtentOp>(op))
    return emitExtent(extent);
  if (auto index = dyn_cast<IndexOp>(op))
    return emitIndex(index, onChunk);
  assert(!isa<ReduceOp>(op) && "results of reductions are mapped by the wait");
  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    Value value = onChunk ? getVector(operand) : getRow(operand);
    if (!value)
      return {};
    operands.push_back(value);
  }
  SmallVector<Type> types;
  for (Type type : op->getResultTypes())
    types.push_back(onChunk ? Type(vectorOf(type)) : type);
  OperationState state(op->getLoc(), op->getName(), operands, types);
  state.addAttributes(llvm::to_vector(op->getDiscardableAttrs()));
  state.propertiesAttr = op->getPropertiesAsAttribute();
  OpBuilder &b = onChunk ? chunks : rows;
  Operation *created = b.create(state);
  IRMapping &map = onChunk ? chunkValues : rowValues;
  map.map(op->getResults(), created->getResults());
  return created->getResult(wanted.getResultNumber());
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
  for (auto [i, result] : llvm::enumerate(yield.getOperands())) {
    unsigned number = generic.getInputs().size() + i;
    if (program.accesses[number] != Access::Full &&
        program.accesses[number] != Access::Column)
      continue;
    if (program.ready.lookup(result) != phase)
      continue;
    Value value = getVector(result);
    if (!value)
      return failure();
    Value destination = kernel.getBlock()->getArgument(number);
    bool hasRow = cast<MemRefType>(destination.getType()).getRank() == 2;
    tile::StoreOp::create(chunks, loc, value, destination,
                          hasRow ? row : Value(), column);
  }
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
  auto wait = tile::ExchangeWaitOp::create(
      rows, loc, ValueRange(results).getTypes(), start.getToken());
  for (auto [from, to] : llvm::zip(results, wait.getResults()))
    rowValues.map(from, to);
}

/// Stores the per-row outputs that are ready.
LogicalResult KernelBuilder::storeRows(unsigned phase) {
  auto yield = cast<YieldOp>(generic.getBlock()->getTerminator());
  for (auto [i, result] : llvm::enumerate(yield.getOperands())) {
    unsigned number = generic.getInputs().size() + i;
    if (program.accesses[number] != Access::Row ||
        program.ready.lookup(result) != phase)
      continue;
    Value value = getRow(result);
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

/// Number of the first operand with rows (or with columns).
static int64_t findOperand(const Program &program, Access first,
                           Access second) {
  for (Access wanted : {first, second})
    for (auto [i, access] : llvm::enumerate(program.accesses))
      if (access == wanted)
        return i;
  return -1;
}

LogicalResult NormTile::tileOne(GenericOp op, SymbolTable &symbols) {
  if (op.hasTensorSemantics())
    return op.emitOpError("expects buffers; run bufferization before tiling");
  if (!op.getOrder() || !op.getSchedule())
    return op.emitOpError("expects an order and a schedule; run norm-schedule");
  FailureOr<Program> program = Program::analyze(op);
  if (failed(program))
    return failure();
  OpBuilder b(op);
  SmallVector<Value> operands;
  for (auto [operand, access] :
       llvm::zip(op->getOperands(), program->accesses)) {
    FailureOr<Value> value =
        collapseOperand(b, op.getLoc(), operand, access, program->numRowDims);
    if (failed(value))
      return failure();
    operands.push_back(*value);
  }
  int64_t rowsOf = findOperand(*program, Access::Full, Access::Row);
  int64_t columnsOf = findOperand(*program, Access::Full, Access::Column);
  if (rowsOf < 0 || columnsOf < 0)
    return op.emitOpError("expects an operand with rows and one with columns");

  auto function = op->getParentOfType<FunctionOpInterface>();
  StringRef name =
      function ? SymbolTable::getSymbolName(function).getValue() : "kernel";
  StringRef programName = op.getName().value_or("generic");
  OpBuilder moduleBuilder(getOperation().getBodyRegion());
  auto kernel = tile::KernelOp::create(
      moduleBuilder, op.getLoc(), (name + "_0").str(), programName,
      program->columns, rowsOf, columnsOf, *op.getOrder(), *op.getSchedule());
  Block &block = kernel.getBody().emplaceBlock();
  for (Value operand : operands)
    block.addArgument(operand.getType(), op.getLoc());
  StringAttr symbol = symbols.insert(kernel, getOperation().getBody()->begin());
  if (failed(KernelBuilder(*program, kernel).build()))
    return failure();
  tile::LaunchOp::create(
      b, op.getLoc(), FlatSymbolRefAttr::get(symbol), operands,
      kernel.getProgramAttr(), kernel.getColumnsAttr(), kernel.getRowsOfAttr(),
      kernel.getColumnsOfAttr(), b.getI64IntegerAttr(op.getOutputs().size()),
      kernel.getOrder(), kernel.getSchedule(), ArrayAttr());
  op.erase();
  return success();
}
