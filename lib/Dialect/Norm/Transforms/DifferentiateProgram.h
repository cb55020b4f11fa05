//===- DifferentiateProgram.h - The backward of one program -----*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_LIB_DIALECT_NORM_TRANSFORMS_DIFFERENTIATEPROGRAM_H
#define NORM_LIB_DIALECT_NORM_TRANSFORMS_DIFFERENTIATEPROGRAM_H

#include "ProgramBuilder.h"

namespace mlir::norm {

/// A gradient of a program: of which operand, and in which element type.
struct WantedGradient {
  unsigned input;
  Type elementType;
};

/// A value of a program's body, and the tensor that has it.
struct SavedValue {
  Value value;
  Value tensor;
};

/// Writes the gradients of a program's inputs as one program, which computes
/// the forward values that it needs again, but for those of `saved`.
/// `cotangents` has tensors to be added, of each result. Its reductions may go
/// over different dims. Fails with a diagnostic at an op without a derivative.
FailureOr<GenericOp>
differentiateProgram(RewriterBase &rewriter, DimSizes &sizes, GenericOp program,
                     ArrayRef<SmallVector<Value>> cotangents,
                     ArrayRef<SavedValue> saved,
                     ArrayRef<WantedGradient> wanted);

/// The statistics of a program: what its reductions make of a row, in the form
/// in which the elements of the row use it.
SmallVector<Value> findStatistics(GenericOp program);

/// The type of a tensor of the values of a body value at all points of the dims
/// on which it varies, and its map.
std::pair<RankedTensorType, AffineMap> getSavedType(GenericOp program,
                                                    Value value);

/// Makes values of a program's body results as well, and returns these. The
/// program is replaced.
SmallVector<Value> yieldToo(RewriterBase &rewriter, DimSizes &sizes,
                            GenericOp program, ArrayRef<Value> values);

/// Writes a program whose reductions go over different dims as several, each of
/// which reduces over one set of dims. What one needs of another is a tensor of
/// fewer dims than its own, as the statistics of a row are; all else is
/// computed again. Gives what takes the place of the results; fails with a
/// diagnostic at a reduction of positions that can't be placed.
FailureOr<SmallVector<Value>>
partitionProgram(RewriterBase &rewriter, DimSizes &sizes, GenericOp program);

/// The type in which cotangents of a tensor are added: f64 of f64, else f32.
Type getCotangentType(Type element);

} // namespace mlir::norm

#endif // NORM_LIB_DIALECT_NORM_TRANSFORMS_DIFFERENTIATEPROGRAM_H
