//===- FloatEmitter.h - Arithmetic on scalars or vectors --------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_LIB_DIALECT_NORM_UTILS_FLOATEMITTER_H
#define NORM_LIB_DIALECT_NORM_UTILS_FLOATEMITTER_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/TypeUtilities.h"

namespace mlir::norm {

/// Emits arithmetic in one float type, or vectors of it, and in the integer
/// type that holds its bits.
class FloatEmitter {
public:
  FloatEmitter(OpBuilder &builder, Location loc, Type type)
      : builder(builder), loc(loc), type(type) {
    Type element = getElementTypeOrSelf(type);
    assert((element.isF32() || element.isF64()) &&
           "functions are emitted for f32 and f64 only");
    intType = builder.getIntegerType(element.getIntOrFloatBitWidth());
    if (auto vector = dyn_cast<VectorType>(type))
      intType = vector.clone(intType);
  }

protected:
  Value constant(double value) {
    return splat(type, builder.getFloatAttr(getElementTypeOrSelf(type), value));
  }
  Value intConstant(int64_t value) {
    return splat(intType,
                 builder.getIntegerAttr(getElementTypeOrSelf(intType), value));
  }
  template <typename OpTy, typename... Args>
  Value emit(Args... args) {
    return OpTy::create(builder, loc, args...).getResult();
  }
  Value fma(Value a, Value b, Value c) { return emit<math::FmaOp>(a, b, c); }
  Value toFloat(Value bits) { return emit<arith::BitcastOp>(type, bits); }
  Value toBits(Value value) { return emit<arith::BitcastOp>(intType, value); }
  Value compare(arith::CmpFPredicate predicate, Value a, Value b) {
    return emit<arith::CmpFOp>(predicate, a, b);
  }
  Value select(Value condition, Value a, Value b) {
    return emit<arith::SelectOp>(condition, a, b);
  }
  /// c[0] + c[1] x + ..., each coefficient times `factor`, by Horner's rule.
  Value polynomial(Value x, ArrayRef<double> c, double factor = 1.0) {
    Value sum = constant(c.back() * factor);
    for (double coefficient : llvm::reverse(c.drop_back()))
      sum = fma(sum, x, constant(coefficient * factor));
    return sum;
  }

  OpBuilder &builder;
  Location loc;
  Type type, intType;

private:
  Value splat(Type of, TypedAttr attr) {
    if (auto vector = dyn_cast<VectorType>(of))
      attr = DenseElementsAttr::get(vector, Attribute(attr));
    return emit<arith::ConstantOp>(of, attr);
  }
};

} // namespace mlir::norm

#endif // NORM_LIB_DIALECT_NORM_UTILS_FLOATEMITTER_H
