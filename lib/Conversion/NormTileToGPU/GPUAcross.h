//===- GPUAcross.h - Kernels across memory on a GPU ------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_LIB_CONVERSION_NORMTILETOGPU_GPUACROSS_H
#define NORM_LIB_CONVERSION_NORMTILETOGPU_GPUACROSS_H

#include "GPULowering.h"

#include "llvm/Support/MathExtras.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace mlir::norm {

/// Rows whose neighbours in memory are other rows, or a few columns of the same
/// one (see `#norm.order`). The elements of all rows for one walked column are
/// *positions*. A CTA takes `rows_per_cta` of them, a thread a chunk of
/// `vector`; the `threads` that have the same chunk are the lanes of a row. So
/// neighbouring threads access neighbours in memory.
///
/// `split` CTAs share their positions: each takes every split-th slice of the
/// walked columns, and writes the state of each into the workspace, where all
/// of them read those of all slices once every CTA is done.
class GPUAcross : public GPULowering {
public:
  GPUAcross(OpBuilder &builder, norm_tile::KernelOp kernel,
            ScheduleAttr schedule, Alignment alignment,
            const llvm::SmallBitVector &overlapping);

  int64_t block() const override {
    return threads() * plan.schedule.rowsPerCta / vectorSize();
  }
  int64_t counterBytes() const override { return usesWorkspace() ? 8 : 0; }
  int64_t workspaceBytes() const override { return recordBytes; }

protected:
  Value enter() override;
  void leave() override;
  LogicalResult lowerPhase(norm_tile::PhaseOp phase) override;
  Value emitLoad(norm_tile::LoadOp op, const Chunk &chunk) override;
  void emitStore(norm_tile::StoreOp op, Value value,
                 const Chunk &chunk) override;
  void emitHold(norm_tile::HoldOp op, Value value,
                const Chunk &chunk) override;
  Value emitHeld(norm_tile::HeldOp op, const Chunk &chunk) override;
  Value emitLoadRow(norm_tile::LoadRowOp op) override;
  void emitStoreRow(Value value, const Buffer &buffer) override;
  Value storesRow() override;
  void startExchange(norm_tile::ExchangeStartOp) override {}
  SmallVector<ReduceState>
  finishExchange(norm_tile::ExchangeStartOp op) override;
  Value chunkStart() override { return position; }
  int64_t elementsPerCta() const override;

private:
  using States = SmallVector<ReduceState>;

  int64_t vectorSize() const { return plan.schedule.vector; }
  int64_t chunksPerCta() const {
    return plan.schedule.rowsPerCta / vectorSize();
  }
  int64_t groups() const { return plan.schedule.rowsPerCta / inner; }
  /// Lanes of a thread, without those that have no leaf in any slice.
  int64_t blocks() const {
    int64_t all = plan.lanes / threads();
    if (walked < 0)
      return all;
    int64_t leaves = llvm::divideCeil(::norm::sliceSize(walked), plan.leaf);
    int64_t live = llvm::divideCeil(leaves, threads());
    return std::min<int64_t>(
        all, llvm::PowerOf2Ceil(std::max<int64_t>(live, 1)));
  }
  bool usesWorkspace() const { return numSlices != 1; }
  bool isHeld() const {
    return plan.schedule.residency != ::norm::Residency::Stream;
  }
  Value slotAddress(int64_t slot, const Chunk &chunk, VectorType type);
  VectorType vectorOf(Type element) const {
    return VectorType::get({vectorSize()}, element);
  }

  void findSlices();
  void findWorkspace();
  // Walks.
  void forEachSlice(llvm::function_ref<void(Value slice)> body);
  /// First walked column of a thread in a slice, for one block of its lanes.
  Value firstColumnOf(Value slice, int64_t block);
  /// Leaves of that many columns each that the thread has from `first` on.
  Value countLeaves(Value first, Value slice);
  /// Leaves that a thread works on at a time, of as many as it has. Its lanes
  /// are unrolled too: with many of them, fewer leaves bound the size of the
  /// code.
  int64_t unroll() const {
    bool isChosen =
        kernelSchedule.getResidency() == Residency::Stream && alignment.rows > 1;
    if (!isChosen)
      return 1;
    int64_t most = std::clamp<int64_t>(32 / blocks(), 1, 4);
    return walked < 0 ? most : std::clamp<int64_t>(heldLeaves(), 1, most);
  }
  Chunk columnChunk(Value first, int64_t offset, bool isChecked);
  /// Of a leaf at `first + offset`. `isChecked`: columns may lie beyond the end;
  /// `isLeaf`, if given: whether there is one, or it is computed again.
  FailureOr<States> reduceLeaf(norm_tile::PhaseOp phase, Value first,
                               int64_t offset, bool isChecked, Value isLeaf);
  /// Runs a body for the leaves `number` from `first` on of a lane, several at a
  /// time so that their loads are in flight together; `isLeaf` says whether it
  /// has that one, `at` is a column that it has in any case. Values are carried
  /// from leaf to leaf.
  FailureOr<SmallVector<Value>> forEachLeaf(
      Value first, Value count, ValueRange inits,
      llvm::function_ref<FailureOr<SmallVector<Value>>(
          Value number, Value at, Value isLeaf, ValueRange values)>
          body);
  void moveStores(Block *block);
  /// Leaves of a lane in a slice.
  int64_t heldLeaves() const {
    int64_t step = plan.leaf * plan.lanes;
    return (::norm::sliceSize(walked) + step - 1) / step;
  }
  Value heldLeaf(Value first, Value count, int64_t number, Value &isLeaf);
  void setCount(ReduceState &state, ReduceEmitter emitter, Value leaves);
  FailureOr<States> reduceHeld(norm_tile::PhaseOp phase, Value slice,
                               int64_t block);
  FailureOr<States> reduceStreamed(norm_tile::PhaseOp phase, Value slice,
                                   int64_t block);
  LogicalResult walkHeld(norm_tile::PhaseOp phase, Value slice);
  LogicalResult walkStreamed(norm_tile::PhaseOp phase, Value slice);
  LogicalResult reduceSlice(norm_tile::PhaseOp phase, Value slice);
  States vectors(States states);
  // Exchange.
  using Memory = SmallVector<Value, 3>;
  void storeLanes(norm_tile::PhaseOp phase, const States &states);
  Memory &memoryOf(Value partial, llvm::DenseMap<Value, Memory> &memories,
                   int64_t size, bool hasCount);
  void store(const Memory &memory, Value at, const ReduceState &state);
  ReduceState load(const Memory &memory, Value at, int64_t count);
  void forEach(int64_t size, llvm::function_ref<void(Value number)> body);
  Value slotOf(Value position);
  ReduceState combineLanes(Value partial, Value slot);
  ReduceState combineInner(Value partial, Value group);
  void keepGroup(Value partial, Value group, Value slice,
                 const ReduceState &state);
  Value recordPointer(Value partial, unsigned part, Value slice, Value group);
  /// Threads that combine the slices of a group.
  int64_t ways() const {
    int64_t most = numSlices ? numSlices : ::norm::maxSlices, count = 1;
    while (2 * count <= most && 2 * count * groups() <= block())
      count *= 2;
    return count;
  }
  int64_t columnsOf(int64_t first, int64_t stride) const;
  ReduceState combineSlices(Value partial, Value group, Value way,
                            int64_t offset, int64_t stride);
  void combineGroups(norm_tile::ExchangeStartOp op);
  void meet();

  ScheduleAttr kernelSchedule;
  int64_t inner;
  int64_t numSlices = 0; ///< 0 where known at launch only
  int64_t walked = -1;   ///< -1 where known at launch only
  int64_t recordBytes = 0;
  /// Exchanges of the kernel, and those emitted so far.
  int64_t meetings = 0, numMeetings = 0;
  Value counters, records; ///< of these rows, in the workspace
  /// Bytes of a unit's records, known once all of them have a place.
  arith::ConstantOp unitBytes;
  Value walkedCount; ///< walked columns, i64
  Value slices, sliceLength; ///< i64
  Value unit, part;  ///< of the CTA: its positions, its slices; i64
  Value chunkInCta;  ///< of the thread, index
  Value position;    ///< first one of the thread's chunk, i64
  Value isValid;     ///< i1: the thread has positions
  int64_t heldNumber = 0;
  /// Conditional stores that a loop's body has emitted.
  SmallVector<Operation *> stores;
  llvm::DenseMap<Value, Memory> laneMemory, groupMemory;
  llvm::DenseMap<Value, SmallVector<int64_t, 3>> recordOffsets;
  /// The count that all states of a partial have at one stage, -1 if none.
  llvm::DenseMap<Value, int64_t> laneCounts, groupCounts;
  llvm::DenseMap<Value, Value> chunkBases;
};

} // namespace mlir::norm

#endif // NORM_LIB_CONVERSION_NORMTILETOGPU_GPUACROSS_H
