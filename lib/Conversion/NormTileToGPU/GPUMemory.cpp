//===- GPUMemory.cpp - Loads, stores and held values on a GPU -------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GPULowering.h"
#include "norm/Conversion/KernelHints.h"
#include "norm/Conversion/PackedElements.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::norm;
using namespace mlir::norm_tile;

static int64_t bytesOf(Type element) {
  return std::max<int64_t>(1, element.getIntOrFloatBitWidth() / 8);
}

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

Value GPULowering::rowBase(Value operand) {
  Value &base = rowBases[operand];
  if (!base) {
    // Once per row, so at the level of rows whatever asks first.
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointAfter(rowAnchor);
    base = basePointer(bufferOf(operand), rowDims);
  }
  return base;
}

/// Address of the thread's first chunk in the current row of an operand.
Value GPULowering::threadPointer(Value operand) {
  Value &pointer = threadPointers[operand];
  if (!pointer) {
    Value base = rowBase(operand);
    OpBuilder::InsertionGuard guard(b);
    bool isStepped = base != bufferOf(operand).pointer;
    b.setInsertionPointAfter(isStepped ? base.getDefiningOp() : rowAnchor);
    pointer = elementPointer(base, firstColumn, bufferOf(operand).element);
  }
  return pointer;
}

Value GPULowering::chunkPointer(Value operand, const Chunk &chunk) {
  Buffer &buffer = bufferOf(operand);
  if (buffer.reach != Reach::Linear) {
    Value column =
        arith::TruncIOp::create(b, loc, b.getI32Type(), toI64(chunk.column));
    return chunkElement(buffer, rowBase(operand), column);
  }
  return advance(threadPointer(operand), chunk, buffer.element);
}

/// An address of the chunk, given that of the thread's first one.
Value GPULowering::advance(Value base, const Chunk &chunk, Type element) {
  if (chunk.dynamicColumn)
    return elementPointer(base, chunk.dynamicColumn, element);
  if (chunk.constantColumn == 0)
    return base;
  if (isPacked(element))
    return elementPointer(base, i64(chunk.constantColumn), element);
  return LLVM::GEPOp::create(
      b, loc, base.getType(), element, base,
      ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(chunk.constantColumn)});
}

int64_t GPULowering::alignmentOf(const Buffer &buffer) const {
  unsigned number = &buffer - buffers.data();
  bool isOfRows = isAcross || space.hasRows(number);
  return std::max(isOfRows ? alignment.rows : alignment.columns,
                  bytesOf(buffer.element));
}

/// Elements of one access: what the alignment allows, up to 16 bytes.
int64_t GPULowering::accessElements(const Buffer &buffer, Type element) {
  int64_t bytes = std::min<int64_t>(16, alignmentOf(buffer));
  return std::clamp<int64_t>(bytes / bytesOf(element), 1,
                             kernel.getChunkSize());
}

/// i1: all of the chunk's columns lie within the row.
Value GPULowering::isWhole(const Chunk &chunk) {
  Value end =
      arith::AddIOp::create(b, loc, toI64(chunk.column), i64(plan.chunkSize()));
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sle, end, columns);
}

Value GPULowering::isAny(const Chunk &chunk) {
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt,
                               toI64(chunk.column), columns);
}

int64_t GPULowering::elementsPerCta() const {
  constexpr int64_t kTypical = 4096;
  return plan.schedule.rowsPerCta *
         (plan.columns >= 0 ? plan.columns : kTypical);
}

void GPULowering::findStreams() {
  int64_t bytes = 0;
  for (auto [i, buffer] : llvm::enumerate(buffers)) {
    if (!buffer.element || !space.hasRows(i) || !space.hasColumns(i))
      continue;
    bytes += elementsPerCta() * bytesOf(buffer.element);
    // Across memory CTAs meet in the middle of a row: what they move is little.
    buffer.isStreamed =
        !isAcross && !mayBeWritten(kernel.getBlock()->getArgument(i));
  }
  function->setAttr(kCtaBytesAttr, b.getI64IntegerAttr(bytes));
}

//===----------------------------------------------------------------------===//
// Loads
//===----------------------------------------------------------------------===//

/// Joins vectors of one size by pairs.
static Value concatenate(OpBuilder &b, Location loc, SmallVector<Value> parts) {
  while (parts.size() > 1) {
    SmallVector<Value> next;
    for (size_t i = 0; i < parts.size(); i += 2) {
      int64_t size = cast<VectorType>(parts[i].getType()).getNumElements() * 2;
      next.push_back(vector::ShuffleOp::create(
          b, loc, parts[i], parts[i + 1],
          llvm::to_vector(llvm::seq<int64_t>(0, size))));
    }
    parts = next;
  }
  return parts.front();
}

Value GPULowering::loadWhole(Value pointer, VectorType type,
                             const Buffer &buffer) {
  if (isPacked(type))
    return unpackBytes(b, loc, loadWhole(pointer, packedBytes(type), buffer));
  Type element = type.getElementType();
  bool isStreamed = buffer.isStreamed;
  int64_t size =
      std::min(accessElements(buffer, element), type.getNumElements());
  unsigned bytes = size * bytesOf(element);
  if (size == type.getNumElements())
    return LLVM::LoadOp::create(b, loc, type, pointer, bytes,
                                /*isVolatile=*/false, isStreamed);
  SmallVector<Value> parts;
  for (int64_t first = 0; first < type.getNumElements(); first += size) {
    Value address = LLVM::GEPOp::create(
        b, loc, pointer.getType(), element, pointer,
        ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(first)});
    Type part = size == 1 ? element : Type(VectorType::get({size}, element));
    parts.push_back(LLVM::LoadOp::create(b, loc, part, address, bytes,
                                         /*isVolatile=*/false, isStreamed));
  }
  if (size == 1)
    return vector::FromElementsOp::create(b, loc, type, parts);
  return concatenate(b, loc, parts);
}

/// The chunk element by element, the row's last one in place of those beyond.
Value GPULowering::loadElements(Value operand, const Chunk &chunk,
                                VectorType type) {
  Value pointer = chunkPointer(operand, chunk);
  Value count = arith::SubIOp::create(b, loc, columns, toI64(chunk.column));
  bool packed = isPacked(type);
  if (packed) {
    count = arith::ShRUIOp::create(b, loc, count, i64(1));
    type = packedBytes(type);
  }
  Type element = type.getElementType();
  Value last = arith::SubIOp::create(b, loc, count, i64(1));
  SmallVector<Value> elements;
  for (int64_t i = 0; i < type.getNumElements(); ++i) {
    Value offset = arith::MinSIOp::create(b, loc, i64(i), last);
    elements.push_back(LLVM::LoadOp::create(
        b, loc, element, elementPointer(pointer, offset, element),
        bytesOf(element)));
  }
  Value loaded = vector::FromElementsOp::create(b, loc, type, elements);
  return packed ? unpackBytes(b, loc, loaded) : loaded;
}

/// The columns of a row's last chunk, which are known to be so many, by the
/// widest accesses, and zeros.
Value GPULowering::loadRest(Value operand, const Chunk &chunk,
                            VectorType type) {
  Value pointer = chunkPointer(operand, chunk);
  const Buffer &buffer = bufferOf(operand);
  Type element = type.getElementType();
  int64_t rest = plan.columns % plan.chunkSize();
  int64_t widest = accessElements(buffer, element);
  Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(element));
  SmallVector<Value> elements(type.getNumElements(), zero);
  for (int64_t first = 0; first < rest;) {
    int64_t size =
        std::min(widest, static_cast<int64_t>(llvm::bit_floor(
                             static_cast<uint64_t>(rest - first))));
    Value address = LLVM::GEPOp::create(
        b, loc, pointer.getType(), element, pointer,
        ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(first)});
    Type part = size == 1 ? element : Type(VectorType::get({size}, element));
    Value loaded = LLVM::LoadOp::create(
        b, loc, part, address, static_cast<unsigned>(size * bytesOf(element)));
    for (int64_t i = 0; i < size; ++i)
      elements[first + i] =
          size == 1 ? loaded
                    : vector::ExtractOp::create(b, loc, loaded,
                                                ArrayRef<int64_t>{i});
    first += size;
  }
  return vector::FromElementsOp::create(b, loc, type, elements);
}

/// A whole chunk, or the row's last columns, which are known to be so many, or
/// zeros. Short branches one after the other become predicates.
Value GPULowering::loadLast(Value operand, const Chunk &chunk,
                            VectorType type) {
  Value pointer = chunkPointer(operand, chunk);
  int64_t rest = plan.columns % plan.chunkSize();
  Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(type));
  auto emit = [&](Value condition, Value otherwise,
                  llvm::function_ref<Value()> load) {
    auto branch =
        scf::IfOp::create(b, loc, TypeRange{type}, condition, true, true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(b, loc, load());
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, loc, otherwise);
    return branch.getResult(0);
  };
  Value whole = emit(isWhole(chunk), zero, [&] {
    return loadWhole(pointer, type, bufferOf(operand));
  });
  if (rest == 0)
    return whole;
  Value isLast =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                            toI64(chunk.column), i64(plan.columns - rest));
  return emit(isLast, whole, [&] { return loadRest(operand, chunk, type); });
}

Value GPULowering::loadNeighbours(const Buffer &buffer, Value base,
                                  Value linear, VectorType type, Value last) {
  unsigned bytes = bytesOf(buffer.element);
  if (buffer.reach == Reach::Uniform) {
    if (last)
      linear = arith::MinSIOp::create(b, loc, linear, last);
    Value element = LLVM::LoadOp::create(
        b, loc, buffer.element, chunkElement(buffer, base, linear), bytes);
    return vector::BroadcastOp::create(b, loc, type, element);
  }
  if (buffer.reach != Reach::Gather)
    return loadWhole(chunkElement(buffer, base, linear), type, buffer);
  SmallVector<Value> elements;
  for (int64_t i = 0; i < type.getNumElements(); ++i) {
    Value step = arith::ConstantOp::create(
        b, loc, b.getIntegerAttr(linear.getType(), i));
    Value at = arith::AddIOp::create(b, loc, linear, step);
    if (last)
      at = arith::MinSIOp::create(b, loc, at, last);
    elements.push_back(LLVM::LoadOp::create(
        b, loc, buffer.element, chunkElement(buffer, base, at), bytes));
  }
  return vector::FromElementsOp::create(b, loc, type, elements);
}

/// A chunk whose elements aren't neighbours.
Value GPULowering::loadApart(LoadOp op, const Chunk &chunk) {
  auto type = cast<VectorType>(op.getType());
  Buffer &buffer = bufferOf(op.getSource());
  Value base = rowBase(op.getSource());
  Type i32 = b.getI32Type();
  Value column = arith::TruncIOp::create(b, loc, i32, toI64(chunk.column));
  if (!chunk.mask)
    return loadNeighbours(buffer, base, column, type, Value());
  auto guarded =
      scf::IfOp::create(b, loc, TypeRange{type}, isAny(chunk), true, true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(guarded.thenBlock());
  Value last = arith::TruncIOp::create(
      b, loc, i32, arith::SubIOp::create(b, loc, columns, i64(1)));
  Value loaded = loadNeighbours(buffer, base, column, type, last);
  scf::YieldOp::create(b, loc, loaded);
  b.setInsertionPointToStart(guarded.elseBlock());
  Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(type));
  scf::YieldOp::create(b, loc, zero);
  return guarded.getResult(0);
}

bool GPULowering::mayBeWritten(Value operand) const {
  return isWritten(operand) ||
         overlapping[cast<BlockArgument>(operand).getArgNumber()];
}

Value GPULowering::emitLoad(LoadOp op, const Chunk &chunk) {
  auto type = cast<VectorType>(op.getType());
  if (!isRow || !mayBeWritten(op.getSource()))
    return emitLoadOfRow(op, chunk);
  // The last row, which groups without one compute again, is being written.
  return loadIf(isRow, type, [&] { return emitLoadOfRow(op, chunk); });
}

Value GPULowering::loadIf(Value condition, Type type,
                          llvm::function_ref<Value()> load) {
  auto guarded =
      scf::IfOp::create(b, loc, TypeRange{type}, condition, true, true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(guarded.thenBlock());
  Value loaded = load();
  scf::YieldOp::create(b, loc, loaded);
  b.setInsertionPointToStart(guarded.elseBlock());
  Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(type));
  scf::YieldOp::create(b, loc, zero);
  return guarded.getResult(0);
}

Value GPULowering::emitLoadOfRow(LoadOp op, const Chunk &chunk) {
  auto type = cast<VectorType>(op.getType());
  Reach reach = bufferOf(op.getSource()).reach;
  if (reach == Reach::Uniform || reach == Reach::Gather)
    return loadApart(op, chunk);
  if (isCovered(op.getSource(), type))
    return loadCovered(op, chunk);
  Value pointer = chunkPointer(op.getSource(), chunk);
  const Buffer &buffer = bufferOf(op.getSource());
  if (!chunk.mask)
    return loadWhole(pointer, type, buffer);
  if (!plan.isDynamic() && !isPacked(type))
    return loadLast(op.getSource(), chunk, type);
  // All or nothing where the row ends at the end of a chunk.
  Value whole = isWhole(chunk);
  auto first = scf::IfOp::create(b, loc, TypeRange{type}, whole, true, true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(first.thenBlock());
  scf::YieldOp::create(b, loc, loadWhole(pointer, type, buffer));
  b.setInsertionPointToStart(first.elseBlock());
  if (!plan.hasPartialChunk()) {
    Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(type));
    scf::YieldOp::create(b, loc, zero);
    return first.getResult(0);
  }
  auto second =
      scf::IfOp::create(b, loc, TypeRange{type}, isAny(chunk), true, true);
  scf::YieldOp::create(b, loc, second.getResult(0));
  b.setInsertionPointToStart(second.thenBlock());
  scf::YieldOp::create(b, loc, loadElements(op.getSource(), chunk, type));
  b.setInsertionPointToStart(second.elseBlock());
  Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(type));
  scf::YieldOp::create(b, loc, zero);
  return first.getResult(0);
}

//===----------------------------------------------------------------------===//
// Stores
//===----------------------------------------------------------------------===//

void GPULowering::storeWhole(Value value, Value pointer,
                             const Buffer &buffer) {
  if (isPacked(value.getType()))
    value = packBytes(b, loc, value);
  auto type = cast<VectorType>(value.getType());
  Type element = type.getElementType();
  int64_t size =
      std::min(accessElements(buffer, element), type.getNumElements());
  unsigned bytes = size * bytesOf(element);
  if (size == type.getNumElements()) {
    LLVM::StoreOp::create(b, loc, value, pointer, bytes);
    return;
  }
  for (int64_t first = 0; first < type.getNumElements(); first += size) {
    Value address = LLVM::GEPOp::create(
        b, loc, pointer.getType(), element, pointer,
        ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(first)});
    Value part =
        size == 1
            ? vector::ExtractOp::create(b, loc, value, ArrayRef{first})
                  .getResult()
            : vector::ShuffleOp::create(
                  b, loc, value, value,
                  llvm::to_vector(llvm::seq<int64_t>(first, first + size)))
                  .getResult();
    LLVM::StoreOp::create(b, loc, part, address, bytes);
  }
}

void GPULowering::storeElements(Value value, Value pointer,
                                const Chunk &chunk) {
  // Of two that share a byte, both are columns or none is.
  int64_t step = isPacked(value.getType()) ? 2 : 1;
  if (step == 2)
    value = packBytes(b, loc, value);
  auto type = cast<VectorType>(value.getType());
  Type element = type.getElementType();
  for (int64_t i = 0; i < type.getNumElements(); ++i) {
    Value isColumn = vector::ExtractOp::create(b, loc, chunk.mask,
                                               ArrayRef<int64_t>{i * step});
    auto condition = scf::IfOp::create(b, loc, isColumn, /*withElse=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(condition.thenBlock());
    Value part = vector::ExtractOp::create(b, loc, value, ArrayRef<int64_t>{i});
    Value address =
        LLVM::GEPOp::create(b, loc, pointer.getType(), element, pointer,
                            ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(i)});
    LLVM::StoreOp::create(b, loc, part, address, bytesOf(element));
  }
}

void GPULowering::storeNeighbours(Value value, const Buffer &buffer, Value base,
                                  Value linear, int64_t every) {
  bool isWhole =
      buffer.reach == Reach::Linear || buffer.reach == Reach::Piecewise;
  if (isWhole && every == 1) {
    storeWhole(value, chunkElement(buffer, base, linear), buffer);
    return;
  }
  int64_t size = cast<VectorType>(value.getType()).getNumElements();
  for (int64_t i = 0; i < size; ++i) {
    OpBuilder::InsertionGuard guard(b);
    Value at = arith::AddIOp::create(b, loc, linear, i64(i));
    if (every > 1) {
      Value rest = arith::RemUIOp::create(b, loc, at, i64(every));
      Value isFirst =
          arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, rest, i64(0));
      auto condition = scf::IfOp::create(b, loc, isFirst, /*withElse=*/false);
      b.setInsertionPointToStart(condition.thenBlock());
    }
    Value part = vector::ExtractOp::create(b, loc, value, ArrayRef<int64_t>{i});
    LLVM::StoreOp::create(b, loc, part, chunkElement(buffer, base, at),
                          bytesOf(buffer.element));
  }
}

/// Elements that aren't neighbours, one by one.
void GPULowering::storeApart(StoreOp op, Value value, const Chunk &chunk) {
  Buffer &buffer = bufferOf(op.getDestination());
  Value base = rowBase(op.getDestination());
  Value column =
      arith::TruncIOp::create(b, loc, b.getI32Type(), toI64(chunk.column));
  int64_t size = cast<VectorType>(value.getType()).getNumElements();
  for (int64_t i = 0; i < size; ++i) {
    OpBuilder::InsertionGuard guard(b);
    if (chunk.mask) {
      Value isColumn =
          vector::ExtractOp::create(b, loc, chunk.mask, ArrayRef<int64_t>{i});
      auto condition = scf::IfOp::create(b, loc, isColumn, /*withElse=*/false);
      b.setInsertionPointToStart(condition.thenBlock());
    }
    Value step = arith::ConstantOp::create(
        b, loc, b.getI32IntegerAttr(static_cast<int32_t>(i)));
    Value at = arith::AddIOp::create(b, loc, column, step);
    Value part = vector::ExtractOp::create(b, loc, value, ArrayRef<int64_t>{i});
    LLVM::StoreOp::create(b, loc, part, chunkElement(buffer, base, at),
                          bytesOf(buffer.element));
  }
}

/// One element for each group that begins in the chunk.
void GPULowering::storeGroups(StoreOp op, Value value, const Chunk &chunk) {
  Buffer &buffer = bufferOf(op.getDestination());
  Value base = rowBase(op.getDestination());
  Value column =
      arith::TruncIOp::create(b, loc, b.getI32Type(), toI64(chunk.column));
  int64_t size = cast<VectorType>(value.getType()).getNumElements();
  auto i32 = [&](int64_t number) {
    return arith::ConstantOp::create(
        b, loc, b.getI32IntegerAttr(static_cast<int32_t>(number)));
  };
  for (int64_t i = 0; i < size; i += op.getGroup()) {
    Value isStored;
    if (static_cast<int64_t>(op.getGroup()) > size) {
      Value rest = arith::RemUIOp::create(b, loc, column, i32(op.getGroup()));
      isStored =
          arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, rest, i32(0));
    }
    if (chunk.mask) {
      Value isColumn =
          vector::ExtractOp::create(b, loc, chunk.mask, ArrayRef<int64_t>{i});
      isStored = isStored ? arith::AndIOp::create(b, loc, isStored, isColumn)
                          : isColumn;
    }
    OpBuilder::InsertionGuard guard(b);
    if (isStored) {
      auto condition = scf::IfOp::create(b, loc, isStored, /*withElse=*/false);
      b.setInsertionPointToStart(condition.thenBlock());
    }
    Value at = arith::AddIOp::create(b, loc, column, i32(i));
    Value part = vector::ExtractOp::create(b, loc, value, ArrayRef<int64_t>{i});
    LLVM::StoreOp::create(b, loc, part, chunkElement(buffer, base, at),
                          bytesOf(buffer.element));
  }
}

void GPULowering::emitStore(StoreOp op, Value value, const Chunk &chunk) {
  if (op.getGroup() > 1) {
    // The address of a row is found at the level of rows.
    (void)rowBase(op.getDestination());
    OpBuilder::InsertionGuard guard(b);
    if (isRow) {
      auto condition = scf::IfOp::create(b, loc, isRow, /*withElse=*/false);
      b.setInsertionPointToStart(condition.thenBlock());
    }
    storeGroups(op, value, chunk);
    return;
  }
  if (stageOf(op).offset >= 0) {
    stage(op, value, chunk);
    return;
  }
  const Buffer &buffer = bufferOf(op.getDestination());
  bool isApart = buffer.reach == Reach::Gather;
  Value pointer = isApart ? Value() : chunkPointer(op.getDestination(), chunk);
  OpBuilder::InsertionGuard guard(b);
  if (isRow) {
    auto condition = scf::IfOp::create(b, loc, isRow, /*withElse=*/false);
    b.setInsertionPointToStart(condition.thenBlock());
  }
  if (isApart) {
    storeApart(op, value, chunk);
    return;
  }
  if (!chunk.mask) {
    storeWhole(value, pointer, buffer);
    return;
  }
  bool partial = plan.hasPartialChunk();
  auto condition = scf::IfOp::create(b, loc, isWhole(chunk), partial);
  b.setInsertionPointToStart(condition.thenBlock());
  storeWhole(value, pointer, buffer);
  if (!partial)
    return;
  b.setInsertionPointToStart(condition.elseBlock());
  storeElements(value, pointer, chunk);
}

/// Whether nothing but elements of rows that are stored depends on a row's.
static bool isOnlyStored(LoadRowOp op) {
  SmallVector<Value> values = {op.getResult()};
  while (!values.empty())
    for (Operation *user : values.pop_back_val().getUsers()) {
      if (isa<StoreRowOp>(user))
        continue;
      if (user->getBlock() != op->getBlock() || user->getNumRegions() != 0 ||
          user->getNumResults() == 0)
        return false;
      llvm::append_range(values, user->getResults());
    }
  return true;
}

Value GPULowering::loadRow(LoadRowOp op, llvm::function_ref<Value()> load) {
  if (!mayBeWritten(op.getSource()) || !isOnlyStored(op))
    return load();
  return loadIf(storesRow(), op.getType(), load);
}

Value GPULowering::emitLoadRow(LoadRowOp op) {
  return loadRow(op, [&] { return KernelLowering::emitLoadRow(op); });
}

Value GPULowering::storesRow() {
  Value isFirst =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, thread, index(0));
  return isRow ? arith::AndIOp::create(b, loc, isFirst, isRow).getResult()
               : isFirst;
}

void GPULowering::emitStoreRow(Value value, const Buffer &buffer) {
  auto condition = scf::IfOp::create(b, loc, storesRow(), /*withElse=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(condition.thenBlock());
  LLVM::StoreOp::create(b, loc, value, basePointer(buffer, rowDims),
                        bytesOf(buffer.element));
}

//===----------------------------------------------------------------------===//
// Held values
//===----------------------------------------------------------------------===//

/// Where a thread keeps a chunk of a slot: chunks of all threads lie side by
/// side, so that a warp's accesses fall on different banks.
Value GPULowering::sharedAddress(int64_t slot, const Chunk &chunk,
                                 VectorType type) {
  int64_t bytes = type.getNumElements() * bytesOf(type.getElementType());
  int64_t ctaThreads = threads() * plan.schedule.rowsPerCta;
  auto found = slotOffsets.find(slot);
  if (found == slotOffsets.end()) {
    found = slotOffsets.try_emplace(slot, dynamicShared).first;
    dynamicShared += plan.steps() * ctaThreads * bytes;
  }
  Value tid = arith::AddIOp::create(
      b, loc, arith::MulIOp::create(b, loc, group, index(threads())), thread);
  Value offset = arith::AddIOp::create(
      b, loc, arith::MulIOp::create(b, loc, toI64(tid), i64(bytes)),
      i64(found->second));
  Value number;
  if (chunk.dynamicColumn)
    number = arith::DivUIOp::create(b, loc, chunk.dynamicColumn,
                                    i64(plan.stepSize()));
  else
    number = i64(chunk.number);
  offset = arith::AddIOp::create(
      b, loc, offset,
      arith::MulIOp::create(b, loc, number, i64(ctaThreads * bytes)));
  auto pointer = LLVM::LLVMPointerType::get(b.getContext(), 3);
  Value base = LLVM::AddressOfOp::create(b, loc, pointer, "norm_shared");
  return elementPointer(base, offset, b.getI8Type());
}

/// The same value behind an empty assembly statement. Without it the compiler
/// finds the unpacked floats of the first phase good enough for the last one,
/// and keeps twice the registers alive.
Value GPULowering::keepPacked(Value value, bool isFixed) {
  auto type = cast<VectorType>(value.getType());
  int64_t bits = type.getNumElements() * type.getElementTypeBitWidth();
  if (type.getElementTypeBitWidth() >= 32 || bits % 32 != 0)
    return value;
  int64_t words = bits / 32;
  auto wordsType = VectorType::get({words}, b.getI32Type());
  Value packed = vector::BitCastOp::create(b, loc, wordsType, value);
  SmallVector<Value> operands;
  std::string outputs, inputs;
  for (int64_t i = 0; i < words; ++i) {
    operands.push_back(
        vector::ExtractOp::create(b, loc, packed, ArrayRef<int64_t>{i}));
    outputs += i ? ",=r" : "=r";
    inputs += "," + std::to_string(i);
  }
  Type resultType = b.getI32Type();
  if (words > 1)
    resultType = LLVM::LLVMStructType::getLiteral(
        b.getContext(), SmallVector<Type>(words, b.getI32Type()));
  auto barrier = LLVM::InlineAsmOp::create(
      b, loc, resultType, operands, "", outputs + inputs,
      /*has_side_effects=*/isFixed, /*is_align_stack=*/false,
      LLVM::tailcallkind::TailCallKind::None, LLVM::AsmDialectAttr(),
      ArrayAttr());
  SmallVector<Value> results;
  for (int64_t i = 0; i < words; ++i)
    results.push_back(words == 1 ? barrier.getResult(0)
                                 : LLVM::ExtractValueOp::create(
                                       b, loc, barrier.getResult(0), i)
                                       .getResult());
  Value joined = vector::FromElementsOp::create(b, loc, wordsType, results);
  return vector::BitCastOp::create(b, loc, type, joined);
}

void GPULowering::emitHold(HoldOp op, Value value, const Chunk &chunk) {
  if (plan.schedule.residency == ::norm::Residency::Registers) {
    held[{static_cast<int64_t>(op.getSlot()), chunk.number}] = value;
    return;
  }
  auto type = cast<VectorType>(value.getType());
  int64_t bytes = type.getNumElements() * bytesOf(type.getElementType());
  LLVM::StoreOp::create(b, loc, value, sharedAddress(op.getSlot(), chunk, type),
                        std::min<int64_t>(16, bytes));
}

Value GPULowering::emitHeld(HeldOp op, const Chunk &chunk) {
  if (plan.schedule.residency == ::norm::Residency::Registers)
    return keepPacked(
        held.lookup({static_cast<int64_t>(op.getSlot()), chunk.number}));
  auto type = cast<VectorType>(op.getType());
  int64_t bytes = type.getNumElements() * bytesOf(type.getElementType());
  return LLVM::LoadOp::create(b, loc, type,
                              sharedAddress(op.getSlot(), chunk, type),
                              std::min<int64_t>(16, bytes));
}
