//===- KernelLowering.h - What all targets share in lowering a kernel ------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_CONVERSION_KERNELLOWERING_H
#define NORM_CONVERSION_KERNELLOWERING_H

#include "norm/Analysis/Program.h"
#include "norm/Analysis/TilePlan.h"
#include "norm/Dialect/Norm/Utils/ReduceState.h"
#include "norm/Dialect/NormTile/IR/NormTile.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"

namespace mlir::norm {

/// Which chunk a body is emitted for.
struct Chunk {
  Value column;  ///< first column, an index
  Value mask;    ///< i1 per element that is a column; null where all are
  int64_t constantColumn = -1; ///< columns after the thread's first, if known
  Value valid; ///< i1 across memory: there is such a column; null where sure
  bool isClamped = false; ///< there is one at `column` in any case
  Value dynamicColumn; ///< the same as an i64 where it isn't
  int64_t number = -1;         ///< number of the thread's step, if known
  int64_t block = 0;           ///< of the thread's lanes
};

/// Walks a kernel and emits code for one target. Row-level code and the
/// arithmetic of bodies are the same everywhere; a target says how phases loop,
/// where data comes from and how threads meet.
class KernelLowering {
public:
  KernelLowering(OpBuilder &builder, norm_tile::KernelOp kernel);
  virtual ~KernelLowering() = default;

protected:
  /// How neighbours of a chunk lie in an operand.
  enum class Reach {
    Linear,    ///< next to each other, as do all chunks
    Piecewise, ///< next to each other within each chunk
    Uniform,   ///< the same element for the whole chunk
    Gather,    ///< anywhere
  };
  struct Buffer {
    Value pointer;
    /// Elements that rows have of their own and that nobody writes: what is
    /// loaded of them isn't needed again once the kernel is through the row.
    bool isStreamed = false;
    Type element;
    /// Elements between steps along each dim of the space; null where the
    /// operand doesn't vary on it.
    SmallVector<Value> strides;
    /// The same where known, else -1.
    SmallVector<int64_t> staticStrides;
    Reach reach = Reach::Linear;
    /// Elements of the dims of chunks without a gap, -1 where that depends on
    /// the launch.
    int64_t run = 1;
  };

  void setReach(Buffer &buffer);
  /// Checks, once the parameters are read, that elements which share bytes are
  /// accessed by whole bytes.
  LogicalResult checkPacked();
  /// `countSlices` and `sliceSize` of a number of walked columns (i64).
  struct SliceValues {
    Value count, size;
  };
  SliceValues emitSlices(Value walked);

  /// Emits the rows' code at the builder's insertion point, for row `row`.
  LogicalResult lowerWork(Value row);
  /// Emits a phase's body for one chunk; returns the yielded vectors.
  FailureOr<SmallVector<Value>> lowerChunk(norm_tile::PhaseOp phase,
                                           const Chunk &chunk);

  /// What an earlier phase kept, from the same loads: for a schedule that keeps
  /// nothing.
  Value computeAgain(norm_tile::HeldOp op, const Chunk &chunk,
                     IRMapping &again);
  Value computeAgain(Value value, const Chunk &chunk, IRMapping &again);

  virtual LogicalResult lowerPhase(norm_tile::PhaseOp phase) = 0;
  virtual Value emitLoad(norm_tile::LoadOp op, const Chunk &chunk) = 0;
  virtual void emitStore(norm_tile::StoreOp op, Value value,
                         const Chunk &chunk) = 0;
  virtual void emitHold(norm_tile::HoldOp op, Value value,
                        const Chunk &chunk) = 0;
  virtual Value emitHeld(norm_tile::HeldOp op, const Chunk &chunk) = 0;
  /// Adds a chunk to the sums over rows, where a target has workers for them.
  virtual void emitSumRows(norm_tile::SumRowsOp op, Value value,
                              const Chunk &chunk) {
    llvm_unreachable("a kernel with workers has a lowering of its own");
  }
  /// Combines the states of `count` neighbouring threads, the first of which
  /// has a number that `count` divides; all of them get the result.
  virtual ReduceState acrossThreads(ReduceState state, int64_t count,
                                    ReduceEmitter &emitter) {
    return state;
  }
  /// The element of the current row or, across memory, those of its chunk.
  virtual Value emitLoadRow(norm_tile::LoadRowOp op);
  virtual void emitStoreRow(Value value, const Buffer &buffer) = 0;
  virtual void startExchange(norm_tile::ExchangeStartOp op) = 0;
  virtual SmallVector<ReduceState>
  finishExchange(norm_tile::ExchangeStartOp op) = 0;

  ReduceEmitter emitterOf(Value partial);
  Buffer &bufferOf(Value operand);
  /// Reads one kernel parameter after the other into the operands' buffers,
  /// the extents and `split` and `workspace`.
  void readParams(llvm::function_ref<Value(unsigned number, Type type)> read);
  /// Positions on `dims` of the element number `linear` (i32 or i64) of them
  /// all, the last one fastest.
  void setPositions(ArrayRef<unsigned> dims, Value linear);
  /// Address where every dim but those of chunks is at its current position.
  Value basePointer(const Buffer &buffer, ArrayRef<unsigned> dims);
  /// Address of element `linear` (i32 or i64) of the dims of chunks, from
  /// `base` on.
  Value chunkElement(const Buffer &buffer, Value base, Value linear);
  Value extentOf(unsigned dim);
  SmallVector<Value> decompose(ArrayRef<unsigned> dims, Value linear);
  Value emitIndex(norm_tile::IndexOp op, const Chunk &chunk);
  Value emitGroupReduce(norm_tile::GroupReduceOp op, Value value);
  Value positionOnWalk(unsigned dim, const Chunk &chunk);
  /// Positions on a dim of the elements of a chunk that begins with `linear`.
  Value chunkIndex(unsigned dim, Value linear);

  Value elementPointer(Value base, Value index, Type element);
  Value i64(int64_t value);
  Value index(int64_t value);
  Value toI64(Value index);
  /// i1 per element: `first + i < bound`, for i64 or i32 values.
  Value columnMask(Value first, Value bound, int64_t size);
  /// Row-level work that loads and stores are part of, for elements that start
  /// with `linear` of the dims of chunks; null along memory.
  virtual Value chunkStart() { return {}; }

  OpBuilder &b;
  norm_tile::KernelOp kernel;
  norm_tile::SpaceAttr space;
  bool isAcross;
  /// Dims that a chunk's elements are neighbours on; dims of the rest that a
  /// row fixes, and a phase walks.
  SmallVector<unsigned> chunkDims, rowDims, walkedDims;
  Location loc;
  ::norm::TilePlan plan;
  SmallVector<Buffer> buffers;
  IRMapping map;
  /// A thread's (the host: a row's) state of each partial.
  llvm::DenseMap<Value, ReduceState> states;
  Value row;     ///< index
  Operation *rowAnchor = nullptr; ///< after it, the row's positions are known
  Value rows;    ///< i64
  Value columns; ///< i64
  Value split, workspace;
  /// Current position on each dim that isn't one of chunks, i64.
  SmallVector<Value> positions;
  /// i64, of the dims whose extent is known at launch only.
  SmallVector<Value> extents;
};

/// Checks that the kernels of a module can be written for a target: types that
/// have a place in memory, and schedules that the target runs. `target` is its
/// name in diagnostics.
LogicalResult checkKernels(ModuleOp module,
                           const ::norm::TargetLimits &limits,
                           StringRef target);

/// Checks that each launch that has no variants yet is of a kernel of the
/// module, with its operands and extents.
LogicalResult checkLaunches(ModuleOp module);

} // namespace mlir::norm

#endif // NORM_CONVERSION_KERNELLOWERING_H
