//===- EmitPhilox.cpp - Counter-based random numbers as arithmetic --------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Dialect/Norm/Utils/EmitPhilox.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::norm;

static constexpr std::array<uint32_t, 2> multipliers = {0xD2511F53, 0xCD9E8D57};
static constexpr std::array<uint32_t, 2> increments = {0x9E3779B9, 0xBB67AE85};

/// A number in the type of `like`, an i32 or a vector of them.
static Value constantLike(OpBuilder &b, Location loc, Value like,
                          uint32_t number) {
  TypedAttr attr = b.getI32IntegerAttr(static_cast<int32_t>(number));
  if (auto type = dyn_cast<VectorType>(like.getType()))
    attr = SplatElementsAttr::get(type, Attribute(attr));
  return arith::ConstantOp::create(b, loc, attr);
}

static Value exclusiveOr(OpBuilder &b, Location loc, Value first,
                         Value second) {
  auto toVector = [&](Value scalar, Value like) -> Value {
    return vector::BroadcastOp::create(b, loc, like.getType(), scalar);
  };
  bool isWide = isa<VectorType>(first.getType());
  if (isWide != isa<VectorType>(second.getType()))
    (isWide ? second : first) =
        isWide ? toVector(second, first) : toVector(first, second);
  return arith::XOrIOp::create(b, loc, first, second);
}

PhiloxKeys mlir::norm::emitPhiloxKeys(OpBuilder &builder, Location loc,
                                      PhiloxKey key) {
  PhiloxKeys keys;
  for (unsigned round = 0; round != philoxRounds; ++round)
    for (unsigned word = 0; word != 2; ++word) {
      Value step =
          round ? constantLike(builder, loc, key[word],
                               static_cast<uint32_t>(round) * increments[word])
                : Value();
      keys[round][word] =
          step
              ? arith::AddIOp::create(builder, loc, key[word], step).getResult()
              : key[word];
    }
  return keys;
}

PhiloxCounter mlir::norm::emitPhilox(OpBuilder &builder, Location loc,
                                     PhiloxCounter counter,
                                     const PhiloxKeys &keys) {
  for (const PhiloxKey &key : keys) {
    auto multiply = [&](unsigned word, uint32_t by) {
      Value x = counter[word];
      return arith::MulUIExtendedOp::create(builder, loc, x,
                                            constantLike(builder, loc, x, by));
    };
    auto first = multiply(0, multipliers[0]);
    auto second = multiply(2, multipliers[1]);
    // What doesn't depend on the products first: it may be a row's.
    Value low = exclusiveOr(builder, loc, counter[1], key[0]);
    Value high = exclusiveOr(builder, loc, counter[3], key[1]);
    counter = {
        exclusiveOr(builder, loc, second.getHigh(), low), second.getLow(),
        exclusiveOr(builder, loc, first.getHigh(), high), first.getLow()};
  }
  return counter;
}
