//===- SplitForLayouts.cpp - Programs on memory with gaps -----------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SplitForLayouts.h"

#include "ReadPath.h"

#include "norm/Dialect/Norm/Transforms/Passes.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::norm;

/// The layout that a function declares for a value, if it's an argument.
static StridedLayoutAttr getLayout(FunctionOpInterface function, Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument || argument.getOwner() != &function.getFunctionBody().front())
    return {};
  return function.getArgAttrOfType<StridedLayoutAttr>(
      argument.getArgNumber(), NormDialect::kLayoutAttrName);
}

FailureOr<MemRefType> norm::getViewType(FunctionOpInterface function,
                                        Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  if (auto collapse = value.getDefiningOp<tensor::CollapseShapeOp>()) {
    FailureOr<MemRefType> source = getViewType(function, collapse.getSrc());
    SmallVector<ReassociationIndices> groups =
        collapse.getReassociationIndices();
    if (failed(source) ||
        !memref::CollapseShapeOp::isGuaranteedCollapsible(*source, groups))
      return failure();
    return memref::CollapseShapeOp::computeCollapsedType(*source, groups);
  }
  if (auto buffer = value.getDefiningOp<bufferization::ToTensorOp>())
    return cast<MemRefType>(buffer.getBuffer().getType());
  if (auto expand = value.getDefiningOp<tensor::ExpandShapeOp>()) {
    FailureOr<MemRefType> source = getViewType(function, expand.getSrc());
    if (failed(source))
      return failure();
    return memref::ExpandShapeOp::computeExpandedType(
        *source, type.getShape(), expand.getReassociationIndices());
  }
  return getBoundaryType(type, /*hasPitch=*/false, getLayout(function, value));
}

/// Puts the split program into the place of the other.
static void replaceProgram(RewriterBase &rewriter, DimSplit &split,
                           const DimSplit::Operands &operands) {
  GenericOp op = split.getProgram();
  rewriter.setInsertionPoint(op);
  FailureOr<GenericOp> made = split.build(rewriter, operands);
  if (failed(made))
    return;
  split.replaceResults(rewriter, *made);
  rewriter.eraseOp(op);
}

static void splitReader(RewriterBase &rewriter, FunctionOpInterface function,
                        GenericOp op) {
  DimSplit split(op);
  DimSizes sizes(rewriter);
  SmallVector<ReadPath> paths;
  for (OpOperand &operand : op->getOpOperands())
    if (isa<RankedTensorType>(operand.get().getType()) &&
        failed(getViewType(function, operand.get())))
      paths.emplace_back(split, operand, sizes);
  rewriter.setInsertionPoint(op);
  for (ReadPath &path : paths)
    if (failed(path.follow()))
      return;
  DimSplit::Operands operands;
  for (const ReadPath &path : paths) {
    FailureOr<AffineMap> map = path.getMap();
    if (failed(map))
      return;
    auto source = cast<RankedTensorType>(path.getSource().getType());
    for (int64_t axis = 0; axis < source.getRank(); ++axis)
      if (!path.getParts(axis).empty())
        return;
    operands[path.getOperandNumber()] = {path.getSource(), *map};
  }
  if (!paths.empty())
    replaceProgram(rewriter, split, operands);
}

/// The same for a program whose result `expand` splits for a result of the
/// function with a layout.
static void splitWriter(RewriterBase &rewriter, tensor::ExpandShapeOp expand,
                        StridedLayoutAttr layout) {
  auto op = expand.getSrc().getDefiningOp<GenericOp>();
  MemRefType memory =
      getBoundaryType(expand.getResultType(), /*hasPitch=*/false, layout);
  SmallVector<ReassociationIndices> groups = expand.getReassociationIndices();
  if (!op || memref::CollapseShapeOp::isGuaranteedCollapsible(memory, groups))
    return;
  DimSplit split(op);
  unsigned result = cast<OpResult>(expand.getSrc()).getResultNumber();
  AffineMap written = op.getMap(op.getInputs().size() + result);
  SmallVector<OpFoldResult> sizes = expand.getMixedOutputShape();
  for (auto [expr, group] : llvm::zip_equal(written.getResults(), groups)) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (group.size() == 1)
      continue;
    if (!dim || !split.add(dim.getPosition(),
                           ArrayRef(sizes).slice(group.front(), group.size())))
      return;
  }
  // The sizes have to be there where the program is.
  for (OpFoldResult size : sizes)
    if (auto value = dyn_cast<Value>(size))
      if (Operation *def = value.getDefiningOp())
        if (def->getBlock() != op->getBlock() || !def->isBeforeInBlock(op))
          return;
  replaceProgram(rewriter, split, DimSplit::Operands());
}

void norm::splitForLayouts(RewriterBase &rewriter,
                           FunctionOpInterface function) {
  Region &body = function.getFunctionBody();
  if (!body.hasOneBlock())
    return;
  Operation *terminator = body.front().getTerminator();
  if (terminator->getNumOperands() != function.getNumResults())
    return;
  for (auto [index, value] : llvm::enumerate(terminator->getOperands()))
    if (auto layout = function.getResultAttrOfType<StridedLayoutAttr>(
            index, NormDialect::kLayoutAttrName))
      if (auto expand = value.getDefiningOp<tensor::ExpandShapeOp>())
        splitWriter(rewriter, expand, layout);
  SmallVector<GenericOp> programs;
  function->walk([&](GenericOp op) { programs.push_back(op); });
  for (GenericOp op : programs)
    splitReader(rewriter, function, op);
}
