//===- ProgramBuilder.h - Building norm.generic from tensor ops -*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_LIB_DIALECT_NORM_TRANSFORMS_PROGRAMBUILDER_H
#define NORM_LIB_DIALECT_NORM_TRANSFORMS_PROGRAMBUILDER_H

#include "norm/Dialect/Norm/IR/Norm.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::norm {

/// A tensor whose elements are all the same: a constant or a scalar value.
struct Splat {
  TypedAttr constant;
  Value value;
  explicit operator bool() const { return constant || value; }
};

/// Looks through constants, tensor.splat and linalg.fill. A scalar value that
/// is itself a constant is given as one.
Splat getSplat(Value tensor);

/// Sizes of tensor axes as index values. A size is sought through destination
/// operands and tensor.empty, so that an intermediate isn't kept alive for its
/// shape only; each tensor.dim is made once.
class DimSizes {
public:
  explicit DimSizes(RewriterBase &rewriter) : rewriter(rewriter) {}
  Value get(Location loc, Value tensor, int64_t axis);

private:
  RewriterBase &rewriter;
  DenseMap<std::pair<Value, int64_t>, Value> made;
};

/// The names row, row1, ... and col, col1, ... of a space.
SmallVector<std::string> getSpaceNames(unsigned rows, unsigned cols);

/// Builds one norm.generic: declare the operands, `begin` the body, write it
/// with `rewriter`, `finish`.
class ProgramBuilder {
public:
  ProgramBuilder(RewriterBase &rewriter, DimSizes &sizes, Location loc,
                 SmallVector<std::string> dims);

  /// Declares an operand and returns a number for `getValue`. A scalar has a
  /// map without results. Constants and splats take no operand, unless nothing
  /// else tells the extents of their dims.
  unsigned addInput(Value value, AffineMap map);
  unsigned addInput(Value value, ArrayRef<unsigned> dims) {
    return addInput(value, getMap(dims));
  }
  unsigned addScalar(Value value) { return addInput(value, AffineMap()); }
  /// Declares a tensor of whose elements nothing is read, only the shape.
  void addShape(Value tensor, AffineMap map) {
    if (isa<RankedTensorType>(tensor.getType()))
      shapes.emplace_back(tensor, map);
  }
  void addOutput(RankedTensorType type, AffineMap map);
  void addOutput(RankedTensorType type, ArrayRef<unsigned> dims) {
    addOutput(type, getMap(dims));
  }

  /// Creates the op with a tensor.empty for each output and moves the insertion
  /// point into its body.
  void begin();
  /// The value of an input in the body.
  Value getValue(unsigned input) { return inputs[input].inBody; }
  /// Ends the body; the insertion point returns to behind the op.
  GenericOp finish(ValueRange yielded, StringRef name);

  StringRef getDimName(unsigned dim) { return dims[dim]; }

private:
  struct Input {
    Value operand;
    TypedAttr constant;
    AffineMap map;
    Value inBody;
    /// Of a tensor that is read as the scalar it is a splat of.
    Value splat;
    AffineMap splatMap;
  };
  AffineMap getMap(ArrayRef<unsigned> results);
  void tellExtents();
  Value makeDestination(RankedTensorType type, AffineMap map);

  RewriterBase &rewriter;
  DimSizes &sizes;
  Location loc;
  SmallVector<std::string> dims;
  SmallVector<Input> inputs;
  /// Where a dim's extent can be read: tensors with their maps, including those
  /// that became scalars or constants.
  SmallVector<std::pair<Value, AffineMap>> shapes;
  SmallVector<std::pair<RankedTensorType, AffineMap>> outputs;
  GenericOp program;
};

/// Writes a named op as norm.generic, with reshapes around it where axes are
/// split; false without a change on anything else.
bool generalizeNamed(RewriterBase &rewriter, DimSizes &sizes, Operation *op);

/// Writes an elementwise op on ranked tensors as norm.generic; fails without a
/// change on anything else.
LogicalResult generalizeElementwise(RewriterBase &rewriter, DimSizes &sizes,
                                    Operation *op);

/// Writes a linalg op on tensors, with parallel loops only and an elementwise
/// body, as norm.generic; fails without a change on anything else.
LogicalResult generalizeLinalg(RewriterBase &rewriter, DimSizes &sizes,
                               linalg::LinalgOp op);

/// Writes a splat as norm.generic without inputs other than the scalar.
void generalizeSplat(RewriterBase &rewriter, DimSizes &sizes, Value tensor);

/// Has programs compute the small constants of several values that they read:
/// in the body where there are few, by a program of its own otherwise.
void generalizeTables(RewriterBase &rewriter, DimSizes &sizes, Operation *root);

} // namespace mlir::norm

#endif // NORM_LIB_DIALECT_NORM_TRANSFORMS_PROGRAMBUILDER_H
