//===- ProgramBuilder.cpp - Building norm.generic from tensor ops ---------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;
using namespace mlir::norm;

//===----------------------------------------------------------------------===//
// Splats and sizes
//===----------------------------------------------------------------------===//

static Splat getScalar(Value value) {
  Attribute attr;
  if (matchPattern(value, m_Constant(&attr)))
    if (auto typed = dyn_cast<TypedAttr>(attr))
      return {typed, nullptr};
  return {nullptr, value};
}

Splat norm::getSplat(Value tensor) {
  DenseElementsAttr elements;
  if (matchPattern(tensor, m_Constant(&elements))) {
    // Without elements any value will do.
    if (elements.getNumElements() == 0 &&
        elements.getElementType().isIntOrIndexOrFloat())
      return {
          Builder(tensor.getContext()).getZeroAttr(elements.getElementType()),
          nullptr};
    if (elements.getNumElements() != 0 && elements.isSplat())
      if (auto typed = dyn_cast<TypedAttr>(elements.getSplatValue<Attribute>()))
        return {typed, nullptr};
    return {};
  }
  if (auto splat = tensor.getDefiningOp<tensor::SplatOp>())
    return getScalar(splat.getInput());
  if (auto fill = tensor.getDefiningOp<linalg::FillOp>()) {
    Value value = fill.getInputs()[0];
    // A fill converts its value where the types differ; that is its own op.
    if (value.getType() == getElementTypeOrSelf(tensor.getType()))
      return getScalar(value);
  }
  return {};
}

Value DimSizes::get(Location loc, Value tensor, int64_t axis) {
  while (true) {
    auto type = cast<RankedTensorType>(tensor.getType());
    if (!type.isDynamicDim(axis))
      return arith::ConstantIndexOp::create(rewriter, loc,
                                            type.getDimSize(axis));
    if (auto empty = tensor.getDefiningOp<tensor::EmptyOp>())
      return cast<Value>(empty.getMixedSizes()[axis]);
    if (auto splat = tensor.getDefiningOp<tensor::SplatOp>())
      return splat.getDynamicSizes()[type.getDynamicDimIndex(axis)];
    if (auto expand = tensor.getDefiningOp<tensor::ExpandShapeOp>())
      return cast<Value>(expand.getMixedOutputShape()[axis]);
    if (auto collapse = tensor.getDefiningOp<tensor::CollapseShapeOp>()) {
      Value product;
      SmallVector<ReassociationIndices> groups =
          collapse.getReassociationIndices();
      for (int64_t from : groups[axis]) {
        Value size = get(loc, collapse.getSrc(), from);
        product = product ? arith::MulIOp::create(rewriter, loc, product, size)
                          : size;
      }
      return product;
    }
    auto op = tensor.getDefiningOp<DestinationStyleOpInterface>();
    if (!op)
      break;
    tensor = op.getTiedOpOperand(cast<OpResult>(tensor))->get();
  }
  Value &size = made[{tensor, axis}];
  if (!size) {
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPointAfterValue(tensor);
    size = tensor::DimOp::create(rewriter, loc, tensor, axis);
  }
  return size;
}

SmallVector<std::string> norm::getSpaceNames(unsigned rows, unsigned cols) {
  SmallVector<std::string> names;
  auto add = [&](StringRef prefix, unsigned count) {
    for (unsigned i = 0; i != count; ++i)
      names.push_back(i == 0 ? prefix.str() : (prefix + Twine(i)).str());
  };
  add("row", rows);
  add("col", cols);
  return names;
}

//===----------------------------------------------------------------------===//
// ProgramBuilder
//===----------------------------------------------------------------------===//

ProgramBuilder::ProgramBuilder(RewriterBase &rewriter, DimSizes &sizes,
                               Location loc, SmallVector<std::string> dims)
    : rewriter(rewriter), sizes(sizes), loc(loc), dims(std::move(dims)) {}

AffineMap ProgramBuilder::getMap(ArrayRef<unsigned> results) {
  SmallVector<AffineExpr> exprs;
  for (unsigned dim : results)
    exprs.push_back(rewriter.getAffineDimExpr(dim));
  return AffineMap::get(dims.size(), 0, exprs, rewriter.getContext());
}

unsigned ProgramBuilder::addInput(Value value, AffineMap map) {
  Splat splat;
  AffineMap scalarMap = getMap({});
  if (isa<RankedTensorType>(value.getType())) {
    shapes.emplace_back(value, map);
    splat = getSplat(value);
  } else {
    splat = getScalar(value);
    map = scalarMap;
  }
  Input input{value, nullptr, map, nullptr, nullptr, map};
  if (splat)
    input = {splat.value, splat.constant, scalarMap, nullptr, value, map};
  if (splat.constant) {
    inputs.push_back(input);
    return inputs.size() - 1;
  }
  // Each element is loaded once.
  for (auto [number, other] : llvm::enumerate(inputs))
    if (other.operand == input.operand && other.map == input.map) {
      if (map.getNumResults() > other.splatMap.getNumResults())
        std::tie(other.splat, other.splatMap) = std::pair(value, map);
      return number;
    }
  inputs.push_back(input);
  return inputs.size() - 1;
}

void ProgramBuilder::addOutput(RankedTensorType type, AffineMap map) {
  outputs.emplace_back(type, map);
}

/// A tensor.empty whose dynamic sizes are those of an operand along the same
/// dim.
Value ProgramBuilder::makeDestination(RankedTensorType type, AffineMap map) {
  SmallVector<Value> dynamicSizes;
  for (auto [axis, expr] : llvm::enumerate(map.getResults())) {
    if (!type.isDynamicDim(axis))
      continue;
    Value size;
    for (auto &[tensor, shapeMap] : shapes) {
      if (std::optional<unsigned> position = shapeMap.getResultPosition(expr)) {
        size = sizes.get(loc, tensor, *position);
        break;
      }
    }
    assert(size && "a dynamic dim of an output is one of an input");
    dynamicSizes.push_back(size);
  }
  return tensor::EmptyOp::create(rewriter, loc, type, dynamicSizes);
}

/// Reads splats as tensors where nothing else tells the extent of a dim.
void ProgramBuilder::tellExtents() {
  llvm::SmallBitVector told(dims.size());
  auto note = [&](AffineMap map) {
    bool tellsMore = false;
    for (unsigned dim = 0, e = dims.size(); dim != e; ++dim)
      if (map.isFunctionOfDim(dim) && !told.test(dim)) {
        told.set(dim);
        tellsMore = true;
      }
    return tellsMore;
  };
  for (const Input &input : inputs)
    if (input.operand)
      note(input.map);
  for (auto &[type, map] : outputs)
    note(map);
  for (Input &input : inputs)
    if (input.splat && isa<RankedTensorType>(input.splat.getType()) &&
        note(input.splatMap))
      input = {input.splat, nullptr, input.splatMap, nullptr, nullptr, {}};
}

void ProgramBuilder::begin() {
  tellExtents();
  SmallVector<Value> operands, destinations;
  SmallVector<AffineMap> maps;
  for (Input &input : inputs) {
    if (!input.operand)
      continue;
    operands.push_back(input.operand);
    maps.push_back(input.map);
  }
  for (auto &[type, map] : outputs) {
    destinations.push_back(makeDestination(type, map));
    maps.push_back(map);
  }
  SmallVector<StringRef> names(dims.begin(), dims.end());
  program =
      GenericOp::create(rewriter, loc, operands, destinations, names, maps);
  rewriter.setInsertionPointToStart(program.getBlock());
  unsigned argument = 0;
  for (Input &input : inputs)
    input.inBody =
        input.operand
            ? Value(program.getBlock()->getArgument(argument++))
            : arith::ConstantOp::create(rewriter, loc, input.constant);
}

GenericOp ProgramBuilder::finish(ValueRange yielded, StringRef name) {
  YieldOp::create(rewriter, loc, yielded);
  program.setName(name);
  rewriter.setInsertionPointAfter(program);
  return program;
}
