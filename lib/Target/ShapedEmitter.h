//===- ShapedEmitter.h - Arithmetic on scalars and vectors ------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_LIB_TARGET_SHAPEDEMITTER_H
#define NORM_LIB_TARGET_SHAPEDEMITTER_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"

namespace mlir::norm {

/// Builds integer and float arithmetic on values shaped like a given one.
class ShapedEmitter {
public:
  ShapedEmitter(OpBuilder &builder, Location loc, Type shape)
      : builder(builder), loc(loc), shape(dyn_cast<ShapedType>(shape)) {}

  Type typed(Type element) {
    return shape ? Type(shape.clone(element)) : element;
  }
  Value constant(Type element, int64_t bits) {
    TypedAttr value = builder.getIntegerAttr(element, bits);
    if (shape)
      value = DenseElementsAttr::get(shape.clone(element), Attribute(value));
    return arith::ConstantOp::create(builder, loc, value);
  }
  /// `value` rounded to `element`.
  Value real(FloatType element, double value) {
    APFloat number(value);
    bool inexact;
    number.convert(element.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                   &inexact);
    TypedAttr attr = builder.getFloatAttr(element, number);
    if (shape)
      attr = DenseElementsAttr::get(shape.clone(element), Attribute(attr));
    return arith::ConstantOp::create(builder, loc, attr);
  }
  Value bitcast(Type element, Value value) {
    return arith::BitcastOp::create(builder, loc, typed(element), value);
  }
  template <typename OpT>
  Value convert(Type element, Value value) {
    return OpT::create(builder, loc, typed(element), value);
  }
  template <typename OpT, typename... Args>
  Value make(Args... args) {
    return OpT::create(builder, loc, args...);
  }

private:
  OpBuilder &builder;
  Location loc;
  ShapedType shape;
};

/// f64 to f32, to odd: inexact results get an odd last place, by which a
/// following rounding to a type with at least two bits less still sees on which
/// side of a tie the value was.
Value roundToOdd(ShapedEmitter &emit, OpBuilder &builder, Value x);

} // namespace mlir::norm

#endif // NORM_LIB_TARGET_SHAPEDEMITTER_H
