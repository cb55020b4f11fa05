//===- RewriteWelford.cpp - Dependent reductions as one -------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A reduction whose operand needs the result of another one costs a second
// exchange. Two such pairs have a one-pass form: the mean and the sum of the
// squared deviations from it, and the maximum and the sum of the exponentials
// of what remains below it.
//
//===----------------------------------------------------------------------===//

#include "norm/Dialect/Norm/Transforms/Passes.h"

#include "norm/Analysis/Program.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <limits>

namespace mlir::norm {
#define GEN_PASS_DEF_NORMREWRITEWELFORDPASS
#include "norm/Dialect/Norm/Transforms/Passes.h.inc"
} // namespace mlir::norm

using namespace mlir;
using namespace mlir::norm;

namespace {
struct NormRewriteWelfordPass
    : public mlir::norm::impl::NormRewriteWelfordPassBase<NormRewriteWelfordPass> {
  using Base::Base;
  void runOnOperation() override;
};
} // namespace

//===----------------------------------------------------------------------===//
// Shapes of expressions
//===----------------------------------------------------------------------===//

/// The other operand of a commutative op, if one of the two is `known`.
template <typename OpTy>
static Value getOther(OpTy op, Value known) {
  if (op.getLhs() == known)
    return op.getRhs();
  return op.getRhs() == known ? op.getLhs() : Value();
}

/// `v - m` or `v + (-m)`; gives (v, m).
static std::optional<std::pair<Value, Value>> matchDifference(Value value) {
  if (auto sub = value.getDefiningOp<arith::SubFOp>())
    return {{sub.getLhs(), sub.getRhs()}};
  auto add = value.getDefiningOp<arith::AddFOp>();
  if (!add)
    return std::nullopt;
  if (auto negation = add.getRhs().getDefiningOp<arith::NegFOp>())
    return {{add.getLhs(), negation.getOperand()}};
  if (auto negation = add.getLhs().getDefiningOp<arith::NegFOp>())
    return {{add.getRhs(), negation.getOperand()}};
  return std::nullopt;
}

static bool haveSameDims(ReduceOp a, ReduceOp b) {
  if (a.getDims().size() != b.getDims().size())
    return false;
  return llvm::all_of(a.getDims(), [&](Attribute dim) {
    return llvm::is_contained(b.getDims(), dim);
  });
}

/// Whether a value is the product of the extents of `dims`, each taken once:
/// extents multiplied in floats or integers, converted, or a constant where
/// they are static. A count of 0 is none: the mean of nothing is a NaN.
static bool isCountOf(Value value, ReduceOp reduce) {
  auto op = cast<GenericOp>(reduce->getParentOp());
  int64_t expected = 1;
  SmallVector<int64_t> extents = op.getExtents();
  SmallVector<StringRef> open;
  for (StringRef name : reduce.getDims().getAsValueRange<StringAttr>()) {
    int64_t extent = extents[*op.getDimNumber(name)];
    expected =
        ShapedType::isDynamic(extent) || expected < 0 ? -1 : expected * extent;
    open.push_back(name);
  }
  if (expected == 0)
    return false;
  FloatAttr constant;
  if (matchPattern(value, m_Constant(&constant)))
    return expected > 0 &&
           constant.getValue().isExactlyValue(static_cast<double>(expected));
  SmallVector<Value> factors{value};
  while (!factors.empty()) {
    Operation *def = factors.pop_back_val().getDefiningOp();
    if (!def)
      return false;
    if (auto extent = dyn_cast<ExtentOp>(def)) {
      // Narrow types hold few extents exactly.
      Type type = extent.getType();
      auto *it = llvm::find(open, extent.getDim());
      if (it == open.end() ||
          (!type.isIndex() && type.getIntOrFloatBitWidth() < 32))
        return false;
      open.erase(it);
    } else if (isa<arith::MulFOp, arith::MulIOp, arith::SIToFPOp,
                   arith::UIToFPOp>(def)) {
      factors.append(def->operand_begin(), def->operand_end());
    } else {
      return false;
    }
  }
  return open.empty();
}

//===----------------------------------------------------------------------===//
// Rewrites
//===----------------------------------------------------------------------===//

static ReduceOp createMerged(RewriterBase &rewriter, ReduceKind kind,
                             ReduceOp first, ReduceOp second) {
  rewriter.setInsertionPoint(first);
  return ReduceOp::create(
      rewriter, rewriter.getFusedLoc({first.getLoc(), second.getLoc()}), kind,
      first.getValue(), first.getDims());
}

namespace {
/// `squares` = sum((v - sum(v) / N)^2).
struct MomentPair {
  ReduceOp sum, squares;
  Value value;
  /// The mean that is taken away, and the difference.
  arith::DivFOp mean;
  Value centred;
  /// All quotients of the sum, each the mean.
  SmallVector<arith::DivFOp> means;
};
} // namespace

/// The sum itself has no other use than to be divided by N, else it would still
/// be needed.
static std::optional<MomentPair> matchMoments(ReduceOp squares) {
  Type type = squares.getValue().getType();
  if (squares.getKind() != ReduceKind::Add || (!type.isF32() && !type.isF64()))
    return std::nullopt;
  auto square = squares.getValue().getDefiningOp<arith::MulFOp>();
  if (!square || square.getLhs() != square.getRhs())
    return std::nullopt;
  auto difference = matchDifference(square.getLhs());
  if (!difference)
    return std::nullopt;
  // The square doesn't tell v - mean from mean - v.
  auto [value, mean] = *difference;
  auto division = mean.getDefiningOp<arith::DivFOp>();
  auto sum = division ? division.getLhs().getDefiningOp<ReduceOp>() : nullptr;
  if (!sum || sum.getValue() != value) {
    std::swap(value, mean);
    division = mean.getDefiningOp<arith::DivFOp>();
    sum = division ? division.getLhs().getDefiningOp<ReduceOp>() : nullptr;
  }
  if (!sum || sum.getKind() != ReduceKind::Add || sum.getValue() != value ||
      !haveSameDims(sum, squares))
    return std::nullopt;
  MomentPair pair{sum, squares, value, division, square.getLhs(), {}};
  // Where the deviations are summed as well, the pair has its best form.
  if (llvm::any_of(pair.centred.getUsers(),
                   [](Operation *user) { return isa<ReduceOp>(user); }))
    return std::nullopt;
  for (Operation *user : sum->getUsers()) {
    auto quotient = dyn_cast<arith::DivFOp>(user);
    if (!quotient || quotient.getLhs() != sum.getResult(0) ||
        !isCountOf(quotient.getRhs(), sum))
      return std::nullopt;
    pair.means.push_back(quotient);
  }
  return pair;
}

/// Whether the mean is exact enough as it is: of values of 16 bits and less, a
/// sum in f32 loses nothing that they could tell from their mean.
static bool isOfNarrowValues(MomentPair &pair) {
  auto extension = pair.value.getDefiningOp<arith::ExtFOp>();
  return extension &&
         extension.getIn().getType().getIntOrFloatBitWidth() <= 16;
}

/// One collective in place of both.
static void mergeMoments(RewriterBase &rewriter, MomentPair &pair) {
  ReduceKind kind = isOfNarrowValues(pair) ? ReduceKind::Welford
                                           : ReduceKind::WelfordExact;
  ReduceOp welford = createMerged(rewriter, kind, pair.sum, pair.squares);
  for (arith::DivFOp quotient : pair.means)
    rewriter.replaceOp(quotient, welford.getResult(0));
  rewriter.replaceOp(pair.squares, welford.getResult(1));
  rewriter.eraseOp(pair.sum);
}

/// Takes away what is left of the mean in the deviations, d: with r = sum(d),
/// which is 0 but for rounding,
///
///     d' = d - r / N,  sum(d'^2) = sum(d^2) - r^2 / N
///
/// (T. Chan, G. Golub and R. LeVeque, Algorithms for Computing the Sample
/// Variance, The American Statistician 37, 1983: the corrected two-pass
/// algorithm.) Rows of one value have deviations of zero.
static bool correctMoments(RewriterBase &rewriter, MomentPair &pair) {
  Operation *centred = pair.centred.getDefiningOp();
  // Where mean - v is squared, nothing is won that is worth its code.
  auto sub = dyn_cast<arith::SubFOp>(centred);
  if (!sub || sub.getLhs() != pair.value)
    return false;
  Location loc = pair.squares.getLoc();
  rewriter.setInsertionPointAfter(centred);
  auto rest = ReduceOp::create(rewriter, loc, ReduceKind::Add, pair.centred,
                               pair.squares.getDims());
  Value shift = arith::DivFOp::create(rewriter, loc, rest.getResult(0),
                                      pair.mean.getRhs());
  auto exact = arith::SubFOp::create(rewriter, loc, pair.centred, shift);
  Operation *square = pair.squares.getValue().getDefiningOp();
  rewriter.replaceUsesWithIf(pair.centred, exact, [&](OpOperand &use) {
    Operation *user = use.getOwner();
    return user != rest && user != exact && user != square;
  });
  auto mean = arith::AddFOp::create(rewriter, loc, pair.mean, shift);
  rewriter.replaceUsesWithIf(pair.mean, mean, [&](OpOperand &use) {
    return use.getOwner() != mean && mean->isBeforeInBlock(use.getOwner());
  });
  rewriter.setInsertionPointAfter(pair.squares);
  Value all = pair.squares.getResult(0);
  Value lost =
      arith::MulFOp::create(rewriter, loc, rest.getResult(0), shift);
  // Both are infinite where deviations are beyond the limit; the sum stays so.
  auto type = cast<FloatType>(all.getType());
  Value largest = arith::ConstantOp::create(
      rewriter, loc,
      FloatAttr::get(type, APFloat::getLargest(type.getFloatSemantics())));
  lost = arith::MinNumFOp::create(rewriter, loc, lost, largest);
  auto left = arith::SubFOp::create(rewriter, loc, all, lost);
  Value zero = arith::ConstantOp::create(
      rewriter, loc, rewriter.getFloatAttr(type, 0.0));
  auto positive = arith::MaximumFOp::create(rewriter, loc, left, zero);
  rewriter.replaceUsesWithIf(
      all, positive, [&](OpOperand &use) { return use.getOwner() != left; });
  return true;
}

/// Across memory, where an exchange is dear, both reductions become one. Along
/// memory a row is held while its threads meet twice, which costs less than
/// half the arithmetic of Welford's form.
static bool rewriteMoments(RewriterBase &rewriter, ReduceOp squares,
                           bool isAcross) {
  std::optional<MomentPair> pair = matchMoments(squares);
  if (!pair)
    return false;
  if (isAcross) {
    mergeMoments(rewriter, *pair);
    return true;
  }
  return !isOfNarrowValues(*pair) && correctMoments(rewriter, *pair);
}

/// Points that a reduction goes over; the largest number where that is dynamic.
static int64_t countColumns(ReduceOp reduce) {
  auto program = cast<GenericOp>(reduce->getParentOp());
  SmallVector<int64_t> extents = program.getExtents();
  int64_t columns = 1;
  for (StringRef name : reduce.getDims().getAsValueRange<StringAttr>()) {
    int64_t extent = extents[*program.getDimNumber(name)];
    if (ShapedType::isDynamic(extent))
      return std::numeric_limits<int64_t>::max();
    columns *= extent;
  }
  return columns;
}

/// `sum` = sum(exp(v - max(v))).
static bool rewriteMaxExpSum(RewriterBase &rewriter, ReduceOp sum,
                             int64_t fromColumns) {
  Type type = sum.getValue().getType();
  if (sum.getKind() != ReduceKind::Add || (!type.isF32() && !type.isF64()))
    return false;
  auto power = sum.getValue().getDefiningOp<math::ExpOp>();
  auto difference = power ? matchDifference(power.getOperand()) : std::nullopt;
  if (!difference)
    return false;
  auto max = difference->second.getDefiningOp<ReduceOp>();
  if (!max || max.getKind() != ReduceKind::Max ||
      max.getValue() != difference->first || !haveSameDims(max, sum))
    return false;
  if (fromColumns < 0 || countColumns(max) < fromColumns)
    return false;
  ReduceOp merged = createMerged(rewriter, ReduceKind::MaxExpSum, max, sum);
  rewriter.replaceOp(max, merged.getResult(0));
  rewriter.replaceOp(sum, merged.getResult(1));
  return true;
}

static bool isAcross(GenericOp op) {
  if (std::optional<OrderAttr> order = op.getOrder())
    return order->isAcross();
  FailureOr<OrderAttr> natural = naturalOrder(op);
  return succeeded(natural) && natural->isAcross();
}

void NormRewriteWelfordPass::runOnOperation() {
  IRRewriter rewriter(&getContext());
  getOperation()->walk([&](GenericOp op) {
    if (op.getSchedule())
      return;
    bool changed = false;
    for (ReduceOp reduce : llvm::to_vector(op.getBlock()->getOps<ReduceOp>())) {
      // Each rewrite takes away this reduction and one above it.
      changed |= rewriteMoments(rewriter, reduce, isAcross(op)) ||
                 rewriteMaxExpSum(rewriter, reduce, onlineFrom);
    }
    if (!changed)
      return;
    SmallVector<Operation *> inner = llvm::to_vector(
        llvm::make_pointer_range(op.getBlock()->without_terminator()));
    for (Operation *candidate : llvm::reverse(inner))
      if (isOpTriviallyDead(candidate))
        rewriter.eraseOp(candidate);
  });
}
