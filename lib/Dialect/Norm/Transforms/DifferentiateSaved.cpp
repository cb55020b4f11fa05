//===- DifferentiateSaved.cpp - What the forward keeps for the backward ---===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DifferentiateProgram.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::norm;

SmallVector<Value> norm::findStatistics(GenericOp program) {
  llvm::DenseMap<Value, uint64_t> supports = program.computeSupports();
  uint64_t rows = llvm::maskTrailingOnes<uint64_t>(program.getNumDims());
  llvm::DenseSet<Value> reduced;
  SmallVector<Value> statistics;
  for (Operation &op : *program.getBlock()) {
    auto reduce = dyn_cast<ReduceOp>(op);
    bool isReduced =
        reduce || llvm::any_of(op.getOperands(), [&](Value operand) {
          return reduced.contains(operand);
        });
    if (reduce)
      for (StringRef name : reduce.getDims().getAsValueRange<StringAttr>())
        rows &= ~(uint64_t(1) << *program.getDimNumber(name));
    if (isReduced)
      reduced.insert(op.result_begin(), op.result_end());
  }
  for (Operation &op : *program.getBlock())
    for (Value result : op.getResults()) {
      // A kernel's outputs by row have all row dims.
      bool isOfRow = reduced.contains(result) &&
                     supports.lookup(result) == rows &&
                     (result.getType().isF32() || result.getType().isF64());
      bool isSpread = llvm::any_of(result.getUsers(), [&](Operation *user) {
        return user->getNumResults() != 0 &&
               supports.lookup(user->getResult(0)) != rows;
      });
      if (isOfRow && isSpread)
        statistics.push_back(result);
    }
  return statistics;
}

std::pair<RankedTensorType, AffineMap> norm::getSavedType(GenericOp program,
                                                          Value value) {
  uint64_t support = program.computeSupports().lookup(value);
  SmallVector<int64_t> extents = program.getExtents(), shape;
  SmallVector<AffineExpr> exprs;
  for (unsigned dim = 0, e = program.getNumDims(); dim != e; ++dim)
    if (support >> dim & 1) {
      shape.push_back(extents[dim]);
      exprs.push_back(getAffineDimExpr(dim, program.getContext()));
    }
  return {RankedTensorType::get(shape, value.getType()),
          AffineMap::get(program.getNumDims(), 0, exprs, program.getContext())};
}

/// A tensor.empty for values along the dims of a map.
static Value makeDestination(RewriterBase &rewriter, DimSizes &sizes,
                             GenericOp program, RankedTensorType type,
                             AffineMap map) {
  SmallVector<Value> dynamic;
  for (auto [axis, expr] : llvm::enumerate(map.getResults())) {
    if (!type.isDynamicDim(axis))
      continue;
    auto [operand, from] =
        program.getExtentSource(cast<AffineDimExpr>(expr).getPosition());
    dynamic.push_back(
        sizes.get(program.getLoc(), program->getOperand(operand), from));
  }
  return tensor::EmptyOp::create(rewriter, program.getLoc(), type, dynamic);
}

SmallVector<Value> norm::yieldToo(RewriterBase &rewriter, DimSizes &sizes,
                                  GenericOp program, ArrayRef<Value> values) {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(program);
  SmallVector<Value> outputs(program.getOutputs());
  SmallVector<AffineMap> maps;
  for (unsigned i = 0, e = program->getNumOperands(); i != e; ++i)
    maps.push_back(program.getMap(i));
  for (Value value : values) {
    auto [type, map] = getSavedType(program, value);
    outputs.push_back(makeDestination(rewriter, sizes, program, type, map));
    maps.push_back(map);
  }
  SmallVector<StringRef> names(program.getDims().getAsValueRange<StringAttr>());
  auto widened = GenericOp::create(rewriter, program.getLoc(),
                                   program.getInputs(), outputs, names, maps);
  for (StringRef attr : {"name", "order", "schedule"})
    if (Attribute value = program->getAttr(attr))
      widened->setAttr(attr, value);
  IRMapping mapping;
  for (BlockArgument argument : program.getBlock()->getArguments())
    mapping.map(argument,
                widened.getBlock()->getArgument(argument.getArgNumber()));
  rewriter.setInsertionPointToEnd(widened.getBlock());
  for (Operation &op : program.getBlock()->without_terminator())
    rewriter.clone(op, mapping);
  SmallVector<Value> yielded;
  for (Value value : program.getBlock()->getTerminator()->getOperands())
    yielded.push_back(mapping.lookup(value));
  for (Value value : values)
    yielded.push_back(mapping.lookup(value));
  YieldOp::create(rewriter, program.getLoc(), yielded);
  unsigned count = program.getNumResults();
  rewriter.replaceOp(program, widened.getResults().take_front(count));
  return llvm::to_vector_of<Value>(widened.getResults().drop_front(count));
}
