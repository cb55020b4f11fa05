//===- PackedElements.cpp - Elements that share bytes ---------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Conversion/PackedElements.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::norm;

static Value splat(OpBuilder &b, Location loc, VectorType type,
                   int64_t number) {
  auto element = b.getIntegerAttr(type.getElementType(), number);
  return arith::ConstantOp::create(
      b, loc, DenseElementsAttr::get(type, Attribute(element)));
}

VectorType mlir::norm::packedBytes(VectorType type) {
  return VectorType::get({type.getNumElements() / 2},
                         IntegerType::get(type.getContext(), 8));
}

Value mlir::norm::unpackBytes(OpBuilder &b, Location loc, Value bytes) {
  auto type = cast<VectorType>(bytes.getType());
  int64_t count = type.getNumElements();
  Value high = arith::ShRUIOp::create(b, loc, bytes, splat(b, loc, type, 4));
  SmallVector<int64_t> order;
  for (int64_t i = 0; i < count; ++i)
    llvm::append_values(order, i, count + i);
  Value codes = vector::ShuffleOp::create(b, loc, bytes, high, order);
  // The high halves of the even ones are cut off.
  return arith::TruncIOp::create(
      b, loc, VectorType::get({2 * count}, b.getIntegerType(4)), codes);
}

Value mlir::norm::packBytes(OpBuilder &b, Location loc, Value value) {
  auto type = cast<VectorType>(value.getType());
  int64_t count = type.getNumElements() / 2;
  Value codes = arith::ExtUIOp::create(
      b, loc, VectorType::get({2 * count}, b.getI8Type()), value);
  auto half = [&](int64_t first) -> Value {
    SmallVector<int64_t> order;
    for (int64_t i = 0; i < count; ++i)
      order.push_back(2 * i + first);
    return vector::ShuffleOp::create(b, loc, codes, codes, order);
  };
  Value low = half(0), high = half(1);
  high =
      arith::ShLIOp::create(b, loc, high, splat(b, loc, packedBytes(type), 4));
  return arith::OrIOp::create(b, loc, low, high);
}
