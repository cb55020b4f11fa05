//===- DifferentiateRules.h - Derivatives of the ops of a body --*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_LIB_DIALECT_NORM_TRANSFORMS_DIFFERENTIATERULES_H
#define NORM_LIB_DIALECT_NORM_TRANSFORMS_DIFFERENTIATERULES_H

#include "DifferentiateTerms.h"

namespace mlir::norm {

/// Cotangents of the values of a body, from the last op to the first.
class CotangentRules {
public:
  explicit CotangentRules(TermBuilder &terms) : terms(terms) {}

  /// Declares a value whose cotangent is wanted.
  void want(Value value) { active.insert(value); }
  /// Finds the values of the body that depend on those that are wanted, through
  /// an op that has a derivative.
  void findActive(ArrayRef<Operation *> ops);
  bool isActive(Value value) const { return active.contains(value); }

  /// Adds to the cotangent of `value` what comes from each point along `dims`.
  void contribute(Value value, const Terms &cotangent, uint64_t dims);
  /// The cotangent of a value to which nothing is added any more.
  Terms getCotangent(Value value);
  /// Adds to the cotangents of an op's operands; fails with a diagnostic where
  /// it has no derivative.
  LogicalResult propagate(Operation *op);

private:
  void propagateReduce(ReduceOp op);
  void propagateExtremum(ReduceOp op, const Terms &cotangent);
  void propagateMoments(ReduceOp op);
  void propagateExpSum(ReduceOp op);
  bool propagateArithmetic(Operation *op, const Terms &cotangent);
  bool propagateChoice(Operation *op, const Terms &cotangent);
  bool propagateConversion(Operation *op, const Terms &cotangent);
  bool propagateBinaryMath(Operation *op, const Terms &cotangent);
  bool propagateUnary(Operation *op, const Terms &cotangent);
  std::optional<Term> getPowerRule(Operation *op);
  Value getExponentialRule(Operation *op);
  Value getTrigonometricRule(Operation *op);
  Value getActivationRule(Operation *op);
  void passTo(Value operand, const Terms &cotangent) {
    contribute(operand, cotangent, dims);
  }

  TermBuilder &terms;
  /// The dims on which the op in work varies.
  uint64_t dims = 0;
  llvm::DenseSet<Value> active;
  /// By the dims over which they have to be summed.
  llvm::DenseMap<Value, std::map<uint64_t, Terms>> pending;
};

} // namespace mlir::norm

#endif // NORM_LIB_DIALECT_NORM_TRANSFORMS_DIFFERENTIATERULES_H
