//===- DifferentiateTerms.h - Sums of products of values --------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The cotangents of a body as sums of terms, simplified over the real numbers
// before any of them is computed: equal terms are added, those that cancel go,
// and a sum over dims is taken of what varies on them only, once for each sum.
//
//===----------------------------------------------------------------------===//

#ifndef NORM_LIB_DIALECT_NORM_TRANSFORMS_DIFFERENTIATETERMS_H
#define NORM_LIB_DIALECT_NORM_TRANSFORMS_DIFFERENTIATETERMS_H

#include "norm/Dialect/Norm/IR/Norm.h"

#include "mlir/IR/PatternMatch.h"

#include <map>
#include <vector>

namespace mlir::norm {

/// A power of a value; the exponent is `halves` / 2, so that roots have one.
struct Factor {
  Value value;
  int halves = 2;
  bool operator==(const Factor &other) const {
    return value == other.value && halves == other.halves;
  }
};

/// A condition, of type i1, that makes a term 0 unless it is `holds`.
struct Guard {
  Value condition;
  bool holds = true;
  bool operator==(const Guard &other) const {
    return condition == other.condition && holds == other.holds;
  }
};

/// coefficient * product of factors, or 0 where a guard says so, whatever the
/// product is there.
struct Term {
  double coefficient = 1;
  SmallVector<Factor, 4> factors;
  SmallVector<Guard, 2> guards;

  bool isProportional(const Term &other) const {
    return factors == other.factors && guards == other.guards;
  }
};

using Terms = SmallVector<Term, 2>;

/// Terms over the body of a program that is being written, and their values.
/// All values that are made are of one type, f32 or f64.
class TermBuilder {
public:
  /// `columns` are the dims over which the program reduces before any cotangent
  /// is taken: what doesn't vary on them is computed once for each row.
  TermBuilder(RewriterBase &rewriter, GenericOp program, Type compute,
              uint64_t columns);

  Type getComputeType() const { return compute; }
  GenericOp getProgram() const { return program; }
  Location loc;

  /// The dims on which a value of the body varies.
  uint64_t getSupport(Value value);
  /// Fixes the place of a value in products: earlier ones are multiplied first.
  void number(Value value) { (void)numberOf(value); }

  //===--------------------------------------------------------------------===//
  // Terms
  //===--------------------------------------------------------------------===//

  /// A value as a product of powers of others where it is one.
  Term getTerm(Value value);
  /// value^(halves/2).
  Term getPower(Value value, int halves);
  Term getConstant(double value) const { return {value, {}, {}}; }
  /// The number of points along `dims`.
  Term getExtent(uint64_t dims);
  Term multiply(const Term &a, const Term &b);
  Terms multiply(const Terms &terms, const Term &factor);
  Term addGuard(Term term, Guard guard);
  Terms addGuard(const Terms &terms, Guard guard);
  void add(Terms &terms, const Term &term);
  void add(Terms &terms, const Terms &others) {
    for (const Term &term : others)
      add(terms, term);
  }
  /// The terms as one: their value where they are several.
  Term join(const Terms &terms);
  /// Whether the terms cancel once what `join` made is taken apart.
  bool isZero(const Terms &terms);
  /// Their sum over all points along `dims`.
  Terms sum(const Terms &terms, uint64_t dims);
  /// Makes it known that the sum of a value over `dims` is `total`.
  void noteSum(Value value, uint64_t dims, const Term &total);
  /// Notes what the ops of the body so far tell: sums, and values to use again.
  void noteBody();

  //===--------------------------------------------------------------------===//
  // Values
  //===--------------------------------------------------------------------===//

  Value emit(const Terms &terms);
  Value emit(const Term &term) { return emit(Terms{term}); }
  /// A value in the type of the arithmetic.
  Value convert(Value value);
  Value constant(double value);
  /// An op of one result of the type of its first operand, made once for each
  /// set of operands.
  template <typename OpTy>
  Value make(ValueRange operands) {
    return makeOnce(
        OperationName(OpTy::getOperationName(), program.getContext()), operands,
        operands.back().getType(), {});
  }
  Value makeSelect(Value condition, Value a, Value b);
  Value makeCompare(int64_t predicate, Value a, Value b);
  Value makeReduce(Value value, uint64_t dims);

private:
  /// A sum over dims that is known: that of `inside` is `total`.
  struct KnownSum {
    Term inside;
    uint64_t dims;
    Term total;
  };
  /// One that isn't: the terms `outside` times the sum of `inside`.
  struct OpenSum {
    Term inside;
    uint64_t dims;
    Terms outside;
  };
  struct PartialSums {
    Terms known;
    std::vector<OpenSum> open;
  };

  unsigned numberOf(Value value);
  Term findTerm(Value value);
  std::optional<Term> findCount(Value integer);
  void sortFactors(Term &term);
  bool isWide(Type type) const;
  bool isOnRows(uint64_t support) const {
    return columns ? !(support & columns) : !support;
  }
  Term normalize(const Term &inside, Term &outside);
  void split(const Term &term, uint64_t dims, Term &outside, Term &inside);
  void resolve(const Term &term, uint64_t dims, PartialSums &sums,
               unsigned depth);
  bool resolveExpanded(const Term &outside, const Term &inside, uint64_t dims,
                       PartialSums &sums, unsigned depth);
  std::optional<Terms> getSummands(Value value, bool &isOfForward);
  void closeSums(PartialSums &sums);
  Value emitSum(const Terms &terms, uint64_t dims);
  Value makeOnce(OperationName name, ValueRange operands, Type type,
                 ArrayRef<NamedAttribute> attributes);
  Value emitGuarded(Value value, ArrayRef<Guard> guards);
  Value emitProduct(ArrayRef<Factor> factors, bool isOnRows);
  Value findMade(Value value, int halves);
  void takeMade(SmallVectorImpl<Factor> &factors, Value &numerator,
                Value &denominator);
  void accumulate(Value &sum, const Term &term);

  RewriterBase &rewriter;
  GenericOp program;
  Type compute;
  uint64_t columns;
  llvm::DenseMap<Value, unsigned> numbers;
  llvm::DenseMap<Value, uint64_t> supports;
  llvm::DenseMap<Value, Term> terms;
  llvm::DenseMap<Value, Value> converted;
  llvm::DenseMap<unsigned, Value> extents;
  /// The summands of the values that `join` made.
  llvm::DenseMap<Value, Terms> summands;
  std::vector<KnownSum> known;
  /// Values of the forward computation that are products.
  std::vector<std::pair<Term, Value>> made;
  std::map<std::vector<const void *>, Value> once;
};

} // namespace mlir::norm

#endif // NORM_LIB_DIALECT_NORM_TRANSFORMS_DIFFERENTIATETERMS_H
