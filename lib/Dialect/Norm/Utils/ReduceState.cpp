//===- ReduceState.cpp - What each kind of reduction does ------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Dialect/Norm/Utils/ReduceState.h"
#include "norm/Dialect/Norm/Utils/EmitExp.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"

#include <limits>

using namespace mlir;
using namespace mlir::norm;

/// `element`, as a vector where `like` is one.
static Type withShapeOf(Type element, Type like) {
  if (auto vector = dyn_cast<VectorType>(like))
    return vector.clone(element);
  return element;
}

static Value splatConstant(OpBuilder &b, Location loc, TypedAttr element,
                           Type like) {
  if (auto vector = dyn_cast<VectorType>(like))
    return arith::ConstantOp::create(b, loc,
                                     DenseElementsAttr::get(vector, element));
  return arith::ConstantOp::create(b, loc, element);
}

unsigned ReduceEmitter::numParts() const {
  return numFloatParts() + (counts() ? 1 : 0);
}

unsigned ReduceEmitter::numFloatParts() const {
  return keepsRest() ? 3 : numResults();
}

unsigned ReduceEmitter::numResults() const {
  return counts() || kind == ReduceKind::MaxExpSum ? 2 : 1;
}

Type ReduceEmitter::partType(unsigned part, int64_t lanes) const {
  Type element = counts() && part == countPart() ? b.getI32Type() : type;
  return lanes ? Type(VectorType::get({lanes}, element)) : element;
}

Value ReduceEmitter::constant(double value, Type like) {
  Type element = getElementTypeOrSelf(like);
  if (isa<FloatType>(element))
    return splatConstant(b, loc, b.getFloatAttr(element, value), like);
  return splatConstant(
      b, loc, b.getIntegerAttr(element, static_cast<int64_t>(value)), like);
}

/// The identity of the simple kinds, and of the first part of max_expsum.
Value ReduceEmitter::identityValue(Type like) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  if (auto integer = dyn_cast<IntegerType>(type)) {
    unsigned width = integer.getWidth();
    APInt value = APInt::getZero(width);
    if (kind == ReduceKind::Mul)
      value = APInt(width, 1);
    else if (kind == ReduceKind::Max)
      value = APInt::getSignedMinValue(width);
    else if (kind == ReduceKind::Min)
      value = APInt::getSignedMaxValue(width);
    return splatConstant(b, loc, b.getIntegerAttr(type, value), like);
  }
  switch (kind) {
  case ReduceKind::Add:
  case ReduceKind::Welford:
    return constant(-0.0, like);
  case ReduceKind::Mul:
    return constant(1.0, like);
  case ReduceKind::Max:
  case ReduceKind::MaxExpSum:
    return constant(-inf, like);
  case ReduceKind::Min:
    return constant(inf, like);
  case ReduceKind::MaxNum:
  case ReduceKind::MinNum:
    return constant(std::numeric_limits<double>::quiet_NaN(), like);
  case ReduceKind::WelfordExact:
    return constant(0.0, like);
  }
  llvm_unreachable("covered switch");
}

ReduceState ReduceEmitter::identity(int64_t lanes) {
  ReduceState state;
  state.parts.push_back(identityValue(partType(0, lanes)));
  if (keepsRest())
    state.parts.push_back(constant(-0.0, partType(kRest, lanes)));
  if (numResults() == 2)
    state.parts.push_back(constant(0.0, partType(1, lanes)));
  if (counts())
    state.parts.push_back(constant(0, partType(countPart(), lanes)));
  return state;
}

ReduceState ReduceEmitter::withCount(ReduceState state) {
  if (!counts() || state.count < 0)
    return state;
  Type like = withShapeOf(b.getI32Type(), state.parts[0].getType());
  state.parts.push_back(constant(state.count, like));
  state.count = -1;
  return state;
}

Value ReduceEmitter::combineSimple(Value x, Value y) {
  bool isFloat = isa<FloatType>(type);
  switch (kind) {
  case ReduceKind::Add:
    return isFloat ? arith::AddFOp::create(b, loc, x, y).getResult()
                   : arith::AddIOp::create(b, loc, x, y).getResult();
  case ReduceKind::Mul:
    return isFloat ? arith::MulFOp::create(b, loc, x, y).getResult()
                   : arith::MulIOp::create(b, loc, x, y).getResult();
  case ReduceKind::Max:
    return isFloat ? arith::MaximumFOp::create(b, loc, x, y).getResult()
                   : arith::MaxSIOp::create(b, loc, x, y).getResult();
  case ReduceKind::Min:
    return isFloat ? arith::MinimumFOp::create(b, loc, x, y).getResult()
                   : arith::MinSIOp::create(b, loc, x, y).getResult();
  case ReduceKind::MaxNum:
    return arith::MaxNumFOp::create(b, loc, x, y);
  case ReduceKind::MinNum:
    return arith::MinNumFOp::create(b, loc, x, y);
  case ReduceKind::Welford:
  case ReduceKind::WelfordExact:
  case ReduceKind::MaxExpSum:
    break;
  }
  llvm_unreachable("kind has a state of its own");
}

/// How two welford states weigh, and what to pick where one of them is empty.
struct ReduceEmitter::Weighing {
  Weights weights;
  /// Where the counts aren't known: the sum of them, and tests.
  Value total, isFirstEmpty, isSecondEmpty;
};

// The weights are rounded in the same way whether they are known now or not.
ReduceEmitter::Weighing ReduceEmitter::weigh(const ReduceState &x,
                                             const ReduceState &y,
                                             ArrayRef<Counts> cases) {
  Type like = x.parts[kMean].getType();
  Weighing w;
  if (x.count > 0 && y.count > 0) {
    w.weights = knownWeights({x.count, y.count}, like);
    return w;
  }
  Value nx = withCount(x).parts[countPart()],
        ny = withCount(y).parts[countPart()];
  w.total = arith::AddIOp::create(b, loc, nx, ny);
  auto isEqual = [&](Value n, int64_t value) -> Value {
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, n,
                                 constant(value, n.getType()));
  };
  w.isFirstEmpty = isEqual(nx, 0);
  w.isSecondEmpty = isEqual(ny, 0);
  // Nothing is weighed where a state is empty.
  SmallVector<Counts> weighed;
  for (Counts counts : cases)
    if (counts.first > 0 && counts.second > 0 &&
        !llvm::is_contained(weighed, counts))
      weighed.push_back(counts);
  if (cases.empty() || weighed.size() > 4) {
    w.weights = keepsRest() ? weightsOfMeans(nx, ny, w.total, like)
                            : weightsOfSums(nx, ny, y.count, w.total, like);
    return w;
  }
  // Any numbers, where a state is empty in all cases.
  w.weights =
      knownWeights(weighed.empty() ? Counts{1, 1} : weighed.front(), like);
  for (Counts counts : ArrayRef(weighed).drop_front(weighed.empty() ? 0 : 1)) {
    Weights known = knownWeights(counts, like);
    Value isCase = arith::AndIOp::create(b, loc, isEqual(nx, counts.first),
                                         isEqual(ny, counts.second));
    auto pick = [&](Value Weights::*weight, double none) {
      Value one = known.*weight, other = w.weights.*weight;
      if (one || other)
        w.weights.*weight = arith::SelectOp::create(
            b, loc, isCase, one ? one : constant(none, like),
            other ? other : constant(none, like));
    };
    pick(&Weights::first, 1.0);
    pick(&Weights::second, -1.0);
    pick(&Weights::factor, 0.0);
  }
  return w;
}

// Of two means: second = nb / n, factor = na * nb / n.
ReduceEmitter::Weights ReduceEmitter::weightsOfMeans(Value nx, Value ny,
                                                     Value total, Type like) {
  auto toFloat = [&](Value v) -> Value {
    return arith::SIToFPOp::create(b, loc, like, v);
  };
  Weights w;
  w.second = arith::DivFOp::create(b, loc, toFloat(ny), toFloat(total));
  w.factor = arith::MulFOp::create(b, loc, toFloat(nx), w.second);
  return w;
}

// Of two sums, with p the power of two at or below nb: first = nb / p and
// second = -na / p, both exact, and factor = 1 / (first * na / p * n). Between
// equal counts, p is nb: the difference of the sums is one of two numbers.
ReduceEmitter::Weights ReduceEmitter::weightsOfSums(Value nx, Value ny,
                                                    int64_t knownSecond,
                                                    Value total, Type like) {
  auto toFloat = [&](Value v) -> Value {
    return arith::SIToFPOp::create(b, loc, like, v);
  };
  auto mul = [&](Value v, Value w) -> Value {
    return arith::MulFOp::create(b, loc, v, w);
  };
  Value one = constant(1.0, like), first, second;
  if (knownSecond > 0 && llvm::isPowerOf2_64(knownSecond)) {
    second = mul(toFloat(nx),
                 constant(1.0 / static_cast<double>(knownSecond), like));
  } else {
    first = toFloat(ny);
    Value scale = inversePower(first);
    Value isSame =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, nx, ny);
    auto unlessSame = [&](Value v) -> Value {
      return arith::SelectOp::create(b, loc, isSame, one, mul(v, scale));
    };
    first = unlessSame(first);
    second = unlessSame(toFloat(nx));
  }
  Weights w;
  w.first = first;
  w.second = arith::NegFOp::create(b, loc, second);
  w.factor = arith::DivFOp::create(
      b, loc, one, mul(first ? mul(first, second) : second, toFloat(total)));
  return w;
}

/// 1 / p, with p the power of two at or below a positive count; by its bits.
Value ReduceEmitter::inversePower(Value count) {
  Type like = count.getType();
  bool isSingle = type.isF32();
  Type bits = withShapeOf(b.getIntegerType(isSingle ? 32 : 64), like);
  auto number = [&](uint64_t value) -> Value {
    return splatConstant(
        b, loc, b.getIntegerAttr(getElementTypeOrSelf(bits), value), bits);
  };
  Value exponent = arith::AndIOp::create(
      b, loc, arith::BitcastOp::create(b, loc, bits, count),
      number(isSingle ? 0xffull << 23 : 0x7ffull << 52));
  // Twice the exponent's bias, less the exponent.
  Value negated = arith::SubIOp::create(
      b, loc, number(isSingle ? 254ull << 23 : 2046ull << 52), exponent);
  return arith::BitcastOp::create(b, loc, like, negated);
}

/// The combined state, or the other one where one is empty.
ReduceState ReduceEmitter::pickFilled(const ReduceState &x,
                                      const ReduceState &y, ReduceState both,
                                      const Weighing &w) {
  if (!w.total) {
    both.count = x.count + y.count;
    return both;
  }
  for (unsigned part = 0; part < numFloatParts(); ++part) {
    Value picked = arith::SelectOp::create(b, loc, w.isFirstEmpty,
                                           y.parts[part], both.parts[part]);
    both.parts[part] =
        arith::SelectOp::create(b, loc, w.isSecondEmpty, x.parts[part], picked);
  }
  both.parts.push_back(w.total);
  return both;
}

// Chan, Golub and LeVeque (1979): with n = na + nb,
//   sum = sum_a + sum_b,
//   M2  = M2_a + M2_b + (nb * sum_a - na * sum_b)^2 / (na * nb * n).
// Sums of narrow values are exact for long, as their means are not.
ReduceState ReduceEmitter::combineWelford(const ReduceState &x,
                                          const ReduceState &y,
                                          ArrayRef<Counts> cases) {
  Weighing w = weigh(x, y, cases);
  auto [first, second, factor] = w.weights;
  Value mine = x.parts[kMean], other = y.parts[kMean];
  Value sum = arith::AddFOp::create(b, loc, mine, other);
  if (first)
    mine = arith::MulFOp::create(b, loc, mine, first);
  Value delta =
      second ? math::FmaOp::create(b, loc, other, second, mine).getResult()
             : arith::SubFOp::create(b, loc, mine, other).getResult();
  Value scaled = arith::MulFOp::create(b, loc, delta, factor);
  Value apart = arith::AddFOp::create(b, loc, x.parts[squaresPart()],
                                      y.parts[squaresPart()]);
  Value squares = math::FmaOp::create(b, loc, delta, scaled, apart);
  ReduceState both;
  if (!w.total) {
    both.count = x.count + y.count;
  } else {
    // The sums are right with an empty state, whatever the weights.
    Value isAnyEmpty =
        arith::OrIOp::create(b, loc, w.isFirstEmpty, w.isSecondEmpty);
    squares = arith::SelectOp::create(b, loc, isAnyEmpty, apart, squares);
  }
  both.parts = {sum, squares};
  if (w.total)
    both.parts.push_back(w.total);
  return both;
}

// A mean that is rounded to one number leaves d with errors of the size of the
// mean's last place, however close the elements are. Here it is a sum of two:
// in a leaf of an element and the distance from it, and from there on of the
// rounded mean and the rest.
ReduceState ReduceEmitter::combineExact(const ReduceState &x,
                                        const ReduceState &y, bool inLeaf,
                                        ArrayRef<Counts> cases) {
  auto add = [&](Value v, Value w) -> Value {
    return arith::AddFOp::create(b, loc, v, w);
  };
  auto sub = [&](Value v, Value w) -> Value {
    return arith::SubFOp::create(b, loc, v, w);
  };
  auto mul = [&](Value v, Value w) -> Value {
    return arith::MulFOp::create(b, loc, v, w);
  };
  unsigned squares = squaresPart();
  Value mean = x.parts[kMean], delta = sub(y.parts[kMean], mean);
  ReduceState both;
  if (inLeaf && x.count == 1 && y.count == 1) {
    // What follows, of single elements: rests and squares are 0.
    Value rest = mul(delta, constant(0.5, delta.getType()));
    both.parts = {mean, rest, mul(delta, rest)};
    both.count = 2;
    return both;
  }
  Weighing w = weigh(x, y, cases);
  // In a leaf the rests are as large as distances of elements: one after the
  // other, no intermediate result is larger than such a one.
  delta = inLeaf ? add(sub(delta, x.parts[kRest]), y.parts[kRest])
                 : add(delta, sub(y.parts[kRest], x.parts[kRest]));
  Value rest =
      math::FmaOp::create(b, loc, delta, w.weights.second, x.parts[kRest])
          .getResult();
  if (!inLeaf)
    std::tie(mean, rest) = settle(mean, rest);
  Value sum = math::FmaOp::create(b, loc, delta, mul(delta, w.weights.factor),
                                  add(x.parts[squares], y.parts[squares]));
  both.parts = {mean, rest, sum};
  return pickFilled(x, y, both, w);
}

// Dekker (1971). Where the mean is smaller than the rest, the new rest has an
// error below the last place of the old one, which is a distance of elements.
std::pair<Value, Value> ReduceEmitter::settle(Value mean, Value rest) {
  Value sum = arith::AddFOp::create(b, loc, mean, rest);
  Value taken = arith::SubFOp::create(b, loc, sum, mean);
  return {sum, arith::SubFOp::create(b, loc, rest, taken)};
}

/// (first, second, factor), computed in the type of the state as they would be
/// where the counts aren't known.
template <typename T>
static std::array<double, 3> weightsIn(Counts counts, bool ofMeans) {
  T na = static_cast<T>(counts.first), nb = static_cast<T>(counts.second);
  T n = static_cast<T>(counts.first + counts.second);
  if (ofMeans) {
    T second = nb / n;
    return {1.0, second, na * second};
  }
  T scale = T(1) / static_cast<T>(llvm::bit_floor(uint64_t(counts.second)));
  bool isSame = counts.first == counts.second;
  T first = isSame ? T(1) : nb * scale, second = isSame ? T(1) : na * scale;
  return {first, -second, T(1) / (first * second * n)};
}

ReduceEmitter::Weights ReduceEmitter::knownWeights(Counts counts, Type like) {
  auto [first, second, factor] = type.isF32()
                                     ? weightsIn<float>(counts, keepsRest())
                                     : weightsIn<double>(counts, keepsRest());
  Weights w;
  if (first != 1.0)
    w.first = constant(first, like);
  if (second != -1.0)
    w.second = constant(second, like);
  w.factor = constant(factor, like);
  return w;
}

/// `max`, or 0 where it is -inf, so that subtracting it gives no NaN.
static Value finiteMax(OpBuilder &b, Location loc, Value max, Value minusInf,
                       Value zero) {
  Value isEmpty =
      arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, max, minusInf);
  return arith::SelectOp::create(b, loc, isEmpty, zero, max);
}

// Milakov and Gimelshein (2018): sums of exponentials relative to the maximum.
ReduceState ReduceEmitter::combineMaxExpSum(const ReduceState &x,
                                            const ReduceState &y) {
  Type like = x.parts[0].getType();
  Value max = arith::MaximumFOp::create(b, loc, x.parts[0], y.parts[0]);
  Value base = finiteMax(b, loc, max, identityValue(like), constant(0.0, like));
  auto rescale = [&](Value m) -> Value {
    return emitExp(b, loc, arith::SubFOp::create(b, loc, m, base),
                   ExpRange::NonPositive);
  };
  Value second = arith::MulFOp::create(b, loc, y.parts[1], rescale(y.parts[0]));
  Value sum =
      math::FmaOp::create(b, loc, x.parts[1], rescale(x.parts[0]), second);
  ReduceState result;
  result.parts = {max, sum};
  return result;
}

ReduceState ReduceEmitter::combine(const ReduceState &x, const ReduceState &y,
                                   ArrayRef<Counts> cases) {
  if (keepsRest())
    return combineExact(x, y, /*inLeaf=*/false, cases);
  if (counts())
    return combineWelford(x, y, cases);
  if (kind == ReduceKind::MaxExpSum)
    return combineMaxExpSum(x, y);
  ReduceState result;
  result.parts = {combineSimple(x.parts[0], y.parts[0])};
  return result;
}

ReduceState ReduceEmitter::lift(Value values, Value mask) {
  Type like = values.getType();
  ReduceState state;
  if (mask)
    values = arith::SelectOp::create(b, loc, mask, values, identityValue(like));
  state.parts.push_back(values);
  if (!counts())
    return state;
  if (keepsRest())
    state.parts.push_back(constant(-0.0, like));
  state.parts.push_back(constant(0.0, like));
  if (!mask) {
    state.count = 1;
    return state;
  }
  state.parts.push_back(
      arith::ExtUIOp::create(b, loc, withShapeOf(b.getI32Type(), like), mask));
  return state;
}

Value ReduceEmitter::half(Value vector, int64_t group, bool second) {
  int64_t size = cast<VectorType>(vector.getType()).getNumElements();
  SmallVector<int64_t> indices;
  for (int64_t base = 0; base < size; base += group)
    for (int64_t i = 0; i < group / 2; ++i)
      indices.push_back(base + i + (second ? group / 2 : 0));
  return vector::ShuffleOp::create(b, loc, vector, vector, indices);
}

static ReduceState mapParts(const ReduceState &state,
                            llvm::function_ref<Value(Value)> fn) {
  ReduceState result;
  result.count = state.count;
  for (Value part : state.parts)
    result.parts.push_back(fn(part));
  return result;
}

/// A vector of one element as a scalar.
static ReduceState toScalars(OpBuilder &b, Location loc, ReduceState state) {
  return mapParts(state, [&](Value v) -> Value {
    auto vector = dyn_cast<VectorType>(v.getType());
    if (!vector || vector.getNumElements() != 1)
      return v;
    return vector::ExtractOp::create(b, loc, v, ArrayRef<int64_t>{0});
  });
}

// One exponential for each element: the leaf's maximum first, then the sum.
ReduceState ReduceEmitter::leafMaxExpSum(Value values, Value mask,
                                         int64_t leaf) {
  auto vector = cast<VectorType>(values.getType());
  Value minusInf = identityValue(vector);
  if (mask)
    values = arith::SelectOp::create(b, loc, mask, values, minusInf);
  Value max = values;
  for (int64_t group = leaf; group > 1; group /= 2)
    max = arith::MaximumFOp::create(b, loc, half(max, group, false),
                                    half(max, group, true));
  SmallVector<int64_t> spread;
  for (int64_t i = 0; i < vector.getNumElements(); ++i)
    spread.push_back(i / leaf);
  Value base = finiteMax(b, loc, max, identityValue(max.getType()),
                         constant(0.0, max.getType()));
  Value wide = vector::ShuffleOp::create(b, loc, base, base, spread);
  Value sum = emitExp(b, loc, arith::SubFOp::create(b, loc, values, wide),
                      ExpRange::NonPositive);
  for (int64_t group = leaf; group > 1; group /= 2)
    sum = arith::AddFOp::create(b, loc, half(sum, group, false),
                                half(sum, group, true));
  ReduceState state;
  state.parts = {max, sum};
  return toScalars(b, loc, state);
}

SmallVector<Counts> mlir::norm::leafCases(int64_t leaf, int64_t group) {
  SmallVector<Counts> cases;
  for (int64_t columns = 0; columns <= leaf; ++columns) {
    // Position j holds elements j, j + group, j + 2 group, ...
    auto held = [&](int64_t j) {
      return columns > j ? llvm::divideCeil(columns - j, group) : 0;
    };
    for (int64_t j = 0; j < group / 2; ++j)
      cases.push_back({held(j), held(j + group / 2)});
  }
  return cases;
}

ReduceState ReduceEmitter::leaves(Value values, Value mask, int64_t leaf) {
  if (kind == ReduceKind::MaxExpSum)
    return leafMaxExpSum(values, mask, leaf);
  ReduceState state = lift(values, mask);
  for (int64_t group = leaf; group > 1; group /= 2) {
    auto part = [&](bool second) {
      return mapParts(state, [&](Value v) { return half(v, group, second); });
    };
    SmallVector<Counts> cases;
    if (mask && counts())
      cases = leafCases(leaf, group);
    state = keepsRest()
                ? combineExact(part(false), part(true), /*inLeaf=*/true, cases)
                : combine(part(false), part(true), cases);
  }
  if (keepsRest() && leaf > 1)
    std::tie(state.parts[kMean], state.parts[kRest]) =
        settle(state.parts[kMean], state.parts[kRest]);
  return toScalars(b, loc, state);
}

ReduceState ReduceEmitter::acrossLanes(ReduceState state) {
  auto vector = dyn_cast<VectorType>(state.parts[0].getType());
  if (!vector)
    return state;
  for (int64_t lanes = vector.getNumElements(); lanes > 1; lanes /= 2)
    state =
        combine(mapParts(state, [&](Value v) { return half(v, lanes, false); }),
                mapParts(state, [&](Value v) { return half(v, lanes, true); }));
  return toScalars(b, loc, state);
}

SmallVector<Value> ReduceEmitter::project(const ReduceState &state) {
  if (!counts())
    return SmallVector<Value>(ArrayRef<Value>(state.parts));
  SmallVector<Value> results{state.parts[kMean], state.parts[squaresPart()]};
  if (!keepsRest()) {
    Type like = results[0].getType();
    Value count =
        state.count >= 0
            ? constant(static_cast<double>(state.count), like)
            : arith::SIToFPOp::create(b, loc, like, state.parts[countPart()]);
    results[0] = arith::DivFOp::create(b, loc, results[0], count);
  }
  if (state.count > 1)
    return results;
  // An element by itself lies 0 off its mean, but a NaN or an infinity doesn't;
  // merging finds those of other rows.
  Value off = arith::SubFOp::create(b, loc, results[0], results[0]);
  Value ofOne = arith::AddFOp::create(b, loc, results[1], off);
  if (state.count == 1)
    results[1] = ofOne;
  if (state.count >= 0)
    return results;
  auto hasCount = [&](int64_t count) -> Value {
    return arith::CmpIOp::create(
        b, loc, arith::CmpIPredicate::eq, state.parts[countPart()],
        constant(count, state.parts[countPart()].getType()));
  };
  results[1] = arith::SelectOp::create(b, loc, hasCount(1), ofOne, results[1]);
  // The mean of no element, as in a sum divided by its count.
  Value isEmpty = hasCount(0);
  Value nan =
      constant(std::numeric_limits<double>::quiet_NaN(), results[0].getType());
  results[0] = arith::SelectOp::create(b, loc, isEmpty, nan, results[0]);
  return results;
}
