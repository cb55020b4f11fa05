//===- ProgramText.cpp - A program as a text that identifies it -*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Analysis/ProgramText.h"

#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::norm;

namespace {
class Printer {
public:
  explicit Printer(GenericOp program) : program(program), stream(text) {
    // Ops name dims by text.
    for (unsigned dim = 0; dim < program.getNumDims(); ++dim)
      dims[program.getDimName(dim)] = dim;
    names.addReplacement([this](StringAttr name) -> std::optional<Attribute> {
      auto found = dims.find(name.getValue());
      if (found == dims.end())
        return std::nullopt;
      return StringAttr::get(name.getContext(),
                             "d" + std::to_string(found->second));
    });
  }

  std::string print();

private:
  void printOperand(OpOperand &operand);
  void printOp(Operation &op);
  void printRegion(Region &region);
  void number(Value value) {
    unsigned next = numbers.size();
    numbers.try_emplace(value, next);
  }

  GenericOp program;
  std::string text;
  llvm::raw_string_ostream stream;
  llvm::StringMap<unsigned> dims;
  llvm::DenseMap<Value, unsigned> numbers;
  AttrTypeReplacer names;
};
} // namespace

static void printType(llvm::raw_ostream &stream, Type type) {
  stream << getElementTypeOrSelf(type);
  auto shaped = dyn_cast<ShapedType>(type);
  if (!shaped)
    return;
  stream << '[';
  for (auto [axis, extent] : llvm::enumerate(shaped.getShape())) {
    stream << (axis ? "x" : "");
    if (ShapedType::isDynamic(extent))
      stream << '?';
    else
      stream << extent;
  }
  stream << ']';
}

void Printer::printOperand(OpOperand &operand) {
  unsigned index = operand.getOperandNumber();
  stream << (index < program.getInputs().size() ? "in " : "out ");
  printType(stream, operand.get().getType());
  stream << " [";
  llvm::interleaveComma(program.getMap(index).getResults(), stream);
  stream << "]\n";
}

void Printer::printRegion(Region &region) {
  for (Block &block : region) {
    for (BlockArgument argument : block.getArguments())
      number(argument);
    for (Operation &op : block)
      printOp(op);
  }
}

void Printer::printOp(Operation &op) {
  for (Value result : op.getResults())
    number(result);
  stream << op.getName() << '(';
  llvm::interleaveComma(op.getOperands(), stream, [&](Value operand) {
    stream << '%' << numbers.lookup(operand);
  });
  stream << ')';
  for (NamedAttribute attr : op.getAttrDictionary())
    stream << ' ' << attr.getName().getValue() << '='
           << names.replace(attr.getValue());
  for (Type type : op.getResultTypes()) {
    stream << ' ';
    printType(stream, type);
  }
  stream << '\n';
  for (Region &region : op.getRegions()) {
    stream << "{\n";
    printRegion(region);
    stream << "}\n";
  }
}

std::string Printer::print() {
  for (OpOperand &operand : program->getOpOperands())
    printOperand(operand);
  printRegion(program->getRegion(0));
  return text;
}

std::string mlir::norm::printProgramText(GenericOp program) {
  return Printer(program).print();
}

std::string mlir::norm::summarizeProgram(GenericOp program) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  auto printTypes = [&](ValueRange operands) {
    llvm::interleaveComma(operands, stream, [&](Value operand) {
      printType(stream, operand.getType());
    });
  };
  printTypes(program.getInputs());
  stream << (program.getInputs().empty() ? "-> " : " -> ");
  printTypes(program.getOutputs());
  stream << ", " << program.getBlock()->getOperations().size() - 1 << " ops";
  return text;
}

std::string mlir::norm::printOrder(OrderAttr order) {
  std::string text = "leaf=" + std::to_string(order.getLeaf()) +
                     ",lanes=" + std::to_string(order.getLanes());
  if (order.getInner())
    text += ",inner=" + std::to_string(order.getInner());
  return text;
}
