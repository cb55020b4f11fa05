//===- TensorOps.cpp - tensor ops -----------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Evaluator.h"
#include "ScalarOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace ::norm;
using namespace ::norm::reference;

/// Whether actual extents fit the static ones of a type.
static bool fits(RankedTensorType type, llvm::ArrayRef<int64_t> shape) {
  if (type.getRank() != int64_t(shape.size()))
    return false;
  for (auto [known, actual] : llvm::zip(type.getShape(), shape))
    if (!ShapedType::isDynamic(known) && known != actual)
      return false;
  return true;
}

/// The extents of a type, the dynamic ones from scalar operands.
static llvm::Expected<Shape> shapeFrom(Operation *op, RankedTensorType type,
                                       llvm::ArrayRef<const Array *> sizes) {
  Shape shape(type.getShape());
  for (int64_t &extent : shape) {
    if (!ShapedType::isDynamic(extent))
      continue;
    Element size = sizes.front()->at(0);
    sizes = sizes.drop_front();
    if (!size.isExact() || size.value < 0)
      return errorAt(op, "expects extents of at least 0 that are known");
    extent = int64_t(size.value);
  }
  if (isTooLarge(shape))
    return errorAt(op, "expects at most 2^30 elements for the reference");
  return shape;
}

static llvm::Expected<Array> filled(Operation *op, RankedTensorType type,
                                    llvm::ArrayRef<const Array *> sizes,
                                    Element element) {
  llvm::Expected<Shape> shape = shapeFrom(op, type, sizes);
  if (!shape)
    return shape.takeError();
  Array result(*dtypeOf(type), *shape);
  result.fill(element);
  return result;
}

static llvm::Expected<Array> cast(tensor::CastOp op, const Array &source) {
  auto type = dyn_cast<RankedTensorType>(op.getType());
  if (!type || !fits(type, source.shape))
    return errorAt(op, "expects a source of the extents of its result");
  return source;
}

static llvm::Expected<Array> dimOf(tensor::DimOp op,
                                   llvm::ArrayRef<const Array *> in) {
  Element index = in[1]->at(0);
  int64_t rank = int64_t(in[0]->shape.size());
  if (!index.isExact() || index.value < 0 || index.value >= double(rank))
    return errorAt(op, "expects an axis below the rank, " + llvm::Twine(rank));
  Array result(DType::I64, {});
  result.set(0, {double(in[0]->shape[int64_t(index.value)]), 0});
  return result;
}

/// Expands or collapses; at most one extent of a group is dynamic.
static llvm::Expected<Array>
reshaped(Operation *op, const Array &source, RankedTensorType type,
         llvm::ArrayRef<ReassociationIndices> groups, bool isCollapse) {
  Shape shape;
  for (auto [i, group] : llvm::enumerate(groups)) {
    if (isCollapse) {
      int64_t extent = 1;
      for (int64_t axis : group)
        extent *= source.shape[axis];
      shape.push_back(extent);
      continue;
    }
    int64_t known = 1;
    for (int64_t axis : group)
      if (!type.isDynamicDim(axis))
        known *= type.getDimSize(axis);
    for (int64_t axis : group)
      shape.push_back(!type.isDynamicDim(axis) ? type.getDimSize(axis)
                      : known == 0             ? 0
                                               : source.shape[i] / known);
  }
  if (!fits(type, shape) || countElements(shape) != source.size())
    return errorAt(op, "expects a source of the extents of its result");
  Array result = source;
  result.shape = shape;
  return result;
}

bool reference::isTensorOp(Operation *op) {
  return isa<tensor::EmptyOp, tensor::SplatOp, tensor::CastOp, tensor::DimOp,
             tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op);
}

llvm::Expected<Array>
reference::evaluateTensorOp(Operation *op, llvm::ArrayRef<const Array *> in) {
  Type type = op->getResult(0).getType();
  if (!dtypeOf(type))
    return errorAt(op, "yields a type that the reference can't evaluate");
  auto ranked = dyn_cast<RankedTensorType>(type);
  using Result = llvm::Expected<Array>;
  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case<tensor::EmptyOp>([&](auto) {
        // What an empty tensor holds is nobody's business.
        return filled(op, ranked, in, unknown());
      })
      .Case<tensor::SplatOp>([&](auto) {
        return filled(op, ranked, in.drop_front(), in[0]->at(0));
      })
      .Case<tensor::CastOp>(
          [&](tensor::CastOp castOp) { return ::cast(castOp, *in[0]); })
      .Case<tensor::DimOp>([&](tensor::DimOp dim) { return dimOf(dim, in); })
      .Case<tensor::ExpandShapeOp>([&](tensor::ExpandShapeOp expand) {
        return reshaped(op, *in[0], ranked, expand.getReassociationIndices(),
                        /*isCollapse=*/false);
      })
      .Case<tensor::CollapseShapeOp>([&](tensor::CollapseShapeOp collapse) {
        return reshaped(op, *in[0], ranked, collapse.getReassociationIndices(),
                        /*isCollapse=*/true);
      })
      .Default([&](Operation *other) -> Result {
        return errorAt(other, "can't be evaluated by the reference");
      });
}
