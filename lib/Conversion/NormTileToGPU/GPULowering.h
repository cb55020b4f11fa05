//===- GPULowering.h - Lowering of one kernel to a GPU ------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_LIB_CONVERSION_NORMTILETOGPU_GPULOWERING_H
#define NORM_LIB_CONVERSION_NORMTILETOGPU_GPULOWERING_H

#include "norm/Conversion/KernelLowering.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "llvm/ADT/SmallBitVector.h"

namespace mlir::norm {

/// Bytes, a power of two, to which addresses are aligned.
struct Alignment {
  int64_t rows;    ///< of rows
  int64_t columns; ///< of operands that all rows have in common
};

/// A group of `threads` threads takes a row, `rows_per_cta` groups a CTA.
///
/// The threads of a group are neighbours, so that lanes `l` and `l + 32 k` sit
/// on the same lane of different warps: halving over lanes is first over a
/// thread's blocks, then over warps (shared memory), then within a warp
/// (shuffles).
class GPULowering : public KernelLowering {
public:
  /// `schedule`: the kernel's own or another one of the same order.
  /// `overlapping`: operands that may lie in the memory of another one.
  GPULowering(OpBuilder &builder, norm_tile::KernelOp kernel,
              ScheduleAttr schedule, Alignment alignment,
              const llvm::SmallBitVector &overlapping)
      : KernelLowering(builder, kernel), alignment(alignment),
        overlapping(overlapping) {
    plan.schedule = toSchedule(schedule);
  }

  FailureOr<gpu::GPUFuncOp> lower(gpu::GPUModuleOp module, StringRef name);
  /// Threads of a CTA.
  virtual int64_t block() const {
    return threads() * plan.schedule.rowsPerCta;
  }
  /// Bytes of dynamic shared memory that the function needs.
  int64_t getSharedBytes() const { return dynamicShared; }
  /// Bytes of the workspace that CTAs of the same rows share: counters, zero
  /// between launches, and other memory.
  virtual int64_t counterBytes() const { return 0; }
  virtual int64_t workspaceBytes() const { return 0; }
  /// Whether CTAs do one row after the other.
  virtual bool isPersistent() const { return false; }

protected:
  LogicalResult lowerPhase(norm_tile::PhaseOp phase) override;
  Value emitLoad(norm_tile::LoadOp op, const Chunk &chunk) override;
  void emitStore(norm_tile::StoreOp op, Value value,
                 const Chunk &chunk) override;
  void emitHold(norm_tile::HoldOp op, Value value,
                const Chunk &chunk) override;
  Value emitHeld(norm_tile::HeldOp op, const Chunk &chunk) override;
  Value emitLoadRow(norm_tile::LoadRowOp op) override;
  void emitStoreRow(Value value, const Buffer &buffer) override;
  /// Whether this thread is the one that stores elements of its row.
  virtual Value storesRow();
  /// The element that `load` loads; by the thread that stores where what is
  /// there is overwritten, and nobody else needs it.
  Value loadRow(norm_tile::LoadRowOp op, llvm::function_ref<Value()> load);
  ReduceState acrossThreads(ReduceState state, int64_t count,
                            ReduceEmitter &emitter) override;
  void startExchange(norm_tile::ExchangeStartOp op) override;
  SmallVector<ReduceState>
  finishExchange(norm_tile::ExchangeStartOp op) override;

  int64_t mostRegisters() const;
  /// Whether the kernel may be launched while the grids before it run.
  bool startsEarly() const;
  /// Elements that a CTA walks of an operand with all dims, where rows are of
  /// unknown length those of a typical one.
  virtual int64_t elementsPerCta() const;
  /// Says which operands are streamed, and how many bytes a CTA moves.
  void findStreams();
  /// Finds the thread's place; returns the row that it works on.
  virtual Value enter();
  /// Ends the function's code.
  virtual void leave() {}
  int64_t threads() const { return plan.schedule.threads; }

  // Memory.
  /// Where the current row of an operand begins.
  Value rowBase(Value operand);
  /// Bytes to which chunks of an operand are aligned.
  int64_t alignmentOf(const Buffer &buffer) const;
  int64_t accessElements(const Buffer &buffer, Type element);
  Value loadWhole(Value pointer, VectorType type, const Buffer &buffer);
  /// What `load` emits where a condition holds, else zeros.
  Value loadIf(Value condition, Type type, llvm::function_ref<Value()> load);
  void storeWhole(Value value, Value pointer, const Buffer &buffer);
  /// A chunk whose first element is `linear` of the dims of chunks, i64 or i32;
  /// with `last`, elements after that one are loaded from there.
  Value loadNeighbours(const Buffer &buffer, Value base, Value linear,
                       VectorType type, Value last);
  /// Stores those elements of a chunk whose number is a multiple of `every`.
  void storeNeighbours(Value value, const Buffer &buffer, Value base,
                       Value linear, int64_t every);
  Value sharedBuffer(Type element, int64_t size);
  /// Whether a kernel may write what it loads of an operand.
  bool mayBeWritten(Value operand) const;
  static bool isWritten(Value operand);

  Alignment alignment;
  const llvm::SmallBitVector &overlapping;
  int64_t dynamicShared = 0;
  gpu::GPUFuncOp function;
  Value tid, cta;    ///< index
  Value thread;      ///< in its group, index
  llvm::DenseMap<Value, Value> rowBases;
  llvm::DenseMap<std::pair<int64_t, int64_t>, Value> held;
  /// `isFixed`: not even what is computed from it is hoisted.
  Value keepPacked(Value value, bool isFixed = false);
  // What a thread works on.
  Value group;       ///< in its CTA, index
  Value firstColumn; ///< of the thread's first chunk, i64
  Value isRow;       ///< i1: the group has a row; null where all have
  llvm::DenseMap<Value, Value> threadPointers;
  bool isUnrolled() const;
  Chunk constantChunk(int64_t iteration, int64_t block);
  /// Stores the elements of a chunk that are columns one by one.
  void storeElements(Value value, Value pointer, const Chunk &chunk);
  /// Whether chunks of an operand are loaded by the words that cover them.
  bool isCovered(Value operand, VectorType type) const;
  /// Whether results may wait in shared memory for accesses at any address.
  virtual bool mayBeStaged(norm_tile::StoreOp op);
  Value isWhole(const Chunk &chunk);
  Value isAny(const Chunk &chunk);
  /// Where a CTA's exchanges have several places, one for each row in turn:
  /// how many, and that of this row, in elements (null: the only one).
  virtual int64_t exchangePlaces() const { return 1; }
  virtual Value exchangePlace() { return {}; }
  /// Of each slot kept in dynamic shared memory.
  llvm::DenseMap<int64_t, int64_t> slotOffsets;
  /// Emits a phase for a chunk; the states of its leaves.
  FailureOr<SmallVector<ReduceState>>
  reduceChunk(norm_tile::PhaseOp phase, const Chunk &chunk);
  /// The thread's chunk in a block of lanes, `base` columns after its first.
  Chunk dynamicChunk(Value base, int64_t block, bool masked);
  void combineBlocks(norm_tile::PhaseOp phase,
                     MutableArrayRef<SmallVector<ReduceState>> blocks);
  /// The counts that combining lanes `half` apart can meet.
  SmallVector<Counts> casesAtHalf(int64_t half);
  /// Combines the states of a warp (of a group, if it is smaller), which are
  /// those of lanes `apart` from each other.
  ReduceState acrossWarp(ReduceState state, ReduceEmitter &emitter,
                         int64_t apart = 1);

private:
  int64_t warps() const { return threads() / 32; }
  // Phases.
  LogicalResult lowerUnrolled(norm_tile::PhaseOp phase);
  LogicalResult lowerRolled(norm_tile::PhaseOp phase);
  void maskChunk(Chunk &chunk);
  /// The counts that a combine can meet; nothing where columns are dynamic.
  template <typename... Ts> SmallVector<Counts> casesAt(Ts... at);
  // Memory.
  Value threadPointer(Value operand);
  Value chunkPointer(Value operand, const Chunk &chunk);
  Value advance(Value base, const Chunk &chunk, Type element);
  Value emitLoadOfRow(norm_tile::LoadOp op, const Chunk &chunk);
  Value loadElements(Value operand, const Chunk &chunk, VectorType type);
  Value loadRest(Value operand, const Chunk &chunk, VectorType type);
  Value loadLast(Value operand, const Chunk &chunk, VectorType type);
  Value loadApart(norm_tile::LoadOp op, const Chunk &chunk);
  void storeApart(norm_tile::StoreOp op, Value value, const Chunk &chunk);
  void storeGroups(norm_tile::StoreOp op, Value value, const Chunk &chunk);
  Value sharedAddress(int64_t slot, const Chunk &chunk, VectorType type);
  int64_t heldBytes();
  // Loads at any address (GPURealign.cpp).
  /// The aligned words that cover the chunks of a row.
  struct Covering {
    Value pointer; ///< of the first word of the thread's first chunk
    Value last;    ///< of its last word
    Value misfit;  ///< i32: bytes from the first word to the chunk
    /// i32: the first column of the last chunk whose last word lies within the
    /// row.
    Value lastWithin;
  };
  const Covering &coveringOf(Value operand, VectorType type);
  Value isCoverable(Value operand, VectorType type, const Chunk &chunk);
  Value loadFirstWord(Value operand, VectorType type, VectorType word);
  SmallVector<Value> loadCovering(Value operand, VectorType type,
                                  const Chunk &chunk);
  Value realign(SmallVector<Value> words, Value misfit, VectorType type,
                int64_t element);
  Value loadCovered(norm_tile::LoadOp op, const Chunk &chunk);
  void loadAhead(norm_tile::PhaseOp phase, int64_t step);
  // Stores at any address (GPUStaging.cpp).
  /// Where results wait for the accesses that take them to memory.
  struct Stage {
    int64_t offset = -1;   ///< bytes in dynamic shared memory; -1: not staged
    int64_t rowBytes = 0;  ///< from one row's place to the next one's
    int64_t batchBytes = 0; ///< from one batch's place to the next one's
    int64_t chunkBytes = 0;
    int64_t elementBytes = 0;
  };
  void findBatches();
  const Stage &stageOf(norm_tile::StoreOp op);
  Value stagedWord(const Stage &stage, Value word, int64_t batch);
  Value stagedByte(const Stage &stage, Value byte, int64_t batch);
  void stage(norm_tile::StoreOp op, Value value, const Chunk &chunk);
  /// Stores what was staged of the steps before `end`, once there is a batch.
  void storeBatch(int64_t end);
  void storeBatch(Value first);
  void storeStaged(Value first, Value count, int64_t batch);
  void storeWords(const Stage &stage, Value pointer, Value bytes,
                  int64_t batch);
  void storeEnds(const Stage &stage, Value pointer, Value bytes, Type element,
                 int64_t batch);
  // Exchange.
  void storeState(ArrayRef<Value> buffers, Value position,
                  const ReduceState &state, ReduceEmitter &emitter);
  ReduceState loadState(ArrayRef<Value> buffers, Value position);
  Value exchangeBase();
  void halveInShared(norm_tile::ExchangeStartOp op);
  bool readsAllWarps(norm_tile::ExchangeStartOp op) const;

  llvm::DenseMap<Value, Covering> coverings;
  llvm::DenseMap<Operation *, Stage> stages;
  int64_t batchSteps = 0;  ///< steps whose results are stored at once
  int64_t batchPlaces = 1; ///< batches with a place of their own
  int64_t stagedBytes = 0; ///< of shared memory
  /// Stores of which something is staged.
  SmallVector<norm_tile::StoreOp> staged;
  /// Words loaded ahead of use, for a load and the number of its step.
  llvm::DenseMap<std::pair<Operation *, int64_t>, SmallVector<Value>> loaded;
  /// Shared memory of each partial, one buffer for each part.
  llvm::DenseMap<Value, SmallVector<Value, 3>> exchangeBuffers;
  /// The count that all threads have in common, -1 if none.
  llvm::DenseMap<Value, int64_t> exchangeCounts;
};

} // namespace mlir::norm

#endif // NORM_LIB_CONVERSION_NORMTILETOGPU_GPULOWERING_H
