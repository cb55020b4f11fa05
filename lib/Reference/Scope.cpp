//===- Scope.cpp - Values, constants and elementwise ops ------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Evaluator.h"
#include "ScalarOps.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/OpDefinition.h"

using namespace mlir;
using namespace ::norm;
using namespace ::norm::reference;

llvm::Error reference::errorAt(Operation *op, const llvm::Twine &message) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (auto loc = op->getLoc()->findInstanceOf<FileLineColLoc>())
    os << loc.getFilename().getValue() << ':' << loc.getLine() << ':'
       << loc.getColumn() << ": ";
  os << '\'' << op->getName() << "' op " << message;
  return llvm::createStringError(text);
}

void Scope::define(Value value, Array array) {
  int64_t uses = std::distance(value.use_begin(), value.use_end());
  if (uses != 0)
    entries[value] = {std::move(array), uses};
}

const Array *Scope::lookup(Value value) const {
  auto it = entries.find(value);
  return it == entries.end() ? nullptr : &it->second.array;
}

llvm::Expected<llvm::SmallVector<const Array *>>
Scope::operandsOf(Operation *op) const {
  llvm::SmallVector<const Array *> operands;
  for (Value operand : op->getOperands()) {
    operands.push_back(lookup(operand));
    if (!operands.back())
      return errorAt(op, "takes a value that the reference can't evaluate");
  }
  return operands;
}

void Scope::release(Operation *op) {
  for (Value operand : op->getOperands()) {
    auto it = entries.find(operand);
    if (it != entries.end() && --it->second.uses == 0)
      entries.erase(it);
  }
}

static Element constantElement(DType, const llvm::APFloat &value) {
  llvm::APFloat wide = value;
  bool losesInfo;
  wide.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven,
               &losesInfo);
  return {wide.convertToDouble(), 0};
}

static Element constantElement(DType type, const llvm::APInt &value) {
  int64_t number =
      type == DType::I1 ? int64_t(value.getZExtValue()) : value.getSExtValue();
  if (std::abs(double(number)) > 0x1p53)
    return unknown(double(number));
  return {double(number), 0};
}

template <typename Value>
static void fillFrom(DenseElementsAttr elements, Array &array) {
  if (elements.isSplat())
    return array.fill(
        constantElement(array.type, elements.getSplatValue<Value>()));
  int64_t i = 0;
  for (Value value : elements.getValues<Value>())
    array.set(i++, constantElement(array.type, value));
}

llvm::Expected<Array> reference::evaluateConstant(Operation *op) {
  Attribute attribute;
  if (!matchPattern(op, m_Constant(&attribute)))
    return errorAt(op, "is no constant that the reference can evaluate");
  std::optional<DType> type = dtypeOf(op->getResult(0).getType());
  if (!type)
    return errorAt(op, "has a type that the reference can't evaluate");
  if (auto number = dyn_cast<FloatAttr>(attribute)) {
    Array array(*type, {});
    array.set(0, constantElement(*type, number.getValue()));
    return array;
  }
  if (auto number = dyn_cast<IntegerAttr>(attribute)) {
    Array array(*type, {});
    array.set(0, constantElement(*type, number.getValue()));
    return array;
  }
  auto elements = dyn_cast<DenseElementsAttr>(attribute);
  if (!elements)
    return errorAt(op, "expects a dense constant for the reference");
  if (isTooLarge(elements.getType().getShape()))
    return errorAt(op, "expects at most 2^30 elements for the reference");
  Array array(*type, elements.getType().getShape());
  if (isFloat(*type))
    fillFrom<llvm::APFloat>(elements, array);
  else
    fillFrom<llvm::APInt>(elements, array);
  return array;
}

/// Whether extents are equal or 1 along each dim; gives those of the result.
static bool canBroadcast(llvm::ArrayRef<const Array *> operands, Shape &shape) {
  shape.assign(operands.front()->shape.size(), 1);
  for (auto [dim, extent] : llvm::enumerate(shape))
    for (const Array *operand : operands) {
      int64_t own = operand->shape[dim];
      if (own != 1 && extent != 1 && own != extent)
        return false;
      if (own != 1)
        extent = own;
    }
  return true;
}

llvm::Expected<Array>
reference::evaluateElementwise(Operation *op,
                               llvm::ArrayRef<const Array *> in) {
  for (Type type : op->getOperandTypes())
    if (!dtypeOf(type))
      return errorAt(op, "takes a type that the reference can't evaluate");
  for (Type type : op->getResultTypes())
    if (!dtypeOf(type))
      return errorAt(op, "yields a type that the reference can't evaluate");
  ScalarFunction function;
  if (!in.empty())
    function = scalarFunctionOf(op);
  if (!function)
    return errorAt(op, "can't be evaluated by the reference");
  // A select of tensors may have a scalar condition.
  size_t rank = 0;
  for (const Array *operand : in)
    rank = std::max(rank, operand->shape.size());
  llvm::SmallVector<Array, 2> scalars;
  scalars.reserve(in.size());
  llvm::SmallVector<const Array *, 4> operands;
  for (const Array *operand : in) {
    if (operand->shape.size() == rank) {
      operands.push_back(operand);
      continue;
    }
    Array &scalar = scalars.emplace_back(*operand);
    scalar.shape.assign(rank, 1);
    operands.push_back(&scalar);
  }
  Shape shape;
  if (!canBroadcast(operands, shape))
    return errorAt(op, "expects operands of one shape");
  if (isTooLarge(shape))
    return errorAt(op, "expects at most 2^30 elements for the reference");
  return mapElements(*dtypeOf(op->getResult(0).getType()), operands, function);
}
