//===- GPUStaging.cpp - Stores at any address on a GPU --------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where the chunks of a row aren't aligned, its threads leave what they have to
// store in shared memory. Then each takes some of the aligned pieces of 16
// bytes that the row has in memory, gathers what belongs there from the chunks
// of one or two threads, and stores it at once. Only the row's ends, and those
// of a batch of chunks, are stored element by element.
//
// One word of padding after 32 has the threads of a warp access different
// banks, with a step of four words between them.
//
//===----------------------------------------------------------------------===//

#include "GPUAddress.h"
#include "GPULowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::norm;
using namespace mlir::norm_tile;

/// Bytes of shared memory that the results of a CTA's rows may take if all are
/// stored at once, and those of one of several batches.
static constexpr int64_t kWholeRows = 24 << 10;
static constexpr int64_t kBatch = 16 << 10;
/// What a kernel may have in all: any supported GPU has that for a CTA, and as
/// much again as exchanges take.
static constexpr int64_t kMost = 68 << 10;

/// Dynamic shared memory that held values take, in the end.
int64_t GPULowering::heldBytes() {
  int64_t bytes = 0;
  if (plan.schedule.residency != ::norm::Residency::Shared)
    return 0;
  kernel.walk([&](HoldOp op) {
    auto type = cast<VectorType>(op.getValue().getType());
    bytes += plan.steps() * threads() * plan.schedule.rowsPerCta *
             type.getNumElements() *
             std::max<int64_t>(1, type.getElementTypeBitWidth() / 8);
  });
  return bytes;
}

static int64_t bytesOf(StoreOp op) {
  auto type = cast<VectorType>(op.getValue().getType());
  return type.getNumElements() * type.getElementTypeBitWidth() / 8;
}

/// Whether elements lie within words: not so where they share bytes.
static bool isStageable(Type type) {
  int64_t bits = getElementTypeOrSelf(type).getIntOrFloatBitWidth();
  return bits % 8 == 0 && bits <= 32;
}

bool GPULowering::mayBeStaged(StoreOp op) {
  const Buffer &buffer = bufferOf(op.getDestination());
  Type type = op.getValue().getType();
  return !isAcross && op.getGroup() <= 1 && buffer.reach == Reach::Linear &&
         isStageable(type) && bytesOf(op) % kPiece == 0 &&
         alignmentOf(buffer) < kPiece;
}

/// Sets how many steps are stored at once, the same for all stores.
void GPULowering::findBatches() {
  if (batchSteps)
    return;
  int64_t widest = kPiece;
  kernel.walk([&](StoreOp op) {
    if (mayBeStaged(op))
      widest = std::max(widest, bytesOf(op));
  });
  if (!isUnrolled()) {
    batchSteps = std::max<int64_t>(plan.liveBlocks(), 1);
    return;
  }
  int64_t steps = std::max<int64_t>(plan.steps(), 1);
  int64_t stepBytes = plan.schedule.rowsPerCta * threads() * widest;
  bool isWhole = steps * stepBytes <= kWholeRows;
  batchSteps =
      isWhole ? steps : std::clamp<int64_t>(kBatch / stepBytes, 1, steps);
  batchPlaces = batchSteps < steps ? 2 : 1;
}

const GPULowering::Stage &GPULowering::stageOf(StoreOp op) {
  auto [found, isNew] = stages.try_emplace(op);
  Stage &stage = found->second;
  if (!isNew || !mayBeStaged(op))
    return stage;
  findBatches();
  stage.chunkBytes = bytesOf(op);
  stage.elementBytes =
      getElementTypeOrSelf(op.getValue().getType()).getIntOrFloatBitWidth() / 8;
  // An odd number of words, so that rows of one warp fall on different banks.
  stage.rowBytes = padded(batchSteps * threads() * stage.chunkBytes) | 4;
  stage.batchBytes = plan.schedule.rowsPerCta * stage.rowBytes;
  int64_t bytes = llvm::alignTo(batchPlaces * stage.batchBytes, 16);
  if (heldBytes() + stagedBytes + bytes > kMost)
    return stage;
  stage.offset = dynamicShared;
  dynamicShared += bytes;
  stagedBytes += bytes;
  return stage;
}

/// The address of word `word` (i32) of a row's batch.
Value GPULowering::stagedWord(const Stage &stage, Value word, int64_t batch) {
  auto pointer = LLVM::LLVMPointerType::get(b.getContext(), 3);
  Value base = LLVM::AddressOfOp::create(b, loc, pointer, "norm_shared");
  Value row = arith::MulIOp::create(
      b, loc, arith::IndexCastOp::create(b, loc, b.getI32Type(), group),
      constant32(b, loc, stage.rowBytes));
  base = byteOffset(b, loc, base, row);
  Value place = arith::AddIOp::create(
      b, loc, word,
      arith::ShRUIOp::create(b, loc, word, constant32(b, loc, 5)));
  place = LLVM::GEPOp::create(b, loc, pointer, b.getI32Type(), base,
                              ArrayRef<LLVM::GEPArg>{place});
  return byteOffset(b, loc, place,
                    stage.offset + batch % batchPlaces * stage.batchBytes);
}

/// The same of byte `byte` (i32).
Value GPULowering::stagedByte(const Stage &stage, Value byte, int64_t batch) {
  Value word = stagedWord(
      stage, arith::ShRUIOp::create(b, loc, byte, constant32(b, loc, 2)),
      batch);
  return byteOffset(b, loc, word,
                    arith::AndIOp::create(b, loc, byte, constant32(b, loc, 3)));
}

void GPULowering::stage(StoreOp op, Value value, const Chunk &chunk) {
  const Stage &stage = stages[op];
  if (!llvm::is_contained(staged, op))
    staged.push_back(op);
  // The address of a row is found at the level of rows.
  (void)rowBase(op.getDestination());
  int64_t number = chunk.number, batch = 0;
  if (chunk.number >= 0) {
    batch = chunk.number / batchSteps;
    number = chunk.number % batchSteps;
  } else {
    number = chunk.block;
  }
  int64_t stepBytes = threads() * stage.chunkBytes;
  Value byte = arith::MulIOp::create(
      b, loc, arith::IndexCastOp::create(b, loc, b.getI32Type(), thread),
      constant32(b, loc, stage.chunkBytes));
  bool isWholeLines = stepBytes % 128 == 0;
  if (!isWholeLines)
    byte = arith::AddIOp::create(b, loc, byte,
                                 constant32(b, loc, number * stepBytes));
  Value place = stagedWord(
      stage, arith::ShRUIOp::create(b, loc, byte, constant32(b, loc, 2)),
      batch);
  if (isWholeLines)
    place = byteOffset(b, loc, place, padded(number * stepBytes));
  int64_t words = stage.chunkBytes / 4;
  Value parts = vector::BitCastOp::create(
      b, loc, VectorType::get({words}, b.getI32Type()), value);
  // Chunks of more than 128 bytes are whole lines.
  for (int64_t i = 0; i < words; ++i) {
    Value part = vector::ExtractOp::create(b, loc, parts, ArrayRef<int64_t>{i});
    LLVM::StoreOp::create(b, loc, part,
                          byteOffset(b, loc, place, padded(i * 4)), 4);
  }
}

void GPULowering::storeBatch(int64_t end) {
  if (staged.empty())
    return;
  if (end % batchSteps != 0 && end != plan.steps())
    return;
  int64_t number = (end - 1) / batchSteps;
  int64_t first = number * batchSteps * plan.stepSize();
  int64_t count = std::min(end * plan.stepSize(), plan.columns) - first;
  storeStaged(i64(first), constant32(b, loc, count), number);
}

void GPULowering::storeBatch(Value first) {
  if (staged.empty())
    return;
  Value rest = arith::TruncIOp::create(
      b, loc, b.getI32Type(), arith::SubIOp::create(b, loc, columns, first));
  Value count = arith::MinSIOp::create(
      b, loc, rest, constant32(b, loc, plan.liveBlocks() * plan.stepSize()));
  storeStaged(first, count, 0);
  // The next iteration takes the same place.
  gpu::BarrierOp::create(b, loc);
}

/// Stores `count` (i32) columns of the row from `first` (i64) on.
void GPULowering::storeStaged(Value first, Value count, int64_t batch) {
  gpu::BarrierOp::create(b, loc);
  OpBuilder::InsertionGuard guard(b);
  if (isRow) {
    auto condition = scf::IfOp::create(b, loc, isRow, /*withElse=*/false);
    b.setInsertionPointToStart(condition.thenBlock());
  }
  for (StoreOp op : staged) {
    const Stage &stage = stages[op];
    Type element = bufferOf(op.getDestination()).element;
    Value pointer =
        elementPointer(rowBase(op.getDestination()), first, element);
    std::optional<int64_t> known = getConstantIntValue(count);
    Value bytes =
        known ? constant32(b, loc, *known * stage.elementBytes)
              : arith::MulIOp::create(b, loc, count,
                                      constant32(b, loc, stage.elementBytes));
    storeWords(stage, pointer, bytes, batch);
    storeEnds(stage, pointer, bytes, element, batch);
  }
  staged.clear();
}

/// i32: bytes before the first aligned piece at or after an address.
static Value bytesToPiece(OpBuilder &b, Location loc, Value pointer) {
  Value address = lowBits(b, loc, pointer);
  return arith::AndIOp::create(
      b, loc, arith::SubIOp::create(b, loc, constant32(b, loc, 0), address),
      constant32(b, loc, kPiece - 1));
}

/// Stores the aligned pieces that lie within `bytes` (i32) from `pointer` on.
void GPULowering::storeWords(const Stage &stage, Value pointer, Value bytes,
                             int64_t batch) {
  auto number = [&](int64_t value) { return constant32(b, loc, value); };
  Value head = bytesToPiece(b, loc, pointer);
  Value begin = arith::AddIOp::create(
      b, loc, head,
      arith::MulIOp::create(
          b, loc, arith::IndexCastOp::create(b, loc, b.getI32Type(), thread),
          number(kPiece)));
  Value target = byteOffset(b, loc, pointer, begin);
  int64_t stepBytes = threads() * kPiece;
  int64_t steps = batchSteps * stage.chunkBytes / kPiece;
  bool isWholeLines = stepBytes % 128 == 0;
  bool isShifted = stage.elementBytes < 4;
  constexpr int64_t words = kPiece / 4;
  Value bits = arith::ShLIOp::create(
      b, loc, arith::AndIOp::create(b, loc, head, number(3)), number(3));
  // The last word that a piece needs holds its last byte: the fifth, or the
  // fourth again where the piece begins with a word.
  Value word = arith::ShRUIOp::create(b, loc, begin, number(2));
  Value last = arith::ShRUIOp::create(
      b, loc, arith::AddIOp::create(b, loc, begin, number(kPiece - 1)),
      number(2));
  auto source = [&](int64_t i, int64_t step) {
    int64_t moved = isWholeLines ? 0 : step * stepBytes;
    Value at = arith::AddIOp::create(b, loc, i < words ? word : last,
                                     number(moved / 4 + (i < words ? i : 0)));
    Value place = stagedWord(stage, at, batch);
    return isWholeLines ? byteOffset(b, loc, place, padded(step * stepBytes))
                        : place;
  };
  std::optional<int64_t> known = getConstantIntValue(bytes);
  for (int64_t step = 0; step < steps; ++step) {
    OpBuilder::InsertionGuard guard(b);
    int64_t end = (step + 1) * stepBytes + kPiece - 1;
    if (!known || end > *known) {
      if (known && step * stepBytes + kPiece > *known)
        break;
      Value last = arith::AddIOp::create(b, loc, begin,
                                         number(step * stepBytes + kPiece));
      Value isWithin =
          arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sle, last, bytes);
      auto condition = scf::IfOp::create(b, loc, isWithin, /*withElse=*/false);
      b.setInsertionPointToStart(condition.thenBlock());
    }
    SmallVector<Value> parts;
    for (int64_t i = 0; i < words + isShifted; ++i)
      parts.push_back(
          LLVM::LoadOp::create(b, loc, b.getI32Type(), source(i, step), 4));
    if (isShifted)
      for (int64_t i = 0; i < words; ++i)
        parts[i] = LLVM::FshrOp::create(b, loc, parts[i + 1], parts[i], bits);
    parts.resize(words);
    Value piece = vector::FromElementsOp::create(
        b, loc, VectorType::get({words}, b.getI32Type()), parts);
    LLVM::StoreOp::create(b, loc, piece,
                          byteOffset(b, loc, target, step * stepBytes), kPiece);
  }
}

/// Stores the elements before the first aligned piece and after the last one.
void GPULowering::storeEnds(const Stage &stage, Value pointer, Value bytes,
                            Type element, int64_t batch) {
  auto number = [&](int64_t value) { return constant32(b, loc, value); };
  int64_t size = stage.elementBytes;
  int64_t most = kPiece / size; // at either end, and one less
  Value head =
      arith::MinSIOp::create(b, loc, bytesToPiece(b, loc, pointer), bytes);
  // The tail begins a multiple of a piece after the head.
  Value tail = arith::AddIOp::create(
      b, loc, head,
      arith::AndIOp::create(b, loc, arith::SubIOp::create(b, loc, bytes, head),
                            number(-kPiece)));
  Value lane = arith::IndexCastOp::create(b, loc, b.getI32Type(), thread);
  auto element32 = [&](Value place) {
    return arith::MulIOp::create(b, loc, place, number(size));
  };
  for (int64_t first = 0; first < 2 * most; first += threads()) {
    OpBuilder::InsertionGuard guard(b);
    Value place = arith::AddIOp::create(b, loc, lane, number(first));
    Value isHead = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt,
                                         place, number(most));
    Value behind = arith::AddIOp::create(
        b, loc, tail,
        element32(arith::SubIOp::create(b, loc, place, number(most))));
    Value at =
        arith::SelectOp::create(b, loc, isHead, element32(place), behind);
    Value end = arith::SelectOp::create(b, loc, isHead, head, bytes);
    Value isThere =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, at, end);
    auto condition = scf::IfOp::create(b, loc, isThere, /*withElse=*/false);
    b.setInsertionPointToStart(condition.thenBlock());
    Value value = LLVM::LoadOp::create(b, loc, element,
                                       stagedByte(stage, at, batch), size);
    LLVM::StoreOp::create(b, loc, value, byteOffset(b, loc, pointer, at), size);
  }
}
