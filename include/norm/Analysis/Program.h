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

/// A program over rows: all its reductions are over the same trailing dims, the
/// *column* dims; the dims before them are the *row* dims.
class Program {
public:
  /// Analyzes `op`; emits a diagnostic and fails where the program is not one
  /// over rows.
  static FailureOr<Program> analyze(GenericOp op);

  GenericOp op;
  unsigned numRowDims = 0;
  /// Column extent, -1 where dynamic.
  int64_t columns = -1;
  SmallVector<Access> accesses;
  /// Phase in which each value of the body is ready.
  llvm::DenseMap<Value, unsigned> ready;
  /// Number of exchanges; there is one phase more.
  unsigned numExchanges = 0;

  bool variesOnColumns(Value value) const {
    return supports.lookup(value) & columnMask;
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

  llvm::DenseMap<Value, uint64_t> supports;
  uint64_t columnMask = 0;
};

/// Columns per leaf of a program's reductions where nothing else is said: one
/// 16-byte access to the narrowest input that varies on all dims.
int64_t naturalLeaf(GenericOp program);

/// Bytes of a reduction's state, at most: what each thread writes where the
/// warps of a CTA meet.
int64_t stateBytes(ReduceKind kind, Type type);

} // namespace mlir::norm

#endif // NORM_ANALYSIS_PROGRAM_H
