//===- ExtentFacts.cpp - Which extents are equal --------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExtentFacts.h"

#include "norm/Dialect/Norm/IR/Norm.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/DenseMap.h"

using namespace mlir;
using namespace ::norm;

namespace {
/// Classes of equal extents. A node is an axis of a tensor or a dim of a
/// program.
class ExtentClasses {
public:
  unsigned axis(Value value, unsigned number) {
    return node({value.getAsOpaquePointer(), number});
  }
  unsigned dim(Operation *program, unsigned number) {
    return node({program, number});
  }
  void join(unsigned a, unsigned b) { parent[find(a)] = find(b); }
  unsigned find(unsigned node) {
    while (parent[node] != node)
      node = parent[node] = parent[parent[node]];
    return node;
  }

private:
  unsigned node(std::pair<const void *, unsigned> key) {
    auto [it, isNew] = nodes.try_emplace(key, parent.size());
    if (isNew)
      parent.push_back(it->second);
    return it->second;
  }

  llvm::DenseMap<std::pair<const void *, unsigned>, unsigned> nodes;
  llvm::SmallVector<unsigned> parent;
};
} // namespace

static int64_t rankOf(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type ? type.getRank() : 0;
}

static void joinProgram(ExtentClasses &classes, mlir::norm::GenericOp op) {
  for (OpOperand &operand : op->getOpOperands()) {
    if (rankOf(operand.get()) == 0)
      continue;
    for (auto [axis, expr] :
         llvm::enumerate(op.getMap(operand.getOperandNumber()).getResults()))
      if (auto dim = dyn_cast<AffineDimExpr>(expr))
        classes.join(classes.axis(operand.get(), axis),
                     classes.dim(op, dim.getPosition()));
  }
  for (auto [result, output] : llvm::zip(op.getResults(), op.getOutputs()))
    for (int64_t axis = 0; axis < rankOf(result); ++axis)
      classes.join(classes.axis(result, axis), classes.axis(output, axis));
}

/// The sizes of an empty tensor, where they are those of other tensors.
static void joinEmpty(ExtentClasses &classes, tensor::EmptyOp op) {
  unsigned next = 0;
  for (auto [axis, extent] : llvm::enumerate(op.getType().getShape())) {
    if (ShapedType::isStatic(extent))
      continue;
    auto dim = op.getDynamicSizes()[next++].getDefiningOp<tensor::DimOp>();
    std::optional<int64_t> from = dim ? dim.getConstantIndex() : std::nullopt;
    if (from)
      classes.join(classes.axis(op, axis),
                   classes.axis(dim.getSource(), *from));
  }
}

/// Axes that a reshape leaves alone.
template <typename OpT>
static void joinReshape(ExtentClasses &classes, OpT op, Value wide,
                        Value narrow) {
  for (auto [axis, group] : llvm::enumerate(op.getReassociationIndices()))
    if (group.size() == 1)
      classes.join(classes.axis(narrow, axis),
                   classes.axis(wide, group.front()));
}

namespace {
/// An axis that is `factor` times as long as `part`, a part that it is split
/// into.
struct SplitAxis {
  unsigned whole, part;
  int64_t factor;
};
} // namespace

/// The axes that a reshape splits or puts together, of which one part isn't
/// known.
template <typename OpT>
static void addSplits(SmallVectorImpl<SplitAxis> &splits,
                      ExtentClasses &classes, OpT op, Value wide,
                      Value narrow) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(wide.getType()).getShape();
  for (auto [axis, group] : llvm::enumerate(op.getReassociationIndices())) {
    std::optional<int64_t> unknown;
    int64_t factor = 1, count = 0;
    for (int64_t part : group) {
      if (ShapedType::isStatic(shape[part])) {
        factor *= shape[part];
        continue;
      }
      unknown = part;
      ++count;
    }
    if (count == 1)
      splits.push_back(
          {classes.axis(narrow, axis), classes.axis(wide, *unknown), factor});
  }
}

/// Axes of equal parts are equal.
static void joinSplits(ExtentClasses &classes, func::FuncOp function) {
  SmallVector<SplitAxis> splits;
  function.walk([&](Operation *op) {
    if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op))
      addSplits(splits, classes, collapse, collapse.getSrc(),
                collapse.getResult());
    else if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
      addSplits(splits, classes, expand, expand.getResult(), expand.getSrc());
  });
  // What is joined may be a part itself.
  for (bool isChanged = true; isChanged;) {
    isChanged = false;
    llvm::DenseMap<std::pair<unsigned, int64_t>, unsigned> wholes;
    for (const SplitAxis &split : splits) {
      auto [known, isNew] = wholes.try_emplace(
          {classes.find(split.part), split.factor}, split.whole);
      if (isNew || classes.find(known->second) == classes.find(split.whole))
        continue;
      classes.join(known->second, split.whole);
      isChanged = true;
    }
  }
}

static void joinOp(ExtentClasses &classes, Operation *op) {
  if (auto program = dyn_cast<mlir::norm::GenericOp>(op))
    joinProgram(classes, program);
  else if (auto empty = dyn_cast<tensor::EmptyOp>(op))
    joinEmpty(classes, empty);
  else if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op))
    joinReshape(classes, collapse, collapse.getSrc(), collapse.getResult());
  else if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
    joinReshape(classes, expand, expand.getResult(), expand.getSrc());
  else if (auto cast = dyn_cast<tensor::CastOp>(op))
    for (int64_t axis = 0;
         axis < std::min(rankOf(cast.getSource()), rankOf(cast)); ++axis)
      classes.join(classes.axis(cast, axis),
                   classes.axis(cast.getSource(), axis));
}

namespace {
/// The sizes of classes, from the types of all tensors that are in one.
class KnownSizes {
public:
  explicit KnownSizes(ExtentClasses &classes) : classes(classes) {}
  LogicalResult enter(func::FuncOp function);
  int64_t get(Value value, unsigned axis) {
    auto known = sizes.find(classes.find(classes.axis(value, axis)));
    return known == sizes.end() ? ShapedType::kDynamic : known->second;
  }

private:
  LogicalResult enter(Value value);

  ExtentClasses &classes;
  llvm::DenseMap<unsigned, int64_t> sizes;
};
} // namespace

LogicalResult KnownSizes::enter(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type)
    return success();
  for (auto [axis, extent] : llvm::enumerate(type.getShape())) {
    if (ShapedType::isDynamic(extent))
      continue;
    auto [entry, isNew] =
        sizes.try_emplace(classes.find(classes.axis(value, axis)), extent);
    if (!isNew && entry->second != extent)
      return emitError(value.getLoc())
             << "expects extent " << entry->second << " of axis " << axis
             << ", as of what is computed with it, but got " << type;
  }
  return success();
}

LogicalResult KnownSizes::enter(func::FuncOp function) {
  for (BlockArgument argument : function.getArguments())
    if (failed(enter(argument)))
      return failure();
  for (Operation &op : function.getBody().front())
    for (Value result : op.getResults())
      if (failed(enter(result)))
        return failure();
  return success();
}

namespace norm {

FailureOr<ExtentFacts> findExtentFacts(func::FuncOp function) {
  ExtentClasses classes;
  function.walk([&](Operation *op) { joinOp(classes, op); });
  joinSplits(classes, function);
  KnownSizes sizes(classes);
  if (failed(sizes.enter(function)))
    return failure();

  SmallVector<Value> values(function.getArguments());
  llvm::append_range(values,
                     function.getBody().front().getTerminator()->getOperands());
  llvm::DenseMap<unsigned, BufferDim> firsts;
  ExtentFacts facts;
  for (auto [index, value] : llvm::enumerate(values)) {
    ExtentSources &equals = facts.equals.emplace_back();
    llvm::SmallVector<int64_t> &shape = facts.shapes.emplace_back();
    // Found first, then entered: an argument's own axes aren't earlier ones.
    for (int64_t axis = 0; axis < rankOf(value); ++axis) {
      shape.push_back(sizes.get(value, axis));
      auto first = firsts.find(classes.find(classes.axis(value, axis)));
      bool known = ShapedType::isDynamic(shape.back()) && first != firsts.end();
      equals.push_back(known ? std::optional(first->second) : std::nullopt);
    }
    for (int64_t axis = 0; axis < rankOf(value); ++axis)
      firsts.try_emplace(classes.find(classes.axis(value, axis)),
                         BufferDim{unsigned(index), unsigned(axis)});
  }
  return facts;
}

} // namespace norm
