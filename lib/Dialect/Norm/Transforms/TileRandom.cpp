//===- TileRandom.cpp - Random numbers in kernels -------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TileRandom.h"

#include "norm/Dialect/Norm/Utils/EmitPhilox.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::norm;

/// Numbers that one evaluation gives.
static constexpr int64_t blockSize = 4;

namespace {
class RandomEmitter {
public:
  RandomEmitter(
      llvm::function_ref<OpBuilder &(ArrayRef<Value> operands)> builderFor,
      Location loc, const TiledRandom &random)
      : builderFor(builderFor), loc(loc), random(random) {}

  Value emitInBlocks();
  Value emitEach();

private:
  PhiloxKeys getKeys(Value row);
  PhiloxCounter getWords(Value row, Value column, const PhiloxKeys &keys);

  /// The row-major position; with a lane, that of one element of the chunk.
  Value linearize(const RandomPlace &place,
                  std::optional<int64_t> lane = std::nullopt);

  Value number(Value like, int64_t value) {
    TypedAttr attr = IntegerAttr::get(getElementTypeOrSelf(like), value);
    if (auto type = dyn_cast<VectorType>(like.getType()))
      attr = SplatElementsAttr::get(type, Attribute(attr));
    return arith::ConstantOp::create(builderFor(like), loc, attr);
  }
  template <typename OpTy>
  Value convert(Value value, Type element) {
    Type type = element;
    if (auto vector = dyn_cast<VectorType>(value.getType()))
      type = vector.clone(element);
    return OpTy::create(builderFor(value), loc, type, value);
  }
  /// On vectors where an operand is one.
  template <typename OpTy>
  Value emit(Value first, Value second) {
    OpBuilder &b = builderFor({first, second});
    bool isWide = isa<VectorType>(first.getType());
    if (isWide != isa<VectorType>(second.getType())) {
      Value &narrow = isWide ? second : first;
      narrow = vector::BroadcastOp::create(
          b, loc, (isWide ? first : second).getType(), narrow);
    }
    return OpTy::create(b, loc, first, second);
  }
  Value shiftRight(Value value, int64_t by) {
    return emit<arith::ShRUIOp>(value, number(value, by));
  }
  Value word(Value value, int64_t first = 0) {
    Type type = IntegerType::get(value.getContext(), 32);
    return convert<arith::TruncIOp>(first ? shiftRight(value, first) : value,
                                    type);
  }

  llvm::function_ref<OpBuilder &(ArrayRef<Value> operands)> builderFor;
  Location loc;
  const TiledRandom &random;
};
} // namespace

Value RandomEmitter::linearize(const RandomPlace &place,
                               std::optional<int64_t> lane) {
  Type i64 = IntegerType::get(random.seed.getContext(), 64);
  Value linear;
  for (auto [position, extent] :
       llvm::zip_equal(place.positions, place.extents)) {
    Value at = position;
    if (lane && isa<VectorType>(at.getType()))
      at = vector::ExtractOp::create(builderFor(at), loc, at,
                                     ArrayRef<int64_t>{*lane});
    at = convert<arith::IndexCastOp>(at, i64);
    if (linear)
      linear =
          emit<arith::MulIOp>(linear, convert<arith::IndexCastOp>(extent, i64));
    linear = linear ? emit<arith::AddIOp>(linear, at) : at;
  }
  if (linear)
    return linear;
  return arith::ConstantOp::create(builderFor({}), loc,
                                   IntegerAttr::get(i64, 0));
}

/// The keys of the rounds in a row.
PhiloxKeys RandomEmitter::getKeys(Value row) {
  Value high = emit<arith::XOrIOp>(word(random.seed, 32), word(row, 32));
  Value low = word(random.seed);
  return emitPhiloxKeys(builderFor({low, high}), loc, {low, high});
}

/// The four words of the block that a column is in.
PhiloxCounter RandomEmitter::getWords(Value row, Value column,
                                      const PhiloxKeys &keys) {
  PhiloxCounter counter = {word(column, 2), word(row), word(random.offset),
                           word(random.offset, 32)};
  SmallVector<Value> operands(counter.begin(), counter.end());
  llvm::append_range(operands, keys.back());
  return emitPhilox(builderFor(operands), loc, counter, keys);
}

Value RandomEmitter::emitInBlocks() {
  bool isRowUniform = llvm::none_of(random.outer.positions, [](Value position) {
    return isa<VectorType>(position.getType());
  });
  Value row = linearize(random.outer, 0);
  PhiloxKeys keys = getKeys(row);
  SmallVector<Value> numbers;
  for (int64_t first = 0; first != random.chunkSize; first += blockSize) {
    if (first && !isRowUniform) {
      row = linearize(random.outer, first);
      keys = getKeys(row);
    }
    llvm::append_range(numbers,
                       getWords(row, linearize(random.inner, first), keys));
  }
  auto type = VectorType::get({random.chunkSize}, numbers.front().getType());
  return vector::FromElementsOp::create(builderFor(numbers), loc, type,
                                        numbers);
}

/// Each element its own evaluation, and the word that is its.
Value RandomEmitter::emitEach() {
  Value row = linearize(random.outer), column = linearize(random.inner);
  PhiloxCounter words = getWords(row, column, getKeys(row));
  Value low = word(column);
  auto isSet = [&](int64_t bit) {
    Value masked = emit<arith::AndIOp>(low, number(low, bit));
    return arith::CmpIOp::create(builderFor(masked), loc,
                                 arith::CmpIPredicate::ne, masked,
                                 number(masked, 0))
        .getResult();
  };
  auto choose = [&](Value condition, Value yes, Value no) -> Value {
    return arith::SelectOp::create(builderFor({condition, yes, no}), loc,
                                   condition, yes, no);
  };
  Value isOdd = isSet(1), isUpper = isSet(2);
  return choose(isUpper, choose(isOdd, words[3], words[2]),
                choose(isOdd, words[1], words[0]));
}

Value mlir::norm::emitRandom(
    llvm::function_ref<OpBuilder &(ArrayRef<Value> operands)> builderFor,
    Location loc, const TiledRandom &random) {
  RandomEmitter emitter(builderFor, loc, random);
  return random.isInBlocks ? emitter.emitInBlocks() : emitter.emitEach();
}
