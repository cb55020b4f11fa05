//===- NormFolds.cpp - folds of the norm dialect ---------------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Dialect/Norm/IR/Norm.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace mlir::norm;

OpFoldResult ExtentOp::fold(FoldAdaptor) {
  auto program = dyn_cast_or_null<GenericOp>((*this)->getParentOp());
  if (!program)
    return {};
  std::optional<unsigned> dim = program.getDimNumber(getDim());
  if (!dim)
    return {};
  int64_t extent = program.getExtents()[*dim];
  if (ShapedType::isDynamic(extent))
    return {};
  Type type = getType();
  if (auto floating = dyn_cast<FloatType>(type)) {
    APFloat value(floating.getFloatSemantics());
    value.convertFromAPInt(APInt(64, extent), /*IsSigned=*/true,
                           APFloat::rmNearestTiesToEven);
    return FloatAttr::get(type, value);
  }
  if (!type.isIndex() &&
      !llvm::isIntN(type.getIntOrFloatBitWidth() - 1, extent))
    return {};
  return IntegerAttr::get(type, extent);
}

/// Drops inputs that the body doesn't read. An input that alone tells a dim's
/// extent stays.
LogicalResult GenericOp::canonicalize(GenericOp op, PatternRewriter &rewriter) {
  unsigned numInputs = op.getInputs().size();
  SmallVector<unsigned> uses(op.getNumDims(), 0);
  auto count = [&](unsigned operand, int change) {
    for (AffineExpr expr : op.getMap(operand).getResults())
      if (auto dim = dyn_cast<AffineDimExpr>(expr))
        uses[dim.getPosition()] += change;
  };
  auto tellsAlone = [&](unsigned operand) {
    return llvm::any_of(op.getMap(operand).getResults(), [&](AffineExpr expr) {
      auto dim = dyn_cast<AffineDimExpr>(expr);
      return dim && uses[dim.getPosition()] == 1;
    });
  };
  // A static extent must not become unknown either.
  SmallVector<int64_t> extents = op.getExtents();
  auto staysStatic = [&](unsigned dropped) {
    SmallVector<bool> known(op.getNumDims(), false);
    for (OpOperand &operand : op->getOpOperands()) {
      if (operand.getOperandNumber() == dropped)
        continue;
      ArrayRef<int64_t> shape = op.getShape(&operand);
      AffineMap map = op.getMatchingIndexingMap(&operand);
      for (auto [axis, expr] : llvm::enumerate(map.getResults()))
        if (auto dim = dyn_cast<AffineDimExpr>(expr))
          if (ShapedType::isStatic(shape[axis]))
            known[dim.getPosition()] = true;
    }
    for (auto [extent, isKnown] : llvm::zip(extents, known))
      if (ShapedType::isStatic(extent) && !isKnown)
        return false;
    return true;
  };
  for (unsigned i = 0, e = op->getNumOperands(); i != e; ++i)
    count(i, 1);
  for (unsigned i = 0; i != numInputs; ++i) {
    BlockArgument argument = op.getBlock()->getArgument(i);
    if (!argument.use_empty() || tellsAlone(i) || !staysStatic(i))
      continue;
    SmallVector<Attribute> maps(op.getIndexingMaps().getValue());
    maps.erase(maps.begin() + i);
    rewriter.modifyOpInPlace(op, [&] {
      op.getInputsMutable().erase(i);
      op.getBlock()->eraseArgument(i);
      op.setIndexingMapsAttr(rewriter.getArrayAttr(maps));
    });
    return success();
  }
  return failure();
}
