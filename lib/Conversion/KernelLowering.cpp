//===- KernelLowering.cpp - What all targets share in lowering a kernel ------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Conversion/KernelLowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::norm;
using namespace mlir::norm_tile;

::norm::Schedule mlir::norm::toSchedule(ScheduleAttr attr) {
  ::norm::Schedule schedule;
  schedule.threads = attr.getThreads();
  schedule.rowsPerCta = attr.getRowsPerCta();
  switch (attr.getResidency()) {
  case Residency::Registers:
    schedule.residency = ::norm::Residency::Registers;
    break;
  case Residency::Shared:
    schedule.residency = ::norm::Residency::Shared;
    break;
  case Residency::Stream:
    schedule.residency = ::norm::Residency::Stream;
    break;
  }
  schedule.prefetch = attr.getPrefetch();
  schedule.vector = attr.getVector();
  schedule.maxRegisters = attr.getMaxRegisters();
  return schedule;
}

KernelLowering::KernelLowering(OpBuilder &builder, KernelOp kernel)
    : b(builder), kernel(kernel), loc(kernel.getLoc()) {
  plan.columns = kernel.getColumns();
  plan.leaf = kernel.getOrder().getLeaf();
  plan.lanes = kernel.getOrder().getLanes();
  plan.schedule = toSchedule(kernel.getSchedule());
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

Value KernelLowering::rowPointer(const Buffer &buffer) {
  if (!buffer.stride)
    return buffer.pointer;
  Value offset =
      arith::MulIOp::create(b, loc, toI64(row), buffer.stride);
  return elementPointer(buffer.pointer, offset, buffer.element);
}

//===----------------------------------------------------------------------===//
// Walk
//===----------------------------------------------------------------------===//

LogicalResult KernelLowering::lowerWork(Value currentRow) {
  row = currentRow;
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
      Buffer &buffer = bufferOf(load.getSource());
      Value address =
          elementPointer(buffer.pointer, toI64(row), buffer.element);
      map.map(load.getResult(),
              LLVM::LoadOp::create(b, loc, buffer.element, address));
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
      map.map(wait.getResults(), results);
    } else if (isa<ColumnsOp, RowsOp>(op)) {
      Value value = isa<RowsOp>(op) ? rows : columns;
      map.map(op.getResult(0),
              arith::IndexCastOp::create(b, loc, b.getIndexType(), value));
    } else if (isa<NormTileDialect>(op.getDialect())) {
      return op.emitOpError("has no lowering at the level of rows");
    } else {
      b.clone(op, map);
    }
  }
  return success();
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
    else if (auto hold = dyn_cast<HoldOp>(op))
      emitHold(hold, map.lookup(hold.getValue()), chunk);
    else if (auto held = dyn_cast<HeldOp>(op))
      map.map(held.getResult(), emitHeld(held, chunk));
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
