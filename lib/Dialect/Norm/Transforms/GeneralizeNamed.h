//===- GeneralizeNamed.h - A named op on its way to a program ---*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_LIB_DIALECT_NORM_TRANSFORMS_GENERALIZENAMED_H
#define NORM_LIB_DIALECT_NORM_TRANSFORMS_GENERALIZENAMED_H

#include "ProgramBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace mlir::norm {

/// Writes one named op as a program over the axes of `x`, which is the op's
/// first operand or a reshape of it. Dims are numbered as the axes; those of
/// `columns` are normalized. Declare further operands and outputs, `begin`,
/// emit the body, `finish`.
class NamedBody {
public:
  NamedBody(RewriterBase &rewriter, DimSizes &sizes, Operation *op, Value x,
            ArrayRef<int64_t> columns);

  ArrayRef<unsigned> getAllDims() const { return allDims; }
  ArrayRef<unsigned> getRowDims() const { return rowDims; }
  ArrayRef<unsigned> getColDims() const { return colDims; }

  /// An operand whose axes are `dims`; none for no value.
  std::optional<unsigned> addInput(Value value, ArrayRef<unsigned> dims);
  unsigned addInput(Value value, AffineMap map) {
    return program.addInput(value, map);
  }
  /// An operand that broadcasts to the axes of `alignAxes`.
  std::optional<unsigned> addBroadcast(Value value, ArrayRef<int64_t> axes);
  std::optional<unsigned> addScalar(Value value);
  /// A result whose axes are `dims`; nothing for no value.
  void addOutput(Value result, ArrayRef<unsigned> dims) {
    if (result)
      addOutput(cast<RankedTensorType>(result.getType()), dims);
  }
  void addOutput(RankedTensorType type, ArrayRef<unsigned> dims);
  void addOutput(RankedTensorType type, AffineMap map);

  void begin() { program.begin(); }
  /// Rounds each value to the element type of its output.
  SmallVector<Value> finish(ArrayRef<Value> values, StringRef name);

  //===--------------------------------------------------------------------===//
  // The body
  //===--------------------------------------------------------------------===//

  /// `x`, or another input, in the type of the arithmetic.
  Value readX() { return read(xInput); }
  Value read(unsigned input) {
    return convert(program.getValue(input), compute);
  }
  /// An input as it is.
  Value readRaw(unsigned input) { return program.getValue(input); }

  Value constant(double value) {
    return arith::ConstantOp::create(rewriter, loc,
                                     rewriter.getFloatAttr(compute, value));
  }
  Value constant(const APFloat &value) {
    return arith::ConstantOp::create(rewriter, loc,
                                     FloatAttr::get(compute, value));
  }
  Value constant(int64_t value, Type type) {
    return arith::ConstantOp::create(rewriter, loc,
                                     rewriter.getIntegerAttr(type, value));
  }
  template <typename OpTy, typename... Args>
  Value emit(Args... args) {
    return OpTy::create(rewriter, loc, args...).getResult();
  }
  Value toFloat(Value integer) {
    return arith::SIToFPOp::create(rewriter, loc, compute, integer);
  }
  Value reduce(ReduceKind kind, Value value);
  Value index(unsigned dim, Type type);
  Value extent(unsigned dim, Type type);
  /// The random number at the position on all dims.
  Value random(Value seed, Value offset);

  /// The number of elements of a row, rounded once.
  Value getCount();
  /// The same as an i64.
  Value getIntegerCount();
  /// The number of elements of a row where it is known.
  std::optional<int64_t> getStaticCount() const;

  /// 1 / sqrt(variance + eps), each op rounded.
  Value getRstd(Value variance, const APFloat &eps);

  Type getI8Type() { return rewriter.getI8Type(); }
  Type getI32Type() { return rewriter.getI32Type(); }
  Type getI64Type() { return rewriter.getI64Type(); }
  Type getF32Type() { return rewriter.getF32Type(); }

private:
  Value convert(Value value, Type type);
  StringAttr nameOf(unsigned dim) {
    return rewriter.getStringAttr(program.getDimName(dim));
  }

  RewriterBase &rewriter;
  Location loc;
  SmallVector<int64_t> shape;
  ProgramBuilder program;
  Type compute;
  SmallVector<unsigned> rowDims, colDims, allDims;
  SmallVector<Type> outputTypes;
  unsigned xInput;
};

/// Scale, its offset, and bias, as inputs of a program.
struct AffineInputs {
  std::optional<unsigned> scale;
  APFloat offset;
  std::optional<unsigned> bias;
};

/// `value * (scale + offset) + bias`, one fused multiply-add where both are.
Value applyAffine(NamedBody &body, Value value, const AffineInputs &affine);

/// What normalizing by mean and variance makes of a row.
struct Moments {
  Value mean, squares, rstd, normalized;
};
Moments emitMoments(NamedBody &body, const APFloat &eps);

// The ops by kind; each replaces its op.
void generalizeNorm(RewriterBase &rewriter, DimSizes &sizes, LayerNormOp op);
void generalizeNorm(RewriterBase &rewriter, DimSizes &sizes, RmsNormOp op);
void generalizeNorm(RewriterBase &rewriter, DimSizes &sizes, L2NormalizeOp op);
void generalizeNorm(RewriterBase &rewriter, DimSizes &sizes, SoftmaxOp op);
void generalizeNorm(RewriterBase &rewriter, DimSizes &sizes, LogSoftmaxOp op);
void generalizeNorm(RewriterBase &rewriter, DimSizes &sizes, LogSumExpOp op);
void generalizeNorm(RewriterBase &rewriter, DimSizes &sizes, GroupNormOp op);
void generalizeNorm(RewriterBase &rewriter, DimSizes &sizes, InstanceNormOp op);
void generalizeNorm(RewriterBase &rewriter, DimSizes &sizes, BatchNormOp op);
void generalizeNorm(RewriterBase &rewriter, DimSizes &sizes, DropoutOp op);
void generalizeNorm(RewriterBase &rewriter, DimSizes &sizes, QuantizeOp op);
void generalizeNorm(RewriterBase &rewriter, DimSizes &sizes, DequantizeOp op);

} // namespace mlir::norm

#endif // NORM_LIB_DIALECT_NORM_TRANSFORMS_GENERALIZENAMED_H
