//===- ReadPath.h - Where the axes of a value are read ----------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_LIB_DIALECT_NORM_TRANSFORMS_READPATH_H
#define NORM_LIB_DIALECT_NORM_TRANSFORMS_READPATH_H

#include "DimSplit.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::norm {

/// Follows an operand of a program up through tensor.collapse_shape and
/// tensor.expand_shape, and splits the program's dims so that it could read
/// what is there.
class ReadPath {
public:
  ReadPath(DimSplit &reader, OpOperand &operand, DimSizes &sizes)
      : reader(reader), operand(&operand), sizes(sizes) {}

  /// Goes to the first value that isn't a reshape. Fails where the reshapes
  /// don't come down to splits.
  LogicalResult follow();
  /// The value arrived at.
  Value getSource() const { return source; }
  unsigned getOperandNumber() const { return operand->getOperandNumber(); }

  /// The sizes into which the reader has an axis of the source split; none
  /// where it reads the axis as it is.
  DimParts getParts(unsigned axis) const;
  /// The map by which the split reader reads the source with all its axes split
  /// so, or fails where it can't because other operands split it elsewhere.
  FailureOr<AffineMap> getMap() const;

private:
  /// A dim of the reader, or a part of one, along which an axis is read.
  struct Piece {
    unsigned dim;
    std::optional<unsigned> part;
    OpFoldResult size;
    bool isUnit() const { return getConstantIntValue(size) == 1; }
  };
  /// The pieces that an axis consists of, the outermost first. None for an axis
  /// of size 1 that is read at 0.
  using Pieces = SmallVector<Piece, 2>;

  static Pieces dropUnits(const Pieces &pieces);
  static DimParts getSizes(const Pieces &pieces);
  void start();
  LogicalResult passCollapse(tensor::CollapseShapeOp collapse);
  void passExpand(tensor::ExpandShapeOp expand);
  LogicalResult distribute(const Pieces &pieces, Value from,
                           ArrayRef<int64_t> group, SmallVector<Pieces> &to);
  OpFoldResult getSize(Value tensor, int64_t axis);

  DimSplit &reader;
  OpOperand *operand;
  DimSizes &sizes;
  Value source;
  SmallVector<Pieces> axes;
};

} // namespace mlir::norm

#endif // NORM_LIB_DIALECT_NORM_TRANSFORMS_READPATH_H
