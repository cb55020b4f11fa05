//===- ScalarProgram.h - Running emitted arithmetic -------------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_TEST_UNIT_DIALECT_SCALARPROGRAM_H
#define NORM_TEST_UNIT_DIALECT_SCALARPROGRAM_H

#include "mlir/IR/Block.h"
#include "mlir/IR/Value.h"

#include <cstdint>
#include <string>
#include <vector>

namespace norm::test {

/// The arith and math ops of a block with one argument, run one by one on the
/// float type `T` (float or double), each rounded as the op says.
template <typename T>
class ScalarProgram {
public:
  /// `result` is computed in `block`. An op that can't be run is named in
  /// `unknown()`.
  ScalarProgram(mlir::Block &block, mlir::Value result);

  T operator()(T x);
  const std::string &unknown() const { return unknownOp; }
  /// The number of ops, without constants and bitcasts.
  unsigned countOps() const { return numOps; }

private:
  struct Step {
    int code;
    int predicate;
    unsigned operands[3];
  };
  std::vector<Step> steps;
  /// The bits of the argument, the constants and the results of the steps.
  std::vector<uint64_t> values;
  std::vector<unsigned> targets;
  unsigned resultSlot = 0, numOps = 0;
  std::string unknownOp;
};

extern template class ScalarProgram<float>;
extern template class ScalarProgram<double>;

} // namespace norm::test

#endif // NORM_TEST_UNIT_DIALECT_SCALARPROGRAM_H
