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

GPUAcross::Memory &
GPUAcross::memoryOf(Value partial, llvm::DenseMap<Value, Memory> &memories,
                    int64_t size, bool hasCount) {
  Memory &memory = memories[partial];
  ReduceEmitter emitter = emitterOf(partial);
  unsigned parts = hasCount ? emitter.numParts() : emitter.numResults();
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
  Value element =
      arith::RemUIOp::create(b, loc, position, index(vectorSize()));
  Value chunk = arith::DivUIOp::create(b, loc, position, index(vectorSize()));
  return arith::AddIOp::create(
      b, loc, arith::MulIOp::create(b, loc, element, index(chunksPerCta())),
      chunk);
}

ReduceState GPUAcross::combineLanes(Value partial, Value slot) {
  ReduceEmitter emitter = emitterOf(partial);
  States lanes;
  for (int64_t lane = 0; lane < threads(); ++lane) {
    Value at = arith::AddIOp::create(b, loc, slot,
                                     index(lane * plan.schedule.rowsPerCta));
    lanes.push_back(load(laneMemory[partial], at, laneCounts[partial]));
  }
  for (int64_t half = threads() / 2; half >= 1; half /= 2)
    for (int64_t lane = 0; lane < half; ++lane)
      lanes[lane] = emitter.combine(lanes[lane], lanes[lane + half]);
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

/// The slices of a row in rising order. They are loaded some at a time, so that
/// their latencies overlap.
ReduceState GPUAcross::combineSlices(Value partial, Value group) {
  ReduceEmitter emitter = emitterOf(partial);
  int64_t count = groupCounts[partial];
  unsigned parts = count < 0 ? emitter.numParts() : emitter.numResults();
  auto loadSlice = [&](Value slice) {
    ReduceState state;
    for (unsigned part = 0; part < parts; ++part)
      state.parts.push_back(LLVM::LoadOp::create(
          b, loc, emitter.partType(part, 0),
          recordPointer(partial, part, slice, group),
          bytesOf(emitter.partType(part, 0))));
    state.count = count;
    return emitter.withCount(state);
  };
  auto combineSome = [&](Value slice, int64_t some, ValueRange values) {
    States loaded;
    for (int64_t i = 0; i < some; ++i)
      loaded.push_back(
          loadSlice(arith::AddIOp::create(b, loc, slice, i64(i))));
    ReduceState state;
    state.parts.assign(values.begin(), values.end());
    for (const ReduceState &next : loaded)
      state = emitter.withCount(emitter.combine(state, next));
    return state;
  };
  auto combineFrom = [&](Value begin, Value end, int64_t some,
                         ReduceState state) {
    auto loop = scf::ForOp::create(b, loc, begin, end, i64(some), state.parts);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    ReduceState next =
        combineSome(loop.getInductionVar(), some, loop.getRegionIterArgs());
    scf::YieldOp::create(b, loc, next.parts);
    state.parts.assign(loop.getResults().begin(), loop.getResults().end());
    return state;
  };
  ReduceState state = emitter.identity(0);
  if (numSlices)
    return combineFrom(i64(0), slices, std::min<int64_t>(16, numSlices), state);
  Value rest = arith::RemUIOp::create(b, loc, slices, i64(8));
  Value whole = arith::SubIOp::create(b, loc, slices, rest);
  state = combineFrom(i64(0), whole, 8, state);
  return combineFrom(whole, slices, 1, state);
}

//===----------------------------------------------------------------------===//
// Exchanges
//===----------------------------------------------------------------------===//

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
  Value row = arith::MulIOp::create(b, loc, thread,
                                    index(plan.schedule.rowsPerCta));
  Value first = arith::AddIOp::create(b, loc, row, chunkInCta);
  for (auto [i, partial] : llvm::enumerate(phase.getPartials())) {
    ReduceEmitter emitter = emitterOf(partial);
    for (int64_t half = blocks() / 2; half >= 1; half /= 2)
      for (int64_t block = 0; block < half; ++block)
        lanes[block][i] =
            emitter.combine(lanes[block][i], lanes[block + half][i]);
    const ReduceState &state = lanes[0][i];
    laneCounts[partial] = state.count;
    Memory &memory =
        memoryOf(partial, laneMemory, threads() * plan.schedule.rowsPerCta,
                 state.count < 0);
    for (int64_t element = 0; element < vectorSize(); ++element) {
      ReduceState scalar;
      for (Value part : state.parts)
        scalar.parts.push_back(vector::ExtractOp::create(
            b, loc, part, ArrayRef<int64_t>{element}));
      store(memory,
            arith::AddIOp::create(b, loc, first,
                                  index(element * chunksPerCta())),
            scalar);
    }
  }
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
    if (plan.schedule.split != 1)
      meet();
    forEach(groups(), [&](Value group) {
      for (Value partial : op.getPartials())
        store(memoryOf(partial, groupMemory, groups(), /*hasCount=*/true),
              group, combineSlices(partial, group));
    });
    for (Value partial : op.getPartials())
      groupCounts[partial] = -1;
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
          Value first = arith::MulIOp::create(b, loc, chunkInCta,
                                              index(vectorSize()));
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
      b, loc, counters,
      arith::TruncIOp::create(b, loc, b.getI32Type(), split),
      static_cast<int32_t>(numMeetings), /*last=*/numMeetings + 1 == meetings);
  ++numMeetings;
}
