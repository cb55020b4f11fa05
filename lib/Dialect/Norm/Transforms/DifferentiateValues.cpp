//===- DifferentiateValues.cpp - Terms as ops of a body -------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DifferentiateTerms.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::norm;

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

Value TermBuilder::makeOnce(OperationName name, ValueRange operands, Type type,
                            ArrayRef<NamedAttribute> attributes) {
  std::vector<const void *> key{name.getAsOpaquePointer(),
                                type.getAsOpaquePointer()};
  for (Value operand : operands)
    key.push_back(operand.getAsOpaquePointer());
  for (NamedAttribute attribute : attributes)
    key.push_back(attribute.getValue().getAsOpaquePointer());
  Value &value = once[key];
  if (!value)
    value = rewriter
                .create(loc, name.getIdentifier(), operands, {type}, attributes)
                ->getResult(0);
  return value;
}

Value TermBuilder::constant(double value) {
  TypedAttr attr = rewriter.getFloatAttr(compute, value);
  return makeOnce(OperationName(arith::ConstantOp::getOperationName(),
                                program.getContext()),
                  {}, compute, rewriter.getNamedAttr("value", attr));
}

Value TermBuilder::convert(Value value) {
  Type type = value.getType();
  if (type == compute)
    return value;
  APFloat number(0.0f);
  if (matchPattern(value, m_ConstantFloat(&number))) {
    bool losesInfo;
    number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                   &losesInfo);
    return constant(number.convertToDouble());
  }
  Value &result = converted[value];
  if (result)
    return result;
  if (!isa<FloatType>(type))
    result = arith::SIToFPOp::create(rewriter, loc, compute, value);
  else if (type.getIntOrFloatBitWidth() < compute.getIntOrFloatBitWidth())
    result = arith::ExtFOp::create(rewriter, loc, compute, value);
  else
    result = arith::TruncFOp::create(rewriter, loc, compute, value);
  return result;
}

Value TermBuilder::makeSelect(Value condition, Value a, Value b) {
  return make<arith::SelectOp>({condition, a, b});
}

Value TermBuilder::makeCompare(int64_t predicate, Value a, Value b) {
  auto attr = arith::CmpFPredicateAttr::get(
      program.getContext(), static_cast<arith::CmpFPredicate>(predicate));
  return makeOnce(
      OperationName(arith::CmpFOp::getOperationName(), program.getContext()),
      {a, b}, rewriter.getI1Type(), rewriter.getNamedAttr("predicate", attr));
}

Value TermBuilder::makeReduce(Value value, uint64_t dims) {
  SmallVector<Attribute> names;
  for (unsigned dim = 0, e = program.getNumDims(); dim != e; ++dim)
    if (dims >> dim & 1)
      names.push_back(rewriter.getStringAttr(program.getDimName(dim)));
  return ReduceOp::create(rewriter, loc, ReduceKind::Add, value,
                          rewriter.getArrayAttr(names))
      .getResult(0);
}

//===----------------------------------------------------------------------===//
// What the forward computation has
//===----------------------------------------------------------------------===//

void TermBuilder::noteBody() {
  for (Operation &op : *program.getBlock()) {
    if (auto reduce = dyn_cast<ReduceOp>(op)) {
      uint64_t dims = 0;
      for (StringRef name : reduce.getDims().getAsValueRange<StringAttr>())
        dims |= uint64_t(1) << *program.getDimNumber(name);
      if (reduce.getKind() == ReduceKind::Add &&
          isa<FloatType>(reduce.getValue().getType()))
        noteSum(reduce.getValue(), dims, getTerm(reduce.getResult(0)));
      else if (isWelford(reduce.getKind()))
        noteSum(reduce.getValue(), dims,
                multiply(getTerm(reduce.getResult(0)), getExtent(dims)));
      continue;
    }
    if (op.getNumResults() != 1 || op.getResult(0).getType() != compute ||
        isa<arith::ExtFOp>(op))
      continue;
    const Term &term = getTerm(op.getResult(0));
    bool isValue = term.factors.size() == 1 && term.factors[0].halves == 2;
    if (!term.factors.empty() && !isValue && term.coefficient == 1)
      made.emplace_back(term, op.getResult(0));
  }
}

/// value^(halves/2) as the forward computation has it, or null.
Value TermBuilder::findMade(Value value, int halves) {
  for (auto &[term, power] : made)
    if (term.factors.size() == 1 && term.factors[0] == Factor{value, halves})
      return power;
  return nullptr;
}

/// Takes products of several factors that are there already out of `factors`,
/// as factors of a fraction.
void TermBuilder::takeMade(SmallVectorImpl<Factor> &factors, Value &numerator,
                           Value &denominator) {
  auto multiplyInto = [&](Value &product, Value value) {
    product = product ? make<arith::MulFOp>({product, value}) : value;
  };
  for (auto &[term, value] : made) {
    if (term.factors.size() < 2)
      continue;
    for (int sign : {1, -1}) {
      auto find = [&](const Factor &part) {
        return llvm::find_if(factors, [&](const Factor &factor) {
          int has = factor.halves * sign;
          return factor.value == part.value &&
                 (part.halves > 0 ? has >= part.halves : has <= part.halves);
        });
      };
      if (!llvm::all_of(term.factors, [&](const Factor &part) {
            return find(part) != factors.end();
          }))
        continue;
      for (const Factor &part : term.factors)
        find(part)->halves -= sign * part.halves;
      llvm::erase_if(factors,
                     [](const Factor &factor) { return factor.halves == 0; });
      multiplyInto(sign > 0 ? numerator : denominator, value);
      break;
    }
  }
}

//===----------------------------------------------------------------------===//
// Products and sums
//===----------------------------------------------------------------------===//

/// The product of powers. On rows an inverse is made once, and multiplied with;
/// on columns there is one division at the end.
Value TermBuilder::emitProduct(ArrayRef<Factor> given, bool isOnRows) {
  SmallVector<Factor> factors(given);
  Value numerator, denominator;
  if (isOnRows)
    takeMade(factors, numerator, denominator);
  auto multiplyInto = [&](Value &product, Value value, int times = 1) {
    for (int i = 0; i < times; ++i)
      product = product ? make<arith::MulFOp>({product, value}) : value;
  };
  for (const Factor &factor : factors) {
    Value value = factor.value;
    int halves = factor.halves, times = std::abs(halves);
    if (halves % 2 == 0) {
      if (halves > 0) {
        multiplyInto(numerator, convert(value), times / 2);
        continue;
      }
      Value inverse = findMade(value, -2);
      if (!inverse && isOnRows)
        inverse = make<arith::DivFOp>({constant(1.0), convert(value)});
      if (inverse)
        multiplyInto(numerator, inverse, times / 2);
      else
        multiplyInto(denominator, convert(value), times / 2);
      continue;
    }
    if (halves > 0) {
      Value root = findMade(value, 1);
      if (!root)
        root = make<math::SqrtOp>(convert(value));
      multiplyInto(numerator, root, times);
      continue;
    }
    Value root = findMade(value, -1);
    if (!root && findMade(value, 1))
      root = make<arith::DivFOp>({constant(1.0), findMade(value, 1)});
    if (!root)
      root = make<math::RsqrtOp>(convert(value));
    multiplyInto(numerator, root, times);
  }
  if (!denominator)
    return numerator;
  return make<arith::DivFOp>(
      {numerator ? numerator : constant(1.0), denominator});
}

/// 0 where a guard says so.
Value TermBuilder::emitGuarded(Value value, ArrayRef<Guard> guards) {
  for (const Guard &guard : guards) {
    Value zero = constant(0.0);
    value = guard.holds ? makeSelect(guard.condition, value, zero)
                        : makeSelect(guard.condition, zero, value);
  }
  return value;
}

/// Adds a term to a sum, which may be null.
void TermBuilder::accumulate(Value &sum, const Term &term) {
  SmallVector<Factor> onRows, onColumns;
  for (const Factor &factor : term.factors)
    (isOnRows(getSupport(factor.value)) ? onRows : onColumns).push_back(factor);
  Value row = emitProduct(onRows, /*isOnRows=*/true);
  Value column = emitProduct(onColumns, /*isOnRows=*/false);
  double coefficient = term.coefficient;
  bool isNegated = coefficient == -1;
  if (!isNegated && coefficient != 1) {
    row = row ? make<arith::MulFOp>({row, constant(coefficient)})
              : constant(coefficient);
  } else if (isNegated && row && (column || !sum)) {
    row = make<arith::NegFOp>(row);
    isNegated = false;
  }
  if (!row && !column)
    row = constant(1.0);
  if (row && column && sum && term.guards.empty()) {
    sum = make<math::FmaOp>({column, row, sum});
    return;
  }
  Value product = row && column ? make<arith::MulFOp>({column, row})
                  : row         ? row
                                : column;
  product = emitGuarded(product, term.guards);
  if (!sum)
    sum = isNegated ? make<arith::NegFOp>(product) : product;
  else if (isNegated)
    sum = make<arith::SubFOp>({sum, product});
  else
    sum = make<arith::AddFOp>({sum, product});
}

Value TermBuilder::emit(const Terms &terms) {
  if (terms.empty())
    return constant(0.0);
  SmallVector<Guard> common;
  for (const Guard &guard : terms[0].guards)
    if (llvm::all_of(terms, [&](const Term &term) {
          return llvm::is_contained(term.guards, guard);
        }))
      common.push_back(guard);
  Terms bare = terms;
  for (Term &term : bare)
    llvm::erase_if(term.guards, [&](const Guard &guard) {
      return llvm::is_contained(common, guard);
    });
  // What is the same for a row comes first: what follows is added in one op
  // with its product.
  auto rank = [&](const Term &term) {
    bool isRow = llvm::all_of(term.factors, [&](const Factor &factor) {
      return isOnRows(getSupport(factor.value));
    });
    return isRow ? 0 : term.coefficient < 0 ? 2 : 1;
  };
  Value sum;
  for (int turn : {0, 1, 2})
    for (const Term &term : bare)
      if (rank(term) == turn)
        accumulate(sum, term);
  return emitGuarded(sum, common);
}
