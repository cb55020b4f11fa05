//===- Generalize.cpp - Named and elementwise ops as norm.generic ---------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Dialect/Norm/Transforms/Passes.h"

#include "ProgramBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::norm {
#define GEN_PASS_DEF_NORMGENERALIZEPASS
#include "norm/Dialect/Norm/Transforms/Passes.h.inc"
} // namespace mlir::norm

using namespace mlir;
using namespace mlir::norm;

namespace {
struct NormGeneralizePass
    : public norm::impl::NormGeneralizePassBase<NormGeneralizePass> {
  void runOnOperation() override;
};
} // namespace

/// The ops to look at, producers before consumers. Bodies of programs and of
/// linalg ops hold scalars, and are left out.
static SmallVector<Operation *> collectOps(Operation *root) {
  SmallVector<Operation *> ops;
  root->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op != root)
      ops.push_back(op);
    return isa<GenericOp, linalg::LinalgOp>(op) ? WalkResult::skip()
                                                : WalkResult::advance();
  });
  return ops;
}

static bool isSplatOp(Operation *op) {
  return op->getNumResults() == 1 &&
         isa<RankedTensorType>(op->getResult(0).getType()) &&
         getSplat(op->getResult(0));
}

static void generalize(RewriterBase &rewriter, DimSizes &sizes, Operation *op) {
  rewriter.setInsertionPoint(op);
  if (generalizeNamed(rewriter, sizes, op))
    return;
  llvm::TypeSwitch<Operation *>(op)
      .Case<linalg::LinalgOp>([&](linalg::LinalgOp linalgOp) {
        (void)generalizeLinalg(rewriter, sizes, linalgOp);
      })
      .Default([&](Operation *other) {
        (void)generalizeElementwise(rewriter, sizes, other);
      });
}

/// Programs read a splat as a scalar. What else uses it gets a program that
/// writes it, but for ops that stay as they are, which take what they had, as a
/// product takes the fill of its accumulator. A result is written to its
/// destination, and a program of the input reads buffers.
static void finishSplat(RewriterBase &rewriter, DimSizes &sizes,
                        Operation *op) {
  Value tensor = op->getResult(0);
  bool needed = llvm::any_of(tensor.getUsers(), [&](Operation *user) {
    return user->hasTrait<OpTrait::ReturnLike>() || isa<GenericOp>(user) ||
           isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(user);
  });
  if (needed)
    generalizeSplat(rewriter, sizes, tensor);
  if (tensor.use_empty())
    rewriter.eraseOp(op);
}

/// Reads sizes of intermediates from where their destinations have them.
static void simplifyDims(RewriterBase &rewriter, DimSizes &sizes,
                         Operation *root) {
  SmallVector<tensor::DimOp> dims;
  root->walk([&](tensor::DimOp dim) {
    if (dim.getConstantIndex() && dim.getSource().getDefiningOp<GenericOp>())
      dims.push_back(dim);
  });
  for (tensor::DimOp dim : dims) {
    int64_t axis = *dim.getConstantIndex();
    auto type = cast<RankedTensorType>(dim.getSource().getType());
    if (axis < 0 || axis >= type.getRank())
      continue;
    rewriter.setInsertionPoint(dim);
    rewriter.replaceOp(dim, sizes.get(dim.getLoc(), dim.getSource(), axis));
  }
}

/// Has a program read the previous content of its outputs as inputs. Arguments
/// aren't written, so each output needs a destination of its own in any case.
static void readOutputsAsInputs(RewriterBase &rewriter, DimSizes &sizes,
                                GenericOp program) {
  for (unsigned i = 0, e = program.getOutputs().size(); i != e; ++i) {
    unsigned numInputs = program.getInputs().size();
    Value content = program.getOutputs()[i];
    auto type = dyn_cast<RankedTensorType>(content.getType());
    BlockArgument element = program.getBlock()->getArgument(numInputs + i);
    if (!type || element.use_empty() ||
        content.getDefiningOp<tensor::EmptyOp>())
      continue;
    rewriter.setInsertionPoint(program);
    Location loc = program.getLoc();
    SmallVector<Value> extents;
    for (int64_t axis = 0; axis < type.getRank(); ++axis)
      if (type.isDynamicDim(axis))
        extents.push_back(sizes.get(loc, content, axis));
    Value empty = tensor::EmptyOp::create(rewriter, loc, type, extents);
    SmallVector<Attribute> maps(program.getIndexingMaps().getValue());
    maps.insert(maps.begin() + numInputs, maps[numInputs + i]);
    rewriter.modifyOpInPlace(program, [&] {
      program.getOutputsMutable()[i].set(empty);
      program.getInputsMutable().append(content);
      program.setIndexingMapsAttr(rewriter.getArrayAttr(maps));
      Value read = program.getBlock()->insertArgument(
          numInputs, element.getType(), element.getLoc());
      element.replaceAllUsesWith(read);
    });
  }
}

void NormGeneralizePass::runOnOperation() {
  Operation *root = getOperation();
  IRRewriter rewriter(&getContext());
  DimSizes sizes(rewriter);
  SmallVector<Operation *> splats;
  for (Operation *op : collectOps(root)) {
    if (isSplatOp(op))
      splats.push_back(op);
    else if (auto program = dyn_cast<GenericOp>(op))
      readOutputsAsInputs(rewriter, sizes, program);
    else
      generalize(rewriter, sizes, op);
  }
  for (Operation *op : splats)
    finishSplat(rewriter, sizes, op);
  generalizeTables(rewriter, sizes, root);
  simplifyDims(rewriter, sizes, root);
  SmallVector<Operation *> dead;
  root->walk([&](tensor::EmptyOp op) {
    if (op->use_empty())
      dead.push_back(op);
  });
  for (Operation *op : dead)
    rewriter.eraseOp(op);
}
