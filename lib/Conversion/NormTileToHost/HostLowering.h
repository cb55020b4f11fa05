//===- HostLowering.h - Lowering of one kernel to the host ------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_LIB_CONVERSION_NORMTILETOHOST_HOSTLOWERING_H
#define NORM_LIB_CONVERSION_NORMTILETOHOST_HOSTLOWERING_H

#include "norm/Conversion/KernelLowering.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::norm {

/// One thread computes a row: the lanes of a block are a vector, the blocks are
/// walked by a loop, and the states of all lanes are kept in memory.
class HostLowering : public KernelLowering {
public:
  using KernelLowering::KernelLowering;
  /// Rows (across memory: their elements) per step of the function.
  virtual int64_t rowsPerStep() const { return 1; }
  LogicalResult lower(func::FuncOp function);

protected:
  LogicalResult lowerPhase(norm_tile::PhaseOp phase) override;
  Value emitLoad(norm_tile::LoadOp op, const Chunk &chunk) override;
  void emitStore(norm_tile::StoreOp op, Value value, const Chunk &chunk) override;
  void emitHold(norm_tile::HoldOp, Value, const Chunk &) override {}
  Value emitHeld(norm_tile::HeldOp, const Chunk &) override { return {}; }
  void emitStoreRow(Value value, const Buffer &buffer) override;
  void startExchange(norm_tile::ExchangeStartOp) override {}
  SmallVector<ReduceState> finishExchange(norm_tile::ExchangeStartOp op) override;

  void emitLoop(Value lower, Value upper, int64_t step,
                llvm::function_ref<LogicalResult(Value)> body);
  Value stackBuffer(int64_t size, Type element, bool zeroed);
  /// A chunk from element `first` of the dims of chunks on; of `count` elements
  /// where that is given, the others have any value.
  Value loadNeighbours(Value operand, Value base, Value first, VectorType type,
                       Value count);
  void storeNeighbours(Value value, Value operand, Value base, Value first,
                       Value count);
  /// Finds what depends on the launch only, and the rows that the function is
  /// called for.
  virtual std::pair<Value, Value> enter(Value begin, Value end);
  /// Emits the loop over what the function is called for.
  virtual LogicalResult lowerRange(Value begin, Value end);

  Operation *entry = nullptr; ///< the loop over the range

private:
  /// Memory for the lanes' states of one partial, one buffer for each part.
  using LaneBuffers = SmallVector<Value, 3>;

  void loadParams(Value params);
  LaneBuffers makeLaneBuffers(ReduceEmitter &emitter);
  ReduceState loadLanes(ArrayRef<Value> lanes, Value first, ReduceEmitter &e);
  void storeLanes(ArrayRef<Value> lanes, Value first, ReduceEmitter &emitter,
                  const ReduceState &state);
  LogicalResult reduceFullChunks(norm_tile::PhaseOp phase, ArrayRef<LaneBuffers> lanes);
  LogicalResult reduceTail(norm_tile::PhaseOp phase, ArrayRef<LaneBuffers> lanes);
  ReduceState combineLanes(ArrayRef<Value> lanes, ReduceEmitter &emitter);
  Chunk fullChunk(Value number);
  Chunk tailChunk();
  Value chunkBuffer(Value operand);
  Value loadBytes(Value operand, Value base, Value first, VectorType type,
                  Value count);
  void storeBytes(Value value, Value operand, Value base, Value first,
                  Value count);
  void storeGroups(norm_tile::StoreOp op, Value value, const Chunk &chunk);
  Value elementOfChunk(const Buffer &buffer, Value base, Value first,
                       Value number);

  int64_t vectorLanes() const { return plan.schedule.vector; }
  /// Lanes that can hold an element, rounded up to whole halvings.
  int64_t usedLanes() const {
    if (plan.isDynamic())
      return plan.lanes;
    int64_t leaves = llvm::divideCeil(std::max<int64_t>(plan.columns, 1),
                                      plan.leaf);
    int64_t used = std::min<int64_t>(plan.lanes, llvm::PowerOf2Ceil(leaves));
    return std::max(used, vectorLanes());
  }
  bool hasTail() const { return plan.hasPartialChunk(); }

  Value fullChunks; ///< chunks wholly within the row, index
  Value tail;       ///< columns after them, index
  llvm::DenseMap<Value, Value> chunkBuffers;
};

} // namespace mlir::norm

#endif // NORM_LIB_CONVERSION_NORMTILETOHOST_HOSTLOWERING_H
