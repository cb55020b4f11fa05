//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Generator.h"
#include "llvm/ADT/STLExtras.h"

using namespace norm;
using namespace norm::fuzz;

static constexpr DType kFloats[] = {DType::F32,  DType::F32, DType::BF16,
                                    DType::BF16, DType::F16, DType::F64};

DType fuzz::chooseFloat(Chooser &choose) { return choose.pick<DType>(kFloats); }

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
    if (value.support == Support::Full && value.isWhole() &&
        isFloat(value.dtype) && precision(value.dtype) >= 8)
      list.push_back(unsigned(number));
  size_t last = list.size() - 1;
  return list[last - std::min<size_t>(last, choose.below(3) * choose.below(3))];
}

/// What a norm or program reads: also 8-bit numbers, and other layouts.
unsigned Generator::pickInput() {
  if (choose.chance(8))
    return find(Support::Full, choose.pick<DType>(kNarrow));
  if (space.rank() < 2 || !choose.chance(10))
    return pickFull();
  DType dtype = chooseType(DType::F32, 30);
  Value other{Support::Full, dtype};
  other.transposed = true;
  Op op;
  op.kind = Op::Kind::Transpose;
  op.operands = {argument(other)};
  return emit(std::move(op), {Support::Full, dtype});
}

/// A type of an operand: `like` itself, or another floating point one.
DType Generator::chooseType(DType like, unsigned sameInHundred) {
  if (choose.chance(sameInHundred))
    return like;
  DType type =
      choose.chance(15) ? choose.pick<DType>(kNarrow) : chooseFloat(choose);
  return type == DType::F64 && !wide ? DType::F32 : type;
}

DType Generator::chooseResult(DType like) { return chooseType(like, 70); }

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
  // f16 and bf16, the 8-bit ones; f16 doesn't hold all powers of two.
  bool isBeyond = from.dtype == DType::F8E8M0FNU && dtype == DType::F16;
  if ((a == b && isFloat(from.dtype)) || isBeyond)
    return cast(cast(value, DType::F32), dtype);
  Op op;
  op.kind = Op::Kind::Cast;
  op.name = from.dtype == DType::I1 ? "arith.uitofp"
            : !isFloat(from.dtype)  ? "arith.sitofp"
            : a < b                 ? "arith.extf"
                                    : "arith.truncf";
  op.operands = {value};
  return emit(std::move(op), {from.support, dtype});
}

/// A value with all dims of the element type: one there is, a cast or a
/// broadcast.
unsigned Generator::full(DType dtype) {
  switch (choose.below(6)) {
  case 0:
    return find(Support::Full, dtype);
  case 5:
    if (choose.chance(60)) {
      DType from =
          choose.pick({DType::I1, DType::I8, DType::I16, DType::F8E5M2,
                       DType::F8E4M3FN, DType::F8E8M0FNU, DType::F4E2M1FN});
      if (isPacked(from) && !canPack())
        from = DType::F8E8M0FNU;
      return cast(find(Support::Full, from), dtype);
    }
    return cast(pickFull(), dtype);
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
    if (from == Support::Row && !space.hasRows())
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
                           "math.log1p", "math.erf", "math.log", "norm.silu",
                           "norm.gelu", "norm.gelu", "norm.sigmoid"});
    if (op.name == "norm.gelu" && choose.chance(50))
      op.attributes = " approximate = tanh";
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
      !llvm::StringRef(op.name).starts_with("arith.") &&
      op.name != "math.absf" && op.name != "math.sqrt" &&
      op.name != "math.exp" && op.name != "math.fma")
    if (op.operands.size() == 1) {
      op.name = "arith.negf";
      op.attributes.clear();
    }
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
  emit(std::move(op), {support, dtype});
}

/// One of two values by a mask of bits.
void Generator::addSelect() {
  unsigned a = pickFull();
  DType dtype = graph.values[a].dtype;
  Op op;
  op.kind = Op::Kind::Choose;
  unsigned b = full(dtype);
  op.operands = {find(Support::Full, DType::I1), a, b};
  emit(std::move(op), {Support::Full, dtype});
}

void Generator::addOperand(Op &op, Value value) {
  if (value.isWhole())
    op.operands.push_back(find(value.support, value.dtype));
  else
    op.operands.push_back(argument(value));
}

/// A statistic, of the type of the arithmetic.
void Generator::addResult(Op &op, Support support) {
  bool has64 = graph.values[op.results.front()].dtype == DType::F64;
  for (unsigned operand : op.operands) {
    const Value &value = graph.values[operand];
    has64 |= value.dtype == DType::F64;
  }
  op.results.push_back(graph.add({support, has64 ? DType::F64 : DType::F32}));
}

/// A scale or bias: of the normalized dims, or of all, some of which repeat it.
Value Generator::parameter(DType like) {
  Value value{Support::Column, chooseType(like, 60)};
  if (choose.chance(60))
    return value;
  if (choose.chance(50))
    value.support = Support::Full;
  unsigned axes =
      value.support == Support::Full ? space.rank() : space.count(true);
  unsigned least = value.support == Support::Full ? space.count(true) + 1 : 1;
  if (axes > least && choose.chance(40))
    value.dropped = uint8_t(choose.between(0, axes - least));
  for (Space::Axis axis : space.axes(value))
    if (choose.chance(45))
      value.part |= uint8_t(1u << axis.dim);
  return value;
}

void Generator::addNorm(Op &op) {
  DType dtype = graph.values[op.operands[0]].dtype;
  bool isLayer = op.kind == Op::Kind::LayerNorm;
  bool hasParts = op.kind != Op::Kind::L2Normalize;
  if ((op.hasScale = hasParts && choose.chance(65)))
    addOperand(op, parameter(dtype));
  if (op.hasScale && choose.chance(30))
    op.offset = choose.pick({1.0, -0.5, 0.1});
  if ((op.hasBias = isLayer && choose.chance(55)))
    addOperand(op, parameter(dtype));
  op.results.push_back(graph.add({Support::Full, chooseResult(dtype)}));
  // A statistic of zero dims is no result of a kernel that is of use here.
  if ((op.hasMean = isLayer && space.hasRows() && choose.chance(35)))
    addResult(op, Support::Row);
  if ((op.hasRstd = hasParts && space.hasRows() && choose.chance(35)))
    addResult(op, Support::Row);
}

void Generator::addExponential(Op &op) {
  DType dtype = graph.values[op.operands[0]].dtype;
  if (op.kind == Op::Kind::LogSumExp) {
    op.results = {graph.add({Support::Row, chooseResult(dtype)})};
    return;
  }
  bool isSoftmax = op.kind == Op::Kind::Softmax;
  int axis = -1; // the normalized one, if there is one
  if (space.count(true) == 1)
    for (unsigned dim = 0; dim < space.rank(); ++dim)
      if (space.dims[dim].isColumn)
        axis = int(dim);
  if (isSoftmax && choose.chance(45)) {
    if ((op.hasScale = choose.chance(40)))
      addOperand(op, {Support::Scalar, choose.pick({DType::F32, DType::BF16})});
    else if (choose.chance(50))
      op.attributes += choose.pick({" scale = 0.125", " scale = -1.5"});
    if ((op.hasMask = choose.chance(50))) {
      Value mask = parameter(dtype);
      mask.support = Support::Full;
      mask.dropped = uint8_t(choose.below(space.rank()));
      mask.part &= uint8_t(~0u << mask.dropped);
      addOperand(op, mask);
    }
    if ((op.hasLengths = axis > 0 && choose.chance(40))) {
      Value lengths{Support::Leading, choose.pick({DType::I32, DType::I64})};
      lengths.part = uint8_t(choose.between(1, axis));
      addOperand(op, lengths);
    }
    if (axis > 0 && choose.chance(50)) {
      op.attributes += choose.pick(
          {" causal", " causal = upper_left", " causal = lower_right"});
      if (choose.chance(40))
        op.attributes += choose.pick({" diagonal = 1", " diagonal = -2"});
    }
  }
  op.results.push_back(graph.add({Support::Full, chooseResult(dtype)}));
  if ((op.hasRstd = isSoftmax && space.hasRows() && choose.chance(35)))
    addResult(op, Support::Row);
}

void Generator::addOverChannels(Op &op) {
  DType dtype = graph.values[op.operands[0]].dtype;
  auto given = [&] {
    addOperand(op, {Support::Channel, chooseType(dtype, 50)});
  };
  if ((op.hasScale = choose.chance(65)))
    given();
  if (op.hasScale && choose.chance(30))
    op.offset = choose.pick({1.0, -0.5});
  if ((op.hasBias = choose.chance(55)))
    given();
  bool isBatch = op.kind == Op::Kind::BatchNorm;
  op.training = isBatch && choose.chance(60);
  op.hasRunning = isBatch && (!op.training || choose.chance(50));
  if (op.hasRunning) {
    given();
    given();
  }
  op.results.push_back(graph.add({Support::Full, chooseResult(dtype)}));
  if (op.training && op.hasRunning)
    for (unsigned back : {2, 1})
      op.results.push_back(
          graph.add(graph.values[op.operands[op.operands.size() - back]]));
  bool hasStats = !isBatch || op.training;
  Support stat = isBatch                          ? Support::Channel
                 : op.kind == Op::Kind::GroupNorm ? Support::Groups
                                                  : Support::Instance;
  if ((op.hasMean = hasStats && choose.chance(35)))
    addResult(op, stat);
  if ((op.hasRstd = hasStats && choose.chance(35)))
    addResult(op, stat);
}

void Generator::addNamed() {
  using Kind = Op::Kind;
  unsigned x = pickInput();
  if (choose.chance(25))
    x = cast(x, chooseType(DType::F32, 20));
  Op op;
  op.kind = choose.pick({Kind::LayerNorm, Kind::LayerNorm, Kind::RmsNorm,
                         Kind::RmsNorm, Kind::Softmax, Kind::Softmax,
                         Kind::LogSoftmax, Kind::LogSumExp, Kind::L2Normalize});
  bool isOverChannels =
      space.rank() >= 2 && choose.chance(space.channel ? 40 : 15);
  if (isOverChannels) {
    op.kind = Kind::BatchNorm;
    if (space.channel > 0 && choose.chance(70))
      op.kind = space.rank() > 2 && choose.chance(40) ? Kind::InstanceNorm
                                                      : Kind::GroupNorm;
  }
  if (op.kind == Kind::LogSumExp && !space.hasRows())
    op.kind = Kind::LogSoftmax;
  op.number = choose.pick({1e-5, 1e-6, 0.0, 1.0, 1e-12, 1e-3});
  if (op.kind == Kind::L2Normalize && op.number == 0)
    op.number = 1e-12;
  op.operands = {x};
  if (isOverChannels) {
    addOverChannels(op);
  } else if (op.kind == Kind::LayerNorm || op.kind == Kind::RmsNorm ||
             op.kind == Kind::L2Normalize) {
    addNorm(op);
  } else {
    addExponential(op);
  }
  // Other dims than the space's, where nothing else follows from them.
  bool isAlone = !isOverChannels && op.kind != Kind::LogSumExp &&
                 op.operands.size() == 1 && op.results.size() == 1 &&
                 op.attributes.empty();
  if (isAlone && space.rank() > 1 && choose.chance(20))
    op.axes = uint8_t(1 + choose.below((1u << space.rank()) - 1));
  graph.ops.push_back(std::move(op));
}

void Generator::chooseOutputs() {
  std::vector<unsigned> made;
  for (const Op &op : graph.ops)
    for (unsigned result : op.results)
      if (graph.values[result].support != Support::Scalar &&
          graph.values[result].support != Support::Column)
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

Graph Generator::make(bool hasSums) {
  wide = choose.chance(12);
  DType first = chooseFloat(choose);
  argument({Support::Full, first == DType::F64 && !wide ? DType::F32 : first});
  if (choose.chance(15)) {
    graph.values[0].dtype = choose.pick<DType>(kNarrow);
    cast(0, choose.pick({DType::F32, DType::BF16, DType::F16}));
  }
  if (choose.chance(8))
    addDequantize();
  unsigned steps = 1 + unsigned(choose.below(limits.maxOps));
  bool normed = false;
  // Where they come early, what follows may read them.
  if (hasSums && choose.chance(25))
    addSums();
  for (unsigned i = 0; i < steps || !normed; ++i) {
    uint64_t kind = i >= steps ? 9 : choose.below(25);
    if (kind < 9)
      addElementwise(Support::Full);
    else if (kind < 14)
      addNamed();
    else if (kind < 18)
      addCustom();
    else if (kind == 20)
      addSelect();
    else if (kind == 21 || kind == 22)
      addQuantize();
    else if (kind == 23)
      addDequantize();
    else if (kind == 24)
      addDropout();
    else
      addElementwise(kind == 18 && space.hasRows() ? Support::Row
                                                   : Support::Column);
    normed |= kind >= 9 && kind < 18;
  }
  // Full values only: the tail of the program is what results come from.
  while (graph.values[graph.ops.back().results.front()].support !=
             Support::Full ||
         !isFloat(graph.values[graph.ops.back().results.front()].dtype))
    addElementwise(Support::Full);
  if (choose.chance(18))
    addQuantize();
  chooseOutputs();
  if (hasSums && sums.empty())
    addSums();
  addSumOutputs();
  removeDead(graph);
  auto hasStrides = [&](const Value &value) {
    return !isPacked(value.dtype) && value.layout <= ScaleLayout::ColumnMajor;
  };
  for (const std::vector<unsigned> *list : {&graph.arguments, &graph.outputs})
    for (unsigned value : *list)
      if (choose.chance(12) && hasStrides(graph.values[value]))
        graph.strided.push_back(value);
  return std::move(graph);
}

Graph fuzz::makeGraph(Chooser &choose, const Space &space,
                      const Limits &limits, bool sums) {
  return Generator(choose, space, limits).make(sums && space.hasRows());
}
