//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Fuzz/Program.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <map>
#include <set>

using namespace norm;
using namespace norm::fuzz;

llvm::SmallVector<int64_t, 4> Space::shape(Support support) const {
  llvm::SmallVector<int64_t, 4> result;
  if (support == Support::Row || support == Support::Full)
    result.append(rows.begin(), rows.end());
  if (support == Support::Column || support == Support::Full)
    result.append(columns.begin(), columns.end());
  return result;
}

namespace {

std::string number(double value, DType dtype) {
  if (!isFloat(dtype))
    return std::to_string(int64_t(value));
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.9e", value);
  return text;
}

class Printer {
public:
  Printer(const Graph &graph, const Space &space)
      : graph(graph), space(space), os(text) {}

  std::string print();

private:
  std::string type(Value value, bool inBody = false) const;
  std::string dims(Support support) const;
  std::string empty(Value value);
  std::string sizes(Support support);
  std::string fresh() { return "%t" + std::to_string(temporaries++); }
  std::string axes() const;
  std::string name(unsigned value) const {
    return "%v" + std::to_string(value);
  }
  std::string names(llvm::ArrayRef<unsigned> values) const;

  void printOp(const Op &op);
  void printScalarOp(const Graph &in, const Op &op, bool inBody,
                     llvm::StringRef prefix);
  void printConstant(const Op &op);
  void printBroadcast(const Op &op);
  void printNamed(const Op &op);
  void printCustom(const Op &op);
  void printBodyOp(const Graph &body, const Op &op);

  const Graph &graph;
  const Space &space;
  std::string text;
  llvm::raw_string_ostream os;
  std::string preamble;
  std::map<unsigned, std::string> dimNames;
  unsigned temporaries = 0;
};

std::string Printer::type(Value value, bool inBody) const {
  std::string element = norm::name(value.dtype).str();
  if (inBody || value.support == Support::Scalar)
    return element;
  std::string result = "tensor<";
  bool hasRows = value.support != Support::Column;
  for (auto [axis, extent] : llvm::enumerate(space.shape(value.support))) {
    bool isRow = hasRows && axis < space.rows.size();
    bool dynamic =
        isRow ? space.dynamicRows && axis == 0 : space.dynamicColumns;
    result += (dynamic ? "?" : std::to_string(extent)) + "x";
  }
  return result + element + ">";
}

/// Names of the dims of a support in a norm.generic over the whole space.
std::string Printer::dims(Support support) const {
  std::vector<std::string> result;
  auto add = [&](const char *base, size_t count) {
    for (size_t i = 0; i < count; ++i)
      result.push_back(base + (i == 0 ? "" : std::to_string(i)));
  };
  if (support == Support::Row || support == Support::Full)
    add("row", space.rows.size());
  if (support == Support::Column || support == Support::Full)
    add("col", space.columns.size());
  return llvm::join(result, ", ");
}

/// The dynamic sizes of a support, read from the first argument.
std::string Printer::sizes(Support support) {
  std::vector<std::string> result;
  auto add = [&](unsigned axis) {
    std::string &name = dimNames[axis];
    if (name.empty()) {
      std::string index = std::to_string(axis);
      name = "%d" + index;
      preamble += "  %i" + index + " = arith.constant " + index +
                  " : index\n  " + name + " = tensor.dim " +
                  this->name(graph.arguments.front()) + ", %i" + index + " : " +
                  type(graph.values[graph.arguments.front()]) + "\n";
    }
    result.push_back(name);
  };
  if (space.dynamicRows && support != Support::Column && !space.rows.empty())
    add(0);
  if (space.dynamicColumns && support != Support::Row)
    for (unsigned i = 0; i < space.columns.size(); ++i)
      add(unsigned(space.rows.size()) + i);
  return llvm::join(result, ", ");
}

std::string Printer::empty(Value value) {
  std::string result = fresh();
  std::string given = sizes(value.support);
  os << "  " << result << " = tensor.empty(" << given << ") : " << type(value)
     << "\n";
  return result;
}

std::string Printer::axes() const {
  std::string result;
  for (size_t i = 0; i < space.columns.size(); ++i)
    result += (i ? ", " : "") + std::to_string(space.rows.size() + i);
  return result;
}

std::string Printer::names(llvm::ArrayRef<unsigned> values) const {
  std::vector<std::string> result;
  for (unsigned value : values)
    result.push_back(name(value));
  return llvm::join(result, ", ");
}

/// An elementwise op, a cast or a select, on tensors or in a body.
void Printer::printScalarOp(const Graph &in, const Op &op, bool inBody,
                            llvm::StringRef prefix) {
  auto valueName = [&](unsigned value) {
    return (prefix + llvm::Twine(value)).str();
  };
  std::string operands;
  for (unsigned operand : op.operands)
    operands += (operands.empty() ? "" : ", ") + valueName(operand);
  Value from = in.values[op.operands.front()];
  std::string result = valueName(op.results.front());
  std::string indent = inBody ? "    " : "  ";
  if (op.kind == Op::Kind::Select) {
    std::string condition = fresh();
    os << indent << condition << " = arith.cmpf " << op.name << ", " << operands
       << " : " << type(from, inBody) << "\n";
    Value bit{from.support, DType::I1};
    os << indent << result << " = arith.select " << condition << ", "
       << operands << " : " << type(bit, inBody) << ", " << type(from, inBody)
       << "\n";
    return;
  }
  os << indent << result << " = " << op.name << " " << operands << " : "
     << type(from, inBody);
  if (op.kind == Op::Kind::Cast)
    os << " to " << type(in.values[op.results.front()], inBody);
  os << "\n";
}

void Printer::printConstant(const Op &op) {
  Value value = graph.values[op.results.front()];
  std::string given =
      value.support == Support::Scalar ? "" : sizes(value.support);
  std::string result = name(op.results.front());
  std::string digits = number(op.number, value.dtype);
  if (value.support == Support::Scalar) {
    os << "  " << result << " = arith.constant " << digits << " : "
       << type(value) << "\n";
    return;
  }
  if (given.empty()) {
    os << "  " << result << " = arith.constant dense<" << digits
       << "> : " << type(value) << "\n";
    return;
  }
  std::string scalar = fresh();
  os << "  " << scalar << " = arith.constant " << digits << " : "
     << norm::name(value.dtype) << "\n  " << result << " = tensor.splat "
     << scalar << "[" << given << "] : " << type(value) << "\n";
}

void Printer::printBroadcast(const Op &op) {
  Value from = graph.values[op.operands.front()];
  Value to = graph.values[op.results.front()];
  std::string source = name(op.operands.front());
  std::string result = name(op.results.front());
  if (from.support == Support::Scalar) {
    std::string given = sizes(to.support);
    os << "  " << result << " = tensor.splat " << source
       << (given.empty() ? "" : "[" + given + "]") << " : " << type(to) << "\n";
    return;
  }
  std::string target = empty(to);
  unsigned numRows = unsigned(space.rows.size());
  unsigned rank = numRows + unsigned(space.columns.size());
  bool fromRow = from.support == Support::Row;
  auto list = [&](unsigned begin, unsigned end, const char *prefix) {
    std::string result;
    for (unsigned i = begin; i < end; ++i)
      result += (i > begin ? ", " : "") + (prefix + std::to_string(i));
    return result;
  };
  if (op.name == "linalg") {
    os << "  " << result << " = linalg.broadcast ins(" << source << " : "
       << type(from) << ") outs(" << target << " : " << type(to)
       << ") dimensions = ["
       << (fromRow ? list(numRows, rank, "") : list(0, numRows, "")) << "]\n";
    return;
  }
  if (op.name == "generic") {
    std::string all = list(0, rank, "d");
    std::string some =
        fromRow ? list(0, numRows, "d") : list(numRows, rank, "d");
    os << "  " << result << " = linalg.generic {indexing_maps = [affine_map<("
       << all << ") -> (" << some << ")>, affine_map<(" << all << ") -> ("
       << all << ")>], iterator_types = [";
    for (unsigned i = 0; i < rank; ++i)
      os << (i ? ", " : "") << "\"parallel\"";
    os << "]} ins(" << source << " : " << type(from) << ") outs(" << target
       << " : " << type(to) << ") {\n  ^bb0(%in: " << norm::name(from.dtype)
       << ", %out: " << norm::name(to.dtype)
       << "):\n    linalg.yield %in : " << norm::name(from.dtype) << "\n  } -> "
       << type(to) << "\n";
    return;
  }
  os << "  " << result << " = norm.generic (" << dims(Support::Full)
     << ")\n      ins(%in = " << source << "[" << dims(from.support)
     << "] : " << type(from) << ")\n      outs(%out = " << target << "["
     << dims(Support::Full) << "] : " << type(to)
     << ") {\n    norm.yield %in : " << norm::name(from.dtype) << "\n  }\n";
}

void Printer::printNamed(const Op &op) {
  bool isLayer = op.kind == Op::Kind::LayerNorm;
  os << "  " << names(op.results) << " = norm."
     << (isLayer                        ? "layer_norm"
         : op.kind == Op::Kind::RmsNorm ? "rms_norm"
                                        : "softmax")
     << " " << name(op.operands[0]);
  unsigned next = 1;
  if (op.hasScale) {
    os << " scale(" << name(op.operands[next++]);
    if (op.offset != 0)
      os << ", offset = " << number(op.offset, DType::F64);
    os << ")";
  }
  if (op.hasBias)
    os << " bias(" << name(op.operands[next++]) << ")";
  if (op.hasMean || op.hasRstd)
    os << " stats(" << (op.hasMean ? "mean" : "")
       << (op.hasMean && op.hasRstd ? ", " : "") << (op.hasRstd ? "rstd" : "")
       << ")";
  os << " axes = [" << axes() << "]";
  if (op.kind != Op::Kind::Softmax)
    os << " eps = " << number(op.number, DType::F64);
  os << " : ";
  llvm::interleaveComma(op.operands, os, [&](unsigned value) {
    os << type(graph.values[value]);
  });
  os << " -> ";
  llvm::interleaveComma(
      op.results, os, [&](unsigned value) { os << type(graph.values[value]); });
  os << "\n";
}

void Printer::printBodyOp(const Graph &body, const Op &op) {
  auto valueName = [&](unsigned value) { return "%b" + std::to_string(value); };
  std::string element =
      op.results.empty()
          ? ""
          : norm::name(body.values[op.results.front()].dtype).str();
  std::string results;
  for (unsigned result : op.results)
    results += (results.empty() ? "" : ", ") + valueName(result);
  switch (op.kind) {
  case Op::Kind::Reduce:
    os << "    " << results << " = norm.reduce " << op.name << " "
       << valueName(op.operands[0]) << " over [" << dims(Support::Column)
       << "] : " << element << "\n";
    return;
  case Op::Kind::Extent:
    os << "    " << results << " = norm.extent col : " << element << "\n";
    return;
  case Op::Kind::Index:
    os << "    " << results << " = norm.index col : " << element << "\n";
    return;
  case Op::Kind::Constant:
    os << "    " << results << " = arith.constant "
       << number(op.number, body.values[op.results.front()].dtype) << " : "
       << element << "\n";
    return;
  default:
    printScalarOp(body, op, /*inBody=*/true, "%b");
  }
}

void Printer::printCustom(const Op &op) {
  const Graph &body = *op.body;
  std::vector<std::string> targets;
  for (unsigned result : op.results)
    targets.push_back(empty(graph.values[result]));
  os << "  " << names(op.results) << " = norm.generic (" << dims(Support::Full)
     << ")";
  for (auto [i, operand] : llvm::enumerate(op.operands)) {
    Value value = graph.values[operand];
    os << (i ? ",\n          " : "\n      ins(") << "%b" << body.arguments[i]
       << " = " << name(operand);
    if (value.support != Support::Scalar)
      os << "[" << dims(value.support) << "]";
    os << " : " << type(value);
  }
  os << ")";
  for (auto [i, result] : llvm::enumerate(op.results)) {
    Value value = graph.values[result];
    os << (i ? ",\n           " : "\n      outs(") << fresh() << " = "
       << targets[i] << "[" << dims(value.support) << "] : " << type(value);
  }
  os << ") {\n";
  for (const Op &inner : body.ops)
    printBodyOp(body, inner);
  os << "    norm.yield ";
  llvm::interleaveComma(body.outputs, os,
                        [&](unsigned value) { os << "%b" << value; });
  os << " : ";
  llvm::interleaveComma(body.outputs, os, [&](unsigned value) {
    os << norm::name(body.values[value].dtype);
  });
  os << "\n  }\n";
}

void Printer::printOp(const Op &op) {
  switch (op.kind) {
  case Op::Kind::Constant:
    return printConstant(op);
  case Op::Kind::Broadcast:
    return printBroadcast(op);
  case Op::Kind::LayerNorm:
  case Op::Kind::RmsNorm:
  case Op::Kind::Softmax:
    return printNamed(op);
  case Op::Kind::Custom:
    return printCustom(op);
  default:
    return printScalarOp(graph, op, /*inBody=*/false, "%v");
  }
}

std::string Printer::print() {
  for (const Op &op : graph.ops)
    printOp(op);
  std::string ops = std::move(text);
  text.clear();
  os << "func.func @main(";
  llvm::interleaveComma(graph.arguments, os, [&](unsigned value) {
    os << name(value) << ": " << type(graph.values[value]);
  });
  auto types = [&] {
    llvm::interleaveComma(graph.outputs, os, [&](unsigned value) {
      os << type(graph.values[value]);
    });
  };
  os << ")\n    -> (";
  types();
  os << ") {\n"
     << preamble << ops << "  return " << names(graph.outputs) << " : ";
  types();
  os << "\n}\n";
  return std::move(text);
}

} // namespace

std::string fuzz::print(const Graph &graph, const Space &space) {
  return Printer(graph, space).print();
}

void fuzz::removeDead(Graph &graph, std::vector<unsigned> *kept) {
  std::set<unsigned> used(graph.outputs.begin(), graph.outputs.end());
  std::vector<Op> ops;
  for (Op &op : llvm::reverse(graph.ops)) {
    if (llvm::none_of(op.results,
                      [&](unsigned value) { return used.count(value); }))
      continue;
    used.insert(op.operands.begin(), op.operands.end());
    ops.push_back(std::move(op));
  }
  graph.ops.assign(std::make_move_iterator(ops.rbegin()),
                   std::make_move_iterator(ops.rend()));
  std::vector<unsigned> arguments;
  for (auto [position, argument] : llvm::enumerate(graph.arguments))
    if (position == 0 || used.count(argument)) {
      arguments.push_back(argument);
      if (kept)
        kept->push_back(unsigned(position));
    }
  graph.arguments = std::move(arguments);
}
