//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Fuzz/Case.h"
#include "norm/Fuzz/Chooser.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace norm;
using namespace norm::fuzz;

namespace {

/// Draws a graph. Every op it makes is one that the compiler takes on all
/// targets.
class Generator {
public:
  Generator(Chooser &choose, const Space &space, const Limits &limits)
      : choose(choose), space(space), limits(limits) {}

  Graph make();

private:
  unsigned argument(Value value);
  unsigned emit(Op op, Value result);
  unsigned pickFull();
  unsigned find(Support support, DType dtype);
  unsigned cast(unsigned value, DType dtype);
  unsigned full(DType dtype);

  void addElementwise(Support support);
  void addNamed();
  void addCustom();
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
};

constexpr DType kFloats[] = {DType::F32,  DType::F32, DType::BF16,
                             DType::BF16, DType::F16, DType::F64};

DType chooseFloat(Chooser &choose) { return choose.pick<DType>(kFloats); }

unsigned Generator::argument(Value value) {
  unsigned number = graph.add(value);
  graph.arguments.push_back(number);
  return number;
}

unsigned Generator::emit(Op op, Value result) {
  op.results = {graph.add(result)};
  graph.ops.push_back(std::move(op));
  return graph.ops.back().results.front();
}

/// Some value with all dims, the later ones rather.
unsigned Generator::pickFull() {
  std::vector<unsigned> list;
  for (auto [number, value] : llvm::enumerate(graph.values))
    if (value.support == Support::Full && precision(value.dtype) >= 8)
      list.push_back(unsigned(number));
  size_t last = list.size() - 1;
  return list[last - std::min<size_t>(last, choose.below(3) * choose.below(3))];
}

/// A value of the kind, an argument if there is none or by choice.
unsigned Generator::find(Support support, DType dtype) {
  std::vector<unsigned> list;
  for (auto [number, value] : llvm::enumerate(graph.values))
    if (value == Value{support, dtype})
      list.push_back(unsigned(number));
  if (list.empty() || choose.chance(35))
    return argument({support, dtype});
  return choose.pick<unsigned>(list);
}

unsigned Generator::cast(unsigned value, DType dtype) {
  Value from = graph.values[value];
  if (from.dtype == dtype)
    return value;
  unsigned a = byteSize(from.dtype), b = byteSize(dtype);
  if (a == b) // f16 and bf16
    return cast(cast(value, DType::F32), dtype);
  Op op;
  op.kind = Op::Kind::Cast;
  op.name = a < b ? "arith.extf" : "arith.truncf";
  op.operands = {value};
  return emit(std::move(op), {from.support, dtype});
}

/// A value with all dims of the element type: one there is, a cast or a
/// broadcast.
unsigned Generator::full(DType dtype) {
  switch (choose.below(5)) {
  case 0:
    return find(Support::Full, dtype);
  case 1: {
    Op op;
    op.kind = Op::Kind::Constant;
    op.number = choose.pick({0.5, 1.0, -2.0, 0.0, 3.0});
    return emit(std::move(op), {Support::Full, dtype});
  }
  case 2:
  case 3: {
    Op op;
    op.kind = Op::Kind::Broadcast;
    Support from = choose.pick(
        {Support::Row, Support::Column, Support::Column, Support::Scalar});
    if (from == Support::Row && space.rows.empty())
      from = Support::Column;
    op.name = choose.pick({"linalg", "generic", "norm"});
    op.operands = {find(from, dtype)};
    return emit(std::move(op), {Support::Full, dtype});
  }
  default:
    return cast(pickFull(), dtype);
  }
}

/// One op on a, or on a and b (and c), all of one type.
Op Generator::scalarOp(const Graph &in, unsigned a, unsigned b, unsigned c) {
  Op op;
  op.operands = {a};
  switch (choose.below(4)) {
  case 0:
    op.name = choose.pick({"arith.negf", "math.absf", "math.exp", "math.tanh",
                           "math.sqrt", "math.exp2", "math.rsqrt", "math.expm1",
                           "math.log1p", "math.erf", "math.log"});
    break;
  case 1:
    op.kind = Op::Kind::Select;
    op.name = choose.pick({"olt", "oge", "une", "ueq", "ult", "ord"});
    op.operands = {a, b};
    break;
  case 2:
    if (choose.chance(30)) {
      op.name = "math.fma";
      op.operands = {a, b, c};
      break;
    }
    [[fallthrough]];
  default:
    op.name = choose.pick({"arith.addf", "arith.addf", "arith.mulf",
                           "arith.mulf", "arith.subf", "arith.divf",
                           "arith.maximumf", "arith.minimumf"});
    op.operands = {a, b};
    if (choose.chance(30))
      std::swap(op.operands[0], op.operands[1]);
  }
  // f16 and bf16 functions are computed in f32; f64 has fewer of them.
  if (in.values[a].dtype == DType::F64 &&
      llvm::StringRef(op.name).starts_with("math.") && op.name != "math.absf" &&
      op.name != "math.sqrt" && op.name != "math.exp" && op.name != "math.fma")
    op.name = op.operands.size() == 1 ? "arith.negf" : op.name;
  return op;
}

void Generator::addElementwise(Support support) {
  unsigned a;
  if (support == Support::Full)
    a = pickFull();
  else
    a = find(support, choose.pick({DType::F32, DType::F32, DType::BF16}));
  DType dtype = graph.values[a].dtype;
  auto other = [&] {
    return support == Support::Full ? full(dtype) : find(support, dtype);
  };
  unsigned b = choose.chance(15) ? a : other();
  Op op = scalarOp(graph, a, b, a);
  // A comparison that isn't fused needs a tensor of i1, which kernels don't
  // have: selects are drawn in bodies only.
  if (op.kind == Op::Kind::Select) {
    op.kind = Op::Kind::Elementwise;
    op.name = choose.pick({"arith.maximumf", "arith.minimumf", "arith.subf"});
  }
  emit(std::move(op), {support, dtype});
}

void Generator::addNamed() {
  unsigned x = pickFull();
  if (choose.chance(25)) {
    DType other = chooseFloat(choose);
    x = cast(x, other == DType::F64 && !wide ? DType::F32 : other);
  }
  Op op;
  op.kind =
      choose.pick({Op::Kind::LayerNorm, Op::Kind::RmsNorm, Op::Kind::Softmax});
  op.number = choose.pick({1e-5, 1e-6, 0.0, 1.0, 1e-12, 1e-3});
  DType dtype = graph.values[x].dtype;
  bool hasF64 = dtype == DType::F64;
  op.operands = {x};
  auto parameter = [&] {
    DType type = choose.chance(60) ? dtype : chooseFloat(choose);
    if (type == DType::F64 && !wide)
      type = DType::F32;
    hasF64 |= type == DType::F64;
    op.operands.push_back(find(Support::Column, type));
  };
  bool softmax = op.kind == Op::Kind::Softmax;
  if ((op.hasScale = !softmax && choose.chance(65)))
    parameter();
  if (op.hasScale && choose.chance(30))
    op.offset = choose.pick({1.0, -0.5, 0.1});
  if ((op.hasBias = op.kind == Op::Kind::LayerNorm && choose.chance(55)))
    parameter();
  op.hasMean = op.kind == Op::Kind::LayerNorm && choose.chance(35);
  op.hasRstd = !softmax && choose.chance(35);
  DType to = choose.chance(70) ? dtype : chooseFloat(choose);
  if (to == DType::F64 && !wide)
    to = DType::F32;
  hasF64 |= to == DType::F64;
  DType stat = hasF64 ? DType::F64 : DType::F32;
  op.results.push_back(graph.add({Support::Full, to}));
  if (op.hasMean)
    op.results.push_back(graph.add({Support::Row, stat}));
  if (op.hasRstd)
    op.results.push_back(graph.add({Support::Row, stat}));
  graph.ops.push_back(std::move(op));
}

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
  if (space.columns.size() == 1 && choose.chance(25)) {
    Op inner;
    inner.kind = Op::Kind::Extent;
    emitIn(std::move(inner), {Support::Scalar, compute});
  }
  if (space.columns.size() == 1 && choose.chance(15)) {
    Op inner;
    inner.kind = Op::Kind::Index;
    inner.results = {body.add({Support::Column, DType::I32})};
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
      DType to = chooseFloat(choose);
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
  if (!space.rows.empty() && choose.chance(50))
    yield(Support::Row, [](Support support) {
      return support == Support::Row || support == Support::Scalar;
    });
  return body;
}

void Generator::addCustom() {
  Op op;
  op.kind = Op::Kind::Custom;
  op.operands = {pickFull()};
  for (uint64_t n = choose.below(4); n > 0; --n) {
    Support support =
        choose.pick({Support::Full, Support::Column, Support::Column,
                     Support::Row, Support::Scalar});
    if (support == Support::Row && space.rows.empty())
      support = Support::Full;
    DType dtype = choose.chance(75)
                      ? chooseFloat(choose)
                      : choose.pick({DType::I8, DType::I16, DType::I32});
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

void Generator::chooseOutputs() {
  std::vector<unsigned> made;
  for (const Op &op : graph.ops)
    for (unsigned result : op.results)
      if (graph.values[result].support == Support::Full ||
          graph.values[result].support == Support::Row)
        made.push_back(result);
  graph.outputs = {graph.ops.back().results.front()};
  for (unsigned value : made)
    if (value != graph.outputs.front() && choose.chance(20))
      graph.outputs.push_back(value);
  // A result of the last op that isn't its first is an output too.
  for (unsigned value : llvm::drop_begin(graph.ops.back().results))
    if (!llvm::is_contained(graph.outputs, value))
      graph.outputs.push_back(value);
}

Graph Generator::make() {
  wide = choose.chance(12);
  DType first = chooseFloat(choose);
  argument({Support::Full, first == DType::F64 && !wide ? DType::F32 : first});
  unsigned steps = 1 + unsigned(choose.below(limits.maxOps));
  bool normed = false;
  for (unsigned i = 0; i < steps || !normed; ++i) {
    uint64_t kind = i >= steps ? 9 : choose.below(20);
    if (kind < 9)
      addElementwise(Support::Full);
    else if (kind < 14)
      addNamed();
    else if (kind < 18)
      addCustom();
    else
      addElementwise(kind == 18 && !space.rows.empty() ? Support::Row
                                                       : Support::Column);
    normed |= kind >= 9 && kind < 18;
  }
  // Full values only: the tail of the program is what results come from.
  while (graph.values[graph.ops.back().results.front()].support !=
         Support::Full)
    addElementwise(Support::Full);
  chooseOutputs();
  removeDead(graph);
  return std::move(graph);
}

Space chooseSpace(Chooser &choose, const Limits &limits) {
  Space space;
  static constexpr int64_t edges[] = {
      0,    1,    2,     3,     4,     5,     7,    8,    9,    15,
      16,   17,   31,    32,    33,    63,    64,   65,   127,  128,
      129,  255,  256,   257,   384,   511,   512,  513,  768,  1000,
      1023, 1024, 1025,  2047,  2048,  2049,  4095, 4096, 4097, 8191,
      8192, 8193, 16383, 16385, 65535, 65536, 65537};
  size_t count = std::size(edges);
  while (count > 1 && edges[count - 1] > limits.maxColumns)
    --count;
  // Wide rows cost the most and are drawn less.
  size_t range = choose.chance(80) ? std::min<size_t>(count, 33) : count;
  int64_t columns = edges[choose.below(range)];
  if (choose.chance(10))
    columns = choose.between(0, std::min<int64_t>(limits.maxColumns, 300));
  space.columns = {columns};
  if (columns % 4 == 0 && columns > 0 && choose.chance(12))
    space.columns = {choose.pick<int64_t>({1, 2, 4}), 0};
  if (space.columns.size() == 2)
    space.columns[1] = columns / space.columns[0];
  int64_t most =
      std::max<int64_t>(1, limits.maxElements / std::max<int64_t>(columns, 1));
  int64_t rows = choose.pick<int64_t>({0, 1, 1, 2, 3, 3, 4, 5, 7, 9, 33, 67});
  rows = std::min(rows, most);
  space.rows = {rows};
  if (choose.chance(10))
    space.rows = {std::min<int64_t>(rows, 5), choose.between(1, 3)};
  else if (choose.chance(3))
    space.rows = {};
  space.dynamicRows = !space.rows.empty() && choose.chance(60);
  // Kernels know the product of several dynamic column dims only.
  space.dynamicColumns = space.columns.size() == 1 && choose.chance(15);
  return space;
}

ArgumentData chooseData(Chooser &choose, bool tame) {
  ArgumentData data;
  data.seed = choose.bits();
  if (tame)
    return data;
  data.kinds.clear();
  for (uint64_t n = 1 + choose.below(4); n > 0; --n)
    data.kinds.push_back(RowData(choose.below(kNumRowData)));
  return data;
}

Layout chooseLayout(Chooser &choose, bool hasPitch) {
  Layout layout;
  if (choose.chance(50))
    layout.offset = choose.between(1, 9);
  if (hasPitch && choose.chance(50))
    layout.padding = choose.pick<int64_t>({1, 2, 3, 5, 8, 16, 64});
  return layout;
}

Rerun makeVariant(Chooser &choose, const Case &made, const Target &target) {
  Rerun variant;
  variant.device = target.device;
  int64_t rows = made.space.rows.empty() ? 0 : made.space.rows.front();
  bool isMatrix = made.space.rows.size() == 1 && made.space.columns.size() == 1;
  if (choose.chance(60))
    variant.schedule = makeSchedule(choose, target.target);
  switch (choose.below(7)) {
  case 0:
    if (rows > 1) {
      int64_t begin = choose.between(0, rows - 1);
      variant.rows = {begin, choose.between(begin + 1, rows)};
    }
    break;
  case 1:
    variant.flipDynamicRows = !made.space.rows.empty();
    break;
  case 2:
    variant.flipDynamicColumns = made.space.columns.size() == 1;
    break;
  case 3:
    variant.extraOutput = true;
    break;
  case 4:
    variant.launches = 3;
    break;
  case 5:
    variant.hostThreads = unsigned(choose.between(1, 5));
    break;
  default:
    break;
  }
  if (choose.chance(35))
    for (const std::vector<unsigned> *list :
         {&made.graph.arguments, &made.graph.outputs})
      for (unsigned value : *list)
        variant.layouts.push_back(
            chooseLayout(choose, isMatrix && made.graph.values[value].support ==
                                                 Support::Full));
  return variant;
}

} // namespace

std::string fuzz::makeSchedule(Chooser &choose, const std::string &target) {
  // Code grows with what a thread has to do, and the time to compile it faster
  // than that: the ends of the range are drawn less.
  if (target == "host")
    return llvm::formatv("vector={0}",
                         int64_t(1) << choose.below(choose.chance(15) ? 8 : 6));
  llvm::StringRef residency = choose.pick({"registers", "shared", "stream"});
  unsigned least = residency == "stream" && choose.chance(85) ? 7 : 0;
  int64_t threads = int64_t(1) << (least + choose.below(11 - least));
  // Whole warps, and at most 1024 threads.
  int64_t fewest = std::max<int64_t>(1, 32 / threads);
  int64_t rows = fewest << choose.below(3);
  if (rows * threads > 1024)
    rows = fewest;
  std::string text = llvm::formatv(
      "threads={0},rows_per_cta={1},residency={2},prefetch={3}", threads, rows,
      choose.pick({"registers", "shared", "stream"}),
      choose.pick({"true", "false"}));
  if (choose.chance(10))
    text += llvm::formatv(",max_registers={0}", choose.pick({32, 64, 128}));
  return text;
}

Case fuzz::makeCase(uint64_t seed, uint64_t index,
                    const std::vector<Target> &targets, const Limits &limits) {
  Chooser choose(seed, index);
  Case made;
  made.space = chooseSpace(choose, limits);
  made.graph = Generator(choose, made.space, limits).make();
  made.device = targets.front().device;
  bool tame = choose.chance(55);
  for (unsigned argument : made.graph.arguments) {
    // Parameters and scalars are mostly ordinary numbers.
    bool full = made.graph.values[argument].support == Support::Full;
    made.data.push_back(
        chooseData(choose, tame || (!full && choose.chance(70))));
  }
  // Every other target once as it is, then variants on any.
  for (const Target &target : llvm::drop_begin(targets))
    made.variants.emplace_back().device = target.device;
  for (unsigned i = 0; i < limits.variants; ++i)
    made.variants.push_back(
        makeVariant(choose, made, choose.pick<Target>(targets)));
  return made;
}
