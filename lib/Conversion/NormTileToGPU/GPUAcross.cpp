//===- GPUAcross.cpp - Kernels across memory on a GPU ------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GPUAcross.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::norm;
using namespace mlir::norm_tile;

GPUAcross::GPUAcross(OpBuilder &builder, KernelOp kernel, ScheduleAttr schedule,
                     Alignment alignment, const llvm::SmallBitVector &overlapping)
    : GPULowering(builder, kernel, schedule, alignment, overlapping),
      kernelSchedule(kernel.getSchedule()),
      inner(kernel.getOrder().getInner()) {
  kernel.walk([&](ExchangeStartOp) { ++meetings; });
  if (plan.columns < 0)
    return;
  walked = plan.columns / inner;
  numSlices = ::norm::countSlices(walked);
}

//===----------------------------------------------------------------------===//
// Frame
//===----------------------------------------------------------------------===//

/// How the walked columns are cut, as `countSlices` and `sliceSize` say.
void GPUAcross::findSlices() {
  walkedCount = walked >= 0 ? i64(walked)
                            : arith::DivUIOp::create(b, loc, columns, i64(inner))
                                  .getResult();
  SliceValues values = emitSlices(walkedCount);
  slices = values.count;
  sliceLength = values.size;
}

Value GPUAcross::enter() {
  if (plan.schedule.split > 0)
    split = i64(plan.schedule.split);
  findSlices();
  Value number = toI64(cta);
  unit = arith::DivUIOp::create(b, loc, number, split);
  part = arith::RemUIOp::create(b, loc, number, split);
  if (usesWorkspace())
    findWorkspace();
  chunkInCta = arith::RemUIOp::create(b, loc, tid, index(chunksPerCta()));
  thread = arith::DivUIOp::create(b, loc, tid, index(chunksPerCta()));
  Value first =
      arith::MulIOp::create(b, loc, unit, i64(plan.schedule.rowsPerCta));
  Value wanted = arith::AddIOp::create(
      b, loc, first,
      arith::MulIOp::create(b, loc, toI64(chunkInCta), i64(vectorSize())));
  // Threads beyond the last position compute it again and store nothing: all
  // of them reach every barrier.
  isValid = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, wanted,
                                  rows);
  Value last = arith::SubIOp::create(b, loc, rows, i64(vectorSize()));
  position = arith::MinSIOp::create(b, loc, wanted, last);
  return arith::IndexCastOp::create(b, loc, b.getIndexType(), position);
}

/// [counters of each unit, rounded up to 256 bytes][records of each unit]
void GPUAcross::findWorkspace() {
  auto ceilDiv = [&](Value value, int64_t by) -> Value {
    return arith::DivUIOp::create(
        b, loc, arith::AddIOp::create(b, loc, value, i64(by - 1)), i64(by));
  };
  Value units = ceilDiv(rows, plan.schedule.rowsPerCta);
  Value total = arith::MulIOp::create(b, loc, units, i64(counterBytes()));
  Value padded =
      arith::MulIOp::create(b, loc, ceilDiv(total, 256), i64(256));
  counters = elementPointer(
      workspace,
      arith::MulIOp::create(b, loc, unit, i64(counterBytes())), b.getI8Type());
  unitBytes = arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(0));
  Value offset = arith::AddIOp::create(
      b, loc, padded, arith::MulIOp::create(b, loc, unit, unitBytes));
  records = elementPointer(workspace, offset, b.getI8Type());
}

void GPUAcross::leave() {
  if (unitBytes)
    unitBytes.setValueAttr(b.getI64IntegerAttr(recordBytes));
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

int64_t GPUAcross::elementsPerCta() const {
  constexpr int64_t kTypical = 4096;
  return plan.schedule.rowsPerCta * (walked >= 0 ? walked : kTypical) /
         std::max<int64_t>(plan.schedule.split, 1);
}

Value GPUAcross::emitLoad(LoadOp op, const Chunk &chunk) {
  Buffer &buffer = bufferOf(op.getSource());
  auto type = cast<VectorType>(op.getType());
  auto load = [&] {
    setPositions(walkedDims, arith::TruncIOp::create(b, loc, b.getI32Type(),
                                                     toI64(chunk.column)));
    Value base = basePointer(buffer, walkedDims);
    return loadNeighbours(buffer, base, position, type, Value());
  };
  // What threads without a position or leaf compute again is being written.
  bool isShared = mayBeWritten(op.getSource());
  Value condition = chunk.isClamped && !isShared ? Value() : chunk.valid;
  if (isShared)
    condition = condition ? arith::AndIOp::create(b, loc, condition, isValid)
                                .getResult()
                          : isValid;
  if (!condition)
    return load();
  return loadIf(condition, type, load);
}

void GPUAcross::emitStore(StoreOp op, Value value, const Chunk &chunk) {
  Buffer &buffer = bufferOf(op.getDestination());
  Value condition = isValid;
  if (chunk.valid)
    condition = arith::AndIOp::create(b, loc, condition, chunk.valid);
  auto guarded = scf::IfOp::create(b, loc, condition, /*withElse=*/false);
  OpBuilder::InsertionGuard guard(b);
  stores.push_back(guarded);
  b.setInsertionPointToStart(guarded.thenBlock());
  setPositions(walkedDims, arith::TruncIOp::create(b, loc, b.getI32Type(),
                                                   toI64(chunk.column)));
  storeNeighbours(value, buffer, basePointer(buffer, walkedDims), position,
                  /*every=*/1);
}

/// Where a thread keeps a chunk: chunks of all threads lie side by side, so that
/// a warp's accesses fall on different banks.
Value GPUAcross::slotAddress(int64_t slot, const Chunk &chunk,
                             VectorType type) {
  int64_t bytes = type.getNumElements() *
                  std::max<int64_t>(1, type.getElementTypeBitWidth() / 8);
  auto [found, isNew] = slotOffsets.try_emplace(slot, dynamicShared);
  if (isNew)
    dynamicShared += heldLeaves() * plan.leaf * blocks() * numSlices /
                     plan.schedule.split * block() * bytes;
  Value offset = arith::AddIOp::create(
      b, loc, arith::MulIOp::create(b, loc, toI64(tid), i64(bytes)),
      i64(found->second + chunk.number * block() * bytes));
  Value base = LLVM::AddressOfOp::create(
      b, loc, LLVM::LLVMPointerType::get(b.getContext(), 3), "norm_shared");
  return elementPointer(base, offset, b.getI8Type());
}

static unsigned slotAlignment(VectorType type) {
  int64_t bits = type.getNumElements() * type.getElementTypeBitWidth();
  return std::clamp<int64_t>(bits / 8, 1, 16);
}

void GPUAcross::emitHold(HoldOp op, Value value, const Chunk &chunk) {
  if (plan.schedule.residency == ::norm::Residency::Registers)
    GPULowering::emitHold(op, value, chunk);
  if (plan.schedule.residency != ::norm::Residency::Shared)
    return;
  auto type = cast<VectorType>(value.getType());
  LLVM::StoreOp::create(b, loc, value, slotAddress(op.getSlot(), chunk, type),
                        slotAlignment(type));
}

Value GPUAcross::emitHeld(HeldOp op, const Chunk &chunk) {
  if (plan.schedule.residency == ::norm::Residency::Registers)
    return GPULowering::emitHeld(op, chunk);
  auto type = cast<VectorType>(op.getType());
  if (plan.schedule.residency == ::norm::Residency::Shared)
    return LLVM::LoadOp::create(b, loc, type,
                                slotAddress(op.getSlot(), chunk, type),
                                slotAlignment(type));
  // A variant that streams what the kernel holds.
  IRMapping again;
  return computeAgain(op, chunk, again);
}

Value GPUAcross::emitLoadRow(LoadRowOp op) {
  return loadRow(op, [&] {
    Buffer &buffer = bufferOf(op.getSource());
    return loadNeighbours(buffer, buffer.pointer, position,
                          cast<VectorType>(op.getType()), Value());
  });
}

/// Whether this is the one of the threads and CTAs with a row that stores it.
Value GPUAcross::storesRow() {
  auto isZero = [&](Value number) -> Value {
    Value zero = arith::ConstantOp::create(
        b, loc, b.getIntegerAttr(number.getType(), 0));
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, number,
                                 zero);
  };
  Value condition = arith::AndIOp::create(b, loc, isValid, isZero(thread));
  return arith::AndIOp::create(b, loc, condition, isZero(part));
}

void GPUAcross::emitStoreRow(Value value, const Buffer &buffer) {
  auto guarded = scf::IfOp::create(b, loc, storesRow(), /*withElse=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(guarded.thenBlock());
  // A row's inner columns all have its value.
  bool isPerRow = inner > 1 && !buffer.strides[chunkDims.back()];
  storeNeighbours(value, buffer, buffer.pointer, position,
                  isPerRow ? inner : 1);
}

//===----------------------------------------------------------------------===//
// Walks over columns
//===----------------------------------------------------------------------===//

void GPUAcross::forEachSlice(llvm::function_ref<void(Value)> body) {
  if (isHeld()) {
    heldNumber = 0;
    for (int64_t i = 0; i < numSlices / plan.schedule.split; ++i)
      body(arith::AddIOp::create(b, loc, part, i64(i * plan.schedule.split)));
    return;
  }
  if (numSlices == 1) {
    body(i64(0));
    return;
  }
  auto loop = scf::ForOp::create(b, loc, part, slices, split);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  body(loop.getInductionVar());
}

Value GPUAcross::firstColumnOf(Value slice, int64_t block) {
  Value lane = arith::AddIOp::create(b, loc, toI64(thread),
                                     i64(block * threads()));
  return arith::AddIOp::create(
      b, loc, arith::MulIOp::create(b, loc, slice, sliceLength),
      arith::MulIOp::create(b, loc, lane, i64(plan.leaf)));
}

Chunk GPUAcross::columnChunk(Value first, int64_t offset, bool isChecked) {
  Chunk chunk;
  Value column = offset ? arith::AddIOp::create(b, loc, first, i64(offset))
                              .getResult()
                        : first;
  chunk.column = arith::IndexCastOp::create(b, loc, b.getIndexType(), column);
  if (isChecked)
    chunk.valid = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt,
                                        column, walkedCount);
  if (isHeld())
    chunk.number = heldNumber++;
  return chunk;
}

/// States of one element each, also of one position, as vectors.
GPUAcross::States GPUAcross::vectors(States states) {
  for (ReduceState &state : states)
    for (Value &value : state.parts)
      if (!isa<VectorType>(value.getType()))
        value = vector::BroadcastOp::create(b, loc, vectorOf(value.getType()),
                                            value);
  return states;
}

FailureOr<GPUAcross::States> GPUAcross::reduceLeaf(PhaseOp phase, Value first,
                                                   int64_t offset,
                                                   bool isChecked,
                                                   Value isLeaf) {
  SmallVector<States> elements;
  for (int64_t i = 0; i < plan.leaf; ++i) {
    Chunk chunk = columnChunk(first, offset + i, isChecked);
    // Without the leaf, its state is passed over, but nothing is stored.
    if (isLeaf) {
      chunk.valid = isLeaf;
      chunk.isClamped = true;
    }
    FailureOr<SmallVector<Value>> values = lowerChunk(phase, chunk);
    if (failed(values))
      return failure();
    Value mask;
    if (isChecked)
      mask = vector::BroadcastOp::create(b, loc, vectorOf(b.getI1Type()),
                                         chunk.valid);
    States lifted;
    for (auto [partial, value] : llvm::zip(phase.getPartials(), *values))
      lifted.push_back(emitterOf(partial).leaves(value, mask, /*leaf=*/1));
    elements.push_back(vectors(lifted));
  }
  for (int64_t half = plan.leaf / 2; half >= 1; half /= 2)
    for (int64_t i = 0; i < half; ++i)
      for (auto [j, partial] : llvm::enumerate(phase.getPartials()))
        elements[i][j] = emitterOf(partial).combine(
            elements[i][j], elements[i + half][j],
            isChecked ? leafCases(plan.leaf, 2 * half) : SmallVector<Counts>());
  return elements.front();
}

/// Where leaf `number` of a lane begins that has `count` of them; with one it
/// doesn't have, another column and `isLeaf`. All columns are whole leaves.
Value GPUAcross::heldLeaf(Value first, Value count, int64_t number,
                          Value &isLeaf) {
  Value at = arith::AddIOp::create(b, loc, first,
                                   i64(number * plan.leaf * plan.lanes));
  if (::norm::isWholeAcross(walked))
    return at;
  isLeaf = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt,
                                 i64(number), count);
  return arith::SelectOp::create(b, loc, isLeaf, at, i64(0));
}

/// A lane's state over its leaves in a slice, whose values are kept.
FailureOr<GPUAcross::States>
GPUAcross::reduceHeld(PhaseOp phase, Value slice, int64_t block) {
  Value first = firstColumnOf(slice, block);
  Value count = countLeaves(first, slice);
  States result;
  for (int64_t number = 0; number < heldLeaves(); ++number) {
    Value isLeaf;
    Value at = heldLeaf(first, count, number, isLeaf);
    FailureOr<States> leaf = reduceLeaf(phase, at, 0, false, isLeaf);
    if (failed(leaf))
      return failure();
    for (auto [i, partial] : llvm::enumerate(phase.getPartials())) {
      ReduceEmitter emitter = emitterOf(partial);
      ReduceState after = (*leaf)[i];
      ReduceState before;
      if (number == 0) {
        if (isLeaf)
          before = vectors({emitter.identity(vectorSize())}).front();
      } else {
        // A lane's leaves come first: it has all before this one, if this one.
        before = result[i];
        after = emitter.combine(before, after);
      }
      if (isLeaf)
        for (unsigned part = 0; part < emitter.numFloatParts(); ++part)
          after.parts[part] = arith::SelectOp::create(
              b, loc, isLeaf, after.parts[part], before.parts[part]);
      if (number == 0)
        result.push_back(after);
      else
        result[i] = after;
    }
  }
  if (::norm::isWholeAcross(walked))
    return result;
  for (auto [state, partial] : llvm::zip(result, phase.getPartials()))
    setCount(state, emitterOf(partial), count);
  return result;
}

/// Gives a state the number of elements of that many leaves.
void GPUAcross::setCount(ReduceState &state, ReduceEmitter emitter,
                         Value leaves) {
  state.count = -1;
  state.parts.truncate(emitter.numFloatParts());
  if (emitter.numParts() == emitter.numFloatParts())
    return;
  Value elements = arith::MulIOp::create(b, loc, leaves, i64(plan.leaf));
  Value narrow = arith::TruncIOp::create(b, loc, b.getI32Type(), elements);
  state.parts.push_back(vector::BroadcastOp::create(
      b, loc, vectorOf(b.getI32Type()), narrow));
}

/// Whole leaves of a lane that begins with column `first` of a slice.
Value GPUAcross::countLeaves(Value first, Value slice) {
  Value end = arith::MulIOp::create(
      b, loc, arith::AddIOp::create(b, loc, slice, i64(1)), sliceLength);
  end = arith::MinSIOp::create(b, loc, end, walkedCount);
  int64_t step = plan.leaf * plan.lanes;
  // Leaf i ends at first + i * step + leaf.
  Value room = arith::SubIOp::create(b, loc, end, first);
  room = arith::AddIOp::create(b, loc, room, i64(step - plan.leaf));
  room = arith::MaxSIOp::create(b, loc, room, i64(0));
  return arith::DivUIOp::create(b, loc, room, i64(step));
}

/// Moves stores to the end of a block, behind the loads of all its leaves:
/// nobody else can see that they don't meet.
void GPUAcross::moveStores(Block *block) {
  for (Operation *store : stores)
    if (store->getBlock() == block)
      store->moveBefore(block, block->end());
  stores.clear();
}

FailureOr<SmallVector<Value>> GPUAcross::forEachLeaf(
    Value first, Value count, ValueRange inits,
    llvm::function_ref<FailureOr<SmallVector<Value>>(Value, Value, Value,
                                                     ValueRange)>
        body) {
  int64_t step = plan.leaf * plan.lanes;
  auto loop =
      scf::ForOp::create(b, loc, i64(0), count, i64(unroll()), inits);
  OpBuilder::InsertionGuard guard(b);
  // Without values, the body has its terminator already.
  if (inits.empty())
    loop.getBody()->back().erase();
  b.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> values(loop.getRegionIterArgs());
  stores.clear();
  for (int64_t i = 0; i < unroll(); ++i) {
    Value number = loop.getInductionVar(), isLeaf;
    Value given = number;
    if (i > 0) {
      given = arith::AddIOp::create(b, loc, number, i64(i));
      isLeaf = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, given,
                                     count);
      given = arith::SelectOp::create(b, loc, isLeaf, given, number);
    }
    Value at = arith::AddIOp::create(
        b, loc, first, arith::MulIOp::create(b, loc, given, i64(step)));
    FailureOr<SmallVector<Value>> next = body(given, at, isLeaf, values);
    if (failed(next))
      return failure();
    values = *next;
  }
  moveStores(loop.getBody());
  b.setInsertionPointToEnd(loop.getBody());
  scf::YieldOp::create(b, loc, values);
  return SmallVector<Value>(loop.getResults());
}

FailureOr<GPUAcross::States>
GPUAcross::reduceStreamed(PhaseOp phase, Value slice, int64_t block) {
  Value first = firstColumnOf(slice, block);
  Value count = countLeaves(first, slice);
  int64_t step = plan.leaf * plan.lanes;
  SmallVector<ReduceEmitter> emitters;
  SmallVector<Value> inits;
  for (Value partial : phase.getPartials()) {
    emitters.push_back(emitterOf(partial));
    ReduceState identity = emitters.back().identity(vectorSize());
    inits.append(identity.parts.begin(),
                 identity.parts.begin() + emitters.back().numFloatParts());
  }
  // How many elements a state holds is known from the number of leaves.
  auto withCounts = [&](ValueRange values, Value leaves) {
    States states;
    unsigned next = 0;
    for (ReduceEmitter &emitter : emitters) {
      ReduceState state;
      for (unsigned i = 0; i < emitter.numFloatParts(); ++i)
        state.parts.push_back(values[next++]);
      setCount(state, emitter, leaves);
      states.push_back(state);
    }
    return states;
  };
  auto values = forEachLeaf(
      first, count, inits,
      [&](Value number, Value at, Value isLeaf,
          ValueRange carried) -> FailureOr<SmallVector<Value>> {
        FailureOr<States> leaf = reduceLeaf(phase, at, 0, false, isLeaf);
        if (failed(leaf))
          return failure();
        States before = withCounts(carried, number);
        SmallVector<Value> next;
        for (auto [i, emitter] : llvm::enumerate(emitters)) {
          ReduceState after = emitter.combine(before[i], (*leaf)[i]);
          for (unsigned part = 0; part < emitter.numFloatParts(); ++part) {
            Value value = after.parts[part];
            if (isLeaf)
              value = arith::SelectOp::create(b, loc, isLeaf, value,
                                              before[i].parts[part]);
            next.push_back(value);
          }
        }
        return next;
      });
  if (failed(values))
    return failure();
  States result = withCounts(*values, count);
  if (walked >= 0 && walked % plan.leaf == 0)
    return result;
  // The last columns may not fill a leaf.
  Value at = arith::AddIOp::create(
      b, loc, first, arith::MulIOp::create(b, loc, count, i64(step)));
  Value end = arith::MulIOp::create(
      b, loc, arith::AddIOp::create(b, loc, slice, i64(1)), sliceLength);
  end = arith::MinSIOp::create(b, loc, end, walkedCount);
  Value isAny =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, at, end);
  SmallVector<Value> whole;
  SmallVector<Type> types;
  for (ReduceState &state : result)
    for (Value value : state.parts) {
      whole.push_back(value);
      types.push_back(value.getType());
    }
  auto condition = scf::IfOp::create(b, loc, types, isAny, true, true);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(condition.elseBlock());
    scf::YieldOp::create(b, loc, whole);
    b.setInsertionPointToStart(condition.thenBlock());
    FailureOr<States> leaf = reduceLeaf(phase, at, 0, true, Value());
    if (failed(leaf))
      return failure();
    SmallVector<Value> joined;
    for (auto [i, emitter] : llvm::enumerate(emitters))
      llvm::append_range(
          joined,
          emitter.withCount(emitter.combine(result[i], (*leaf)[i])).parts);
    scf::YieldOp::create(b, loc, joined);
  }
  unsigned next = 0;
  for (ReduceState &state : result)
    for (Value &value : state.parts)
      value = condition.getResult(next++);
  return result;
}

LogicalResult GPUAcross::walkHeld(PhaseOp phase, Value slice) {
  for (int64_t block = 0; block < blocks(); ++block) {
    Value first = firstColumnOf(slice, block);
    Value count = countLeaves(first, slice);
    for (int64_t number = 0; number < heldLeaves(); ++number) {
      Value isLeaf;
      Value at = heldLeaf(first, count, number, isLeaf);
      for (int64_t i = 0; i < plan.leaf; ++i) {
        Chunk chunk = columnChunk(at, i, false);
        chunk.valid = isLeaf;
        chunk.isClamped = true;
        if (failed(lowerChunk(phase, chunk)))
          return failure();
      }
    }
  }
  return success();
}

LogicalResult GPUAcross::walkStreamed(PhaseOp phase, Value slice) {
  int64_t step = plan.leaf * plan.lanes;
  for (int64_t block = 0; block < blocks(); ++block) {
    Value first = firstColumnOf(slice, block);
    Value count = countLeaves(first, slice);
    auto walkLeaf = [&](Value at, Value isLeaf,
                        bool isChecked) -> LogicalResult {
      for (int64_t i = 0; i < plan.leaf; ++i) {
        Chunk chunk = columnChunk(at, i, isChecked);
        if (isLeaf) {
          chunk.valid = isLeaf;
          chunk.isClamped = true;
        }
        if (failed(lowerChunk(phase, chunk)))
          return failure();
      }
      return success();
    };
    auto done = forEachLeaf(
        first, count, {},
        [&](Value, Value at, Value isLeaf,
            ValueRange) -> FailureOr<SmallVector<Value>> {
          if (failed(walkLeaf(at, isLeaf, false)))
            return failure();
          return SmallVector<Value>();
        });
    if (failed(done))
      return failure();
    if (walked >= 0 && walked % plan.leaf == 0)
      continue;
    Value at = arith::AddIOp::create(
        b, loc, first, arith::MulIOp::create(b, loc, count, i64(step)));
    Value end = arith::MulIOp::create(
        b, loc, arith::AddIOp::create(b, loc, slice, i64(1)), sliceLength);
    end = arith::MinSIOp::create(b, loc, end, walkedCount);
    Value isAny =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, at, end);
    auto condition = scf::IfOp::create(b, loc, isAny, /*withElse=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(condition.thenBlock());
    if (failed(walkLeaf(at, Value(), true)))
      return failure();
  }
  return success();
}

LogicalResult GPUAcross::lowerPhase(PhaseOp phase) {
  LogicalResult status = success();
  forEachSlice([&](Value slice) {
    LogicalResult done = phase.getNumResults() ? reduceSlice(phase, slice)
                         : isHeld()            ? walkHeld(phase, slice)
                                               : walkStreamed(phase, slice);
    if (failed(done))
      status = failure();
  });
  return status;
}
