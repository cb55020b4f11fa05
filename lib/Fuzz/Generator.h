//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Draws the ops of a graph.
//
//===----------------------------------------------------------------------===//

#ifndef NORM_LIB_FUZZ_GENERATOR_H
#define NORM_LIB_FUZZ_GENERATOR_H

#include "norm/Fuzz/Case.h"
#include "norm/Fuzz/Chooser.h"

namespace norm::fuzz {

class Generator {
public:
  Generator(Chooser &choose, const Space &space, const Limits &limits)
      : choose(choose), space(space), limits(limits) {}

  Graph make(bool sums);

private:
  unsigned argument(Value value);
  unsigned emit(Op op, Value result);
  unsigned pickFull();
  unsigned pickInput();
  DType chooseType(DType like, unsigned sameInHundred);
  DType chooseResult(DType like);
  void addOperand(Op &op, Value value);
  void addResult(Op &op, Support support);
  Value parameter(DType like);
  unsigned find(Support support, DType dtype);
  unsigned cast(unsigned value, DType dtype);
  unsigned full(DType dtype);

  void addElementwise(Support support);
  void addSelect();
  void addNamed();
  void addNorm(Op &op);
  void addExponential(Op &op);
  void addOverChannels(Op &op);
  void addCustom();
  bool canPack() const;
  DType chooseCodes();
  Value chooseScales();
  unsigned givenScale(const Value &scale);
  void printLayout(Op &op, const Value &scale);
  void addQuantize();
  void addDequantize();
  void addDropout();
  unsigned pickSummed();
  Graph makeSumBody(Op &op);
  void addNormOf(unsigned value);
  void addSums();
  void addSumOutputs();
  void chooseOutputs();

  void unary(Graph &in, std::vector<unsigned> &pool);
  Op scalarOp(const Graph &in, unsigned a, unsigned b, unsigned c);
  Graph makeBody(Op &op);
  unsigned toFloat(Graph &body, unsigned value, DType dtype);

  Chooser &choose;
  const Space &space;
  const Limits &limits;
  Graph graph;
  bool wide = false; ///< f64 may occur
  /// Results: sums over rows, and what is made for them to be beside.
  std::vector<unsigned> sums;
};

/// Of the types for arithmetic.
DType chooseFloat(Chooser &choose);

/// The 8-bit floating point types of operands.
inline constexpr DType kNarrow[] = {DType::F8E4M3FN, DType::F8E5M2};

} // namespace norm::fuzz

#endif // NORM_LIB_FUZZ_GENERATOR_H
