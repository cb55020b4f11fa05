//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Draws norm.generic ops.
//
//===----------------------------------------------------------------------===//

#include "Generator.h"
#include "llvm/ADT/STLExtras.h"

using namespace norm;
using namespace norm::fuzz;

/// The value in a body as `dtype`, f32 or f64.
unsigned Generator::toFloat(Graph &body, unsigned value, DType dtype) {
  Value from = body.values[value];
  if (from.dtype == dtype)
    return value;
  Op op;
  op.kind = Op::Kind::Cast;
  op.name = from.dtype == DType::I1                  ? "arith.uitofp"
            : !isFloat(from.dtype)                   ? "arith.sitofp"
            : byteSize(from.dtype) < byteSize(dtype) ? "arith.extf"
                                                     : "arith.truncf";
  op.operands = {value};
  op.results = {body.add({from.support, dtype})};
  body.ops.push_back(std::move(op));
  return body.ops.back().results.front();
}

/// Whether a reduction of a value makes sense in a body.
static bool variesOnColumns(Support support) {
  return support == Support::Full || support == Support::Column;
}

static Support join(Support a, Support b) {
  if (a == b)
    return a;
  if (a == Support::Scalar)
    return b;
  if (b == Support::Scalar)
    return a;
  return Support::Full;
}

static bool isRead(const Graph &graph, unsigned value) {
  return llvm::is_contained(graph.outputs, value) ||
         llvm::any_of(graph.ops, [&](const Op &op) {
           return llvm::is_contained(op.operands, value);
         });
}

Graph Generator::makeBody(Op &op) {
  Graph body;
  DType compute = wide && choose.chance(50) ? DType::F64 : DType::F32;
  std::vector<unsigned> pool;
  auto emitIn = [&](Op inner, Value value) {
    inner.results = {body.add(value)};
    body.ops.push_back(std::move(inner));
    pool.push_back(body.ops.back().results.front());
    return pool.back();
  };
  for (unsigned operand : op.operands) {
    unsigned argument = body.add(graph.values[operand]);
    body.arguments.push_back(argument);
  }
  for (unsigned argument : body.arguments)
    pool.push_back(toFloat(body, argument, compute));
  if (choose.chance(25)) {
    Op inner;
    inner.kind = Op::Kind::Extent;
    emitIn(std::move(inner), {Support::Scalar, compute});
  }
  if (choose.chance(15)) {
    Op inner;
    inner.kind = Op::Kind::Index;
    inner.results = {body.add({Support::Column, DType::I32})};
    body.ops.push_back(std::move(inner));
    pool.push_back(toFloat(body, body.ops.back().results.front(), compute));
  }
  if (choose.chance(6)) {
    Op inner;
    inner.kind = Op::Kind::Random;
    for (int64_t number : {choose.between(-9, 9), choose.between(0, 99)}) {
      Op constant;
      constant.kind = Op::Kind::Constant;
      constant.number = double(number);
      constant.results = {body.add({Support::Scalar, DType::I64})};
      inner.operands.push_back(constant.results.front());
      body.ops.push_back(std::move(constant));
    }
    inner.results = {body.add({Support::Full, DType::I32})};
    body.ops.push_back(std::move(inner));
    pool.push_back(toFloat(body, body.ops.back().results.front(), compute));
  }
  auto pick = [&] { return choose.pick<unsigned>(pool); };
  auto elementwise = [&] {
    unsigned a =
        pool[pool.size() - 1 - choose.below(std::min<size_t>(3, pool.size()))];
    unsigned b = pick(), c = pick();
    Op inner = scalarOp(body, a, b, c);
    Support support = Support::Scalar;
    for (unsigned operand : inner.operands)
      support = join(support, body.values[operand].support);
    emitIn(std::move(inner), {support, compute});
  };
  unsigned reductions = unsigned(choose.below(4));
  for (unsigned i = 0; i < reductions; ++i) {
    for (uint64_t n = choose.below(3); n > 0; --n)
      elementwise();
    unsigned value = pick();
    for (unsigned tries = 0;
         !variesOnColumns(body.values[value].support) && tries < 8; ++tries)
      value = pick();
    if (!variesOnColumns(body.values[value].support))
      value = pool.front();
    Op inner;
    inner.kind = Op::Kind::Reduce;
    inner.name = choose.pick({"add", "add", "max", "min", "maxnum", "minnum",
                              "welford", "max_expsum", "mul"});
    inner.operands = {value};
    bool pair = inner.name == "welford" || inner.name == "max_expsum";
    bool number = inner.name == "maxnum" || inner.name == "minnum";
    Support from = body.values[value].support;
    Support to = from == Support::Full     ? Support::Row
                 : from == Support::Column ? Support::Scalar
                                           : from;
    std::vector<unsigned> results;
    for (unsigned k = 0; k < (pair ? 2 : 1); ++k)
      results.push_back(body.add({to, compute}));
    inner.results = results;
    body.ops.push_back(std::move(inner));
    // The sign of a zero that maxnum gives is open; adding +0 settles it.
    if (number) {
      Op zero;
      zero.kind = Op::Kind::Constant;
      zero.results = {body.add({Support::Scalar, compute})};
      body.ops.push_back(zero);
      Op add;
      add.name = "arith.addf";
      add.operands = {results[0], zero.results[0]};
      emitIn(std::move(add), {to, compute});
      continue;
    }
    llvm::append_range(pool, results);
  }
  for (uint64_t n = 1 + choose.below(4); n > 0; --n)
    elementwise();

  // What spans the space is read: a kernel of nothing but its extents isn't
  // worth a case.
  Graph probe = body;
  probe.outputs = {pool.back()};
  removeDead(probe);
  if (!isRead(probe, body.arguments.front())) {
    Op add;
    add.name = "arith.addf";
    add.operands = {pool.back(), pool.front()};
    emitIn(std::move(add), {Support::Full, compute});
  }

  // The results: one with all dims, and perhaps one with the row dims.
  auto yield = [&](Support support, bool (*fits)(Support)) {
    for (unsigned value : llvm::reverse(pool)) {
      if (!fits(body.values[value].support))
        continue;
      DType to = chooseResult(chooseFloat(choose));
      if (to == DType::F64 && !wide)
        to = DType::F32;
      // No pair of casts between types of one size.
      if (to == compute || byteSize(to) != byteSize(compute))
        value = toFloat(body, value, to);
      else
        to = compute;
      body.outputs.push_back(value);
      op.results.push_back(graph.add({support, to}));
      return;
    }
  };
  yield(Support::Full, [](Support) { return true; });
  if (space.hasRows() && choose.chance(50))
    yield(Support::Row, [](Support support) {
      return support == Support::Row || support == Support::Scalar;
    });
  return body;
}

void Generator::addCustom() {
  Op op;
  op.kind = Op::Kind::Custom;
  op.operands = {pickInput()};
  for (uint64_t n = choose.below(4); n > 0; --n) {
    Support support =
        choose.pick({Support::Full, Support::Column, Support::Column,
                     Support::Row, Support::Scalar});
    if (support == Support::Row && !space.hasRows())
      support = Support::Full;
    DType dtype = choose.chance(75)
                      ? chooseType(DType::F32, 20)
                      : choose.pick({DType::I8, DType::I16, DType::I32,
                                     DType::I1, DType::F8E8M0FNU});
    if (support == Support::Scalar && !isFloat(dtype))
      dtype = DType::I32;
    if (dtype == DType::F64 && !wide)
      dtype = DType::F32;
    op.operands.push_back(find(support, dtype));
  }
  llvm::sort(op.operands.begin() + 1, op.operands.end());
  op.operands.erase(std::unique(op.operands.begin() + 1, op.operands.end()),
                    op.operands.end());
  if (llvm::is_contained(llvm::drop_begin(op.operands), op.operands[0]))
    op.operands.resize(1);
  op.body = std::make_shared<Graph>(makeBody(op));
  graph.ops.push_back(std::move(op));
}
