//===- ReduceState.h - What each kind of reduction does ------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one home of the kinds of norm.reduce: the state of a partial reduction,
// its identity, and how elements are lifted, states combined and results read
// off, as IR on scalars or on vectors of lanes. Bits depend on these formulas
// and on `#norm.order` alone.
//
//===----------------------------------------------------------------------===//

#ifndef NORM_DIALECT_NORM_UTILS_REDUCESTATE_H
#define NORM_DIALECT_NORM_UTILS_REDUCESTATE_H

#include "norm/Dialect/Norm/IR/Norm.h"

#include "mlir/IR/Builders.h"

namespace mlir::norm {

/// A partial reduction: scalars, or vectors with one element per lane.
struct ReduceState {
  SmallVector<Value, 4> parts;
  /// For kinds that count: how many elements are in it, where all lanes have
  /// the same number; -1 where the number is the last part.
  int64_t count = -1;
};

/// How many elements the two states of a combine can hold, on one lane or
/// another.
using Counts = std::pair<int64_t, int64_t>;

/// The counts met when groups of `group` states of a leaf are halved and
/// columns beyond the row's end are the leaf's last ones.
SmallVector<Counts> leafCases(int64_t leaf, int64_t group);

/// Emits the arithmetic of one kind on elements of one type.
class ReduceEmitter {
public:
  ReduceEmitter(OpBuilder &builder, Location loc, ReduceKind kind, Type type)
      : b(builder), loc(loc), kind(kind), type(type) {}

  /// Values that a state consists of, the count included.
  unsigned numParts() const;
  /// Those without the count.
  unsigned numFloatParts() const;
  /// Values that the reduction results in.
  unsigned numResults() const;
  /// Type of a part; a vector of `lanes` where that is not 0.
  Type partType(unsigned part, int64_t lanes) const;

  /// The state of no element; combining with it changes no bit.
  ReduceState identity(int64_t lanes);
  /// State of `first` followed by `second`.
  /// `cases`, where known, are all the counts that can occur: a kind that
  /// weighs by them then needs no division.
  ReduceState combine(const ReduceState &first, const ReduceState &second,
                      ArrayRef<Counts> cases = {});
  /// States of the leaves in `values`, a vector of (lanes x leaf) elements,
  /// each combined by halving; elements where `mask` is false are left out.
  /// Scalars where there is one lane.
  ReduceState leaves(Value values, Value mask, int64_t leaf);
  /// Combines the lanes of vectors by halving; scalars.
  ReduceState acrossLanes(ReduceState state);
  /// The results of a scalar state.
  SmallVector<Value> project(const ReduceState &state);
  /// Makes the count a part, where the kind has one.
  ReduceState withCount(ReduceState state);
  /// Whether combine gives the same bits with its arguments swapped.
  bool isSymmetric() const {
    return !counts() && kind != ReduceKind::MaxExpSum;
  }

private:
  ReduceState lift(Value values, Value mask);
  ReduceState leafMaxExpSum(Value values, Value mask, int64_t leaf);
  /// What two states that hold na and nb of n elements are multiplied with;
  /// none for 1 as `first`, and for -1 as `second`.
  struct Weights {
    Value first, second, factor;
  };
  struct Weighing;
  Weighing weigh(const ReduceState &a, const ReduceState &b,
                 ArrayRef<Counts> cases);
  ReduceState combineWelford(const ReduceState &a, const ReduceState &b,
                             ArrayRef<Counts> cases);
  ReduceState combineExact(const ReduceState &a, const ReduceState &b,
                           bool inLeaf, ArrayRef<Counts> cases);
  ReduceState pickFilled(const ReduceState &a, const ReduceState &b,
                         ReduceState both, const Weighing &weighing);
  /// A mean and a rest of any size as the rounded mean and a small rest.
  std::pair<Value, Value> settle(Value mean, Value rest);
  Weights knownWeights(Counts counts, Type like);
  Weights weightsOfMeans(Value nx, Value ny, Value total, Type like);
  Weights weightsOfSums(Value nx, Value ny, int64_t knownSecond, Value total,
                        Type like);
  Value inversePower(Value count);
  ReduceState combineMaxExpSum(const ReduceState &a, const ReduceState &b);
  Value combineSimple(Value a, Value b);
  Value constant(double value, Type like);
  Value identityValue(Type like);
  /// First or second half of each group of `group` elements.
  Value half(Value vector, int64_t group, bool second);
  bool counts() const { return isWelford(kind); }
  bool keepsRest() const { return kind == ReduceKind::WelfordExact; }
  // The parts of a welford state: the mean; with `keepsRest`, what its rounding
  // lost; the sum of squared deviations; the count.
  static constexpr unsigned kMean = 0, kRest = 1;
  unsigned squaresPart() const { return keepsRest() ? 2 : 1; }
  unsigned countPart() const { return keepsRest() ? 3 : 2; }

  OpBuilder &b;
  Location loc;
  ReduceKind kind;
  Type type;
};

} // namespace mlir::norm

#endif // NORM_DIALECT_NORM_UTILS_REDUCESTATE_H
