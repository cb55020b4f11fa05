//===- KernelLowering.cpp - What all targets share in lowering a kernel ------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Conversion/KernelLowering.h"
#include "norm/Conversion/PackedElements.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::norm;
using namespace mlir::norm_tile;

static int64_t staticStride(MemRefType type, int64_t axis) {
  if (axis < 0)
    return 0;
  int64_t stride = type.getStridesAndOffset().first[axis];
  return ShapedType::isDynamic(stride) ? -1 : stride;
}

KernelLowering::KernelLowering(OpBuilder &builder, KernelOp kernel)
    : b(builder), kernel(kernel), space(kernel.getSpace()),
      isAcross(kernel.getOrder().isAcross()), loc(kernel.getLoc()) {
  plan.columns = kernel.getColumns();
  plan.leaf = kernel.getOrder().getLeaf();
  plan.lanes = kernel.getOrder().getLanes();
  plan.schedule = toSchedule(kernel.getSchedule());
  for (unsigned dim = 0; dim < space.getNumDims(); ++dim) {
    bool isRow = dim < space.getNumRowDims();
    bool isInner =
        kernel.getOrder().getInner() > 1 && dim + 1 == space.getNumDims();
    if (isRow ? isAcross : !isAcross || isInner)
      chunkDims.push_back(dim);
    else
      (isRow ? rowDims : walkedDims).push_back(dim);
  }
  positions.resize(space.getNumDims());
  extents.resize(space.getNumDims());
  buffers.resize(kernel.getBlock()->getNumArguments());
}

KernelLowering::SliceValues KernelLowering::emitSlices(Value walked) {
  if (plan.columns >= 0) {
    int64_t count = plan.columns / kernel.getOrder().getInner();
    return {i64(::norm::countSlices(count)), i64(::norm::sliceSize(count))};
  }
  SliceValues result;
  result.count = i64(1);
  // The largest power of two of which each slice has enough columns.
  for (int64_t count = 2; count <= ::norm::maxSlices; count *= 2) {
    Value isEnough =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::uge, walked,
                              i64(count * ::norm::columnsPerSlice));
    result.count =
        arith::SelectOp::create(b, loc, isEnough, i64(count), result.count);
  }
  auto ceilDiv = [&](Value value, Value by) -> Value {
    Value less = arith::SubIOp::create(b, loc, by, i64(1));
    return arith::DivUIOp::create(
        b, loc, arith::AddIOp::create(b, loc, value, less), by);
  };
  Value step = i64(::norm::leafAcross);
  Value some = arith::MaxUIOp::create(b, loc, walked, i64(1));
  result.size = arith::MulIOp::create(
      b, loc, ceilDiv(ceilDiv(some, result.count), step), step);
  return result;
}

//===----------------------------------------------------------------------===//
// Where operands' elements are
//===----------------------------------------------------------------------===//

/// How many elements of the dims of chunks follow each other in memory before
/// the first gap, for an operand with these strides (-1: unknown, 0: doesn't
/// vary); -1 where that depends on the launch. `isAll`: there is no gap.
static int64_t contiguousRun(ArrayRef<int64_t> extents,
                             ArrayRef<int64_t> strides, bool &isAll) {
  int64_t run = 1;
  isAll = false;
  for (size_t i = extents.size(); i-- > 0;) {
    if (extents[i] == 1)
      continue;
    if (strides[i] != run)
      return run;
    if (extents[i] < 0) {
      // Whatever its extent, where no other dim follows.
      isAll = llvm::all_of(extents.take_front(i),
                           [](int64_t extent) { return extent == 1; });
      return -1;
    }
    run *= extents[i];
  }
  isAll = true;
  return run;
}

void KernelLowering::setReach(Buffer &buffer) {
  SmallVector<int64_t> sizes, strides;
  for (unsigned dim : chunkDims) {
    sizes.push_back(space.getExtent(dim));
    strides.push_back(buffer.staticStrides[dim]);
  }
  int64_t size = kernel.getChunkSize();
  bool isAll;
  buffer.run = contiguousRun(sizes, strides, isAll);
  if (isAll) {
    buffer.reach = Reach::Linear;
    return;
  }
  if (buffer.run > 1 && buffer.run % size == 0) {
    buffer.reach = Reach::Piecewise;
    return;
  }
  // The last dims on which it doesn't vary repeat an element that often.
  int64_t repeats = 1;
  while (!sizes.empty() && (strides.back() == 0 || sizes.back() == 1)) {
    int64_t extent = sizes.pop_back_val();
    strides.pop_back();
    repeats = repeats < 0 || extent < 0 ? -1 : repeats * extent;
  }
  bool isUniform = sizes.empty() || (repeats > 0 && repeats % size == 0);
  buffer.reach = isUniform ? Reach::Uniform : Reach::Gather;
}

LogicalResult KernelLowering::checkPacked() {
  for (auto [i, buffer] : llvm::enumerate(buffers)) {
    if (!buffer.element || !mlir::norm::isPacked(buffer.element))
      continue;
    auto fail = [&](StringRef what) {
      return kernel.emitOpError()
             << "expects " << what << " of operand #" << i
             << ", two f4E2M1FN of which share a byte, but got "
             << kernel.getBlock()->getArgument(i).getType();
    };
    auto type = cast<MemRefType>(kernel.getBlock()->getArgument(i).getType());
    auto [strides, offset] = type.getStridesAndOffset();
    if (type.getRank() == 0 || strides.back() != 1 ||
        (type.getDimSize(type.getRank() - 1) > 0 &&
         type.getDimSize(type.getRank() - 1) % 2 != 0))
      return fail("a contiguous last axis of even extent");
    for (int64_t stride : ArrayRef(strides).drop_back())
      if (ShapedType::isStatic(stride) && stride % 2 != 0)
        return fail("even strides");
    bool isWhole =
        buffer.reach == Reach::Linear || buffer.reach == Reach::Piecewise;
    // A single column is of no axis: its neighbours are other rows.
    int64_t columns = kernel.getColumns();
    bool isOdd = !isAcross && columns >= 0 && columns % 2 != 0;
    if (!isWhole || isOdd || kernel.getChunkSize() % 2 != 0)
      return fail("accesses to an even number of neighbours along the last "
                  "axis");
    for (Operation *user : kernel.getBlock()->getArgument(i).getUsers())
      if (auto store = dyn_cast<StoreOp>(user);
          (store && store.getGroup() > 1) || isa<StoreRowOp>(user) ||
          (!isAcross && isa<LoadRowOp>(user)))
        return fail("accesses to more than one element at a time");
  }
  return success();
}

void KernelLowering::readParams(
    llvm::function_ref<Value(unsigned, Type)> read) {
  TypeRange operands = kernel.getBlock()->getArgumentTypes();
  auto params = getKernelParams(operands, space, kernel.getOrder(),
                                kernel.getSchedule());
  Type i64Type = b.getI64Type();
  auto pointer = LLVM::LLVMPointerType::get(b.getContext());
  for (auto [i, type] : llvm::enumerate(operands)) {
    auto memref = dyn_cast<MemRefType>(type);
    if (!memref)
      continue;
    Buffer &buffer = buffers[i];
    buffer.element = memref.getElementType();
    for (unsigned dim = 0; dim < space.getNumDims(); ++dim) {
      int64_t axis = space.getAxis(i, dim);
      buffer.staticStrides.push_back(staticStride(memref, axis));
      buffer.strides.push_back(buffer.staticStrides.back() > 0
                                   ? i64(buffer.staticStrides.back())
                                   : Value());
    }
    setReach(buffer);
  }
  for (auto [number, param] : llvm::enumerate(params)) {
    BlockArgument operand = kernel.getBlock()->getArgument(param.operand);
    switch (param.kind) {
    case KernelParam::Pointer:
      buffers[param.operand].pointer = read(number, pointer);
      break;
    case KernelParam::Stride:
      for (unsigned dim = 0; dim < space.getNumDims(); ++dim)
        if (space.getAxis(param.operand, dim) ==
            static_cast<int64_t>(param.axis))
          buffers[param.operand].strides[dim] = read(number, i64Type);
      break;
    case KernelParam::Scalar: {
      bool isIndex = operand.getType().isIndex();
      Value value = read(number, isIndex ? i64Type : operand.getType());
      if (isIndex)
        value = arith::IndexCastOp::create(b, loc, operand.getType(), value);
      map.map(operand, value);
      break;
    }
    case KernelParam::Rows:
      rows = read(number, i64Type);
      break;
    case KernelParam::Columns:
      columns = read(number, i64Type);
      break;
    case KernelParam::Extent:
      extents[param.axis] = read(number, i64Type);
      break;
    case KernelParam::Split:
      split = read(number, i64Type);
      break;
    case KernelParam::Workspace:
      workspace = read(number, pointer);
      break;
    }
  }
  if (!columns)
    columns = i64(plan.columns);
}

Value KernelLowering::extentOf(unsigned dim) {
  if (extents[dim])
    return extents[dim];
  int64_t extent = space.getExtent(dim);
  if (extent >= 0)
    return i64(extent);
  return dim < space.getNumRowDims() ? rows : columns;
}

SmallVector<Value> KernelLowering::decompose(ArrayRef<unsigned> dims,
                                             Value linear) {
  SmallVector<Value> result(dims.size());
  bool isNarrow = linear.getType().isInteger(32);
  for (size_t i = dims.size(); i-- > 0;) {
    if (i == 0) {
      result[i] = linear;
      break;
    }
    Value extent = extentOf(dims[i]);
    if (isNarrow)
      extent = arith::TruncIOp::create(b, loc, b.getI32Type(), extent);
    // Of a dim without elements there is no position, but code may run that
    // would use one under a condition.
    if (space.getExtent(dims[i]) <= 0)
      extent = arith::MaxUIOp::create(
          b, loc, extent,
          arith::ConstantOp::create(b, loc,
                                    b.getIntegerAttr(extent.getType(), 1)));
    result[i] = arith::RemUIOp::create(b, loc, linear, extent);
    linear = arith::DivUIOp::create(b, loc, linear, extent);
  }
  if (isNarrow)
    for (Value &value : result)
      value = arith::ExtUIOp::create(b, loc, b.getI64Type(), value);
  return result;
}

void KernelLowering::setPositions(ArrayRef<unsigned> dims, Value linear) {
  for (auto [dim, position] : llvm::zip(dims, decompose(dims, linear)))
    positions[dim] = position;
}

Value KernelLowering::basePointer(const Buffer &buffer,
                                  ArrayRef<unsigned> dims) {
  Value offset;
  for (unsigned dim : dims) {
    if (!buffer.strides[dim])
      continue;
    Value step =
        arith::MulIOp::create(b, loc, positions[dim], buffer.strides[dim]);
    offset = offset ? arith::AddIOp::create(b, loc, offset, step).getResult()
                    : step;
  }
  return offset ? elementPointer(buffer.pointer, offset, buffer.element)
                : buffer.pointer;
}

Value KernelLowering::chunkElement(const Buffer &buffer, Value base,
                                   Value linear) {
  Value offset;
  if (buffer.reach == Reach::Linear) {
    offset = linear;
    if (offset.getType().isInteger(32))
      offset = arith::ExtUIOp::create(b, loc, b.getI64Type(), offset);
    return elementPointer(base, offset, buffer.element);
  }
  for (auto [dim, position] :
       llvm::zip(chunkDims, decompose(chunkDims, linear))) {
    if (!buffer.strides[dim])
      continue;
    Value step =
        arith::MulIOp::create(b, loc, position, buffer.strides[dim]);
    offset = offset ? arith::AddIOp::create(b, loc, offset, step).getResult()
                    : step;
  }
  return offset ? elementPointer(base, offset, buffer.element) : base;
}

Value KernelLowering::chunkIndex(unsigned dim, Value linear) {
  auto type = VectorType::get({kernel.getChunkSize()}, b.getIndexType());
  SmallVector<Value> elements;
  size_t at = llvm::find(chunkDims, dim) - chunkDims.begin();
  for (int64_t i = 0; i < kernel.getChunkSize(); ++i) {
    Value element = arith::AddIOp::create(b, loc, linear, i64(i));
    elements.push_back(arith::IndexCastOp::create(
        b, loc, b.getIndexType(), decompose(chunkDims, element)[at]));
  }
  return vector::FromElementsOp::create(b, loc, type, elements);
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Value KernelLowering::i64(int64_t value) {
  return arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(value));
}

Value KernelLowering::index(int64_t value) {
  return arith::ConstantIndexOp::create(b, loc, value);
}

Value KernelLowering::toI64(Value value) {
  if (value.getType().isInteger(64))
    return value;
  return arith::IndexCastOp::create(b, loc, b.getI64Type(), value);
}

Value KernelLowering::elementPointer(Value base, Value index, Type element) {
  if (mlir::norm::isPacked(element)) {
    Value one = arith::ConstantOp::create(
        b, loc, b.getIntegerAttr(index.getType(), 1));
    index = arith::ShRUIOp::create(b, loc, index, one);
    element = b.getI8Type();
  }
  return LLVM::GEPOp::create(b, loc, base.getType(), element, base,
                             ArrayRef<LLVM::GEPArg>{index});
}

Value KernelLowering::columnMask(Value first, Value bound, int64_t size) {
  Type element = first.getType();
  auto type = VectorType::get({size}, element);
  SmallVector<Attribute> steps;
  for (int64_t i = 0; i < size; ++i)
    steps.push_back(b.getIntegerAttr(element, i));
  Value offsets = arith::ConstantOp::create(
      b, loc, DenseElementsAttr::get(type, steps));
  Value wide = arith::AddIOp::create(
      b, loc, vector::BroadcastOp::create(b, loc, type, first), offsets);
  return arith::CmpIOp::create(
      b, loc, arith::CmpIPredicate::slt, wide,
      vector::BroadcastOp::create(b, loc, type, bound));
}

ReduceEmitter KernelLowering::emitterOf(Value partial) {
  auto type = cast<PartialType>(partial.getType());
  return ReduceEmitter(b, loc, type.getKind(), type.getType());
}

KernelLowering::Buffer &KernelLowering::bufferOf(Value operand) {
  return buffers[cast<BlockArgument>(operand).getArgNumber()];
}

Value KernelLowering::emitLoadRow(LoadRowOp op) {
  Buffer &buffer = bufferOf(op.getSource());
  return LLVM::LoadOp::create(b, loc, buffer.element,
                              basePointer(buffer, rowDims));
}

/// The positions of a chunk's elements on a dim.
Value KernelLowering::emitIndex(norm_tile::IndexOp op, const Chunk &chunk) {
  unsigned dim = op.getDim();
  if (!isAcross && llvm::is_contained(chunkDims, dim))
    return chunkIndex(dim, toI64(chunk.column));
  if (isAcross && !llvm::is_contained(walkedDims, dim))
    return chunkIndex(dim, chunkStart());
  Value position = arith::IndexCastOp::create(
      b, loc, b.getIndexType(),
      isAcross ? positionOnWalk(dim, chunk) : positions[dim]);
  return vector::BroadcastOp::create(b, loc, op.getType(), position);
}

Value KernelLowering::positionOnWalk(unsigned dim, const Chunk &chunk) {
  size_t at = llvm::find(walkedDims, dim) - walkedDims.begin();
  return decompose(walkedDims, toI64(chunk.column))[at];
}

/// Reduces the part of a group in a thread's chunk, then over the threads that
/// hold the rest of it.
Value KernelLowering::emitGroupReduce(GroupReduceOp op, Value value) {
  auto type = cast<VectorType>(value.getType());
  int64_t size = type.getNumElements(), group = op.getGroup();
  ReduceEmitter emitter(b, loc, op.getKind(), type.getElementType());
  int64_t inChunk = std::min(size, group);
  ReduceState state = emitter.leaves(value, Value(), inChunk);
  if (group > size)
    state = acrossThreads(state, group / size, emitter);
  Value reduced = state.parts.front();
  if (!isa<VectorType>(reduced.getType()))
    return vector::BroadcastOp::create(b, loc, type, reduced);
  auto groups = llvm::map_to_vector(llvm::seq<int64_t>(0, size),
                                    [&](int64_t i) { return i / inChunk; });
  return vector::ShuffleOp::create(b, loc, reduced, reduced, groups);
}

//===----------------------------------------------------------------------===//
// Walk
//===----------------------------------------------------------------------===//

LogicalResult KernelLowering::lowerWork(Value currentRow) {
  row = currentRow;
  if (!isAcross)
    setPositions(rowDims, toI64(row));
  rowAnchor = &*std::prev(b.getInsertionPoint());
  auto works = kernel.getBlock()->getOps<WorkOp>();
  if (!llvm::hasSingleElement(works))
    return kernel.emitOpError("expects one 'norm_tile.work'");
  WorkOp work = *works.begin();
  map.map(work.getBlock()->getArgument(0), row);
  for (Operation &op : *work.getBlock()) {
    loc = op.getLoc();
    if (auto phase = dyn_cast<PhaseOp>(op)) {
      if (failed(lowerPhase(phase)))
        return failure();
    } else if (auto load = dyn_cast<LoadRowOp>(op)) {
      map.map(load.getResult(), emitLoadRow(load));
    } else if (auto store = dyn_cast<StoreRowOp>(op)) {
      emitStoreRow(map.lookup(store.getValue()),
                   bufferOf(store.getDestination()));
    } else if (auto start = dyn_cast<ExchangeStartOp>(op)) {
      startExchange(start);
    } else if (auto wait = dyn_cast<ExchangeWaitOp>(op)) {
      auto start = wait.getToken().getDefiningOp<ExchangeStartOp>();
      SmallVector<Value> results;
      for (auto [partial, state] :
           llvm::zip(start.getPartials(), finishExchange(start)))
        llvm::append_range(results, emitterOf(partial).project(state));
      for (auto [result, value] : llvm::zip(wait.getResults(), results))
        if (value.getType() != result.getType())
          value = vector::BroadcastOp::create(b, loc, result.getType(), value);
      map.map(wait.getResults(), results);
    } else if (isa<ColumnsOp, RowsOp>(op)) {
      Value value = isa<RowsOp>(op) ? rows : columns;
      map.map(op.getResult(0),
              arith::IndexCastOp::create(b, loc, b.getIndexType(), value));
    } else if (auto extent = dyn_cast<norm_tile::ExtentOp>(op)) {
      map.map(extent.getResult(),
              arith::IndexCastOp::create(b, loc, b.getIndexType(),
                                         extentOf(extent.getDim())));
    } else if (auto index = dyn_cast<norm_tile::IndexOp>(op)) {
      unsigned dim = index.getDim();
      map.map(index.getResult(),
              isAcross ? chunkIndex(dim, chunkStart())
                       : arith::IndexCastOp::create(b, loc, b.getIndexType(),
                                                    positions[dim])
                             .getResult());
    } else if (isa<NormTileDialect>(op.getDialect())) {
      return op.emitOpError("has no lowering at the level of rows");
    } else {
      b.clone(op, map);
    }
  }
  return success();
}

Value KernelLowering::computeAgain(Value value, const Chunk &chunk,
                                   IRMapping &again) {
  if (Value known = again.lookupOrNull(value))
    return known;
  Operation *op = value.getDefiningOp();
  // What isn't computed in a phase is the row's.
  auto phase = op ? dyn_cast<PhaseOp>(op->getParentOp()) : PhaseOp();
  if (!phase)
    return map.lookup(value);
  if (auto load = dyn_cast<LoadOp>(op)) {
    again.map(value, emitLoad(load, chunk));
  } else if (auto held = dyn_cast<HeldOp>(op)) {
    again.map(value, computeAgain(held, chunk, again));
  } else if (auto index = dyn_cast<norm_tile::IndexOp>(op)) {
    again.map(value, emitIndex(index, chunk));
  } else if (auto reduce = dyn_cast<GroupReduceOp>(op)) {
    Value operand = computeAgain(reduce.getValue(), chunk, again);
    again.map(value, emitGroupReduce(reduce, operand));
  } else {
    for (Value operand : op->getOperands())
      again.map(operand, computeAgain(operand, chunk, again));
    b.clone(*op, again);
  }
  return again.lookup(value);
}

Value KernelLowering::computeAgain(HeldOp op, const Chunk &chunk,
                                   IRMapping &again) {
  Value result;
  kernel.walk([&](HoldOp hold) {
    if (hold.getSlot() == op.getSlot())
      result = computeAgain(hold.getValue(), chunk, again);
  });
  return result;
}

FailureOr<SmallVector<Value>>
KernelLowering::lowerChunk(PhaseOp phase, const Chunk &chunk) {
  map.map(phase.getBlock()->getArgument(0), chunk.column);
  for (Operation &op : phase.getBlock()->without_terminator()) {
    loc = op.getLoc();
    if (auto load = dyn_cast<LoadOp>(op))
      map.map(load.getResult(), emitLoad(load, chunk));
    else if (auto store = dyn_cast<StoreOp>(op))
      emitStore(store, map.lookup(store.getValue()), chunk);
    else if (auto sum = dyn_cast<SumRowsOp>(op))
      emitSumRows(sum, map.lookup(sum.getValue()), chunk);
    else if (auto hold = dyn_cast<HoldOp>(op))
      emitHold(hold, map.lookup(hold.getValue()), chunk);
    else if (auto held = dyn_cast<HeldOp>(op))
      map.map(held.getResult(), emitHeld(held, chunk));
    else if (auto index = dyn_cast<norm_tile::IndexOp>(op))
      map.map(index.getResult(), emitIndex(index, chunk));
    else if (auto reduce = dyn_cast<GroupReduceOp>(op))
      map.map(reduce.getResult(),
              emitGroupReduce(reduce, map.lookup(reduce.getValue())));
    else if (isa<NormTileDialect>(op.getDialect()))
      return op.emitOpError("has no lowering in a phase");
    else
      b.clone(op, map);
  }
  SmallVector<Value> values;
  for (Value value : phase.getBlock()->getTerminator()->getOperands())
    values.push_back(map.lookup(value));
  return values;
}
