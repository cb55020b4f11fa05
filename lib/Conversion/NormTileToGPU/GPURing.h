//===- GPURing.h - Rows that a cluster keeps in shared memory ---*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_LIB_CONVERSION_NORMTILETOGPU_GPURING_H
#define NORM_LIB_CONVERSION_NORMTILETOGPU_GPURING_H

#include "GPULowering.h"
#include "norm/Analysis/RingPlan.h"

namespace mlir::norm {

/// The CTAs of a cluster share the threads of a row, in their order, and do one
/// row after the other.
///
/// A warp of its own, one thread of it, copies what the CTA needs of the
/// streamed inputs into a ring of slots (`RingPlan`), as far ahead as there are
/// slots, and what the last phase left in them to the outputs. The others walk
/// the slots of a row once per phase. Two mbarriers go with a slot: `full`, at
/// which its bytes come, and `empty`, at which each warp arrives when it is
/// through with the slot in the last phase.
///
/// A cluster begins with the row of its own number and draws further ones,
/// while it loads the row before, from a counter. The first CTA of a cluster
/// draws and sends the row to all of them; each copying thread leaves it beside
/// the slots that it fills. What follows the last row is a slot without bytes,
/// of a row that there isn't.
///
/// A column's lane is that of any other schedule, so that each CTA has some of
/// the lanes and all CTAs have a part of each step. Halving over lanes is first
/// over those that CTA `tid mod cluster` is sent by all CTAs; then, when that
/// one has one state for all of them, over CTAs (GPURingExchange.cpp).
class GPURing : public GPULowering {
public:
  using GPULowering::GPULowering;

  int64_t block() const override { return ringBlock(plan.schedule); }
  bool isPersistent() const override { return true; }
  int64_t counterBytes() const override { return 8; }

protected:
  Value enter() override;
  void leave() override;
  int64_t elementsPerCta() const override {
    return plan.columns / plan.schedule.cluster;
  }
  LogicalResult lowerPhase(norm_tile::PhaseOp phase) override;
  Value emitLoad(norm_tile::LoadOp op, const Chunk &chunk) override;
  void emitStore(norm_tile::StoreOp op, Value value,
                 const Chunk &chunk) override;
  void startExchange(norm_tile::ExchangeStartOp op) override;
  SmallVector<ReduceState>
  finishExchange(norm_tile::ExchangeStartOp op) override;

private:
  int64_t cluster() const { return plan.schedule.cluster; }
  /// Threads of the CTA that have columns.
  int64_t consumers() const { return ringThreads(plan.schedule); }
  /// What an input, or an output in its place, has in a slot.
  struct Stream {
    unsigned operand = 0;
    int output = -1;    ///< operand that is stored from here, -1 for none
    int64_t offset = 0; ///< bytes from the slot's begin
    int64_t elementBytes = 0;
    Type element;
  };
  void findRing();
  void findResults();
  norm_tile::PhaseOp phaseAt(bool last);
  const Stream *streamOf(Value operand) const;
  int64_t stepBytes(const Stream &stream) const {
    return consumers() * plan.chunkSize() * stream.elementBytes;
  }
  bool isEven() const;

  // Addresses in shared memory.
  Value shared(int64_t offset);
  Value offsetBy(Value base, Value offset);
  Value slotAt(Value slot);
  Value fullAt(Value slot);
  Value emptyAt(Value slot);
  Value rowOfSlotAt(Value slot);
  Value i32(int64_t value);
  void onlyIf(Value condition, llvm::function_ref<void()> body);

  // The copying thread.
  void makeBarriers();
  void copyRows();
  /// A slot of a row as it is copied.
  struct Piece {
    Value slot; ///< i32
    Value row;  ///< i64
    Value part; ///< i64, the number of the slot in its row
  };
  /// What the copying thread fills next, i64: the number of the piece, its row,
  /// its number in the row, and how many rows were before.
  enum Next { kPiece, kRow, kPart, kTurn };
  Value slotOf(Value piece);
  Value mailAt(Value turn);
  Value mailBarrierAt(Value turn);
  void drawRow(Value turn);
  Value receiveRow(Value turn);
  SmallVector<Value> loadNext(ValueRange next);
  Value columnAt(const Piece &piece, int64_t step);
  Value elementsAt(Value column);
  void forChunks(const Piece &piece, bool ofOutputs,
                 llvm::function_ref<void(Value, Value, Value)> copy);
  void loadPiece(const Piece &piece);
  void storePiece(Value number);

  // The others.
  void holdColumns();
  FailureOr<SmallVector<Value>> lowerSlot(norm_tile::PhaseOp phase, Value part,
                                          int64_t steps, bool isLast,
                                          ValueRange values);
  Value chunkInSlot(const Stream &stream);

  // Exchanges.
  struct Word {
    Type type;         ///< of the part of a state
    int64_t bytes = 4; ///< as it is sent
    int64_t offset =
        0; ///< of the first one, per state, from the buffer's begin
  };
  SmallVector<SmallVector<Word>> wordsOf(norm_tile::ExchangeStartOp op);
  Value toWord(Value part, const Word &word);
  Value loadWord(Value address, const Word &word);
  Value wordAt(Value buffer, const Word &word, int64_t count, Value position);
  Value parityOf(norm_tile::ExchangeStartOp op);
  SmallVector<ReduceState> combineLanes(norm_tile::ExchangeStartOp op);

  ::norm::RingPlan ring;
  SmallVector<Stream> streams;
  /// Stores into slots, and the stream whose place they take.
  llvm::DenseMap<Operation *, unsigned> results;
  /// Exchanges of a row, in their order.
  llvm::DenseMap<Operation *, int64_t> exchanges;
  int64_t stateBytes = 0; ///< as sent, of the exchange with the most of them
  // Offsets in shared memory.
  int64_t fullOffset = 0, emptyOffset = 0, meetOffset = 0, resultOffset = 0,
          meetBarrier = 0, resultBarrier = 0, rowOffset = 0, mailOffset = 0,
          mailBarrier = 0;
  Value rank, number, clusters; ///< index; of the CTA, the cluster, and of all
  Value local;                  ///< i64: the thread in its CTA
  Operation *branch = nullptr;
  Value firstSlot, firstParity, exchangeCount; ///< i32, of the row
  /// What all rows have in common, of the last phase, by operand and step.
  llvm::DenseMap<std::pair<Value, int64_t>, Value> heldColumns;
  // Of the slot that is walked.
  int64_t slotPart = -1; ///< its number in the row, if known
  Value slotPointer;
  int64_t slotStep = 0;
};

} // namespace mlir::norm

#endif // NORM_LIB_CONVERSION_NORMTILETOGPU_GPURING_H
