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

/// A program over rows: its reductions are over the same dims, the *column*
/// dims; the others are the *row* dims. Either may lie anywhere. Along memory
/// there may also be reductions over the last column dims only, which reduce
/// *groups* of neighbouring columns and need no exchange. And rows may be summed
/// (`norm.accumulate`) by workers, whose dim is none of the others.
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
  bool isWalkedDim(unsigned dim) const {
    return walkedMask & (uint64_t(1) << dim);
  }
  /// The columns in a group of a reduction over groups, 0 for one over rows.
  int64_t groupOf(ReduceOp reduce) const;
  /// Workers that sum rows, and the strands of each; 0 where none does.
  int64_t workers = 0, strands = 0;
  /// How many neighbouring columns share an element of an operand.
  int64_t groupOfOperand(unsigned number) const;
  /// The phase in which output `index` is stored: as soon as it's ready or,
  /// where it replaces what is read, when nothing else is.
  unsigned storePhase(unsigned index) const;
  /// The reductions over rows whose operand is ready in `phase`.
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
  LogicalResult checkSums();
  LogicalResult checkGroups() const;
  void setAccesses();
  void widenGroups();

  llvm::DenseMap<Value, uint64_t> supports;
  uint64_t columnMask = 0, walkedMask = 0;
};

/// Whether the order of a reduction can change its result.
bool dependsOnOrder(ReduceOp reduce);
/// Whether that of any reduction of a program can.
bool dependsOnOrder(GenericOp program);

/// The dims that a reduction of a program goes over, as a bit set.
uint64_t getReducedDims(GenericOp program, ReduceOp reduce);
/// Columns of the groups that `dims`, the last ones of the column dims, make
/// up: a power of two. Nothing if they aren't such dims.
std::optional<int64_t> getGroupSize(GenericOp program, uint64_t columnDims,
                                    uint64_t dims);

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

} // namespace mlir::norm

#endif // NORM_ANALYSIS_PROGRAM_H
