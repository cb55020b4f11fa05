//===- KernelLowering.h - What all targets share in lowering a kernel ------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_CONVERSION_KERNELLOWERING_H
#define NORM_CONVERSION_KERNELLOWERING_H

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
  Value dynamicColumn; ///< the same as an i64 where it isn't
  int64_t number = -1;         ///< number of the thread's step, if known
};

/// Walks a kernel and emits code for one target. Row-level code and the
/// arithmetic of bodies are the same everywhere; a target says how phases loop,
/// where data comes from and how threads meet.
class KernelLowering {
public:
  KernelLowering(OpBuilder &builder, norm_tile::KernelOp kernel);
  virtual ~KernelLowering() = default;

protected:
  struct Buffer {
    Value pointer;
    Value stride; ///< elements between rows, i64; null without rows
    Type element;
  };

  /// Emits the rows' code at the builder's insertion point, for row `row`.
  LogicalResult lowerWork(Value row);
  /// Emits a phase's body for one chunk; returns the yielded vectors.
  FailureOr<SmallVector<Value>> lowerChunk(norm_tile::PhaseOp phase,
                                           const Chunk &chunk);

  virtual LogicalResult lowerPhase(norm_tile::PhaseOp phase) = 0;
  virtual Value emitLoad(norm_tile::LoadOp op, const Chunk &chunk) = 0;
  virtual void emitStore(norm_tile::StoreOp op, Value value,
                         const Chunk &chunk) = 0;
  virtual void emitHold(norm_tile::HoldOp op, Value value,
                        const Chunk &chunk) = 0;
  virtual Value emitHeld(norm_tile::HeldOp op, const Chunk &chunk) = 0;
  virtual void emitStoreRow(Value value, const Buffer &buffer) = 0;
  virtual void startExchange(norm_tile::ExchangeStartOp op) = 0;
  virtual SmallVector<ReduceState>
  finishExchange(norm_tile::ExchangeStartOp op) = 0;

  ReduceEmitter emitterOf(Value partial);
  Buffer &bufferOf(Value operand);
  /// Address of the first element of the current row of a buffer.
  Value rowPointer(const Buffer &buffer);
  Value elementPointer(Value base, Value index, Type element);
  Value i64(int64_t value);
  Value index(int64_t value);
  Value toI64(Value index);
  /// i1 per element: `first + i < bound`, for i64 or i32 values.
  Value columnMask(Value first, Value bound, int64_t size);

  OpBuilder &b;
  norm_tile::KernelOp kernel;
  Location loc;
  ::norm::TilePlan plan;
  SmallVector<Buffer> buffers;
  IRMapping map;
  /// A thread's (the host: a row's) state of each partial.
  llvm::DenseMap<Value, ReduceState> states;
  Value row;     ///< index
  Value rows;    ///< i64
  Value columns; ///< i64
  unsigned pointerSpace = 0;
};

/// The C++ value of a schedule attribute.
::norm::Schedule toSchedule(ScheduleAttr attr);

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
