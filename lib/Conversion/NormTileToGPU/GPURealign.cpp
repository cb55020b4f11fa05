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

#include "GPUAddress.h"
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
  Value misfit =
      arith::AndIOp::create(b, loc, lowBits(b, loc, base), number(kWord - 1));
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
  return covering;
}

/// Whether where a chunk lies in the row is known.
static bool isPlaced(const ::norm::TilePlan &plan, const Chunk &chunk) {
  return chunk.constantColumn >= 0 && !plan.isDynamic();
}

/// i1: no word that covers the chunk reaches beyond the row's end; null where
/// none does.
Value GPULowering::isCoverable(Value operand, VectorType type,
                               const Chunk &chunk) {
  int64_t beyond = kWord / elementBytes(type) - 1;
  if (isPlaced(plan, chunk) && !chunk.mask &&
      chunk.constantColumn + plan.stepSize() + beyond <= plan.columns)
    return Value();
  Value column =
      arith::TruncIOp::create(b, loc, b.getI32Type(), toI64(chunk.column));
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sle, column,
                               coveringOf(operand, type).lastWithin);
}

/// The word in which the row begins: its elements, and others.
Value GPULowering::loadFirstWord(Value operand, VectorType type,
                                 VectorType word) {
  const Covering &covering = coveringOf(operand, type);
  int64_t size = elementBytes(type), count = kWord / size;
  Type element = type.getElementType();
  SmallVector<Value> elements;
  for (int64_t i = 1; i < count; ++i) {
    Value offset = arith::SubIOp::create(b, loc, constant32(b, loc, i * size),
                                         covering.misfit);
    offset = arith::MaxSIOp::create(b, loc, offset, constant32(b, loc, 0));
    elements.push_back(LLVM::LoadOp::create(
        b, loc, element, byteOffset(b, loc, rowBase(operand), offset), size));
  }
  elements.insert(elements.begin(), elements.front());
  Value joined = vector::FromElementsOp::create(
      b, loc, VectorType::get({count}, element), elements);
  return vector::BitCastOp::create(b, loc, word, joined);
}

/// The words that cover a chunk, as i32; zeros where one is beyond the row.
SmallVector<Value> GPULowering::loadCovering(Value operand, VectorType type,
                                             const Chunk &chunk) {
  const Covering &covering = coveringOf(operand, type);
  const Buffer &buffer = bufferOf(operand);
  constexpr int64_t parts = kWord / 4;
  int64_t count = chunkBytes(type) / kWord + 1;
  auto word = VectorType::get({parts}, b.getI32Type());
  auto load = [&](Value address) -> Value {
    return LLVM::LoadOp::create(b, loc, word, address, kWord,
                                /*isVolatile=*/false, buffer.isStreamed);
  };
  auto loadAll = [&] {
    SmallVector<Value> words;
    Value pointer = advance(covering.pointer, chunk, buffer.element);
    for (int64_t i = 0; i + 1 < count; ++i) {
      Value address = byteOffset(b, loc, pointer, i * kWord);
      if (i > 0 || (isPlaced(plan, chunk) && chunk.constantColumn > 0)) {
        words.push_back(load(address));
        continue;
      }
      // Before the row there is nothing to be read.
      Value isFirst = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                            toI64(chunk.column), i64(0));
      Value isMisfit =
          arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne,
                                covering.misfit, constant32(b, loc, 0));
      auto branch = scf::IfOp::create(
          b, loc, TypeRange{word},
          arith::AndIOp::create(b, loc, isFirst, isMisfit), true, true);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(branch.thenBlock());
      scf::YieldOp::create(b, loc, loadFirstWord(operand, type, word));
      b.setInsertionPointToStart(branch.elseBlock());
      scf::YieldOp::create(b, loc, load(address));
      words.push_back(branch.getResult(0));
    }
    words.push_back(load(advance(covering.last, chunk, buffer.element)));
    return words;
  };
  SmallVector<Value> words;
  if (Value isWithin = isCoverable(operand, type, chunk)) {
    auto guarded = scf::IfOp::create(b, loc, SmallVector<Type>(count, word),
                                     isWithin, true, true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(guarded.thenBlock());
    scf::YieldOp::create(b, loc, loadAll());
    b.setInsertionPointToStart(guarded.elseBlock());
    Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(word));
    scf::YieldOp::create(b, loc, SmallVector<Value>(count, zero));
    words.assign(guarded.getResults().begin(), guarded.getResults().end());
  } else {
    words = loadAll();
  }
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
