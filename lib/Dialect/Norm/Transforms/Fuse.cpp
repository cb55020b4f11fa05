//===- Fuse.cpp - Programs that agree on their dims become one ------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Dialect/Norm/Transforms/Passes.h"

#include "ProgramFusion.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mlir::norm {
#define GEN_PASS_DEF_NORMFUSEPASS
#include "norm/Dialect/Norm/Transforms/Passes.h.inc"
} // namespace mlir::norm

using namespace mlir;
using namespace mlir::norm;

namespace {
struct NormFusePass : public norm::impl::NormFusePassBase<NormFusePass> {
  using Base::Base;
  void runOnOperation() override;

private:
  void fuseProducers(RewriterBase &rewriter, GenericOp consumer);
};
} // namespace

/// Fuses one producer that can be fused; gives the reasons why the others
/// can't if there is none.
static GenericOp
fuseOne(RewriterBase &rewriter, GenericOp consumer,
        SmallVectorImpl<std::pair<GenericOp, std::string>> &reasons) {
  llvm::SmallSetVector<Operation *, 4> producers;
  for (Value operand : consumer->getOperands())
    if (auto producer = operand.getDefiningOp<GenericOp>())
      producers.insert(producer);
  reasons.clear();
  for (Operation *op : producers) {
    auto producer = cast<GenericOp>(op);
    std::string reason;
    if (auto fusion = ProgramFusion::match(producer, consumer, reason))
      return fusion->apply(rewriter);
    reasons.emplace_back(producer, std::move(reason));
  }
  return nullptr;
}

void NormFusePass::fuseProducers(RewriterBase &rewriter, GenericOp consumer) {
  SmallVector<std::pair<GenericOp, std::string>> reasons;
  while (GenericOp fused = fuseOne(rewriter, consumer, reasons))
    consumer = fused;
  if (!explain)
    return;
  for (auto &[producer, reason] : reasons) {
    InFlightDiagnostic remark = consumer.emitRemark()
                                << "not fused with producer '"
                                << producer.getName().value_or("")
                                << "': " << reason;
    remark.attachNote(producer.getLoc()) << "the producer";
  }
}

/// Erases ops of a kind that are without use, users before what they use.
template <typename OpTy>
static void eraseUnused(RewriterBase &rewriter, Operation *root) {
  SmallVector<OpTy> ops;
  root->walk([&](OpTy op) { ops.push_back(op); });
  for (OpTy op : llvm::reverse(ops))
    if (isOpTriviallyDead(op))
      rewriter.eraseOp(op);
}

void NormFusePass::runOnOperation() {
  Operation *root = getOperation();
  IRRewriter rewriter(&getContext());
  eraseUnused<GenericOp>(rewriter, root);
  SmallVector<GenericOp> consumers;
  root->walk([&](GenericOp op) { consumers.push_back(op); });
  // A consumer swallows producers above it only, none of which comes again.
  for (GenericOp consumer : consumers)
    fuseProducers(rewriter, consumer);
  eraseUnused<tensor::EmptyOp>(rewriter, root);
  eraseUnused<tensor::DimOp>(rewriter, root);
}
