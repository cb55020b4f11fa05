//===- HostWorkers.h - Kernels that sum rows on the host --------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_LIB_CONVERSION_NORMTILETOHOST_HOSTWORKERS_H
#define NORM_LIB_CONVERSION_NORMTILETOHOST_HOSTWORKERS_H

#include "HostLowering.h"

namespace mlir::norm {

/// The function does the workers (see `norm.accumulate`) of a range, each of
/// them strand after strand. The sums of a worker's strands are kept in memory
/// of the function, in rows of whole chunks.
class HostWorkers : public HostLowering {
public:
  using HostLowering::HostLowering;

protected:
  LogicalResult lowerRange(Value begin, Value end) override;
  void emitSumRows(norm_tile::SumRowsOp op, Value value,
                   const Chunk &chunk) override;

private:
  int64_t strands() const { return space.getStrands(); }
  /// Columns up to the end of the last chunk.
  int64_t paddedColumns() const;
  void clearSums();
  void combineStrands();
  void storeSums(Value worker);
  VectorType chunkOf(norm_tile::SumRowsOp op) const;

  SmallVector<norm_tile::SumRowsOp> ops;
  /// Of each of them.
  llvm::DenseMap<Operation *, Value> sums;
  Value strand;
};

} // namespace mlir::norm

#endif // NORM_LIB_CONVERSION_NORMTILETOHOST_HOSTWORKERS_H
