//===- DifferentiateReductions.cpp - Derivatives of reductions ------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DifferentiateRules.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::norm;

static uint64_t getDims(TermBuilder &terms, ReduceOp op) {
  uint64_t dims = 0;
  for (StringRef name : op.getDims().getAsValueRange<StringAttr>())
    dims |= uint64_t(1) << *terms.getProgram().getDimNumber(name);
  return dims;
}

/// Where an element is the largest, or smallest, of those that were compared.
static Guard isExtreme(TermBuilder &terms, Value value, Value extremum) {
  auto predicate = static_cast<int64_t>(arith::CmpFPredicate::OEQ);
  return {terms.makeCompare(predicate, terms.convert(value),
                            terms.convert(extremum)),
          true};
}

/// The cotangent is shared evenly by all that are equal to the extremum.
void CotangentRules::propagateExtremum(ReduceOp op, const Terms &cotangent) {
  // As of a softmax, which doesn't depend on what is taken away first.
  if (terms.isZero(cotangent))
    return;
  uint64_t over = getDims(terms, op);
  Guard guard = isExtreme(terms, op.getValue(), op.getResult(0));
  terms.number(guard.condition);
  Terms one{terms.addGuard(terms.getConstant(1), guard)};
  Term count = terms.join(terms.sum(one, over));
  Value number = terms.emit(count);
  Terms shared{
      terms.multiply(terms.join(cotangent), terms.getPower(number, -2))};
  passTo(op.getValue(), terms.addGuard(shared, guard));
}

/// Of mean and sum of squared deviations: 1/N and 2 (x - mean).
void CotangentRules::propagateMoments(ReduceOp op) {
  Terms ofMean = getCotangent(op.getResult(0));
  Terms ofSquares = getCotangent(op.getResult(1));
  uint64_t over = getDims(terms, op);
  Term count = terms.getExtent(over);
  Term inverse{1 / count.coefficient, count.factors, {}};
  for (Factor &factor : inverse.factors)
    factor.halves = -factor.halves;
  if (!ofMean.empty())
    passTo(op.getValue(), terms.multiply(ofMean, inverse));
  if (ofSquares.empty())
    return;
  Value centred = terms.make<arith::SubFOp>(
      {terms.convert(op.getValue()), terms.convert(op.getResult(0))});
  terms.number(centred);
  Term twice = terms.multiply(terms.getConstant(2), terms.getTerm(centred));
  passTo(op.getValue(), Terms{terms.multiply(terms.join(ofSquares), twice)});
}

/// Of the maximum m and the sum s of exp(x - m): dm - s ds by way of m.
void CotangentRules::propagateExpSum(ReduceOp op) {
  Terms ofMax = getCotangent(op.getResult(0));
  Terms ofSum = getCotangent(op.getResult(1));
  if (!ofSum.empty()) {
    Value shifted = terms.make<arith::SubFOp>(
        {terms.convert(op.getValue()), terms.convert(op.getResult(0))});
    Value power = terms.make<math::ExpOp>(shifted);
    Term joined = terms.join(ofSum);
    passTo(op.getValue(), Terms{terms.multiply(joined, terms.getTerm(power))});
    Term total = terms.multiply(joined, terms.getTerm(op.getResult(1)));
    terms.add(ofMax, terms.multiply(total, terms.getConstant(-1)));
  }
  if (!ofMax.empty())
    propagateExtremum(op, ofMax);
}

void CotangentRules::propagateReduce(ReduceOp op) {
  // Each point along the dims of the operand gets the cotangent.
  dims = terms.getSupport(op.getResult(0)) | getDims(terms, op);
  if (isWelford(op.getKind()))
    return propagateMoments(op);
  if (op.getKind() == ReduceKind::MaxExpSum)
    return propagateExpSum(op);
  Terms cotangent = getCotangent(op.getResult(0));
  if (cotangent.empty())
    return;
  if (op.getKind() == ReduceKind::Add) {
    passTo(op.getValue(), cotangent);
    return;
  }
  if (op.getKind() == ReduceKind::Mul) {
    Term quotient = terms.multiply(terms.getTerm(op.getResult(0)),
                                   terms.getPower(op.getValue(), -2));
    passTo(op.getValue(),
           Terms{terms.multiply(terms.join(cotangent), quotient)});
    return;
  }
  propagateExtremum(op, cotangent);
}
