//===- HostAcross.h - Kernels across memory on the host ------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_LIB_CONVERSION_NORMTILETOHOST_HOSTACROSS_H
#define NORM_LIB_CONVERSION_NORMTILETOHOST_HOSTACROSS_H

#include "HostLowering.h"

namespace mlir::norm {

/// One thread computes a chunk of neighbours, with all inner columns of their
/// rows, as one vector; the states of a slice's lanes are kept in memory.
class HostAcross : public HostLowering {
public:
  HostAcross(OpBuilder &builder, norm_tile::KernelOp kernel)
      : HostLowering(builder, kernel), inner(kernel.getOrder().getInner()) {}
  int64_t rowsPerStep() const override { return plan.schedule.vector; }

protected:
  std::pair<Value, Value> enter(Value begin, Value end) override;
  LogicalResult lowerPhase(norm_tile::PhaseOp phase) override;
  Value emitLoad(norm_tile::LoadOp op, const Chunk &chunk) override;
  void emitStore(norm_tile::StoreOp op, Value value,
                 const Chunk &chunk) override;
  Value emitLoadRow(norm_tile::LoadRowOp op) override;
  void emitStoreRow(Value value, const Buffer &buffer) override;
  Value chunkStart() override { return toI64(row); }

private:
  using States = SmallVector<ReduceState>;
  using Memory = SmallVector<Value, 3>;

  int64_t size() const { return plan.schedule.vector; }
  VectorType vectorOf(Type element) const {
    return VectorType::get({size()}, element);
  }
  States vectors(States states);
  FailureOr<States> reduceLeaf(norm_tile::PhaseOp phase, Value first,
                               bool isChecked);
  Memory makeMemory(ReduceEmitter &emitter, int64_t states);
  ReduceState load(const Memory &memory, Value number, ReduceEmitter &emitter);
  void store(const Memory &memory, Value number, ReduceEmitter &emitter,
             const ReduceState &state);
  LogicalResult forEachLeaf(
      llvm::function_ref<LogicalResult(Value first, Value lane, bool isChecked)>
          body,
      Value slice);
  LogicalResult reduceSlice(norm_tile::PhaseOp phase, Value slice,
                            ArrayRef<Memory> lanes, ArrayRef<Memory> totals);
  ReduceState combineInner(ReduceState state, ReduceEmitter &emitter);

  int64_t inner;
  Value walkedCount, slices, sliceLength; ///< index
};

} // namespace mlir::norm

#endif // NORM_LIB_CONVERSION_NORMTILETOHOST_HOSTACROSS_H
