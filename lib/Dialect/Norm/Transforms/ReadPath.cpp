//===- ReadPath.cpp - Where the axes of a value are read ------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReadPath.h"

using namespace mlir;
using namespace mlir::norm;

ReadPath::Pieces ReadPath::dropUnits(const Pieces &pieces) {
  Pieces kept;
  llvm::copy_if(pieces, std::back_inserter(kept),
                [](const Piece &piece) { return !piece.isUnit(); });
  return kept;
}

DimParts ReadPath::getSizes(const Pieces &pieces) {
  return llvm::map_to_vector<6>(pieces,
                                [](const Piece &piece) { return piece.size; });
}

/// The size of an axis, read from where it keeps no intermediate alive; null
/// where there is no such place.
OpFoldResult ReadPath::getSize(Value tensor, int64_t axis) {
  auto type = cast<RankedTensorType>(tensor.getType());
  if (!type.isDynamicDim(axis))
    return IntegerAttr::get(IndexType::get(type.getContext()),
                            type.getDimSize(axis));
  if (auto expand = tensor.getDefiningOp<tensor::ExpandShapeOp>())
    return expand.getMixedOutputShape()[axis];
  if (auto collapse = tensor.getDefiningOp<tensor::CollapseShapeOp>()) {
    ReassociationIndices group = collapse.getReassociationIndices()[axis];
    return group.size() == 1 ? getSize(collapse.getSrc(), group[0])
                             : OpFoldResult();
  }
  return sizes.get(operand->getOwner()->getLoc(), tensor, axis);
}

void ReadPath::start() {
  auto op = cast<GenericOp>(operand->getOwner());
  AffineMap map = op.getMatchingIndexingMap(operand);
  for (auto [axis, expr] : llvm::enumerate(map.getResults())) {
    Pieces &pieces = axes.emplace_back();
    if (auto dim = dyn_cast<AffineDimExpr>(expr))
      pieces.push_back(
          {dim.getPosition(), std::nullopt, getSize(operand->get(), axis)});
  }
}

/// Spreads the pieces of an axis over the axes that were collapsed to it.
LogicalResult ReadPath::distribute(const Pieces &pieces, Value from,
                                   ArrayRef<int64_t> group,
                                   SmallVector<Pieces> &to) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(from.getType()).getShape();
  Pieces wide = dropUnits(pieces), units;
  llvm::copy_if(pieces, std::back_inserter(units),
                [](const Piece &piece) { return piece.isUnit(); });
  SmallVector<int64_t> wideAxes;
  for (int64_t axis : group) {
    if (shape[axis] != 1) {
      wideAxes.push_back(axis);
    } else if (!units.empty()) {
      to[axis].push_back(units.front());
      units.erase(units.begin());
    }
  }
  if (wideAxes.size() <= 1) {
    if (!wideAxes.empty())
      to[wideAxes[0]] = wide;
    return success();
  }
  DimParts parts;
  for (int64_t axis : wideAxes) {
    parts.push_back(getSize(from, axis));
    if (!parts.back())
      return failure();
  }
  if (wide.size() == 1 && !wide[0].part && reader.add(wide[0].dim, parts)) {
    for (auto [part, axis] : llvm::enumerate(wideAxes))
      to[axis].push_back({wide[0].dim, unsigned(part), parts[part]});
    return success();
  }
  if (!areSameParts(getSizes(wide), parts))
    return failure();
  for (auto [piece, axis] : llvm::zip_equal(wide, wideAxes))
    to[axis].push_back(piece);
  return success();
}

LogicalResult ReadPath::passCollapse(tensor::CollapseShapeOp collapse) {
  SmallVector<Pieces> to(collapse.getSrcType().getRank());
  for (auto [axis, group] :
       llvm::enumerate(collapse.getReassociationIndices())) {
    if (group.size() == 1)
      to[group[0]] = axes[axis];
    else if (failed(distribute(axes[axis], collapse.getSrc(), group, to)))
      return failure();
  }
  // A scalar has no group for the axes of its source, all of size 1.
  axes = std::move(to);
  return success();
}

void ReadPath::passExpand(tensor::ExpandShapeOp expand) {
  SmallVector<Pieces> to;
  for (const ReassociationIndices &group : expand.getReassociationIndices()) {
    Pieces &pieces = to.emplace_back();
    for (int64_t axis : group)
      llvm::append_range(pieces, axes[axis]);
  }
  axes = std::move(to);
}

LogicalResult ReadPath::follow() {
  start();
  source = operand->get();
  while (Operation *op = source.getDefiningOp()) {
    if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op)) {
      if (failed(passCollapse(collapse)))
        return failure();
    } else if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op)) {
      passExpand(expand);
    } else {
      break;
    }
    source = op->getOperand(0);
  }
  return success();
}

DimParts ReadPath::getParts(unsigned axis) const {
  Pieces wide = dropUnits(axes[axis]);
  return wide.size() > 1 ? getSizes(wide) : DimParts();
}

FailureOr<AffineMap> ReadPath::getMap() const {
  MLIRContext *context = source.getContext();
  SmallVector<AffineExpr> exprs;
  for (const Pieces &pieces : axes) {
    Pieces read = dropUnits(pieces);
    if (read.empty() && !pieces.empty())
      read.push_back(pieces.front());
    for (const Piece &piece : read) {
      // This operand may read a dim whole and another one its parts.
      if (reader.isSplit(piece.dim) && !piece.part)
        return failure();
      exprs.push_back(getAffineDimExpr(
          reader.getFirst(piece.dim) + piece.part.value_or(0), context));
    }
    if (read.empty())
      exprs.push_back(getAffineConstantExpr(0, context));
  }
  return AffineMap::get(reader.getNumDims(), 0, exprs, context);
}
