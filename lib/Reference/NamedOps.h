//===- NamedOps.h - Rows of the named ops -----------------------*- C++ -*-===//
//-*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// A named op sees its first operand as rows, the elements over the normalized
// axes. Here are the rows and what several ops do to one.
//
//===----------------------------------------------------------------------===//

#ifndef NORM_LIB_REFERENCE_NAMEDOPS_H
#define NORM_LIB_REFERENCE_NAMEDOPS_H

#include "Evaluator.h"
#include "Reductions.h"
#include "ScalarOps.h"
#include "norm/Dialect/Norm/IR/Norm.h"

namespace norm::reference {

/// Where the element of an array at a row and a column lies.
struct Offsets {
  std::vector<int64_t> row, column;
  int64_t at(int64_t r, int64_t c) const { return row[r] + column[c]; }
};

/// The rows of an op's `x`, and the type of its arithmetic.
class RowSpace {
public:
  /// `shape` are the extents of `x`, which may be those of a reshape;
  /// `columnDims` those that are normalized.
  RowSpace(mlir::Operation *op, const Array &x, llvm::ArrayRef<int64_t> shape,
           llvm::ArrayRef<int64_t> columnDims);

  int64_t rows = 1, columns = 1;
  /// Of a reduction of a row.
  int64_t depth = 0;
  DType type = DType::F32;
  /// Whether elements of `x` have at most 16 bits.
  bool isNarrow = false;
  /// The extents of `x`, and those of a statistic.
  Shape shape, rowShape;

  int64_t offset(int64_t r, int64_t c) const { return own.at(r, c); }
  Element at(int64_t r, int64_t c) const { return x.at(own.at(r, c)); }
  /// Row `r`, valid until the next call.
  Row row(int64_t r);

  /// The offsets of an array that moves by these strides along the dims.
  Offsets offsetsOf(llvm::ArrayRef<int64_t> strides) const;
  /// The positions along a dim.
  Offsets positionsAlong(int64_t dim) const;

private:
  const Array &x;
  Shape rowDims, columnDims;
  Offsets own;
  bool isContiguous = true;
  Array buffer;
};

/// An operand of an op over its rows, or none.
struct RowOperand {
  const Array *array = nullptr;
  Offsets offsets;

  explicit operator bool() const { return array != nullptr; }
  Element at(int64_t r, int64_t c) const { return array->at(offsets.at(r, c)); }
};

/// An operand whose axes have the extents of `dims`. Fails unless they agree.
llvm::Expected<RowOperand>
alignedOperand(mlir::Operation *op, const RowSpace &space, llvm::StringRef name,
               const Array *array, llvm::ArrayRef<int64_t> dims);

/// The same, repeated where the type of `value` has the extent 1. The axes are
/// aligned with the last of `axes`, or of all dims where there are more.
llvm::Expected<RowOperand>
broadcastOperand(mlir::Operation *op, const RowSpace &space,
                 llvm::StringRef name, mlir::Value value, const Array *array,
                 llvm::ArrayRef<int64_t> axes);

/// `x * scale + bias`, by an fma or by two operations.
Element scaleAndShift(DType type, Element x, Element scale, Element bias);

/// The values that scale and shift an element.
struct Affine {
  RowOperand scale, bias;
  Element offset;
};

/// `centred * rstd * (scale + offset) + bias`.
Element applyAffine(const RowSpace &space, const Affine &affine,
                    Element centred, Element rstd, int64_t r, int64_t c);

/// `1 / sqrt(variance + eps)`.
Element reciprocalRoot(const RowSpace &space, Element variance, double eps);
/// `sum / N`, not negative.
Element meanOf(const RowSpace &space, Element sum);

/// The sum of the squares of a row.
Element sumOfSquares(const RowSpace &space, Row row);

/// The only rounding of a result.
Element finish(DType type, const RowSpace &space, Element x);

/// A number of the op as the arithmetic has it.
Element constantOf(const RowSpace &space, double value);

/// What normalizing by the moments gives, statistics by row.
struct MomentResults {
  Array y, mean, m2, rstd;
};
MomentResults normalizeByMoments(RowSpace &space, const Affine &affine,
                                 double eps, DType yType);

/// Whether the row certainly holds a NaN or an infinity.
bool holdsNonFinite(Row row);

/// The element type of a tensor that has one.
inline DType elementTypeOf(mlir::Value value) {
  return *dtypeOf(value.getType());
}

// The other ops.
llvm::Expected<Arrays> evaluateSoftmax(mlir::norm::SoftmaxOp op,
                                       llvm::ArrayRef<const Array *> in);
llvm::Expected<Arrays> evaluateLogSoftmax(mlir::norm::LogSoftmaxOp op,
                                          const Array &x);
llvm::Expected<Arrays> evaluateLogSumExp(mlir::norm::LogSumExpOp op,
                                         const Array &x);
llvm::Expected<Arrays> evaluateGroupNorm(mlir::norm::GroupNormOp op,
                                         llvm::ArrayRef<const Array *> in);
llvm::Expected<Arrays> evaluateInstanceNorm(mlir::norm::InstanceNormOp op,
                                            llvm::ArrayRef<const Array *> in);
llvm::Expected<Arrays> evaluateBatchNorm(mlir::norm::BatchNormOp op,
                                         llvm::ArrayRef<const Array *> in);
llvm::Expected<Arrays> evaluateQuantize(mlir::norm::QuantizeOp op,
                                        llvm::ArrayRef<const Array *> in);
llvm::Expected<Arrays> evaluateDequantize(mlir::norm::DequantizeOp op,
                                          llvm::ArrayRef<const Array *> in);

} // namespace norm::reference

#endif // NORM_LIB_REFERENCE_NAMEDOPS_H
