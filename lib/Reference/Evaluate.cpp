//===- Evaluate.cpp - Evaluation of functions -----------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Evaluator.h"
#include "ScalarOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "norm/Dialect/Norm/IR/Norm.h"
#include "norm/Reference/Reference.h"

using namespace mlir;
using namespace ::norm;
using namespace ::norm::reference;

static std::string shapeText(llvm::ArrayRef<int64_t> shape, DType type) {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (int64_t extent : shape) {
    if (ShapedType::isDynamic(extent))
      os << "?x";
    else
      os << extent << 'x';
  }
  os << name(type);
  return text;
}

/// An input as an array, checked against the argument's type.
static llvm::Expected<Array> toArray(func::FuncOp function, unsigned number,
                                     const Tensor &input) {
  Type type = function.getArgumentTypes()[number];
  std::optional<DType> dtype = dtypeOf(type);
  auto shaped = dyn_cast<RankedTensorType>(type);
  if (!dtype || (!shaped && !type.isIntOrIndexOrFloat()))
    return errorAt(function, "has argument #" + llvm::Twine(number) +
                                 " of a type that the reference can't "
                                 "evaluate");
  llvm::ArrayRef<int64_t> expected =
      shaped ? shaped.getShape() : llvm::ArrayRef<int64_t>();
  bool isFit = *dtype == input.dtype && expected.size() == input.shape.size();
  for (size_t i = 0; isFit && i < expected.size(); ++i)
    isFit = input.shape[i] >= 0 && (ShapedType::isDynamic(expected[i]) ||
                                    expected[i] == input.shape[i]);
  if (!isFit)
    return errorAt(function, "expects argument #" + llvm::Twine(number) +
                                 " as " + shapeText(expected, *dtype) +
                                 " but got " +
                                 shapeText(input.shape, input.dtype));
  size_t count = size_t(countElements(input.shape));
  if (input.value.size() != count ||
      (!input.bound.empty() && input.bound.size() != count))
    return errorAt(function, "expects " + llvm::Twine(count) +
                                 " values for argument #" +
                                 llvm::Twine(number) + " but got " +
                                 llvm::Twine(input.value.size()));
  Array array;
  array.type = *dtype;
  array.shape.assign(input.shape.begin(), input.shape.end());
  array.value = input.value;
  array.bound = input.bound;
  return array;
}

static Tensor toTensor(Array array) {
  Tensor tensor;
  tensor.dtype = array.type;
  tensor.shape.assign(array.shape.begin(), array.shape.end());
  tensor.value = std::move(array.value);
  tensor.bound = std::move(array.bound);
  return tensor;
}

static llvm::Expected<Arrays> single(llvm::Expected<Array> result) {
  if (!result)
    return result.takeError();
  Arrays results;
  results.push_back(std::move(*result));
  return results;
}

static llvm::Expected<Arrays> evaluateOp(Operation *op, const Scope &scope) {
  auto operands = scope.operandsOf(op);
  if (!operands)
    return operands.takeError();
  if (isNamedOp(op))
    return evaluateNamedOp(op, *operands);
  if (auto program = dyn_cast<mlir::norm::GenericOp>(op))
    return evaluateGeneric(program, *operands);
  if (auto loops = dyn_cast<linalg::LinalgOp>(op))
    return evaluateLinalg(loops, *operands, scope);
  if (isTensorOp(op))
    return single(evaluateTensorOp(op, *operands));
  if (op->hasTrait<OpTrait::ConstantLike>())
    return single(evaluateConstant(op));
  if (op->getNumRegions() == 0 && op->getNumResults() == 1)
    return single(evaluateElementwise(op, *operands));
  return errorAt(op, "can't be evaluated by the reference");
}

static llvm::Expected<std::vector<Tensor>>
evaluateFunction(func::FuncOp function, llvm::ArrayRef<Tensor> inputs) {
  if (function.isExternal() || !function.getBody().hasOneBlock())
    return errorAt(function, "expects a body of one block for the reference");
  if (inputs.size() != function.getNumArguments())
    return errorAt(function,
                   "expects " + llvm::Twine(function.getNumArguments()) +
                       " inputs but got " + llvm::Twine(inputs.size()));
  Scope scope;
  for (BlockArgument argument : function.getArguments()) {
    unsigned number = argument.getArgNumber();
    llvm::Expected<Array> array = toArray(function, number, inputs[number]);
    if (!array)
      return array.takeError();
    scope.define(argument, std::move(*array));
  }
  Block &block = function.getBody().front();
  for (Operation &op : block.without_terminator()) {
    llvm::Expected<Arrays> results = evaluateOp(&op, scope);
    if (!results)
      return results.takeError();
    scope.release(&op);
    for (auto [value, array] : llvm::zip(op.getResults(), *results))
      scope.define(value, std::move(array));
  }
  auto operands = scope.operandsOf(block.getTerminator());
  if (!operands)
    return operands.takeError();
  std::vector<Tensor> results;
  for (const Array *operand : *operands)
    results.push_back(toTensor(*operand));
  return results;
}

/// The function of that name, or the only one for an empty name.
static llvm::Expected<func::FuncOp> findFunction(ModuleOp module,
                                                 llvm::StringRef entry) {
  if (!entry.empty()) {
    if (auto function = module.lookupSymbol<func::FuncOp>(entry))
      return function;
    return llvm::createStringError("expects a function '" + entry +
                                   "' but the module has none of that name");
  }
  auto functions = llvm::to_vector(module.getOps<func::FuncOp>());
  if (functions.size() == 1)
    return functions.front();
  return llvm::createStringError("expects one function, or the name of one, "
                                 "but the module has " +
                                 llvm::Twine(functions.size()));
}

llvm::Expected<std::vector<Tensor>>
reference::evaluate(ModuleOp module, llvm::StringRef entry,
                    llvm::ArrayRef<Tensor> inputs) {
  llvm::Expected<func::FuncOp> function = findFunction(module, entry);
  if (!function)
    return function.takeError();
  return evaluateFunction(*function, inputs);
}

llvm::Expected<std::vector<Tensor>>
reference::evaluate(llvm::StringRef text, llvm::StringRef fileName,
                    llvm::StringRef entry, llvm::ArrayRef<Tensor> inputs,
                    MathMode math) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<arith::ArithDialect, func::FuncDialect,
                      linalg::LinalgDialect, math::MathDialect,
                      mlir::norm::NormDialect, tensor::TensorDialect>();
  std::string message;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    // The first error tells the cause.
    if (message.empty() &&
        diagnostic.getSeverity() == DiagnosticSeverity::Error) {
      llvm::raw_string_ostream os(message);
      if (auto loc = diagnostic.getLocation()->findInstanceOf<FileLineColLoc>())
        os << loc.getFilename().getValue() << ':' << loc.getLine() << ':'
           << loc.getColumn() << ": ";
      os << diagnostic.str();
    }
    return success();
  });
  OwningOpRef<ModuleOp> module =
      parseSourceString<ModuleOp>(text, ParserConfig(&context), fileName);
  if (!module)
    return llvm::createStringError(message.empty() ? "can't parse the module"
                                                   : message.c_str());
  if (math == MathMode::Hardware)
    allowHardware(*module);
  return evaluate(*module, entry, inputs);
}
