//===- GPUWorkers.h - Kernels that sum rows on a GPU ------------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_LIB_CONVERSION_NORMTILETOGPU_GPUWORKERS_H
#define NORM_LIB_CONVERSION_NORMTILETOGPU_GPUWORKERS_H

#include "GPULowering.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::norm {

/// A CTA is a worker (see `norm.accumulate`) and each of its groups of threads
/// a strand, which does one row after the other. A thread keeps the sums of its
/// columns in registers until it is through with them.
///
/// What rows have of their own is on its way `stages` rows ahead: each thread
/// copies what it will use to a place in shared memory that no other thread
/// looks at, so that nobody has to wait for anybody. What rows have in common
/// is loaded once.
class GPUWorkers : public GPULowering {
public:
  using GPULowering::GPULowering;

protected:
  Value enter() override;
  void leave() override;
  Value emitLoad(norm_tile::LoadOp op, const Chunk &chunk) override;
  Value emitLoadRow(norm_tile::LoadRowOp op) override;
  void emitSumRows(norm_tile::SumRowsOp op, Value value,
                   const Chunk &chunk) override;
  bool mayBeStaged(norm_tile::StoreOp) override { return false; }
  /// A group may begin its next row while others read the states of this one.
  int64_t exchangePlaces() const override { return 2; }
  Value exchangePlace() override;

private:
  /// An operand that is copied ahead of use.
  struct Copied {
    int64_t offset = 0; ///< of the first thread's first piece in a stage
    int64_t piece = 0;  ///< bytes of one copy
    int64_t pieces = 1; ///< copies for each chunk, or for the row
    bool isRow = false; ///< one element of the row
  };
  /// The sum of an op's chunk: of the thread's step.
  using Place = std::pair<Operation *, int64_t>;

  void findCopied();
  void addCopied(Value operand, Type type);
  void findSums();
  int64_t strands() const { return space.getStrands(); }
  int64_t rowsAtOnce() const { return space.getWorkers() * strands(); }
  /// Calls `emit` for each step in which some thread has columns.
  void forEachStep(
      llvm::function_ref<void(int64_t iteration, int64_t block)> emit) const;
  /// Starts the copies of a row, if there is one, to a stage.
  void copyRow(Value row, Value stage);
  void copyChunk(const Copied &copied, Value base, Type element,
                 const Chunk &chunk, Value stage);
  /// Where the calling thread has a piece, in the stage that begins at `stage`.
  Value placeOf(const Copied &copied, int64_t number, Value stage);
  Value loadCopied(const Copied &copied, const Chunk &chunk, VectorType type);
  /// What `load` gives if the group has a row and `condition` (may be null)
  /// holds, else zeros.
  Value emitIf(Value condition, Type type, llvm::function_ref<Value()> load);
  Value loadOnce(norm_tile::LoadOp op, const Chunk &chunk);
  void combineStrands();
  void storeSums();
  void storeSum(norm_tile::SumRowsOp op, Value sum, const Chunk &chunk);

  scf::ForOp loop;
  Value firstRow; ///< of the group, index
  Value current;  ///< row of this turn, also beyond the last, index
  Value place;    ///< of this turn's exchanges
  Operation *before = nullptr; ///< last op before the rows
  /// Bytes of a stage, which copied operands share.
  int64_t stageBytes = 0;
  llvm::MapVector<Value, Copied> copies;
  llvm::MapVector<Place, Value> sums;
  /// Chunks of operands that rows have in common.
  llvm::DenseMap<std::pair<Value, int64_t>, Value> common;
};

} // namespace mlir::norm

#endif // NORM_LIB_CONVERSION_NORMTILETOGPU_GPUWORKERS_H
