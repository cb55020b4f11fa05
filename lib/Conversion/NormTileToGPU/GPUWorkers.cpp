//===- GPUWorkers.cpp - Kernels that sum rows on a GPU --------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GPUWorkers.h"

#include "norm/Conversion/PackedElements.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::norm;
using namespace mlir::norm_tile;

static int64_t bytesOf(Type type) {
  int64_t count = 1;
  if (auto vector = dyn_cast<VectorType>(type)) {
    count = vector.getNumElements();
    type = vector.getElementType();
  }
  return count * type.getIntOrFloatBitWidth() / 8;
}

//===----------------------------------------------------------------------===//
// What there is to copy and to sum
//===----------------------------------------------------------------------===//

void GPUWorkers::addCopied(Value operand, Type type) {
  unsigned number = cast<BlockArgument>(operand).getArgNumber();
  if (plan.schedule.stages == 0 || copies.count(operand) ||
      !space.hasRows(number) || mayBeWritten(operand))
    return;
  const Buffer &buffer = bufferOf(operand);
  Copied copied;
  copied.offset = stageBytes;
  copied.isRow = !isa<VectorType>(type);
  int64_t bytes = bytesOf(type);
  if (copied.isRow) {
    // The least that is copied this way is a word.
    if (bytes != 4 && bytes != 8)
      return;
    copied.piece = bytes;
    stageBytes += llvm::alignTo(block() * bytes, 16);
  } else {
    constexpr int64_t widest = 16;
    if (isPacked(type) || buffer.reach != Reach::Linear ||
        bytes % widest != 0 || alignmentOf(buffer) < widest ||
        plan.hasPartialChunk())
      return;
    copied.piece = widest;
    copied.pieces = bytes / widest;
    stageBytes += block() * plan.steps() * bytes;
  }
  copies[operand] = copied;
}

void GPUWorkers::findCopied() {
  kernel.walk([&](Operation *op) {
    if (auto load = dyn_cast<LoadOp>(op))
      addCopied(load.getSource(), load.getType());
    else if (auto load = dyn_cast<LoadRowOp>(op))
      addCopied(load.getSource(), load.getType());
  });
}

void GPUWorkers::forEachStep(
    llvm::function_ref<void(int64_t, int64_t)> emit) const {
  for (int64_t step = 0, e = plan.steps(); step < e; ++step) {
    int64_t iteration = step / plan.blocks(), block = step % plan.blocks();
    if (plan.isLive(iteration, block))
      emit(iteration, block);
  }
}

void GPUWorkers::findSums() {
  kernel.walk([&](SumRowsOp op) {
    auto type = cast<VectorType>(op.getValue().getType());
    // The identity of a sum.
    auto zero = DenseElementsAttr::get(
        type, Attribute(b.getFloatAttr(type.getElementType(), -0.0)));
    forEachStep([&](int64_t iteration, int64_t block) {
      sums[{op, iteration * plan.blocks() + block}] =
          arith::ConstantOp::create(b, loc, zero);
    });
  });
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

Value GPUWorkers::enter() {
  thread = tid;
  group = index(0);
  Value ctaRow = arith::MulIOp::create(b, loc, cta, index(strands()));
  firstRow = ctaRow;
  if (strands() > 1) {
    thread = arith::RemUIOp::create(b, loc, tid, index(threads()));
    group = arith::DivUIOp::create(b, loc, tid, index(threads()));
    firstRow = arith::AddIOp::create(b, loc, ctaRow, group);
  }
  firstColumn =
      toI64(arith::MulIOp::create(b, loc, thread, index(plan.chunkSize())));
  // All groups of a CTA take as many turns as the first, which has the most
  // rows.
  Value bound = arith::IndexCastOp::create(b, loc, b.getIndexType(), rows);
  Value left = arith::SubIOp::create(
      b, loc, bound, arith::MinUIOp::create(b, loc, ctaRow, bound));
  Value turns = arith::CeilDivUIOp::create(b, loc, left, index(rowsAtOnce()));
  findCopied();
  for (int64_t stage = 0; stageBytes && stage < plan.schedule.stages; ++stage) {
    Value row =
        arith::AddIOp::create(b, loc, firstRow, index(stage * rowsAtOnce()));
    copyRow(row, i64(stage * stageBytes));
  }
  findSums();
  SmallVector<Value> inits;
  for (auto &[where, sum] : sums)
    inits.push_back(sum);
  inits.push_back(i64(0));
  before = inits.back().getDefiningOp();
  loop = scf::ForOp::create(b, loc, index(0), turns, index(1), inits);
  b.setInsertionPointToStart(loop.getBody());
  for (auto [entry, sum] : llvm::zip(sums, loop.getRegionIterArgs()))
    entry.second = sum;
  Value turn = loop.getInductionVar();
  current = arith::AddIOp::create(
      b, loc, firstRow,
      arith::MulIOp::create(b, loc, turn, index(rowsAtOnce())));
  place = arith::MulIOp::create(
      b, loc, arith::AndIOp::create(b, loc, turn, index(1)), index(block()));
  if (stageBytes)
    NVVM::CpAsyncWaitGroupOp::create(
        b, loc, static_cast<uint32_t>(plan.schedule.stages - 1));
  if (strands() == 1)
    return current;
  // In the last turn, groups without a row compute the last one again.
  isRow =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, current, bound);
  Value last = arith::SubIOp::create(b, loc, bound, index(1));
  return arith::MinUIOp::create(b, loc, current, last);
}

void GPUWorkers::leave() {
  loc = kernel.getLoc();
  SmallVector<Value> next;
  for (auto &[where, sum] : sums)
    next.push_back(sum);
  Value stage = loop.getRegionIterArgs().back();
  if (stageBytes) {
    // The thread has read what the stage held.
    int64_t stages = plan.schedule.stages;
    Value row =
        arith::AddIOp::create(b, loc, current, index(stages * rowsAtOnce()));
    copyRow(row, stage);
    Value after = arith::AddIOp::create(b, loc, stage, i64(stageBytes));
    Value isLast = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                         after, i64(stages * stageBytes));
    stage = arith::SelectOp::create(b, loc, isLast, i64(0), after);
  }
  next.push_back(stage);
  scf::YieldOp::create(b, loc, next);
  b.setInsertionPointAfter(loop);
  for (auto [entry, sum] : llvm::zip(sums, loop.getResults()))
    entry.second = sum;
  if (strands() > 1)
    combineStrands();
  dynamicShared = std::max(dynamicShared, plan.schedule.stages * stageBytes);
  storeSums();
}

Value GPUWorkers::exchangePlace() { return place; }

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

Value GPUWorkers::placeOf(const Copied &copied, int64_t number, Value stage) {
  auto pointer = LLVM::LLVMPointerType::get(b.getContext(), 3);
  Value base = LLVM::AddressOfOp::create(b, loc, pointer, "norm_shared");
  // The same piece of all threads lies side by side, so that a warp's accesses
  // fall on different banks.
  Value offset = arith::MulIOp::create(b, loc, toI64(tid), i64(copied.piece));
  offset = arith::AddIOp::create(b, loc, offset, stage);
  base = elementPointer(base, offset, b.getI8Type());
  return LLVM::GEPOp::create(
      b, loc, pointer, b.getI8Type(), base,
      ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(
          copied.offset + number * block() * copied.piece)});
}

void GPUWorkers::copyChunk(const Copied &copied, Value base, Type element,
                           const Chunk &chunk, Value stage) {
  OpBuilder::InsertionGuard guard(b);
  if (chunk.mask) {
    auto any = scf::IfOp::create(b, loc, isAny(chunk), /*withElse=*/false);
    b.setInsertionPointToStart(any.thenBlock());
  }
  int64_t perPiece = copied.piece / bytesOf(element);
  for (int64_t i = 0; i < copied.pieces; ++i) {
    Value source =
        LLVM::GEPOp::create(b, loc, base.getType(), element, base,
                            ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(
                                chunk.constantColumn + i * perPiece)});
    NVVM::CpAsyncOp::create(
        b, loc, placeOf(copied, chunk.number * copied.pieces + i, stage),
        source, static_cast<uint32_t>(copied.piece),
        NVVM::LoadCacheModifierKind::CG, Value());
  }
}

void GPUWorkers::copyRow(Value row, Value stage) {
  {
    OpBuilder::InsertionGuard guard(b);
    Value bound = arith::IndexCastOp::create(b, loc, b.getIndexType(), rows);
    Value exists =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, row, bound);
    auto branch = scf::IfOp::create(b, loc, exists, /*withElse=*/false);
    b.setInsertionPointToStart(branch.thenBlock());
    SmallVector<Value> own = positions;
    setPositions(rowDims, toI64(row));
    for (auto &[operand, copied] : copies) {
      const Buffer &buffer = bufferOf(operand);
      Value base = basePointer(buffer, rowDims);
      if (copied.isRow) {
        NVVM::CpAsyncOp::create(b, loc, placeOf(copied, 0, stage), base,
                                static_cast<uint32_t>(copied.piece),
                                NVVM::LoadCacheModifierKind::CA, Value());
        continue;
      }
      base = elementPointer(base, firstColumn, buffer.element);
      forEachStep([&, &copied = copied](int64_t iteration, int64_t block) {
        copyChunk(copied, base, buffer.element, constantChunk(iteration, block),
                  stage);
      });
    }
    positions = own;
  }
  // Also where there is none: groups are counted.
  NVVM::CpAsyncCommitGroupOp::create(b, loc);
}

Value GPUWorkers::loadCopied(const Copied &copied, const Chunk &chunk,
                             VectorType type) {
  Value stage = loop.getRegionIterArgs().back();
  int64_t perPiece = type.getNumElements() / copied.pieces;
  auto pieceType = VectorType::get({perPiece}, type.getElementType());
  auto load = [&] {
    SmallVector<Value> elements;
    Value whole;
    for (int64_t i = 0; i < copied.pieces; ++i) {
      whole = LLVM::LoadOp::create(
          b, loc, pieceType,
          placeOf(copied, chunk.number * copied.pieces + i, stage),
          static_cast<unsigned>(copied.piece));
      for (int64_t j = 0; copied.pieces > 1 && j < perPiece; ++j)
        elements.push_back(
            vector::ExtractOp::create(b, loc, whole, ArrayRef<int64_t>{j}));
    }
    if (copied.pieces == 1)
      return whole;
    return Value(vector::FromElementsOp::create(b, loc, type, elements));
  };
  // Nothing was copied for a group without a row, or beyond the last column.
  return emitIf(chunk.mask ? isAny(chunk) : Value(), type, load);
}

Value GPUWorkers::emitIf(Value condition, Type type,
                         llvm::function_ref<Value()> load) {
  if (isRow)
    condition =
        condition ? arith::AndIOp::create(b, loc, condition, isRow).getResult()
                  : isRow;
  if (!condition)
    return load();
  return loadIf(condition, type, load);
}

/// Loads what all rows have in common before the first one, and keeps it as it
/// lies in memory.
Value GPUWorkers::loadOnce(LoadOp op, const Chunk &chunk) {
  Value &value = common[{op.getSource(), chunk.number}];
  if (!value) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(loop);
    llvm::DenseMap<Value, Value> bases, pointers;
    std::swap(bases, rowBases);
    std::swap(pointers, threadPointers);
    std::swap(before, rowAnchor);
    value =
        GPULowering::emitLoad(op, constantChunk(chunk.number / plan.blocks(),
                                                chunk.number % plan.blocks()));
    std::swap(before, rowAnchor);
    std::swap(bases, rowBases);
    std::swap(pointers, threadPointers);
  }
  return keepPacked(value, /*isFixed=*/true);
}

Value GPUWorkers::emitLoad(LoadOp op, const Chunk &chunk) {
  auto type = cast<VectorType>(op.getType());
  if (auto found = copies.find(op.getSource()); found != copies.end())
    return loadCopied(found->second, chunk, type);
  unsigned number = cast<BlockArgument>(op.getSource()).getArgNumber();
  if (!space.hasRows(number) && !isCovered(op.getSource(), type))
    return loadOnce(op, chunk);
  return GPULowering::emitLoad(op, chunk);
}

Value GPUWorkers::emitLoadRow(LoadRowOp op) {
  auto found = copies.find(op.getSource());
  if (found == copies.end())
    return GPULowering::emitLoadRow(op);
  Value stage = loop.getRegionIterArgs().back();
  const Copied &copied = found->second;
  return emitIf(Value(), op.getType(), [&]() -> Value {
    return LLVM::LoadOp::create(b, loc, op.getType(), placeOf(copied, 0, stage),
                                static_cast<unsigned>(copied.piece));
  });
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

void GPUWorkers::emitSumRows(SumRowsOp op, Value value, const Chunk &chunk) {
  Value &sum = sums[{op, chunk.number}];
  Value next = arith::AddFOp::create(b, loc, sum, value);
  sum = isRow ? arith::SelectOp::create(b, loc, isRow, next, sum).getResult()
              : next;
}

/// Combines the strands' sums by halving, in the first group's registers.
void GPUWorkers::combineStrands() {
  // Copies may still be under way to where the sums will be.
  if (stageBytes)
    NVVM::CpAsyncWaitGroupOp::create(b, loc, 0);
  auto pointer = LLVM::LLVMPointerType::get(b.getContext(), 3);
  for (int64_t half = strands() / 2; half >= 1; half /= 2) {
    Value isUpper = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::uge,
                                          group, index(half));
    Value isPart = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult,
                                         group, index(2 * half));
    Value sends = arith::AndIOp::create(b, loc, isUpper, isPart);
    Value takes = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult,
                                        group, index(half));
    // The upper strand's threads and those of the lower one by its number.
    Value number = arith::RemUIOp::create(b, loc, tid, index(half * threads()));
    int64_t shared = 0;
    auto addressOf = [&](VectorType type, int64_t offset) -> Value {
      Value base = LLVM::AddressOfOp::create(b, loc, pointer, "norm_shared");
      Value at =
          arith::MulIOp::create(b, loc, toI64(number), i64(bytesOf(type)));
      at = arith::AddIOp::create(b, loc, at, i64(offset));
      return elementPointer(base, at, b.getI8Type());
    };
    for (auto &[where, sum] : sums) {
      auto type = cast<VectorType>(sum.getType());
      unsigned bytes = static_cast<unsigned>(std::min<int64_t>(
          16, llvm::bit_floor(static_cast<uint64_t>(bytesOf(type)))));
      gpu::BarrierOp::create(b, loc);
      auto send = scf::IfOp::create(b, loc, sends, /*withElse=*/false);
      {
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPointToStart(send.thenBlock());
        LLVM::StoreOp::create(b, loc, sum, addressOf(type, 0), bytes);
      }
      gpu::BarrierOp::create(b, loc);
      auto take = scf::IfOp::create(b, loc, TypeRange{type}, takes, true, true);
      {
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPointToStart(take.thenBlock());
        Value other =
            LLVM::LoadOp::create(b, loc, type, addressOf(type, 0), bytes);
        scf::YieldOp::create(
            b, loc, arith::AddFOp::create(b, loc, sum, other).getResult());
        b.setInsertionPointToStart(take.elseBlock());
        scf::YieldOp::create(b, loc, sum);
      }
      sum = take.getResult(0);
      shared = std::max(shared, half * threads() * bytesOf(type));
    }
    dynamicShared = std::max(dynamicShared, shared);
  }
}

/// Stores a chunk of the worker's sums.
void GPUWorkers::storeSum(SumRowsOp op, Value sum, const Chunk &chunk) {
  const Buffer &buffer = bufferOf(op.getDestination());
  auto type = cast<VectorType>(sum.getType());
  int64_t element = bytesOf(type.getElementType());
  Value first = arith::MulIOp::create(b, loc, toI64(cta), i64(plan.columns));
  first = arith::AddIOp::create(b, loc, first, toI64(chunk.column));
  Value pointer = elementPointer(buffer.pointer, first, buffer.element);
  OpBuilder::InsertionGuard guard(b);
  if (chunk.mask) {
    bool partial = plan.hasPartialChunk();
    auto whole = scf::IfOp::create(b, loc, isWhole(chunk), partial);
    if (partial) {
      b.setInsertionPointToStart(whole.elseBlock());
      storeElements(sum, pointer, chunk);
    }
    b.setInsertionPointToStart(whole.thenBlock());
  }
  // Of workers that aren't the first, as aligned as their distance.
  int64_t bytes = std::min<int64_t>(16, alignmentOf(buffer));
  while (plan.columns * element % bytes != 0)
    bytes /= 2;
  int64_t size = std::min(bytes / element, type.getNumElements());
  for (int64_t i = 0; i < type.getNumElements(); i += size) {
    Value part =
        size == 1 ? vector::ExtractOp::create(b, loc, sum, ArrayRef<int64_t>{i})
                        .getResult()
                  : vector::ShuffleOp::create(
                        b, loc, sum, sum,
                        llvm::to_vector(llvm::seq<int64_t>(i, i + size)))
                        .getResult();
    Value address =
        LLVM::GEPOp::create(b, loc, pointer.getType(), buffer.element, pointer,
                            ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(i)});
    LLVM::StoreOp::create(b, loc, part, address,
                          static_cast<unsigned>(size * element));
  }
}

void GPUWorkers::storeSums() {
  OpBuilder::InsertionGuard guard(b);
  if (strands() > 1) {
    Value isFirst = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                          group, index(0));
    auto first = scf::IfOp::create(b, loc, isFirst, /*withElse=*/false);
    b.setInsertionPointToStart(first.thenBlock());
  }
  for (auto &[where, sum] : sums)
    storeSum(cast<SumRowsOp>(where.first), sum,
             constantChunk(where.second / plan.blocks(),
                           where.second % plan.blocks()));
}
