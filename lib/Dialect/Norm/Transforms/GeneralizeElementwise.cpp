//===- GeneralizeElementwise.cpp - Elementwise ops as programs ------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::norm;

/// Spaces are bit sets of this many dims.
static constexpr unsigned maxDims = 64;

static bool isScalar(Type type) { return type.isIntOrIndexOrFloat(); }

static bool isScalarOrTensor(Type type) {
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    return isScalar(tensor.getElementType()) && !tensor.getEncoding() &&
           tensor.getRank() <= maxDims;
  return isScalar(type);
}

/// The name of an elementwise op without its dialect and operand kind: "add"
/// for arith.addf.
static StringRef getShortName(Operation *op) {
  StringRef name = op->getName().stripDialect();
  if (!isa<arith::ArithDialect>(op->getDialect()))
    return name;
  for (StringRef suffix : {"f", "si", "ui", "i"})
    if (name.size() > suffix.size() + 1 && name.consume_back(suffix))
      break;
  return name;
}

/// Every target has to give the same bits: a licence to contract or reassociate
/// is not made use of, nor passed on.
static void dropFastMath(Operation *op) {
  auto fastMath = dyn_cast<arith::ArithFastMathInterface>(op);
  if (!fastMath)
    return;
  arith::FastMathFlagsAttr flags = fastMath.getFastMathFlagsAttr();
  if (!flags || flags.getValue() == arith::FastMathFlags::none)
    return;
  // Conversions have flags only where there are some.
  if (isa<arith::ExtFOp, arith::TruncFOp>(op))
    op->removeAttr(fastMath.getFastMathAttrName());
  else
    op->setAttr(fastMath.getFastMathAttrName(),
                arith::FastMathFlagsAttr::get(op->getContext(),
                                              arith::FastMathFlags::none));
}

static SmallVector<std::string> getElementwiseNames(unsigned rank) {
  return rank == 0 ? SmallVector<std::string>() : getSpaceNames(rank - 1, 1);
}

//===----------------------------------------------------------------------===//
// Elementwise ops on tensors
//===----------------------------------------------------------------------===//

LogicalResult norm::generalizeElementwise(RewriterBase &rewriter,
                                          DimSizes &sizes, Operation *op) {
  if (!OpTrait::hasElementwiseMappableTraits(op) || op->getNumRegions() != 0 ||
      op->getNumResults() == 0 ||
      !llvm::all_of(op->getOperandTypes(), isScalarOrTensor) ||
      !llvm::all_of(op->getResultTypes(), [](Type type) {
        return isa<RankedTensorType>(type) && isScalarOrTensor(type);
      }))
    return failure();

  unsigned rank = cast<RankedTensorType>(op->getResultTypes()[0]).getRank();
  AffineMap identity = rewriter.getMultiDimIdentityMap(rank);
  rewriter.setInsertionPoint(op);
  ProgramBuilder program(rewriter, sizes, op->getLoc(),
                         getElementwiseNames(rank));
  SmallVector<unsigned> inputs;
  for (Value operand : op->getOperands())
    inputs.push_back(program.addInput(operand, identity));
  SmallVector<Type> elementTypes;
  for (Type type : op->getResultTypes()) {
    program.addOutput(cast<RankedTensorType>(type), identity);
    elementTypes.push_back(getElementTypeOrSelf(type));
  }

  program.begin();
  SmallVector<Value> operands = llvm::map_to_vector(
      inputs, [&](unsigned input) { return program.getValue(input); });
  Operation *scalar =
      rewriter.create(op->getLoc(), op->getName().getIdentifier(), operands,
                      elementTypes, op->getAttrs());
  dropFastMath(scalar);
  GenericOp generic = program.finish(scalar->getResults(), getShortName(op));
  rewriter.replaceOp(op, generic.getResults());
  return success();
}

void norm::generalizeSplat(RewriterBase &rewriter, DimSizes &sizes,
                           Value tensor) {
  auto type = cast<RankedTensorType>(tensor.getType());
  AffineMap identity = rewriter.getMultiDimIdentityMap(type.getRank());
  rewriter.setInsertionPointAfterValue(tensor);
  ProgramBuilder program(rewriter, sizes, tensor.getLoc(),
                         getElementwiseNames(type.getRank()));
  unsigned input = program.addInput(tensor, identity);
  program.addOutput(type, identity);
  program.begin();
  Value value = program.getValue(input);
  rewriter.replaceAllUsesWith(tensor,
                              program.finish(value, "splat").getResult(0));
}

//===----------------------------------------------------------------------===//
// linalg
//===----------------------------------------------------------------------===//

/// Whether a map names for each axis one dim, or 0 on an axis of size 1.
static bool isProgramMap(AffineMap map, Type type) {
  llvm::SmallBitVector seen(map.getNumDims());
  for (auto [axis, expr] : llvm::enumerate(map.getResults())) {
    if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
      if (seen.test(dim.getPosition()))
        return false;
      seen.set(dim.getPosition());
      continue;
    }
    auto constant = dyn_cast<AffineConstantExpr>(expr);
    if (!constant || constant.getValue() != 0 ||
        cast<ShapedType>(type).getDimSize(axis) != 1)
      return false;
  }
  return true;
}

static bool isElementwiseSpace(linalg::LinalgOp op) {
  if (!op.hasPureTensorSemantics() || op.getNumLoops() > maxDims ||
      op.getNumLoops() != op.getNumParallelLoops())
    return false;
  for (OpOperand &operand : op->getOpOperands()) {
    AffineMap map = op.getMatchingIndexingMap(&operand);
    if (!isScalarOrTensor(operand.get().getType()) ||
        map.getNumSymbols() != 0 ||
        !isProgramMap(map, operand.get().getType()) ||
        (op.isDpsInit(&operand) && !map.isPermutation()))
      return false;
  }
  return true;
}

/// Whether the body is made of scalar elementwise ops, constants and indices,
/// and captures scalars only, which are collected.
static bool isElementwiseBody(linalg::GenericOp op,
                              llvm::SetVector<Value> &captured) {
  for (Operation &inner : *op.getBody()) {
    bool known = isa<linalg::YieldOp, linalg::IndexOp>(inner) ||
                 inner.hasTrait<OpTrait::ConstantLike>() ||
                 OpTrait::hasElementwiseMappableTraits(&inner);
    if (!known || inner.getNumRegions() != 0 ||
        !llvm::all_of(inner.getResultTypes(), isScalar))
      return false;
    for (Value operand : inner.getOperands()) {
      if (operand.getParentRegion() == &op.getRegion())
        continue;
      if (!isScalar(operand.getType()))
        return false;
      captured.insert(operand);
    }
  }
  return true;
}

static StringRef getBodyName(Block &body, StringRef ofCopy) {
  Operation *only = nullptr;
  for (Operation &op : body.without_terminator()) {
    if (op.hasTrait<OpTrait::ConstantLike>() || isa<linalg::IndexOp>(op))
      continue;
    if (only)
      return "elementwise";
    only = &op;
  }
  return only ? getShortName(only) : ofCopy;
}

LogicalResult norm::generalizeLinalg(RewriterBase &rewriter, DimSizes &sizes,
                                     linalg::LinalgOp linalgOp) {
  if (!isElementwiseSpace(linalgOp))
    return failure();
  rewriter.setInsertionPoint(linalgOp);
  StringRef ofCopy = isa<linalg::TransposeOp>(linalgOp)   ? "transpose"
                     : isa<linalg::BroadcastOp>(linalgOp) ? "broadcast"
                                                          : "copy";
  auto op = dyn_cast<linalg::GenericOp>(linalgOp.getOperation());
  if (!op) {
    FailureOr<linalg::GenericOp> generic =
        linalg::generalizeNamedOp(rewriter, linalgOp);
    if (failed(generic))
      return failure();
    op = *generic;
    rewriter.setInsertionPoint(op);
  }
  llvm::SetVector<Value> captured;
  if (!isElementwiseBody(op, captured))
    return failure();

  // The space is numbered by the axes of the first output, whatever order the
  // loops have.
  AffineMap first = op.getIndexingMapsArray()[op.getNumDpsInputs()];
  AffineMap toLoops = inversePermutation(first);
  ProgramBuilder program(rewriter, sizes, op.getLoc(),
                         getElementwiseNames(op.getNumLoops()));
  SmallVector<std::pair<Value, unsigned>> inputs;
  for (OpOperand &operand : op->getOpOperands()) {
    AffineMap map = op.getMatchingIndexingMap(&operand).compose(toLoops);
    BlockArgument argument = op.getMatchingBlockArgument(&operand);
    if (!argument.use_empty())
      inputs.emplace_back(argument, program.addInput(operand.get(), map));
    else
      program.addShape(operand.get(), map);
    if (op.isDpsInit(&operand))
      program.addOutput(cast<RankedTensorType>(operand.get().getType()), map);
  }
  for (Value value : captured)
    inputs.emplace_back(value, program.addScalar(value));

  program.begin();
  IRMapping mapping;
  for (auto [value, input] : inputs)
    mapping.map(value, program.getValue(input));
  for (Operation &inner : op.getBody()->without_terminator()) {
    if (auto index = dyn_cast<linalg::IndexOp>(inner)) {
      std::optional<unsigned> dim =
          first.getResultPosition(rewriter.getAffineDimExpr(index.getDim()));
      StringRef name = program.getDimName(*dim);
      mapping.map(index.getResult(),
                  IndexOp::create(rewriter, inner.getLoc(), index.getType(),
                                  rewriter.getStringAttr(name))
                      .getResult());
      continue;
    }
    dropFastMath(rewriter.clone(inner, mapping));
  }
  SmallVector<Value> yielded =
      llvm::map_to_vector(op.getBody()->getTerminator()->getOperands(),
                          [&](Value value) { return mapping.lookup(value); });
  GenericOp generic =
      program.finish(yielded, getBodyName(*op.getBody(), ofCopy));
  rewriter.replaceOp(op, generic.getResults());
  return success();
}
