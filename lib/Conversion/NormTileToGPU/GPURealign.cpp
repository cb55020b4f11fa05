//===- GPURealign.cpp - Loads at any address on a GPU ---------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A chunk that is aligned to its elements only is loaded by the aligned words
// that cover it, which are then shifted into place. How far is the same for all
// chunks of a row. Words that reach beyond the row are never loaded: chunks at
// its ends that would need such ones are loaded element by element.
//
//===----------------------------------------------------------------------===//

#include "GPULowering.h"
#include "norm/Conversion/PackedElements.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::norm;
using namespace mlir::norm_tile;

/// Bytes of a covering word. Wider ones are fewer loads, and more selects.
static constexpr int64_t kWord = 8;
/// Registers of a thread that hold what is loaded ahead, at most.
static constexpr int64_t kAhead = 48;

static int64_t chunkBytes(VectorType type) {
  return type.getNumElements() * type.getElementTypeBitWidth() / 8;
}

static int64_t elementBytes(VectorType type) {
  return type.getElementTypeBitWidth() / 8;
}

bool GPULowering::isCovered(Value operand, VectorType type) const {
  const Buffer &buffer = buffers[cast<BlockArgument>(operand).getArgNumber()];
  return !isAcross && buffer.reach == Reach::Linear && !isPacked(type) &&
         type.getElementTypeBitWidth() % 8 == 0 && chunkBytes(type) % 16 == 0 &&
         alignmentOf(buffer) < kWord && !mayBeWritten(operand);
}

static Value constant32(OpBuilder &b, Location loc, int64_t value) {
  return arith::ConstantOp::create(
      b, loc, b.getI32IntegerAttr(static_cast<int32_t>(value)));
}

static Value byteOffset(OpBuilder &b, Location loc, Value pointer,
                        Value bytes) {
  return LLVM::GEPOp::create(b, loc, pointer.getType(), b.getI8Type(), pointer,
                             ArrayRef<LLVM::GEPArg>{bytes});
}

const GPULowering::Covering &GPULowering::coveringOf(Value operand,
                                                     VectorType type) {
  auto [found, isNew] = coverings.try_emplace(operand);
  Covering &covering = found->second;
  if (!isNew)
    return covering;
  // Once per row, like the address itself.
  Value base = rowBase(operand);
  Value pointer = threadPointer(operand);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointAfter(pointer.getDefiningOp());
  int64_t element = elementBytes(type);
  Type i32 = b.getI32Type();
  auto number = [&](int64_t value) { return constant32(b, loc, value); };
  Value address = LLVM::PtrToIntOp::create(b, loc, b.getI64Type(), base);
  Value misfit = arith::AndIOp::create(
      b, loc, arith::TruncIOp::create(b, loc, i32, address), number(kWord - 1));
  Value isFit = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, misfit,
                                      number(0));
  covering.misfit = misfit;
  covering.pointer = byteOffset(
      b, loc, pointer, arith::SubIOp::create(b, loc, number(0), misfit));
  // An aligned chunk has one word less; its last one is loaded again.
  covering.last = byteOffset(
      b, loc, covering.pointer,
      arith::SelectOp::create(b, loc, isFit, number(chunkBytes(type) - kWord),
                              number(chunkBytes(type))));
  // The last word reaches `kWord - misfit` bytes beyond the chunk.
  Value beyond = arith::DivUIOp::create(
      b, loc, arith::SubIOp::create(b, loc, number(kWord), misfit),
      number(element));
  beyond = arith::SelectOp::create(b, loc, isFit, number(0), beyond);
  Value whole = arith::SubIOp::create(
      b, loc, arith::TruncIOp::create(b, loc, i32, columns),
      number(type.getNumElements()));
  covering.lastWithin = arith::SubIOp::create(b, loc, whole, beyond);
  covering.firstWithin =
      arith::SelectOp::create(b, loc, isFit, number(0), number(1));
  return covering;
}

/// i1: all words that cover the chunk lie within the row; null where all do.
Value GPULowering::isCoverable(Value operand, VectorType type,
                               const Chunk &chunk) {
  const Covering &covering = coveringOf(operand, type);
  bool isPlaced = chunk.constantColumn >= 0 && !plan.isDynamic();
  bool mayBeFirst = !isPlaced || chunk.constantColumn == 0;
  int64_t beyond = kWord / elementBytes(type) - 1;
  bool mayBeLast =
      !isPlaced || chunk.mask ||
      chunk.constantColumn + plan.stepSize() + beyond > plan.columns;
  Value column =
      arith::TruncIOp::create(b, loc, b.getI32Type(), toI64(chunk.column));
  Value isWithin;
  if (mayBeFirst)
    isWithin = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge, column,
                                     covering.firstWithin);
  if (mayBeLast) {
    Value isBefore = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sle,
                                           column, covering.lastWithin);
    isWithin =
        isWithin ? arith::AndIOp::create(b, loc, isWithin, isBefore).getResult()
                 : isBefore;
  }
  return isWithin;
}

/// The words that cover a chunk, as i32; zeros where that isn't possible.
SmallVector<Value> GPULowering::loadCovering(Value operand, VectorType type,
                                             const Chunk &chunk) {
  const Covering &covering = coveringOf(operand, type);
  const Buffer &buffer = bufferOf(operand);
  constexpr int64_t parts = kWord / 4;
  int64_t count = chunkBytes(type) / kWord + 1;
  Type part = b.getI32Type();
  Type word = parts == 1 ? part : Type(VectorType::get({parts}, part));
  auto load = [&] {
    SmallVector<Value> words;
    Value pointer = advance(covering.pointer, chunk, buffer.element);
    Value last = advance(covering.last, chunk, buffer.element);
    for (int64_t i = 0; i < count; ++i) {
      Value address = last;
      if (i + 1 < count)
        address = LLVM::GEPOp::create(
            b, loc, pointer.getType(), b.getI8Type(), pointer,
            ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(i * kWord)});
      words.push_back(LLVM::LoadOp::create(b, loc, word, address, kWord,
                                           /*isVolatile=*/false,
                                           buffer.isStreamed));
    }
    return words;
  };
  SmallVector<Value> words;
  if (Value isWithin = isCoverable(operand, type, chunk)) {
    auto guarded = scf::IfOp::create(b, loc, SmallVector<Type>(count, word),
                                     isWithin, true, true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(guarded.thenBlock());
    scf::YieldOp::create(b, loc, load());
    b.setInsertionPointToStart(guarded.elseBlock());
    Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(word));
    scf::YieldOp::create(b, loc, SmallVector<Value>(count, zero));
    words.assign(guarded.getResults().begin(), guarded.getResults().end());
  } else {
    words = load();
  }
  if (parts == 1)
    return words;
  SmallVector<Value> result;
  for (Value loaded : words)
    for (int64_t i = 0; i < parts; ++i)
      result.push_back(
          vector::ExtractOp::create(b, loc, loaded, ArrayRef<int64_t>{i}));
  return result;
}

/// A vector from the bytes of `words` (i32) that begin with byte `misfit`, a
/// multiple of `element`.
Value GPULowering::realign(SmallVector<Value> words, Value misfit,
                           VectorType type, int64_t element) {
  int64_t needed = chunkBytes(type) / 4;
  // Whole words, by halves of what is left.
  for (int64_t bytes = kWord / 2; bytes >= 4; bytes /= 2) {
    Value bit =
        arith::AndIOp::create(b, loc, misfit, constant32(b, loc, bytes));
    Value isShifted = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne,
                                            bit, constant32(b, loc, 0));
    int64_t left = std::min<int64_t>(words.size() - bytes / 4,
                                     needed + bytes / 4 - (element >= 4));
    for (int64_t i = 0; i < left; ++i)
      words[i] = arith::SelectOp::create(b, loc, isShifted,
                                         words[i + bytes / 4], words[i]);
    words.resize(left);
  }
  if (element < 4) {
    Value bits = arith::ShLIOp::create(
        b, loc, arith::AndIOp::create(b, loc, misfit, constant32(b, loc, 3)),
        constant32(b, loc, 3));
    for (int64_t i = 0; i < needed; ++i)
      words[i] = LLVM::FshrOp::create(b, loc, words[i + 1], words[i], bits);
  }
  words.resize(needed);
  Value joined = vector::FromElementsOp::create(
      b, loc, VectorType::get({needed}, b.getI32Type()), words);
  return vector::BitCastOp::create(b, loc, type, joined);
}

Value GPULowering::loadCovered(LoadOp op, const Chunk &chunk) {
  auto type = cast<VectorType>(op.getType());
  Value operand = op.getSource();
  SmallVector<Value> words;
  if (auto found = loaded.find({op, chunk.number});
      chunk.number >= 0 && found != loaded.end()) {
    words = std::move(found->second);
    loaded.erase(found);
  } else {
    words = loadCovering(operand, type, chunk);
  }
  Value whole = realign(std::move(words), coveringOf(operand, type).misfit,
                        type, elementBytes(type));
  Value isWithin = isCoverable(operand, type, chunk);
  if (!isWithin)
    return whole;
  Value isAtEnd = arith::XOrIOp::create(
      b, loc, isWithin, arith::ConstantOp::create(b, loc, b.getBoolAttr(true)));
  if (chunk.mask)
    isAtEnd = arith::AndIOp::create(b, loc, isAtEnd, isAny(chunk));
  auto atEnd = scf::IfOp::create(b, loc, TypeRange{type}, isAtEnd, true, true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(atEnd.thenBlock());
  scf::YieldOp::create(b, loc, loadElements(operand, chunk, type));
  b.setInsertionPointToStart(atEnd.elseBlock());
  scf::YieldOp::create(b, loc, whole);
  return atEnd.getResult(0);
}

/// Loads, before `step` of a phase is emitted, the words of that step and of as
/// many others as registers hold: the branches at the row's ends would keep a
/// step's loads behind the use of the last step's.
void GPULowering::loadAhead(PhaseOp phase, int64_t step) {
  int64_t registers = 0;
  SmallVector<LoadOp> loads;
  for (auto load : phase.getBlock()->getOps<LoadOp>()) {
    auto type = cast<VectorType>(load.getType());
    if (!isCovered(load.getSource(), type) ||
        !bufferOf(load.getSource()).isStreamed)
      continue;
    loads.push_back(load);
    registers += (chunkBytes(type) + kWord) / 4;
  }
  if (loads.empty())
    return;
  int64_t end =
      std::min(plan.steps(), step + std::max<int64_t>(kAhead / registers, 1));
  for (int64_t i = step; i < end; ++i)
    for (LoadOp load : loads) {
      if (loaded.contains({load, i}))
        continue;
      auto type = cast<VectorType>(load.getType());
      Chunk chunk = constantChunk(i / plan.blocks(), i % plan.blocks());
      SmallVector<Value> words = loadCovering(load.getSource(), type, chunk);
      loaded[{load, i}] = std::move(words);
    }
}
