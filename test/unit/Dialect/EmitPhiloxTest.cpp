//===- EmitPhiloxTest.cpp - Known answers of the random numbers -----------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The vectors that are published with Philox 4x32-10, through the emitted ops,
// folded one after the other.
//
//===----------------------------------------------------------------------===//

#include "norm/Dialect/Norm/Utils/EmitPhilox.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/MLIRContext.h"

#include "gtest/gtest.h"

using namespace mlir;
using namespace mlir::norm;

namespace {

struct KnownAnswer {
  std::array<uint32_t, 4> counter;
  std::array<uint32_t, 2> key;
  std::array<uint32_t, 4> words;
};

constexpr KnownAnswer knownAnswers[] = {
    {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
    {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
     {0xffffffff, 0xffffffff},
     {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
    {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
     {0xa4093822, 0x299f31d0},
     {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}};

class EmitPhilox : public testing::Test {
protected:
  EmitPhilox()
      : context(MLIRContext::Threading::DISABLED), builder(&context),
        loc(builder.getUnknownLoc()) {
    context.loadDialect<arith::ArithDialect, vector::VectorDialect>();
    builder.setInsertionPointToStart(&block);
  }

  Value constant(ArrayRef<uint32_t> numbers) {
    SmallVector<int32_t> bits(numbers.begin(), numbers.end());
    if (bits.size() == 1)
      return arith::ConstantOp::create(builder, loc,
                                       builder.getI32IntegerAttr(bits[0]));
    auto type = VectorType::get({static_cast<int64_t>(bits.size())},
                                builder.getI32Type());
    return arith::ConstantOp::create(
        builder, loc, DenseIntElementsAttr::get(type, ArrayRef(bits)));
  }

  /// What each value folds to, ops in the order of the block.
  llvm::DenseMap<Value, Attribute> foldAll() {
    llvm::DenseMap<Value, Attribute> known;
    for (Operation &op : block) {
      SmallVector<Attribute> operands;
      for (Value operand : op.getOperands())
        operands.push_back(known.lookup(operand));
      SmallVector<OpFoldResult> results;
      if (failed(op.fold(operands, results)) || results.empty()) {
        ADD_FAILURE() << "can't fold " << op.getName().getStringRef().str();
        return known;
      }
      for (auto [value, result] : llvm::zip_equal(op.getResults(), results)) {
        auto attr = dyn_cast<Attribute>(result);
        known[value] = attr ? attr : known.lookup(cast<Value>(result));
      }
    }
    return known;
  }

  MLIRContext context;
  Block block;
  OpBuilder builder;
  Location loc;
};

TEST_F(EmitPhilox, KnownAnswersOfScalars) {
  for (const KnownAnswer &answer : knownAnswers) {
    PhiloxCounter counter;
    for (auto [value, number] : llvm::zip(counter, answer.counter))
      value = constant(number);
    PhiloxKeys keys = emitPhiloxKeys(
        builder, loc, {constant(answer.key[0]), constant(answer.key[1])});
    PhiloxCounter words = emitPhilox(builder, loc, counter, keys);
    llvm::DenseMap<Value, Attribute> known = foldAll();
    for (auto [value, word] : llvm::zip(words, answer.words))
      EXPECT_EQ(static_cast<uint32_t>(
                    cast<IntegerAttr>(known.lookup(value)).getInt()),
                word);
  }
}

// Words of both kinds: vectors of all three, and a scalar where they agree.
TEST_F(EmitPhilox, KnownAnswersOfVectors) {
  const KnownAnswer &first = knownAnswers[0], &second = knownAnswers[1],
                    &third = knownAnswers[2];
  PhiloxCounter counter;
  for (auto [i, value] : llvm::enumerate(counter))
    value = constant({first.counter[i], second.counter[i], third.counter[i]});
  PhiloxKey key = {constant({first.key[0], second.key[0], third.key[0]}),
                   constant({first.key[1], second.key[1], third.key[1]})};
  PhiloxCounter words =
      emitPhilox(builder, loc, counter, emitPhiloxKeys(builder, loc, key));
  llvm::DenseMap<Value, Attribute> known = foldAll();
  for (auto [i, value] : llvm::enumerate(words)) {
    auto numbers = llvm::to_vector(
        cast<DenseIntElementsAttr>(known.lookup(value)).getValues<uint32_t>());
    EXPECT_EQ(numbers, (SmallVector<uint32_t>{first.words[i], second.words[i],
                                              third.words[i]}));
  }
}

// A vector counter under a scalar key gives vectors of what scalars give.
TEST_F(EmitPhilox, VectorsUnderAScalarKey) {
  const KnownAnswer &answer = knownAnswers[2];
  PhiloxCounter counter = {
      constant({7, answer.counter[0]}), constant(answer.counter[1]),
      constant(answer.counter[2]), constant(answer.counter[3])};
  PhiloxKeys keys = emitPhiloxKeys(
      builder, loc, {constant(answer.key[0]), constant(answer.key[1])});
  PhiloxCounter words = emitPhilox(builder, loc, counter, keys);
  llvm::DenseMap<Value, Attribute> known = foldAll();
  for (auto [value, word] : llvm::zip(words, answer.words)) {
    auto numbers = llvm::to_vector(
        cast<DenseIntElementsAttr>(known.lookup(value)).getValues<uint32_t>());
    ASSERT_EQ(numbers.size(), 2u);
    EXPECT_EQ(numbers[1], word);
  }
}

} // namespace
