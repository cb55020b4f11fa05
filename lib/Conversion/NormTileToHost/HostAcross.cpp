//===- HostAcross.cpp - Kernels across memory on the host ------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostAcross.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::norm;
using namespace mlir::norm_tile;

std::pair<Value, Value> HostAcross::enter(Value begin, Value end) {
  Value count = toI64(columns);
  if (inner > 1)
    count = arith::DivUIOp::create(b, loc, count, i64(inner));
  SliceValues values = emitSlices(count);
  auto toIndex = [&](Value value) -> Value {
    return arith::IndexCastOp::create(b, loc, b.getIndexType(), value);
  };
  walkedCount = toIndex(count);
  slices = toIndex(values.count);
  sliceLength = toIndex(values.size);
  // Called for a range of steps, which the last one may exceed.
  return {arith::MulIOp::create(b, loc, begin, index(size())),
          arith::MulIOp::create(b, loc, end, index(size()))};
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Value HostAcross::emitLoad(LoadOp op, const Chunk &chunk) {
  auto type = cast<VectorType>(op.getType());
  auto load = [&] {
    setPositions(walkedDims, toI64(chunk.column));
    Value base = basePointer(bufferOf(op.getSource()), walkedDims);
    return loadNeighbours(op.getSource(), base, toI64(row), type, Value());
  };
  if (!chunk.valid)
    return load();
  auto guarded =
      scf::IfOp::create(b, loc, TypeRange{type}, chunk.valid, true, true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(guarded.thenBlock());
  Value loaded = load();
  scf::YieldOp::create(b, loc, loaded);
  b.setInsertionPointToStart(guarded.elseBlock());
  Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(type));
  scf::YieldOp::create(b, loc, zero);
  return guarded.getResult(0);
}

void HostAcross::emitStore(StoreOp op, Value value, const Chunk &chunk) {
  OpBuilder::InsertionGuard guard(b);
  if (chunk.valid) {
    auto guarded = scf::IfOp::create(b, loc, chunk.valid, /*withElse=*/false);
    b.setInsertionPointToStart(guarded.thenBlock());
  }
  setPositions(walkedDims, toI64(chunk.column));
  Value base = basePointer(bufferOf(op.getDestination()), walkedDims);
  storeNeighbours(value, op.getDestination(), base, toI64(row), Value());
}

Value HostAcross::emitLoadRow(LoadRowOp op) {
  return loadNeighbours(op.getSource(), bufferOf(op.getSource()).pointer,
                        toI64(row), cast<VectorType>(op.getType()), Value());
}

void HostAcross::emitStoreRow(Value value, const Buffer &buffer) {
  // Of a row's inner columns, which all have its value, the first one.
  bool isPerRow = inner > 1 && !buffer.strides[chunkDims.back()];
  for (int64_t i = 0; i < size(); i += isPerRow ? inner : 1) {
    Value at = arith::AddIOp::create(b, loc, toI64(row), i64(i));
    Value part = vector::ExtractOp::create(b, loc, value, ArrayRef<int64_t>{i});
    LLVM::StoreOp::create(b, loc, part,
                          chunkElement(buffer, buffer.pointer, at));
  }
}

//===----------------------------------------------------------------------===//
// Columns
//===----------------------------------------------------------------------===//

HostAcross::States HostAcross::vectors(States states) {
  for (ReduceState &state : states)
    for (Value &value : state.parts)
      if (!isa<VectorType>(value.getType()))
        value = vector::BroadcastOp::create(b, loc, vectorOf(value.getType()),
                                            value);
  return states;
}

FailureOr<HostAcross::States>
HostAcross::reduceLeaf(PhaseOp phase, Value first, bool isChecked) {
  SmallVector<States> elements;
  for (int64_t i = 0; i < plan.leaf; ++i) {
    Chunk chunk;
    chunk.column = arith::AddIOp::create(b, loc, first, index(i));
    Value mask;
    if (isChecked) {
      chunk.valid = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult,
                                          chunk.column, walkedCount);
      mask = vector::BroadcastOp::create(b, loc, vectorOf(b.getI1Type()),
                                         chunk.valid);
    }
    FailureOr<SmallVector<Value>> values = lowerChunk(phase, chunk);
    if (failed(values))
      return failure();
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

/// Runs a body for the leaves of a slice, which begin with column `first`; for
/// one that the columns end in, `isChecked`.
LogicalResult HostAcross::forEachLeaf(
    llvm::function_ref<LogicalResult(Value, Value, bool)> body, Value slice) {
  LogicalResult status = success();
  Value begin = arith::MulIOp::create(b, loc, slice, sliceLength);
  Value end = arith::AddIOp::create(b, loc, begin, sliceLength);
  end = arith::MinUIOp::create(b, loc, end, walkedCount);
  Value columnsHere = arith::SubIOp::create(
      b, loc, end, arith::MinUIOp::create(b, loc, begin, end));
  Value leaves =
      arith::DivUIOp::create(b, loc, columnsHere, index(plan.leaf));
  auto firstOf = [&](Value number) -> Value {
    return arith::AddIOp::create(
        b, loc, begin,
        arith::MulIOp::create(b, loc, number, index(plan.leaf)));
  };
  auto laneOf = [&](Value number) -> Value {
    return arith::RemUIOp::create(b, loc, number, index(plan.lanes));
  };
  emitLoop(index(0), leaves, 1, [&](Value number) {
    if (failed(body(firstOf(number), laneOf(number), false)))
      status = failure();
    return success();
  });
  int64_t columnCount = plan.columns < 0 ? -1 : plan.columns / inner;
  if (columnCount >= 0 && columnCount % plan.leaf == 0)
    return status;
  Value rest = arith::RemUIOp::create(b, loc, columnsHere, index(plan.leaf));
  Value isAny =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, rest, index(0));
  auto condition = scf::IfOp::create(b, loc, isAny, /*withElse=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(condition.thenBlock());
  if (failed(body(firstOf(leaves), laneOf(leaves), true)))
    status = failure();
  return status;
}

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

HostAcross::Memory HostAcross::makeMemory(ReduceEmitter &emitter,
                                          int64_t states) {
  Memory memory;
  for (unsigned part = 0; part < emitter.numParts(); ++part)
    memory.push_back(stackBuffer(states * size(), emitter.partType(part, 0),
                                 /*zeroed=*/false));
  return memory;
}

ReduceState HostAcross::load(const Memory &memory, Value number,
                             ReduceEmitter &emitter) {
  ReduceState state;
  Value at = arith::MulIOp::create(b, loc, number, index(size()));
  for (auto [part, buffer] : llvm::enumerate(memory))
    state.parts.push_back(vector::LoadOp::create(
        b, loc, vectorOf(emitter.partType(part, 0)), buffer, ValueRange{at}));
  return state;
}

void HostAcross::store(const Memory &memory, Value number,
                       ReduceEmitter &emitter, const ReduceState &state) {
  Value at = arith::MulIOp::create(b, loc, number, index(size()));
  States stored = vectors({emitter.withCount(state)});
  for (auto [part, buffer] : llvm::zip(stored.front().parts, memory))
    vector::StoreOp::create(b, loc, part, buffer, ValueRange{at});
}

/// Combines the inner columns of each row; all of them get the result.
ReduceState HostAcross::combineInner(ReduceState state,
                                     ReduceEmitter &emitter) {
  if (inner == 1)
    return state;
  SmallVector<SmallVector<Value>> results(state.parts.size());
  for (int64_t row = 0; row < size(); row += inner) {
    States elements;
    for (int64_t i = 0; i < inner; ++i) {
      ReduceState element;
      for (Value part : state.parts)
        element.parts.push_back(vector::ExtractOp::create(
            b, loc, part, ArrayRef<int64_t>{row + i}));
      elements.push_back(element);
    }
    for (int64_t half = llvm::PowerOf2Ceil(inner) / 2; half >= 1; half /= 2)
      for (int64_t i = 0; i < half && i + half < inner; ++i)
        elements[i] = emitter.combine(elements[i], elements[i + half]);
    for (auto [part, values] : llvm::enumerate(results))
      values.append(inner, elements.front().parts[part]);
  }
  for (auto [part, values] : llvm::zip(state.parts, results))
    part = vector::FromElementsOp::create(b, loc, part.getType(), values);
  return state;
}

LogicalResult HostAcross::reduceSlice(PhaseOp phase, Value slice,
                                      ArrayRef<Memory> lanes,
                                      ArrayRef<Memory> totals) {
  SmallVector<ReduceEmitter> emitters;
  for (Value partial : phase.getPartials())
    emitters.push_back(emitterOf(partial));
  emitLoop(index(0), index(plan.lanes), 1, [&](Value lane) {
    for (auto [i, emitter] : llvm::enumerate(emitters))
      store(lanes[i], lane, emitter, emitter.identity(size()));
    return success();
  });
  LogicalResult status = forEachLeaf(
      [&](Value first, Value lane, bool isChecked) -> LogicalResult {
        FailureOr<States> leaf = reduceLeaf(phase, first, isChecked);
        if (failed(leaf))
          return failure();
        for (auto [i, emitter] : llvm::enumerate(emitters))
          store(lanes[i], lane, emitter,
                emitter.combine(load(lanes[i], lane, emitter), (*leaf)[i]));
        return success();
      },
      slice);
  if (failed(status))
    return failure();
  for (int64_t half = plan.lanes / 2; half >= 1; half /= 2)
    emitLoop(index(0), index(half), 1, [&](Value lane) {
      Value other = arith::AddIOp::create(b, loc, lane, index(half));
      for (auto [i, emitter] : llvm::enumerate(emitters))
        store(lanes[i], lane, emitter,
              emitter.combine(load(lanes[i], lane, emitter),
                              load(lanes[i], other, emitter)));
      return success();
    });
  for (auto [i, emitter] : llvm::enumerate(emitters))
    store(totals[i], slice, emitter,
          combineInner(load(lanes[i], index(0), emitter), emitter));
  return success();
}

LogicalResult HostAcross::lowerPhase(PhaseOp phase) {
  LogicalResult status = success();
  SmallVector<Memory> lanes, totals;
  int64_t most = plan.columns < 0 ? ::norm::maxSlices
                                  : ::norm::countSlices(plan.columns / inner);
  for (Value partial : phase.getPartials()) {
    ReduceEmitter emitter = emitterOf(partial);
    lanes.push_back(makeMemory(emitter, plan.lanes));
    totals.push_back(makeMemory(emitter, most));
  }
  emitLoop(index(0), slices, 1, [&](Value slice) {
    LogicalResult done = success();
    if (phase.getNumResults())
      done = reduceSlice(phase, slice, lanes, totals);
    else
      done = forEachLeaf(
          [&](Value first, Value, bool isChecked) -> LogicalResult {
            for (int64_t i = 0; i < plan.leaf; ++i) {
              Chunk chunk;
              chunk.column = arith::AddIOp::create(b, loc, first, index(i));
              if (isChecked)
                chunk.valid = arith::CmpIOp::create(
                    b, loc, arith::CmpIPredicate::ult, chunk.column,
                    walkedCount);
              if (failed(lowerChunk(phase, chunk)))
                return failure();
            }
            return success();
          },
          slice);
    if (failed(done))
      status = failure();
    return success();
  });
  for (auto [i, partial] : llvm::enumerate(phase.getPartials())) {
    ReduceEmitter emitter = emitterOf(partial);
    // A power of two of slices, by halving.
    for (int64_t half = most / 2; half >= 1; half /= 2) {
      Value isHalved = arith::CmpIOp::create(
          b, loc, arith::CmpIPredicate::ugt, slices, index(half));
      auto condition = scf::IfOp::create(b, loc, isHalved, /*withElse=*/false);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(condition.thenBlock());
      emitLoop(index(0), index(half), 1, [&](Value slice) {
        Value other = arith::AddIOp::create(b, loc, slice, index(half));
        store(totals[i], slice, emitter,
              emitter.combine(load(totals[i], slice, emitter),
                              load(totals[i], other, emitter)));
        return success();
      });
    }
    states[partial] = load(totals[i], index(0), emitter);
  }
  return status;
}
