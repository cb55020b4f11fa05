//===- SumRows.h - Sums over the rows of another program --------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gradient of a scale is a sum over rows of what the gradient of the input,
// a program over columns, reads as well. One kernel can do both if it sums by
// workers (`norm.accumulate`), and a small program adds up those sums.
//
//===----------------------------------------------------------------------===//

#ifndef NORM_LIB_DIALECT_NORM_TRANSFORMS_SUMROWS_H
#define NORM_LIB_DIALECT_NORM_TRANSFORMS_SUMROWS_H

#include "norm/Dialect/Norm/IR/Norm.h"

#include "mlir/IR/PatternMatch.h"

namespace mlir::norm {

/// Whether a program does nothing but add up rows that lie along memory, for
/// columns that a worker can keep the sums of. What is made of the sums needs
/// no number of rows.
bool sumsRows(GenericOp program);

/// Whether `other` reduces over the columns of the rows that `program` sums:
/// they read a tensor of all dims in the same way.
bool goesAlongSummedRows(GenericOp other, GenericOp program);

struct SummedRows {
  GenericOp workers; ///< the sums of workers
  GenericOp sum;     ///< of these, and what the program makes of it
};

/// Writes a program that sums rows as two, above it.
SummedRows splitSum(RewriterBase &rewriter, GenericOp program);

} // namespace mlir::norm

#endif // NORM_LIB_DIALECT_NORM_TRANSFORMS_SUMROWS_H
