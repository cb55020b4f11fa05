//===- ProgramDims.h - Rows and columns of a program ------------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_LIB_ANALYSIS_PROGRAMDIMS_H
#define NORM_LIB_ANALYSIS_PROGRAMDIMS_H

#include "norm/Analysis/Program.h"

namespace mlir::norm {

bool isOne(GenericOp op, unsigned dim);

/// The dims that a map walks and that have more than one element, outermost
/// first.
SmallVector<unsigned> walkedBy(GenericOp op, AffineMap map);

/// The map of the first of the inputs that are used with the most dims, or of
/// an output: how the program's data lies in memory.
AffineMap leadingMap(GenericOp op);

/// Dims by their names, as a bit set.
uint64_t getDims(GenericOp op, ArrayAttr names);

/// The dims that the reductions are over; where there is none, those that an
/// output leaves out, or some that lie next to each other in memory.
FailureOr<uint64_t> findColumnDims(GenericOp op, bool isDiagnosed = true);

/// Number of columns, -1 where known at launch only.
FailureOr<int64_t> countColumns(GenericOp op, uint64_t columnMask);

/// Dims of a mask that have more than one element, or its last one.
SmallVector<unsigned> dimsOf(GenericOp op, uint64_t mask);

} // namespace mlir::norm

#endif // NORM_LIB_ANALYSIS_PROGRAMDIMS_H
