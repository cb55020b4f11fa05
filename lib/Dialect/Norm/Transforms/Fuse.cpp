//===- Fuse.cpp - Programs that agree on their dims become one ------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Analysis/Program.h"
#include "norm/Dialect/Norm/Transforms/Passes.h"

#include "FuseReshapes.h"
#include "ProgramFusion.h"
#include "SplitForLayouts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SmallBitVector.h"

namespace mlir::norm {
#define GEN_PASS_DEF_NORMFUSEPASS
#include "norm/Dialect/Norm/Transforms/Passes.h.inc"
} // namespace mlir::norm

using namespace mlir;
using namespace mlir::norm;

namespace {
struct NormFusePass : public mlir::norm::impl::NormFusePassBase<NormFusePass> {
  using Base::Base;
  void runOnOperation() override;

private:
  GenericOp
  fuseOne(RewriterBase &rewriter, GenericOp consumer,
          SmallVectorImpl<std::pair<GenericOp, std::string>> &reasons);
  GenericOp fuseProducers(RewriterBase &rewriter, GenericOp consumer);
  OrderAttr orderOf(GenericOp program);

  /// Order of the reductions of each program before anything was fused with it,
  /// null for a program without.
  llvm::DenseMap<Operation *, OrderAttr> orders;
};
} // namespace

// What a reduction streams fixes its order. A cast fused in front of it streams
// something narrower, and must not change its bits.
OrderAttr NormFusePass::orderOf(GenericOp program) {
  auto [entry, isNew] = orders.try_emplace(program, OrderAttr());
  if (isNew && !program.getBody().getOps<ReduceOp>().empty())
    if (FailureOr<OrderAttr> order = naturalOrder(program); succeeded(order))
      entry->second = *order;
  return entry->second;
}

/// Fuses the two if they can be; says why not in `reason`.
static GenericOp fuse(RewriterBase &rewriter, GenericOp producer,
                      GenericOp consumer, std::string &reason) {
  if (readsReshaped(producer, consumer))
    return fuseThroughReshapes(rewriter, producer, consumer, reason);
  if (auto fusion = ProgramFusion::match(producer, consumer, reason))
    return fusion->apply(rewriter);
  return nullptr;
}

/// Fuses one producer that can be fused; gives the reasons why the others
/// can't if there is none.
GenericOp NormFusePass::fuseOne(
    RewriterBase &rewriter, GenericOp consumer,
    SmallVectorImpl<std::pair<GenericOp, std::string>> &reasons) {
  llvm::SmallSetVector<Operation *, 4> producers;
  for (Value operand : consumer->getOperands())
    if (GenericOp producer = getProgramBehindReshapes(operand))
      producers.insert(producer);
  reasons.clear();
  for (Operation *op : producers) {
    auto producer = cast<GenericOp>(op);
    std::string reason;
    OrderAttr above = orderOf(producer), below = orderOf(consumer);
    if (above && below && above != below) {
      reasons.emplace_back(producer, "their reductions have different orders");
      continue;
    }
    if (GenericOp fused = fuse(rewriter, producer, consumer, reason)) {
      orders.erase(producer);
      orders.erase(consumer);
      orders[fused] = above ? above : below;
      return fused;
    }
    reasons.emplace_back(producer, std::move(reason));
  }
  return nullptr;
}

GenericOp NormFusePass::fuseProducers(RewriterBase &rewriter,
                                      GenericOp consumer) {
  SmallVector<std::pair<GenericOp, std::string>> reasons;
  while (GenericOp fused = fuseOne(rewriter, consumer, reasons))
    consumer = fused;
  if (!explain)
    return consumer;
  for (auto &[producer, reason] : reasons) {
    InFlightDiagnostic remark = consumer.emitRemark()
                                << "not fused with producer '"
                                << producer.getName().value_or("")
                                << "': " << reason;
    remark.attachNote(producer.getLoc()) << "the producer";
  }
  return consumer;
}

/// Erases ops of some kinds that are without use, users before what they use.
template <typename... OpTys>
static void eraseUnused(RewriterBase &rewriter, Operation *root) {
  SmallVector<Operation *> ops;
  root->walk([&](Operation *op) {
    if (isa<OpTys...>(op))
      ops.push_back(op);
  });
  for (Operation *op : llvm::reverse(ops))
    if (isOpTriviallyDead(op))
      rewriter.eraseOp(op);
}

/// Notes what an operand tells of the extents of dims; -1 is nothing.
static void noteExtents(GenericOp op, OpOperand &operand,
                        MutableArrayRef<int64_t> extents) {
  for (auto [axis, expr] :
       llvm::enumerate(op.getMatchingIndexingMap(&operand).getResults()))
    if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
      int64_t &extent = extents[dim.getPosition()];
      // No extent is -1; a dynamic one is below.
      if (extent == -1 || ShapedType::isDynamic(extent))
        extent = op.getShape(&operand)[axis];
    }
}

/// Whether the extents of all dims are known as well without operand `number`.
static bool isNeededForExtents(GenericOp op, unsigned number) {
  SmallVector<int64_t> extents(op.getNumDims(), -1);
  for (OpOperand &operand : op->getOpOperands())
    if (operand.getOperandNumber() != number)
      noteExtents(op, operand, extents);
  return extents != op.getExtents();
}

/// The dims on which something varies that is read or written, and those that
/// ops of the body name.
static llvm::SmallBitVector findNeededDims(GenericOp op) {
  llvm::SmallBitVector needed(op.getNumDims());
  for (OpOperand &operand : op->getOpOperands()) {
    unsigned number = operand.getOperandNumber();
    if (number < op.getInputs().size() &&
        op.getBlock()->getArgument(number).use_empty())
      continue;
    for (AffineExpr expr : op.getMatchingIndexingMap(&operand).getResults())
      if (auto dim = dyn_cast<AffineDimExpr>(expr))
        needed.set(dim.getPosition());
  }
  auto need = [&](StringRef name) { needed.set(*op.getDimNumber(name)); };
  for (Operation &inner : *op.getBlock()) {
    if (auto reduce = dyn_cast<ReduceOp>(inner))
      llvm::for_each(reduce.getDims().getAsValueRange<StringAttr>(), need);
    else if (auto extent = dyn_cast<ExtentOp>(inner))
      need(extent.getDim());
    else if (auto index = dyn_cast<IndexOp>(inner))
      need(index.getDim());
  }
  return needed;
}

/// Drops the dims that aren't needed, if the others' extents are told by what
/// is read or written.
static void eraseUnneededDims(RewriterBase &rewriter, GenericOp op) {
  llvm::SmallBitVector needed = findNeededDims(op);
  if (needed.all() || needed.none())
    return;
  SmallVector<int64_t> extents(op.getNumDims(), -1);
  SmallVector<AffineExpr> renumbered(op.getNumDims());
  SmallVector<Attribute> dims, maps;
  for (unsigned dim : needed.set_bits()) {
    renumbered[dim] = rewriter.getAffineDimExpr(dims.size());
    dims.push_back(op.getDims()[dim]);
  }
  llvm::SmallBitVector unread(op->getNumOperands());
  for (OpOperand &operand : op->getOpOperands()) {
    AffineMap map = op.getMatchingIndexingMap(&operand);
    for (AffineExpr expr : map.getResults())
      if (auto dim = dyn_cast<AffineDimExpr>(expr);
          dim && !needed.test(dim.getPosition()))
        unread.set(operand.getOperandNumber());
    if (unread.test(operand.getOperandNumber()))
      continue;
    noteExtents(op, operand, extents);
    maps.push_back(AffineMapAttr::get(
        map.replaceDimsAndSymbols(renumbered, {}, dims.size(), 0)));
  }
  SmallVector<int64_t> all = op.getExtents();
  for (unsigned dim : needed.set_bits())
    if (extents[dim] != all[dim])
      return;
  rewriter.modifyOpInPlace(op, [&] {
    for (unsigned number = op.getInputs().size(); number-- > 0;)
      if (unread.test(number)) {
        op.getInputsMutable().erase(number);
        op.getBlock()->eraseArgument(number);
      }
    op.setIndexingMapsAttr(rewriter.getArrayAttr(maps));
    op.setDimsAttr(rewriter.getArrayAttr(dims));
  });
}

/// Erases what a body computes and doesn't use, and inputs that it doesn't
/// read: a kernel would be told to read them.
static void eraseUnread(RewriterBase &rewriter, GenericOp op) {
  for (Operation &inner :
       llvm::make_early_inc_range(llvm::reverse(*op.getBlock())))
    if (isOpTriviallyDead(&inner))
      rewriter.eraseOp(&inner);
  for (unsigned number = op.getInputs().size(); number-- > 0;) {
    if (!op.getBlock()->getArgument(number).use_empty() ||
        isNeededForExtents(op, number))
      continue;
    SmallVector<Attribute> maps(op.getIndexingMaps().getValue());
    maps.erase(maps.begin() + number);
    rewriter.modifyOpInPlace(op, [&] {
      op.getInputsMutable().erase(number);
      op.setIndexingMapsAttr(rewriter.getArrayAttr(maps));
      op.getBlock()->eraseArgument(number);
    });
  }
}

static void eraseUnread(RewriterBase &rewriter, Operation *root) {
  SmallVector<GenericOp> programs;
  root->walk([&](GenericOp op) { programs.push_back(op); });
  for (GenericOp op : llvm::reverse(programs))
    eraseUnread(rewriter, op);
}

void NormFusePass::runOnOperation() {
  Operation *root = getOperation();
  IRRewriter rewriter(&getContext());
  eraseUnused<GenericOp, tensor::CollapseShapeOp, tensor::ExpandShapeOp>(
      rewriter, root);
  eraseUnread(rewriter, root);
  eraseUnused<GenericOp, tensor::CollapseShapeOp, tensor::ExpandShapeOp>(
      rewriter, root);
  SmallVector<GenericOp> consumers;
  root->walk([&](GenericOp op) { consumers.push_back(op); });
  // A consumer swallows producers above it only, none of which comes again.
  orders.clear();
  for (GenericOp consumer : consumers)
    orderOf(consumer);
  for (GenericOp consumer : consumers)
    fuseProducers(rewriter, consumer);
  // After all fusions: a program with an order is final.
  root->walk([&](GenericOp op) {
    OrderAttr order = orderOf(op);
    if (!order || op.getOrder())
      return;
    FailureOr<OrderAttr> natural = naturalOrder(op);
    if (failed(natural) || *natural != order)
      op.setOrderAttr(order);
  });
  eraseUnread(rewriter, root);
  root->walk([&](FunctionOpInterface function) {
    if (!function.isExternal())
      splitForLayouts(rewriter, function);
  });
  root->walk([&](GenericOp op) { eraseUnneededDims(rewriter, op); });
  eraseUnused<tensor::CollapseShapeOp, tensor::ExpandShapeOp, tensor::EmptyOp,
              arith::MulIOp, tensor::DimOp>(rewriter, root);
}
