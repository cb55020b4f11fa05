//===- Program.h - What a norm.generic needs from a kernel ------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads off a program how its dims split into rows and columns, in which phase
// each value is ready, and what is worth keeping between phases.
//
//===----------------------------------------------------------------------===//

#ifndef NORM_ANALYSIS_PROGRAM_H
#define NORM_ANALYSIS_PROGRAM_H

#include "norm/Analysis/TilePlan.h"
#include "norm/Dialect/Norm/IR/Norm.h"

#include "llvm/ADT/SetVector.h"

namespace mlir::norm {

/// How an operand lies in the space of rows and columns.
enum class Access { Full, Column, Row, Scalar };

/// A program over rows: all its reductions are over the same dims, the *column*
/// dims; the others are the *row* dims. Either may lie anywhere.
///
/// The *walked* dims are those that a phase of the kernel goes over: all column
/// dims or, with an order across memory that has inner columns, all but the
/// last one.
class Program {
public:
  /// Analyzes `op`; emits a diagnostic and fails where the program is not one
  /// over rows.
  static FailureOr<Program> analyze(GenericOp op);

  GenericOp op;
  /// Dims of more than one element, in order (of one, where there is no other).
  SmallVector<unsigned> rowDims, columnDims;
  OrderAttr order;
  /// Column extent, -1 where dynamic.
  int64_t columns = -1;
  /// Of each operand, on rows and on walked columns.
  SmallVector<Access> accesses;
  /// Phase in which each value of the body is ready.
  llvm::DenseMap<Value, unsigned> ready;
  /// Number of exchanges; there is one phase more.
  unsigned numExchanges = 0;

  /// Whether a value differs between the walked columns of a row.
  bool variesOnColumns(Value value) const {
    return supports.lookup(value) & walkedMask;
  }
  bool isColumnDim(unsigned dim) const {
    return columnMask & (uint64_t(1) << dim);
  }
  /// The reductions whose operand is ready in `phase`.
  SmallVector<ReduceOp> reductionsOf(unsigned phase) const;
  /// Values to keep from `phase` for later phases. From the first phase, so
  /// that each input is read once and the fewest bits are held: inputs, or
  /// values computed from them. From a later one, what would take long to
  /// compute again.
  llvm::SetVector<Value> valuesToHold(unsigned phase) const;
  /// Column operands that are first needed after the first exchange.
  SmallVector<BlockArgument> columnOperandsToPrefetch() const;
  /// What the cost model looks at.
  ::norm::ProgramFacts facts() const;

private:
  llvm::SetVector<Value> valuesToHoldFromFirst() const;
  /// Ops on columns that computing `value` takes, beginning with what the first
  /// phase holds.
  unsigned countOps(Value value, llvm::DenseSet<Value> &seen) const;
  int64_t frontierBits(const llvm::SetVector<Value> &held,
                       llvm::SetVector<Value> &frontier) const;
  void collectFrontier(Value value, const llvm::SetVector<Value> &held,
                       llvm::SetVector<Value> &frontier,
                       llvm::DenseSet<Value> &seen) const;
  /// Column-varying values that phases after the first compute from.
  SmallVector<Value> laterRoots() const;

  LogicalResult checkOutputs() const;
  void setAccesses();

  llvm::DenseMap<Value, uint64_t> supports;
  uint64_t columnMask = 0, walkedMask = 0;
};

/// The order of a program's reductions where nothing else is said. Along memory
/// where neighbours in memory of its first full input are columns of one row:
/// leaves of one 16-byte access to the narrowest input that varies on all dims.
/// Across memory otherwise, also where only a few neighbours are (the channels
/// of a group, channels last). Fails where the reductions are over different
/// dims.
FailureOr<OrderAttr> naturalOrder(GenericOp program);

/// `#norm.schedule` as a C++ value, and back.
::norm::Schedule toSchedule(ScheduleAttr attr);
ScheduleAttr toAttribute(MLIRContext *context, const ::norm::Schedule &schedule);

/// Bytes of a reduction's state, at most: what each thread writes where the
/// warps of a CTA meet.
int64_t stateBytes(ReduceKind kind, Type type);

/// Bytes of a reduction's state, at most: what each thread writes where the
/// warps of a CTA meet.
int64_t stateBytes(ReduceKind kind, Type type);

} // namespace mlir::norm

#endif // NORM_ANALYSIS_PROGRAM_H
