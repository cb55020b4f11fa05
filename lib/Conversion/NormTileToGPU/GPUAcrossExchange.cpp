//===- GPUAcrossExchange.cpp - Lanes, columns and slices meet -*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The states of a slice are combined in shared memory: over the lanes of each
// position, over a row's inner columns, and, by way of the workspace, over the
// slices of all CTAs of the row. Within shared memory, element `i` of chunk `c`
// is at slot `i * chunks + c`, so that a warp's accesses fall on different
// banks. A *group* is a row's positions in the CTA.
//
//===----------------------------------------------------------------------===//

#include "GPUAcross.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::norm;
using namespace mlir::norm_tile;

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

GPUAcross::Memory &GPUAcross::memoryOf(Value partial,
                                       llvm::DenseMap<Value, Memory> &memories,
                                       int64_t size, bool hasCount) {
  Memory &memory = memories[partial];
  ReduceEmitter emitter = emitterOf(partial);
  unsigned parts = hasCount ? emitter.numParts() : emitter.numFloatParts();
  while (memory.size() < parts)
    memory.push_back(sharedBuffer(emitter.partType(memory.size(), 0), size));
  return memory;
}

void GPUAcross::store(const Memory &memory, Value at,
                      const ReduceState &state) {
  for (auto [part, buffer] : llvm::zip(state.parts, memory))
    memref::StoreOp::create(b, loc, part, buffer, ValueRange{at});
}

ReduceState GPUAcross::load(const Memory &memory, Value at, int64_t count) {
  ReduceState state;
  for (Value buffer : memory)
    state.parts.push_back(
        memref::LoadOp::create(b, loc, buffer, ValueRange{at}));
  state.count = count;
  return state;
}

/// Spreads the numbers below `size` over the threads of the CTA; a number
/// always falls on the same thread.
void GPUAcross::forEach(int64_t size, llvm::function_ref<void(Value)> body) {
  for (int64_t first = 0; first < size; first += block()) {
    Value number =
        first ? arith::AddIOp::create(b, loc, tid, index(first)).getResult()
              : tid;
    OpBuilder::InsertionGuard guard(b);
    if (first + block() > size) {
      Value isAny = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult,
                                          number, index(size));
      auto condition = scf::IfOp::create(b, loc, isAny, /*withElse=*/false);
      b.setInsertionPointToStart(condition.thenBlock());
    }
    body(number);
  }
}

/// Where a position of the CTA is.
Value GPUAcross::slotOf(Value position) {
  Value element = arith::RemUIOp::create(b, loc, position, index(vectorSize()));
  Value chunk = arith::DivUIOp::create(b, loc, position, index(vectorSize()));
  return arith::AddIOp::create(
      b, loc, arith::MulIOp::create(b, loc, element, index(chunksPerCta())),
      chunk);
}

/// Columns of a slice of `columns` that the lanes `lane`, `lane + stride`, ...
/// hold.
static int64_t columnsOfLanes(const ::norm::TilePlan &plan, int64_t columns,
                              int64_t lane, int64_t stride) {
  int64_t count = 0;
  for (int64_t leaf = lane; leaf * plan.leaf < columns; leaf += stride)
    count += std::min(plan.leaf, columns - leaf * plan.leaf);
  return count;
}

/// What two sets of lanes can hold in a slice: all slices have the same length,
/// but for the last one that has columns, and those after it.
static SmallVector<Counts> casesOfLanes(const ::norm::TilePlan &plan,
                                        int64_t walked, int64_t lane,
                                        int64_t half) {
  SmallVector<Counts> cases;
  int64_t size = ::norm::sliceSize(walked);
  for (int64_t columns : {std::min(size, walked), walked % size}) {
    Counts counts = {columnsOfLanes(plan, columns, lane, 2 * half),
                     columnsOfLanes(plan, columns, lane + half, 2 * half)};
    if (!llvm::is_contained(cases, counts))
      cases.push_back(counts);
  }
  return cases;
}

ReduceState GPUAcross::combineLanes(Value partial, Value slot) {
  ReduceEmitter emitter = emitterOf(partial);
  States lanes;
  int64_t stored = ::norm::storedLanes(threads());
  for (int64_t lane = 0; lane < stored; ++lane) {
    Value at = arith::AddIOp::create(b, loc, slot,
                                     index(lane * plan.schedule.rowsPerCta));
    lanes.push_back(load(laneMemory[partial], at, laneCounts[partial]));
  }
  for (int64_t half = stored / 2; half >= 1; half /= 2)
    for (int64_t lane = 0; lane < half; ++lane)
      lanes[lane] =
          emitter.combine(lanes[lane], lanes[lane + half],
                          walked > 0 ? casesOfLanes(plan, walked, lane, half)
                                     : SmallVector<Counts>());
  return lanes.front();
}

ReduceState GPUAcross::combineInner(Value partial, Value group) {
  ReduceEmitter emitter = emitterOf(partial);
  Value first = arith::MulIOp::create(b, loc, group, index(inner));
  States columnsOfRow;
  for (int64_t i = 0; i < inner; ++i)
    columnsOfRow.push_back(
        load(laneMemory[partial],
             slotOf(arith::AddIOp::create(b, loc, first, index(i))),
             groupCounts[partial]));
  for (int64_t half = llvm::PowerOf2Ceil(inner) / 2; half >= 1; half /= 2)
    for (int64_t i = 0; i < half && i + half < inner; ++i)
      columnsOfRow[i] =
          emitter.combine(columnsOfRow[i], columnsOfRow[i + half]);
  return columnsOfRow.front();
}

//===----------------------------------------------------------------------===//
// Slices
//===----------------------------------------------------------------------===//

/// Bytes for a row's states of all slices, from `recordOffsets` on.
static int64_t bytesOf(Type type) { return type.getIntOrFloatBitWidth() / 8; }

/// Where the state of a slice is in the workspace.
Value GPUAcross::recordPointer(Value partial, unsigned part, Value slice,
                               Value group) {
  ReduceEmitter emitter = emitterOf(partial);
  Type type = emitter.partType(part, 0);
  SmallVector<int64_t, 3> &offsets = recordOffsets[partial];
  int64_t most = numSlices ? numSlices : ::norm::maxSlices;
  while (offsets.size() <= part) {
    Type next = emitter.partType(offsets.size(), 0);
    offsets.push_back(recordBytes);
    recordBytes += llvm::alignTo(most * groups() * bytesOf(next), 16);
  }
  Value number = arith::AddIOp::create(
      b, loc, arith::MulIOp::create(b, loc, slice, i64(groups())),
      toI64(group));
  Value offset = arith::AddIOp::create(
      b, loc, arith::MulIOp::create(b, loc, number, i64(bytesOf(type))),
      i64(offsets[part]));
  return elementPointer(records, offset, b.getI8Type());
}

void GPUAcross::keepGroup(Value partial, Value group, Value slice,
                          const ReduceState &state) {
  groupCounts[partial] = state.count;
  if (!usesWorkspace()) {
    store(memoryOf(partial, groupMemory, groups(), state.count < 0), group,
          state);
    return;
  }
  for (auto [i, value] : llvm::enumerate(state.parts))
    LLVM::StoreOp::create(b, loc, value,
                          recordPointer(partial, i, slice, group),
                          bytesOf(value.getType()));
}

/// Columns that the slices `first`, `first + stride`, ... of a row hold.
int64_t GPUAcross::columnsOf(int64_t first, int64_t stride) const {
  int64_t size = ::norm::sliceSize(walked), count = 0;
  for (int64_t slice = first; slice < numSlices; slice += stride)
    count += std::clamp<int64_t>(walked - slice * size, 0, size) * inner;
  return count;
}

/// The state of the slices `way + offset`, `way + offset + stride`, ..., where
/// `way` is a number below `ways`.
ReduceState GPUAcross::combineSlices(Value partial, Value group, Value way,
                                     int64_t offset, int64_t stride) {
  ReduceEmitter emitter = emitterOf(partial);
  int64_t most = numSlices ? numSlices : ::norm::maxSlices;
  if (stride < most) {
    int64_t other = offset + stride;
    ReduceState first = combineSlices(partial, group, way, offset, 2 * stride);
    ReduceState second = combineSlices(partial, group, way, other, 2 * stride);
    SmallVector<Counts> cases;
    for (int64_t i = 0; numSlices && i < ways(); ++i) {
      Counts counts = {columnsOf(i + offset, 2 * stride),
                       columnsOf(i + other, 2 * stride)};
      if (!llvm::is_contained(cases, counts))
        cases.push_back(counts);
    }
    return emitter.combine(first, second, cases);
  }
  Value slice = arith::AddIOp::create(b, loc, way, i64(offset));
  int64_t count = groupCounts[partial];
  auto loadSlice = [&] {
    ReduceState state;
    unsigned parts = count < 0 ? emitter.numParts() : emitter.numFloatParts();
    for (unsigned part = 0; part < parts; ++part)
      state.parts.push_back(
          LLVM::LoadOp::create(b, loc, emitter.partType(part, 0),
                               recordPointer(partial, part, slice, group),
                               bytesOf(emitter.partType(part, 0))));
    state.count = count;
    return state;
  };
  if (numSlices)
    return loadSlice();
  // The identity for those that the row doesn't have.
  Value isSlice =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, slice, slices);
  ReduceState none = emitter.identity(0);
  SmallVector<Type> types;
  for (Value value : none.parts)
    types.push_back(value.getType());
  auto condition = scf::IfOp::create(b, loc, types, isSlice, true, true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(condition.thenBlock());
  scf::YieldOp::create(b, loc, emitter.withCount(loadSlice()).parts);
  b.setInsertionPointToStart(condition.elseBlock());
  scf::YieldOp::create(b, loc, none.parts);
  ReduceState state;
  state.parts.assign(condition.getResults().begin(),
                     condition.getResults().end());
  return state;
}

/// Combines the slices of each group: as many threads as there are for it take
/// those that are that far apart, then one of them what these have. All of it
/// is halving.
void GPUAcross::combineGroups(ExchangeStartOp op) {
  int64_t numWays = ways();
  forEach(groups() * numWays, [&](Value number) {
    Value group = arith::RemUIOp::create(b, loc, number, index(groups()));
    Value way = toI64(arith::DivUIOp::create(b, loc, number, index(groups())));
    for (Value partial : op.getPartials())
      store(memoryOf(partial, groupMemory, groups() * numWays,
                     /*hasCount=*/groupCounts[partial] < 0),
            number, combineSlices(partial, group, way, 0, numWays));
  });
  for (Value partial : op.getPartials())
    if (groupCounts[partial] >= 0)
      groupCounts[partial] *= numSlices / numWays;
  if (numWays == 1)
    return;
  gpu::BarrierOp::create(b, loc);
  forEach(groups(), [&](Value group) {
    for (Value partial : op.getPartials()) {
      ReduceEmitter emitter = emitterOf(partial);
      States states;
      for (int64_t way = 0; way < numWays; ++way)
        states.push_back(
            load(groupMemory[partial],
                 arith::AddIOp::create(b, loc, group, index(way * groups())),
                 groupCounts[partial]));
      for (int64_t half = numWays / 2; half >= 1; half /= 2)
        for (int64_t way = 0; way < half; ++way) {
          Counts counts = {numSlices ? columnsOf(way, 2 * half) : -1,
                           numSlices ? columnsOf(way + half, 2 * half) : -1};
          states[way] = emitter.combine(states[way], states[way + half],
                                        numSlices ? SmallVector<Counts>{counts}
                                                  : SmallVector<Counts>());
        }
      // Nobody else reads or writes this one.
      store(groupMemory[partial], group, states.front());
    }
  });
  for (Value partial : op.getPartials())
    if (groupCounts[partial] >= 0)
      groupCounts[partial] *= numWays;
}

//===----------------------------------------------------------------------===//
// Exchanges
//===----------------------------------------------------------------------===//

/// Halves the threads' states on the way to shared memory: those of the upper
/// lanes are put there, and combined with those of the lower ones by the
/// threads that have these. So the memory holds half of them only.
void GPUAcross::storeLanes(PhaseOp phase, const States &states) {
  int64_t stored = ::norm::storedLanes(threads());
  auto forElements =
      [&](Value lane, llvm::function_ref<void(unsigned, Value, int64_t)> body) {
        Value row = arith::MulIOp::create(b, loc, lane,
                                          index(plan.schedule.rowsPerCta));
        Value first = arith::AddIOp::create(b, loc, row, chunkInCta);
        for (unsigned i = 0; i < states.size(); ++i)
          for (int64_t element = 0; element < vectorSize(); ++element)
            body(i,
                 arith::AddIOp::create(b, loc, first,
                                       index(element * chunksPerCta())),
                 element);
      };
  auto scalarOf = [&](unsigned i, int64_t element) {
    ReduceState scalar;
    scalar.count = states[i].count;
    for (Value part : states[i].parts)
      scalar.parts.push_back(
          vector::ExtractOp::create(b, loc, part, ArrayRef<int64_t>{element}));
    return scalar;
  };
  SmallVector<Value> partials(phase.getPartials());
  for (auto [partial, state] : llvm::zip(partials, states)) {
    laneCounts[partial] = state.count;
    memoryOf(partial, laneMemory, stored * plan.schedule.rowsPerCta,
             state.count < 0);
  }
  auto storeOwn = [&](unsigned i, Value slot, int64_t element) {
    store(laneMemory[partials[i]], slot, scalarOf(i, element));
  };
  if (stored == threads()) {
    forElements(thread, storeOwn);
    return;
  }
  Value isLower = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult,
                                        thread, index(stored));
  Value isUpper = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::uge,
                                        thread, index(stored));
  {
    auto condition = scf::IfOp::create(b, loc, isUpper, /*withElse=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(condition.thenBlock());
    forElements(arith::SubIOp::create(b, loc, thread, index(stored)), storeOwn);
  }
  gpu::BarrierOp::create(b, loc);
  auto condition = scf::IfOp::create(b, loc, isLower, /*withElse=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(condition.thenBlock());
  forElements(thread, [&](unsigned i, Value slot, int64_t element) {
    Memory &memory = laneMemory[partials[i]];
    ReduceState combined =
        emitterOf(partials[i])
            .combine(scalarOf(i, element), load(memory, slot, states[i].count));
    laneCounts[partials[i]] = combined.count;
    store(memory, slot, combined);
  });
}

LogicalResult GPUAcross::reduceSlice(PhaseOp phase, Value slice) {
  SmallVector<States> lanes;
  for (int64_t block = 0; block < blocks(); ++block) {
    FailureOr<States> states = isHeld() ? reduceHeld(phase, slice, block)
                                        : reduceStreamed(phase, slice, block);
    if (failed(states))
      return failure();
    lanes.push_back(*states);
  }
  // Those of the slice before have been read.
  if (usesWorkspace())
    gpu::BarrierOp::create(b, loc);
  for (auto [i, partial] : llvm::enumerate(phase.getPartials())) {
    ReduceEmitter emitter = emitterOf(partial);
    for (int64_t half = blocks() / 2; half >= 1; half /= 2)
      for (int64_t block = 0; block < half; ++block)
        lanes[block][i] =
            emitter.combine(lanes[block][i], lanes[block + half][i]);
  }
  storeLanes(phase, lanes.front());
  gpu::BarrierOp::create(b, loc);
  forEach(plan.schedule.rowsPerCta, [&](Value slot) {
    for (Value partial : phase.getPartials()) {
      ReduceState state = combineLanes(partial, slot);
      if (inner == 1) {
        keepGroup(partial, slot, slice, state);
        continue;
      }
      groupCounts[partial] = state.count;
      store(laneMemory[partial], slot, state);
    }
  });
  if (inner == 1)
    return success();
  gpu::BarrierOp::create(b, loc);
  // The count of a position is what the columns of a group are combined with.
  llvm::DenseMap<Value, int64_t> counts = groupCounts;
  forEach(groups(), [&](Value group) {
    for (Value partial : phase.getPartials()) {
      groupCounts[partial] = counts[partial];
      ReduceState state = combineInner(partial, group);
      keepGroup(partial, group, slice, state);
    }
  });
  return success();
}

SmallVector<ReduceState> GPUAcross::finishExchange(ExchangeStartOp op) {
  if (usesWorkspace()) {
    // A slice's state isn't read by the thread that wrote it.
    if (plan.schedule.split != 1)
      meet();
    else
      gpu::BarrierOp::create(b, loc);
    combineGroups(op);
  }
  gpu::BarrierOp::create(b, loc);
  SmallVector<ReduceState> results;
  for (Value partial : op.getPartials()) {
    ReduceState result;
    result.count = groupCounts[partial];
    for (Value buffer : groupMemory[partial]) {
      SmallVector<Value> elements;
      for (int64_t i = 0; i < vectorSize(); ++i) {
        Value group;
        if (inner == 1) {
          group = arith::AddIOp::create(b, loc, chunkInCta,
                                        index(i * chunksPerCta()));
        } else {
          Value first =
              arith::MulIOp::create(b, loc, chunkInCta, index(vectorSize()));
          group = arith::DivUIOp::create(
              b, loc, arith::AddIOp::create(b, loc, first, index(i)),
              index(inner));
        }
        elements.push_back(
            memref::LoadOp::create(b, loc, buffer, ValueRange{group}));
      }
      result.parts.push_back(vector::FromElementsOp::create(
          b, loc, vectorOf(elements.front().getType()), elements));
    }
    results.push_back(result);
  }
  return results;
}

/// All CTAs of the rows have written their slices.
void GPUAcross::meet() {
  UnitBarrierOp::create(
      b, loc, counters, arith::TruncIOp::create(b, loc, b.getI32Type(), split),
      static_cast<int32_t>(numMeetings), /*last=*/numMeetings + 1 == meetings);
  ++numMeetings;
}
