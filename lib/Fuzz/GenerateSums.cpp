//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Draws sums over rows, beside what goes along the rows.
//
//===----------------------------------------------------------------------===//

#include "Generator.h"
#include "llvm/ADT/STLExtras.h"

using namespace norm;
using namespace norm::fuzz;

/// What is summed: rather what something along the rows reads as well.
unsigned Generator::pickSummed() {
  std::vector<unsigned> list;
  for (unsigned argument : graph.arguments) {
    const Value &value = graph.values[argument];
    bool isFull = value.support == Support::Full && value.isWhole();
    if (isFull && !isPacked(value.dtype) && value.dtype != DType::F8E8M0FNU)
      list.push_back(argument);
  }
  if (list.empty() || choose.chance(12))
    return pickFull();
  // Most of a program comes from its first argument.
  return choose.chance(60) ? list.front() : choose.pick<unsigned>(list);
}

/// One or two sums of elementwise functions, and what becomes of them.
Graph Generator::makeSumBody(Op &op) {
  Graph body;
  DType compute = wide && choose.chance(50) ? DType::F64 : DType::F32;
  std::vector<unsigned> pool, columns;
  for (unsigned operand : op.operands)
    body.arguments.push_back(body.add(graph.values[operand]));
  for (unsigned argument : body.arguments) {
    pool.push_back(toFloat(body, argument, compute));
    if (body.values[argument].support == Support::Column)
      columns.push_back(pool.back());
  }
  auto emitIn = [&](Op inner, Support support) {
    inner.results = {body.add({support, compute})};
    body.ops.push_back(std::move(inner));
    return body.ops.back().results.front();
  };
  // Each has the first operand in it, which has all dims.
  auto summand = [&] {
    unsigned value = pool.front();
    for (uint64_t n = choose.below(4); n > 0; --n) {
      unsigned other = choose.pick<unsigned>(pool);
      value = emitIn(scalarOp(body, value, other, choose.pick<unsigned>(pool)),
                     Support::Full);
    }
    pool.push_back(value);
    return value;
  };
  unsigned count = 1 + unsigned(choose.chance(35));
  for (unsigned i = 0; i < count; ++i) {
    Op reduce;
    reduce.kind = Op::Kind::Reduce;
    reduce.name = "add";
    reduce.ofRows = true;
    reduce.operands = {summand()};
    unsigned sum = emitIn(std::move(reduce), Support::Column);
    // Such a mean is no sum that another program takes on the way.
    if (choose.chance(8)) {
      Op extent;
      extent.kind = Op::Kind::Extent;
      extent.ofRows = true;
      unsigned rows = emitIn(std::move(extent), Support::Scalar);
      Op mean;
      mean.name = "arith.divf";
      mean.operands = {sum, rows};
      sum = emitIn(std::move(mean), Support::Column);
    }
    if (choose.chance(30)) {
      unsigned other = columns.empty() ? sum : choose.pick<unsigned>(columns);
      sum = emitIn(scalarOp(body, sum, other, sum), Support::Column);
    }
    DType to = choose.pick({compute, compute, DType::BF16, DType::F16});
    body.outputs.push_back(toFloat(body, sum, to));
    op.results.push_back(graph.add({Support::Column, to}));
  }
  return body;
}

/// A norm of what is summed, which may as well do that.
void Generator::addNormOf(unsigned value) {
  if (!isFloat(graph.values[value].dtype))
    return;
  Op op;
  op.kind = choose.pick({Op::Kind::LayerNorm, Op::Kind::RmsNorm,
                         Op::Kind::RmsNorm, Op::Kind::Softmax});
  op.number = 1e-5;
  op.operands = {value};
  if (op.kind == Op::Kind::Softmax)
    addExponential(op);
  else
    addNorm(op);
  sums.push_back(op.results.front());
  graph.ops.push_back(std::move(op));
}

void Generator::addSums() {
  unsigned summed = pickSummed();
  if (choose.chance(55))
    addNormOf(summed);
  for (unsigned n = 1 + unsigned(choose.chance(35)); n > 0; --n) {
    Op op;
    op.kind = Op::Kind::Custom;
    op.ofRows = true;
    op.operands = {n == 1 ? summed : pickSummed()};
    for (uint64_t more = choose.below(4); more > 0; --more) {
      Support support =
          choose.pick({Support::Full, Support::Full, Support::Column,
                       Support::Row, Support::Row, Support::Scalar});
      unsigned operand = support == Support::Full
                             ? pickSummed()
                             : find(support, chooseType(DType::F32, 60));
      if (!llvm::is_contained(op.operands, operand))
        op.operands.push_back(operand);
    }
    op.body = std::make_shared<Graph>(makeSumBody(op));
    std::vector<unsigned> made = op.results;
    // Anywhere below what it reads.
    size_t first = 0;
    for (auto [place, other] : llvm::enumerate(graph.ops))
      for (unsigned result : other.results)
        if (llvm::is_contained(op.operands, result))
          first = place + 1;
    size_t place =
        size_t(choose.between(int64_t(first), int64_t(graph.ops.size())));
    graph.ops.insert(graph.ops.begin() + int64_t(place), std::move(op));
    for (unsigned sum : made) {
      DType dtype = graph.values[sum].dtype;
      if (choose.chance(25))
        sum = cast(sum, dtype == DType::F32 ? DType::BF16 : DType::F32);
      dtype = graph.values[sum].dtype;
      if (choose.chance(25)) {
        Op scaled;
        scaled.name = choose.pick({"arith.mulf", "arith.addf"});
        scaled.operands = {sum, find(Support::Column, dtype)};
        sum = emit(std::move(scaled), {Support::Column, dtype});
      }
      sums.push_back(sum);
    }
  }
}

/// Sums are results, in front of the others or after them.
void Generator::addSumOutputs() {
  for (unsigned sum : sums)
    if (!llvm::is_contained(graph.outputs, sum))
      graph.outputs.insert(
          choose.chance(30) ? graph.outputs.begin() : graph.outputs.end(), sum);
}
