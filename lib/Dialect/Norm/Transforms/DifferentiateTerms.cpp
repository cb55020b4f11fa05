//===- DifferentiateTerms.cpp - Sums of products of values ----------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DifferentiateTerms.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;
using namespace mlir::norm;

TermBuilder::TermBuilder(RewriterBase &rewriter, GenericOp program,
                         Type compute, uint64_t columns)
    : loc(program.getLoc()), rewriter(rewriter), program(program),
      compute(compute), columns(columns) {}

uint64_t TermBuilder::getSupport(Value value) {
  if (auto found = supports.find(value); found != supports.end())
    return found->second;
  uint64_t dims = 0;
  auto bitOf = [&](StringRef name) {
    return uint64_t(1) << *program.getDimNumber(name);
  };
  auto argument = dyn_cast<BlockArgument>(value);
  if (argument) {
    for (AffineExpr expr : program.getMap(argument.getArgNumber()).getResults())
      if (auto dim = dyn_cast<AffineDimExpr>(expr))
        dims |= uint64_t(1) << dim.getPosition();
  } else {
    Operation *op = value.getDefiningOp();
    for (Value operand : op->getOperands())
      dims |= getSupport(operand);
    if (auto reduce = dyn_cast<ReduceOp>(op))
      for (StringRef name : reduce.getDims().getAsValueRange<StringAttr>())
        dims &= ~bitOf(name);
    else if (auto random = dyn_cast<RandomOp>(op))
      for (StringRef name : random.getDims().getAsValueRange<StringAttr>())
        dims |= bitOf(name);
    else if (auto index = dyn_cast<IndexOp>(op))
      dims |= bitOf(index.getDim());
  }
  supports[value] = dims;
  return dims;
}

unsigned TermBuilder::numberOf(Value value) {
  return numbers.try_emplace(value, numbers.size()).first->second;
}

/// Whether arithmetic in a type may be redone in the type of the program: it is
/// not rounded more than that.
bool TermBuilder::isWide(Type type) const {
  return isa<FloatType>(type) &&
         type.getIntOrFloatBitWidth() >= compute.getIntOrFloatBitWidth();
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

void TermBuilder::sortFactors(Term &term) {
  llvm::sort(term.factors, [&](const Factor &a, const Factor &b) {
    return numberOf(a.value) < numberOf(b.value);
  });
  llvm::sort(term.guards, [&](const Guard &a, const Guard &b) {
    return std::pair(numberOf(a.condition), a.holds) <
           std::pair(numberOf(b.condition), b.holds);
  });
}

Term TermBuilder::multiply(const Term &a, const Term &b) {
  Term product = a;
  product.coefficient *= b.coefficient;
  for (const Factor &factor : b.factors) {
    auto *same = llvm::find_if(product.factors, [&](const Factor &other) {
      return other.value == factor.value;
    });
    if (same == product.factors.end())
      product.factors.push_back(factor);
    else if ((same->halves += factor.halves) == 0)
      product.factors.erase(same);
  }
  for (const Guard &guard : b.guards)
    if (!llvm::is_contained(product.guards, guard))
      product.guards.push_back(guard);
  sortFactors(product);
  return product;
}

Terms TermBuilder::multiply(const Terms &terms, const Term &factor) {
  Terms products;
  for (const Term &term : terms)
    add(products, multiply(term, factor));
  return products;
}

/// Whether a condition says that a value is infinite.
static bool isInfinite(Value condition) {
  auto compare = condition.getDefiningOp<arith::CmpFOp>();
  APFloat value(0.0f);
  return compare && compare.getPredicate() == arith::CmpFPredicate::OEQ &&
         (matchPattern(compare.getRhs(), m_ConstantFloat(&value)) ||
          matchPattern(compare.getLhs(), m_ConstantFloat(&value))) &&
         value.isInfinity();
}

// What is chosen only where a value is infinite has no derivative there, and is
// left out. A condition and its opposite are never both true.
Term TermBuilder::addGuard(Term term, Guard guard) {
  bool isNever =
      llvm::is_contained(term.guards, Guard{guard.condition, !guard.holds}) ||
      (guard.holds && isInfinite(guard.condition));
  APInt constant;
  if (matchPattern(guard.condition, m_ConstantInt(&constant)))
    return constant.isZero() == guard.holds ? getConstant(0) : term;
  if (isNever)
    return getConstant(0);
  if (!llvm::is_contained(term.guards, guard))
    term.guards.push_back(guard);
  sortFactors(term);
  return term;
}

Terms TermBuilder::addGuard(const Terms &terms, Guard guard) {
  Terms guarded;
  for (const Term &term : terms)
    add(guarded, addGuard(term, guard));
  return guarded;
}

// Constants of the forward computation are rounded: a difference of that size
// is none.
void TermBuilder::add(Terms &terms, const Term &term) {
  if (term.coefficient == 0)
    return;
  auto *same = llvm::find_if(
      terms, [&](const Term &other) { return other.isProportional(term); });
  if (same == terms.end()) {
    terms.push_back(term);
    return;
  }
  double largest =
      std::max(std::fabs(same->coefficient), std::fabs(term.coefficient));
  double unit = compute.isF64() ? 0x1p-48 : 0x1p-21;
  same->coefficient += term.coefficient;
  if (std::fabs(same->coefficient) <= unit * largest)
    terms.erase(same);
}

//===----------------------------------------------------------------------===//
// Values as terms
//===----------------------------------------------------------------------===//

Term TermBuilder::getExtent(uint64_t dims) {
  Term result;
  SmallVector<int64_t> known = program.getExtents();
  for (unsigned dim = 0, e = program.getNumDims(); dim != e; ++dim) {
    if (!(dims >> dim & 1))
      continue;
    if (ShapedType::isStatic(known[dim])) {
      result.coefficient *= double(known[dim]);
      continue;
    }
    Value &extent = extents[dim];
    if (!extent) {
      OpBuilder::InsertionGuard guard(rewriter);
      rewriter.setInsertionPointToStart(program.getBlock());
      extent =
          ExtentOp::create(rewriter, loc, compute,
                           rewriter.getStringAttr(program.getDimName(dim)));
    }
    result = multiply(result, {1, {{extent, 2}}, {}});
  }
  return result;
}

/// An integer that is a product of extents and constants.
std::optional<Term> TermBuilder::findCount(Value integer) {
  APInt constant;
  if (matchPattern(integer, m_ConstantInt(&constant)))
    return getConstant(double(constant.getSExtValue()));
  if (auto extent = integer.getDefiningOp<ExtentOp>())
    return getExtent(uint64_t(1) << *program.getDimNumber(extent.getDim()));
  if (auto product = integer.getDefiningOp<arith::MulIOp>()) {
    std::optional<Term> a = findCount(product.getLhs());
    std::optional<Term> b = findCount(product.getRhs());
    if (a && b)
      return multiply(*a, *b);
  }
  return std::nullopt;
}

Term TermBuilder::getPower(Value value, int halves) {
  Term term = getTerm(value);
  if (halves % 2 == 0) {
    Term power;
    power.coefficient = std::pow(term.coefficient, halves / 2);
    for (const Factor &factor : term.factors)
      power.factors.push_back({factor.value, factor.halves * halves / 2});
    if (std::isfinite(power.coefficient))
      return power;
  } else if (term.coefficient > 0 && term.factors.size() == 1 &&
             term.factors[0].halves == 2) {
    // The root of a product is none of roots, where two factors are negative.
    return {std::pow(term.coefficient, halves / 2.0),
            {{term.factors[0].value, halves}},
            {}};
  }
  number(value);
  return {1, {{value, halves}}, {}};
}

Term TermBuilder::findTerm(Value value) {
  APFloat constant(0.0f);
  if (matchPattern(value, m_ConstantFloat(&constant)) && constant.isFinite()) {
    bool losesInfo;
    constant.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                     &losesInfo);
    return getConstant(constant.convertToDouble());
  }
  Term atom{1, {{value, 2}}, {}};
  Operation *op = value.getDefiningOp();
  if (!op)
    return atom;
  if (auto extent = dyn_cast<ExtentOp>(op))
    if (isa<FloatType>(value.getType()) &&
        !llvm::is_contained(llvm::make_second_range(extents), value))
      return getExtent(uint64_t(1) << *program.getDimNumber(extent.getDim()));
  if (isa<arith::SIToFPOp, arith::UIToFPOp>(op))
    return findCount(op->getOperand(0)).value_or(atom);
  if (isa<arith::ExtFOp>(op))
    return getTerm(op->getOperand(0));
  if (!isWide(value.getType()))
    return atom;
  return llvm::TypeSwitch<Operation *, Term>(op)
      .Case<arith::MulFOp>([&](auto mul) {
        return multiply(getTerm(mul.getLhs()), getTerm(mul.getRhs()));
      })
      .Case<arith::DivFOp>([&](auto div) {
        return multiply(getTerm(div.getLhs()), getPower(div.getRhs(), -2));
      })
      .Case<arith::NegFOp>([&](auto neg) {
        return multiply(getConstant(-1), getTerm(neg.getOperand()));
      })
      .Case<math::SqrtOp>(
          [&](auto root) { return getPower(root.getOperand(), 1); })
      .Case<math::RsqrtOp>(
          [&](auto root) { return getPower(root.getOperand(), -1); })
      .Default(atom);
}

Term TermBuilder::getTerm(Value value) {
  if (auto found = terms.find(value); found != terms.end())
    return found->second;
  Term term = findTerm(value);
  for (const Factor &factor : term.factors)
    number(factor.value);
  sortFactors(term);
  terms[value] = term;
  return term;
}

//===----------------------------------------------------------------------===//
// Sums over dims
//===----------------------------------------------------------------------===//

void TermBuilder::split(const Term &term, uint64_t dims, Term &outside,
                        Term &inside) {
  outside.coefficient = term.coefficient;
  for (const Factor &factor : term.factors)
    (getSupport(factor.value) & dims ? inside : outside)
        .factors.push_back(factor);
  for (const Guard &guard : term.guards)
    (getSupport(guard.condition) & dims ? inside : outside)
        .guards.push_back(guard);
}

// The total may vary on no more dims than what is summed does.
void TermBuilder::noteSum(Value value, uint64_t dims, const Term &total) {
  Term outside, inside;
  split(getTerm(value), dims, outside, inside);
  uint64_t support = 0, others = 0;
  for (const Factor &factor : inside.factors)
    support |= getSupport(factor.value);
  for (const Factor &factor : outside.factors)
    others |= getSupport(factor.value);
  if ((support & dims) != dims || (others & ~support) ||
      outside.coefficient == 0)
    return;
  Term inverse{1 / outside.coefficient, outside.factors, {}};
  for (Factor &factor : inverse.factors)
    factor.halves = -factor.halves;
  known.push_back({inside, dims, multiply(total, inverse)});
}

/// The summands of a sum of two or more, and whether the user wrote it.
std::optional<Terms> TermBuilder::getSummands(Value value, bool &isOfForward) {
  isOfForward = false;
  if (auto found = summands.find(value); found != summands.end())
    return found->second;
  isOfForward = true;
  Operation *op = value.getDefiningOp();
  if (!op || !isWide(value.getType()))
    return std::nullopt;
  Terms result;
  if (auto sum = dyn_cast<arith::AddFOp>(op)) {
    add(result, getTerm(sum.getLhs()));
    add(result, getTerm(sum.getRhs()));
  } else if (auto difference = dyn_cast<arith::SubFOp>(op)) {
    add(result, getTerm(difference.getLhs()));
    add(result, multiply(getConstant(-1), getTerm(difference.getRhs())));
  } else if (auto fma = dyn_cast<math::FmaOp>(op)) {
    add(result, multiply(getTerm(fma.getA()), getTerm(fma.getB())));
    add(result, getTerm(fma.getC()));
  } else {
    return std::nullopt;
  }
  return result;
}

/// Takes a factor that is a sum apart where that leaves nothing to be summed,
/// as of centred values. One that the user wrote is kept in any product: it may
/// be there to avoid a cancellation. One of cotangents depends on sums itself,
/// so that another one in its place is ready earlier.
bool TermBuilder::resolveExpanded(const Term &outside, const Term &inside,
                                  uint64_t dims, PartialSums &sums,
                                  unsigned depth) {
  constexpr unsigned mostDepth = 4;
  if (depth == mostDepth)
    return false;
  for (const Factor &factor : inside.factors) {
    bool isOfForward;
    std::optional<Terms> parts;
    if (factor.halves == 2)
      parts = getSummands(factor.value, isOfForward);
    if (!parts || (isOfForward && inside.factors.size() > 1))
      continue;
    Term rest = multiply(outside, inside);
    rest = multiply(rest, {1, {{factor.value, -2}}, {}});
    PartialSums trial = sums;
    for (const Term &part : *parts)
      resolve(multiply(rest, part), dims, trial, depth + 1);
    size_t allowed = sums.open.size() + (isOfForward ? 0 : 1);
    if (trial.open.size() > allowed)
      continue;
    sums = std::move(trial);
    return true;
  }
  return false;
}

/// Adds the sum of a term over `dims` to what is known and what has to be
/// summed.
void TermBuilder::resolve(const Term &term, uint64_t dims, PartialSums &sums,
                          unsigned depth) {
  Term outside, inside;
  split(term, dims, outside, inside);
  uint64_t covered = 0;
  for (const Factor &factor : inside.factors)
    covered |= getSupport(factor.value) & dims;
  for (const Guard &guard : inside.guards)
    covered |= getSupport(guard.condition) & dims;
  outside = multiply(outside, getExtent(dims & ~covered));
  if (!covered) {
    add(sums.known, outside);
    return;
  }
  for (const KnownSum &sum : known)
    if (sum.dims == covered && sum.inside.isProportional(inside)) {
      add(sums.known, multiply(outside, sum.total));
      return;
    }
  for (OpenSum &sum : sums.open)
    if (sum.dims == covered && sum.inside.isProportional(inside)) {
      add(sum.outside, outside);
      return;
    }
  if (resolveExpanded(outside, inside, covered, sums, depth))
    return;
  sums.open.push_back({inside, covered, {outside}});
}

/// The value of a sum over dims that is known not to be there yet. Over more
/// than the columns, rows come first, in the program that has them.
Value TermBuilder::emitSum(const Terms &terms, uint64_t dims) {
  bool isTwice = columns && (dims & columns) == columns && dims != columns;
  Value total;
  if (!isTwice)
    total = makeReduce(emit(terms), dims);
  else
    total = emit(sum(sum(terms, columns), dims & ~columns));
  number(total);
  return total;
}

/// Sums what has one factor outside together.
void TermBuilder::closeSums(PartialSums &sums) {
  SmallVector<bool> isDone(sums.open.size(), false);
  for (auto [i, first] : llvm::enumerate(sums.open)) {
    if (isDone[i] || first.outside.empty())
      continue;
    Terms inside{first.inside};
    for (size_t j = i + 1; j < sums.open.size(); ++j) {
      OpenSum &other = sums.open[j];
      if (isDone[j] || other.dims != first.dims || first.outside.size() != 1 ||
          other.outside.size() != 1 ||
          !other.outside[0].isProportional(first.outside[0]))
        continue;
      Term scaled = other.inside;
      scaled.coefficient =
          other.outside[0].coefficient / first.outside[0].coefficient;
      add(inside, scaled);
      isDone[j] = true;
    }
    Value total = emitSum(inside, first.dims);
    if (inside.size() == 1)
      known.push_back({first.inside, first.dims, getTerm(total)});
    for (const Term &outside : first.outside)
      add(sums.known, multiply(outside, getTerm(total)));
  }
}

Terms TermBuilder::sum(const Terms &terms, uint64_t dims) {
  PartialSums sums;
  for (const Term &term : terms)
    resolve(term, dims, sums, 0);
  closeSums(sums);
  return sums.known;
}

Term TermBuilder::join(const Terms &terms) {
  if (terms.empty())
    return getConstant(0);
  if (terms.size() == 1)
    return terms[0];
  Term joined;
  for (const Guard &guard : terms[0].guards)
    if (llvm::all_of(terms, [&](const Term &term) {
          return llvm::is_contained(term.guards, guard);
        }))
      joined.guards.push_back(guard);
  Terms bare = terms;
  for (Term &term : bare)
    llvm::erase_if(term.guards, [&](const Guard &guard) {
      return llvm::is_contained(joined.guards, guard);
    });
  Value value = emit(bare);
  number(value);
  summands[value] = bare;
  joined.factors.push_back({value, 2});
  return joined;
}

bool TermBuilder::isZero(const Terms &given) {
  constexpr size_t mostTerms = 256;
  Terms expanded = given;
  auto findJoined = [&](const Term &term) {
    return llvm::find_if(term.factors, [&](const Factor &factor) {
      return factor.halves == 2 && summands.contains(factor.value);
    });
  };
  while (expanded.size() < mostTerms) {
    Term *term = llvm::find_if(expanded, [&](const Term &candidate) {
      return findJoined(candidate) != candidate.factors.end();
    });
    if (term == expanded.end())
      return expanded.empty();
    Value joined = findJoined(*term)->value;
    Term rest = multiply(*term, {1, {{joined, -2}}, {}});
    expanded.erase(term);
    add(expanded, multiply(summands[joined], rest));
  }
  return false;
}
