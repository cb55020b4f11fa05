//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The text of a program.
//
//===----------------------------------------------------------------------===//

#include "norm/Fuzz/Program.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <map>

using namespace norm;
using namespace norm::fuzz;

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
  std::string layout(unsigned value) const;
  std::string empty(Value value);
  std::string sizes(Value value);
  std::string fresh() { return "%t" + std::to_string(temporaries++); }
  std::string axes(const Op &op) const;
  std::string name(unsigned value) const {
    return "%v" + std::to_string(value);
  }
  std::string names(llvm::ArrayRef<unsigned> values) const;

  void printOp(const Op &op);
  void printScalarOp(const Graph &in, const Op &op, bool inBody,
                     llvm::StringRef prefix);
  void printConstant(const Op &op);
  void printBroadcast(const Op &op);
  void printTranspose(const Op &op);
  void printNamed(const Op &op);
  void printQuantization(const Op &op);
  void printDropout(const Op &op);
  void printTypes(const Op &op);
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
  for (auto [axis, extent] : llvm::zip(space.axes(value), space.shape(value))) {
    bool dynamic = !axis.isUnit && axis.dim != Space::kGroupAxis &&
                   space.dims[axis.dim].dynamic;
    result += (dynamic ? "?" : std::to_string(extent)) + "x";
  }
  return result + element + ">";
}

/// Names of the dims of a support in a norm.generic over the whole space.
std::string Printer::dims(Support support) const {
  std::vector<std::string> result;
  unsigned numbers[2] = {0, 0};
  for (const Dim &dim : space.dims) {
    unsigned number = numbers[dim.isColumn]++;
    if (support == Support::Full ||
        dim.isColumn == (support == Support::Column))
      result.push_back((dim.isColumn ? "col" : "row") +
                       (number ? std::to_string(number) : ""));
  }
  return llvm::join(result, ", ");
}

/// The dynamic sizes of a value, read from the first argument.
std::string Printer::sizes(Value value) {
  std::vector<std::string> result;
  for (Space::Axis axis : space.axes(value)) {
    if (axis.isUnit || axis.dim == Space::kGroupAxis ||
        !space.dims[axis.dim].dynamic)
      continue;
    std::string &name = dimNames[axis.dim];
    if (name.empty()) {
      std::string index = std::to_string(axis.dim);
      name = "%d" + index;
      preamble += "  %i" + index + " = arith.constant " + index +
                  " : index\n  " + name + " = tensor.dim " +
                  this->name(graph.arguments.front()) + ", %i" + index + " : " +
                  type(graph.values[graph.arguments.front()]) + "\n";
    }
    result.push_back(name);
  }
  return llvm::join(result, ", ");
}

std::string Printer::empty(Value value) {
  std::string result = fresh();
  std::string given = sizes(value);
  os << "  " << result << " = tensor.empty(" << given << ") : " << type(value)
     << "\n";
  return result;
}

std::string Printer::axes(const Op &op) const {
  std::string result;
  for (unsigned dim = 0; dim < space.rank(); ++dim)
    if (op.axes ? op.axes >> dim & 1 : space.dims[dim].isColumn)
      result += (result.empty() ? "" : ", ") + std::to_string(dim);
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
  if (op.kind == Op::Kind::Choose) {
    os << indent << result << " = arith.select " << operands << " : "
       << type(from, inBody) << ", "
       << type(in.values[op.results.front()], inBody) << "\n";
    return;
  }
  os << indent << result << " = " << op.name << " " << operands << op.attributes
     << " : " << type(from, inBody);
  if (op.kind == Op::Kind::Cast)
    os << " to " << type(in.values[op.results.front()], inBody);
  os << "\n";
}

void Printer::printConstant(const Op &op) {
  Value value = graph.values[op.results.front()];
  std::string given = value.support == Support::Scalar ? "" : sizes(value);
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
    std::string given = sizes(to);
    os << "  " << result << " = tensor.splat " << source
       << (given.empty() ? "" : "[" + given + "]") << " : " << type(to) << "\n";
    return;
  }
  std::string target = empty(to);
  unsigned rank = space.rank();
  // The dims that the value has, or the others.
  auto list = [&](bool own, const char *prefix) {
    std::string result;
    for (unsigned i = 0; i < rank; ++i)
      if ((space.dims[i].isColumn == (from.support == Support::Column)) == own)
        result += (result.empty() ? "" : ", ") + (prefix + std::to_string(i));
    return result;
  };
  if (op.name == "linalg") {
    os << "  " << result << " = linalg.broadcast ins(" << source << " : "
       << type(from) << ") outs(" << target << " : " << type(to)
       << ") dimensions = [" << list(false, "") << "]\n";
    return;
  }
  if (op.name == "generic") {
    std::string all;
    for (unsigned i = 0; i < rank; ++i)
      all += (i ? ", d" : "d") + std::to_string(i);
    os << "  " << result << " = linalg.generic {indexing_maps = [affine_map<("
       << all << ") -> (" << list(true, "d") << ")>, affine_map<(" << all
       << ") -> (" << all << ")>], iterator_types = [";
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

void Printer::printTranspose(const Op &op) {
  Value from = graph.values[op.operands.front()];
  Value to = graph.values[op.results.front()];
  std::string target = empty(to);
  os << "  " << name(op.results.front()) << " = linalg.transpose ins("
     << name(op.operands.front()) << " : " << type(from) << ") outs(" << target
     << " : " << type(to) << ") permutation = [";
  for (unsigned dim = 0; dim < space.rank(); ++dim)
    os << (dim ? ", " : "")
       << std::distance(space.order.begin(), llvm::find(space.order, dim));
  os << "]\n";
}

static llvm::StringRef mnemonic(Op::Kind kind) {
  switch (kind) {
  case Op::Kind::LayerNorm:
    return "layer_norm";
  case Op::Kind::RmsNorm:
    return "rms_norm";
  case Op::Kind::Softmax:
    return "softmax";
  case Op::Kind::LogSoftmax:
    return "log_softmax";
  case Op::Kind::LogSumExp:
    return "logsumexp";
  case Op::Kind::L2Normalize:
    return "l2_normalize";
  case Op::Kind::GroupNorm:
    return "group_norm";
  case Op::Kind::InstanceNorm:
    return "instance_norm";
  default:
    return "batch_norm";
  }
}

void Printer::printNamed(const Op &op) {
  using Kind = Op::Kind;
  os << "  " << names(op.results) << " = norm." << mnemonic(op.kind) << " "
     << name(op.operands[0]);
  unsigned next = 1;
  if (op.hasScale) {
    os << " scale(" << name(op.operands[next++]);
    if (op.offset != 0)
      os << ", offset = " << number(op.offset, DType::F64);
    os << ")";
  }
  auto given = [&](bool has, const char *keyword) {
    if (has)
      os << " " << keyword << "(" << name(op.operands[next++]) << ")";
  };
  given(op.hasBias, "bias");
  given(op.hasMask, "mask");
  given(op.hasLengths, "lengths");
  if (op.hasRunning) {
    os << " running(" << name(op.operands[next]) << ", "
       << name(op.operands[next + 1]) << ")";
    next += 2;
  }
  if (op.hasMean || op.hasRstd)
    os << " stats(" << (op.hasMean ? "mean" : "")
       << (op.hasMean && op.hasRstd ? ", " : "")
       << (!op.hasRstd                ? ""
           : op.kind == Kind::Softmax ? "logsumexp"
                                      : "rstd")
       << ")";
  if (op.kind == Kind::GroupNorm)
    os << " groups = " << space.groups;
  bool isOverChannels = op.kind == Kind::GroupNorm ||
                        op.kind == Kind::InstanceNorm ||
                        op.kind == Kind::BatchNorm;
  if (isOverChannels)
    os << " channel_axis = " << space.channel;
  else
    os << " axes = [" << axes(op) << "]";
  if (op.kind != Kind::Softmax && op.kind != Kind::LogSoftmax &&
      op.kind != Kind::LogSumExp)
    os << " eps = " << number(op.number, DType::F64);
  if (op.training)
    os << " training";
  if (op.training && op.hasRunning)
    os << " momentum = 0.25";
  os << op.attributes;
  printTypes(op);
}

/// Of operands and results.
void Printer::printTypes(const Op &op) {
  os << " : ";
  llvm::interleaveComma(op.operands, os, [&](unsigned value) {
    os << type(graph.values[value]);
  });
  os << " -> ";
  llvm::interleaveComma(
      op.results, os, [&](unsigned value) { os << type(graph.values[value]); });
  os << "\n";
}

void Printer::printQuantization(const Op &op) {
  bool isQuantize = op.kind == Op::Kind::Quantize;
  os << "  " << names(op.results) << " = norm."
     << (isQuantize ? "quantize " : "dequantize ") << name(op.operands[0]);
  unsigned next = 1;
  if (op.hasScale)
    os << " scale(" << name(op.operands[next++]) << ")";
  if (op.hasTensorScale)
    os << " tensor_scale(" << name(op.operands[next++]) << ")";
  if (op.hasAmax)
    os << " stats(amax)";
  os << " group = [";
  llvm::interleaveComma(op.group, os);
  os << "]" << op.attributes;
  printTypes(op);
}

void Printer::printDropout(const Op &op) {
  os << "  " << name(op.results[0]) << " = norm.dropout "
     << name(op.operands[0]) << " seed(" << name(op.operands[1]) << ") offset("
     << name(op.operands[2]) << ") p = " << number(op.number, DType::F64);
  printTypes(op);
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
       << valueName(op.operands[0]) << " over ["
       << dims(op.ofRows ? Support::Row : Support::Column) << "] : " << element
       << "\n";
    return;
  case Op::Kind::Extent:
    os << "    " << results << " = norm.extent " << (op.ofRows ? "row" : "col")
       << " : " << element << "\n";
    return;
  case Op::Kind::Index:
    os << "    " << results << " = norm.index col : " << element << "\n";
    return;
  case Op::Kind::Random:
    os << "    " << results << " = norm.random " << valueName(op.operands[0])
       << ", " << valueName(op.operands[1]) << " at [" << dims(Support::Full)
       << "] : " << element << "\n";
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
  case Op::Kind::LogSoftmax:
  case Op::Kind::LogSumExp:
  case Op::Kind::L2Normalize:
  case Op::Kind::GroupNorm:
  case Op::Kind::InstanceNorm:
  case Op::Kind::BatchNorm:
    return printNamed(op);
  case Op::Kind::Transpose:
    return printTranspose(op);
  case Op::Kind::Quantize:
  case Op::Kind::Dequantize:
    return printQuantization(op);
  case Op::Kind::Dropout:
    return printDropout(op);
  case Op::Kind::Custom:
    return printCustom(op);
  default:
    return printScalarOp(graph, op, /*inBody=*/false, "%v");
  }
}

std::string Printer::layout(unsigned value) const {
  size_t rank = space.axes(graph.values[value]).size();
  if (rank < 2 || !llvm::is_contained(graph.strided, value))
    return "";
  std::string text = " {norm.layout = strided<[";
  for (size_t i = 1; i < rank; ++i)
    text += "?, ";
  return text + "1]>}";
}

std::string Printer::print() {
  for (const Op &op : graph.ops)
    printOp(op);
  std::string ops = std::move(text);
  text.clear();
  os << "func.func @main(";
  llvm::interleaveComma(graph.arguments, os, [&](unsigned value) {
    os << name(value) << ": " << type(graph.values[value]) << layout(value);
  });
  auto types = [&](bool inSignature) {
    llvm::interleaveComma(graph.outputs, os, [&](unsigned value) {
      os << type(graph.values[value]) << (inSignature ? layout(value) : "");
    });
  };
  os << ")\n    -> (";
  types(true);
  os << ") {\n"
     << preamble << ops << "  return " << names(graph.outputs) << " : ";
  types(false);
  os << "\n}\n";
  return std::move(text);
}

} // namespace

std::string fuzz::print(const Graph &graph, const Space &space) {
  return Printer(graph, space).print();
}
