//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Execution.h"
#include "norm/Analysis/ScheduleChoice.h"
#include "norm/Fuzz/Chooser.h"
#include "norm/Support/Version.h"
#include "llvm/ADT/STLExtras.h"

using namespace norm;
using namespace norm::fuzz;

/// One more result, made from one of a type with arithmetic.
static void addOutput(Graph &graph) {
  auto found = llvm::find_if(graph.outputs, [&](unsigned value) {
    DType dtype = graph.values[value].dtype;
    return isFloat(dtype) && !isPacked(dtype) && dtype != DType::F8E8M0FNU;
  });
  if (found == graph.outputs.end())
    return;
  Op op;
  op.name = "arith.negf";
  op.operands = {*found};
  op.results = {graph.add(graph.values[*found])};
  graph.outputs.push_back(op.results.front());
  graph.ops.push_back(std::move(op));
}

Execution fuzz::makeExecution(const Case &made, const Rerun *variant) {
  Execution execution;
  execution.graph = made.graph;
  execution.space = made.space;
  execution.data = made.data;
  execution.device = made.device;
  if (variant) {
    execution.device = variant->device;
    execution.schedule = variant->schedule;
    execution.steps = variant->steps;
    execution.layouts = variant->layouts;
    execution.launches = variant->launches;
    execution.hostThreads = variant->hostThreads;
    if (variant->rows && isFirstDimFree(made.graph, made.space)) {
      execution.firstRow = variant->rows->first;
      execution.space.dims[0].extent =
          variant->rows->second - variant->rows->first;
    }
    for (auto [i, dim] : llvm::enumerate(execution.space.dims))
      dim.dynamic ^= bool(variant->flipDynamic >> i & 1);
    // Of a backward that would be another cotangent.
    if (variant->extraOutput && !made.backward)
      addOutput(execution.graph);
  }
  const Graph &graph = execution.graph;
  std::set<unsigned> sums = sumsOfRows(graph);
  for (unsigned value : graph.arguments)
    execution.arguments.push_back(graph.values[value]);
  for (unsigned value : graph.outputs) {
    execution.results.push_back(graph.values[value]);
    execution.sumsRows.push_back(sums.count(value) != 0);
  }
  execution.text = print(graph, execution.space);
  return execution;
}

namespace {
/// Number and sort of what a value of a backward was made from.
struct Origin {
  bool isInput = false; ///< else a cotangent, or a gradient
  unsigned number = 0;
};
} // namespace

static Origin originOf(const DerivedValue &value) {
  auto [sort, digits] = llvm::StringRef(value.name).split(' ');
  Origin origin;
  origin.isInput = sort == "input";
  (void)digits.getAsInteger(10, origin.number);
  return origin;
}

/// The element type in `tensor<?x64xbf16>`.
static DType elementOf(llvm::StringRef type, DType otherwise) {
  type.consume_front("tensor<");
  type.consume_back(">");
  return parseDType(type.substr(type.rfind('x') + 1)).value_or(otherwise);
}

/// Whether a value has another element for each row.
static bool hasRowDims(const Space &space, const Value &value) {
  llvm::SmallVector<Space::Axis, 5> axes = space.axes(value);
  for (unsigned dim = 0; dim < space.rank(); ++dim)
    if (!space.dims[dim].isColumn && llvm::none_of(axes, [&](Space::Axis axis) {
          return axis.dim == dim && !axis.isUnit;
        }))
      return false;
  return true;
}

llvm::Expected<bool> fuzz::takeBackward(Compiler &compiler,
                                        Execution &execution) {
  DerivativeOptions options;
  options.function = execution.entry;
  llvm::Expected<Derivative> derivative =
      compiler.differentiate(execution.text, "fuzz.mlir", options);
  if (!derivative) {
    std::string text = llvm::toString(derivative.takeError());
    for (llvm::StringRef message :
         {"has no derivative", "is needed by a gradient over other dims",
          "expects an argument that is a ranked tensor of floats"})
      if (llvm::StringRef(text).contains(message))
        return false;
    return llvm::createStringError(text);
  }
  const DerivedFunction &backward = derivative->backward;
  std::vector<Value> arguments, results;
  std::vector<ArgumentData> data;
  std::vector<Layout> layouts;
  std::vector<bool> sumsRows;
  auto layoutAt = [&](size_t index) {
    return index < execution.layouts.size() ? execution.layouts[index]
                                            : Layout();
  };
  for (const DerivedValue &value : backward.arguments) {
    Origin origin = originOf(value);
    unsigned number = origin.number;
    Value like = origin.isInput ? execution.arguments[number]
                                : execution.results[number];
    like.dtype = elementOf(value.type, like.dtype);
    arguments.push_back(like);
    layouts.push_back(
        layoutAt(number + (origin.isInput ? 0 : execution.arguments.size())));
    data.push_back(execution.data[origin.isInput ? number : 0]);
    // A cotangent holds what the first argument does, with other numbers.
    if (!origin.isInput)
      data.back().seed += 1 + number;
  }
  for (const DerivedValue &value : backward.results) {
    unsigned number = originOf(value).number;
    Value like = execution.arguments[number];
    like.dtype = elementOf(value.type, like.dtype);
    results.push_back(like);
    layouts.push_back(layoutAt(number));
    sumsRows.push_back(!hasRowDims(execution.space, like) || like.transposed);
  }
  execution.text = std::move(derivative->text);
  execution.entry = backward.name;
  execution.arguments = std::move(arguments);
  execution.results = std::move(results);
  execution.data = std::move(data);
  execution.sumsRows = std::move(sumsRows);
  if (!execution.layouts.empty())
    execution.layouts = std::move(layouts);
  return true;
}

CompileOptions fuzz::optionsFor(const Execution &execution,
                                const Device &device) {
  CompileOptions options;
  options.target = device.target();
  options.entry = execution.entry;
  options.schedule = execution.schedule;
  options.driverVersion = device.driverVersion();
  options.emulate = device.isEmulated();
  return options;
}

TuningFile fuzz::drawSchedules(const Execution &execution, const Device &device,
                               const Artifact &artifact) {
  TuningFile file;
  for (auto [index, decision] : llvm::enumerate(artifact.schedules)) {
    Chooser choose(execution.steps, index);
    Schedule schedule = decision.model;
    for (uint64_t n = choose.below(4); n > 0; --n) {
      llvm::Expected<std::vector<Schedule>> others =
          neighbouringSchedules(schedule, decision.facts, decision.limits,
                                device.target(), execution.schedule);
      if (!others) {
        llvm::consumeError(others.takeError());
        break;
      }
      if (!others->empty())
        schedule = choose.pick<Schedule>(*others);
    }
    TuningEntry entry;
    entry.device = device.product();
    entry.target = device.target();
    entry.norm = versionString().str();
    entry.program = decision.program;
    entry.what = decision.what;
    entry.order = decision.order;
    entry.model = toString(decision.model);
    entry.schedule = toString(schedule);
    file.add(std::move(entry));
  }
  return file;
}
