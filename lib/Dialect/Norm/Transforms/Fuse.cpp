//===- Fuse.cpp - Programs that agree on their dims become one ------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Analysis/Program.h"
#include "norm/Dialect/Norm/Transforms/Passes.h"

#include "FuseReshapes.h"
#include "FusionModel.h"
#include "ProgramPlaces.h"
#include "SumRows.h"
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
  using Candidates = llvm::SmallSetVector<Operation *, 4>;
  enum class Kin { Producer, Sibling };

  bool fuseAll(RewriterBase &rewriter);
  bool sumBesides(RewriterBase &rewriter, GenericOp program);
  GenericOp fuseOne(RewriterBase &rewriter, GenericOp program, Kin kin);
  GenericOp fuse(RewriterBase &rewriter, GenericOp other, GenericOp program,
                 Kin kin, std::string &reason);
  OrderAttr orderOf(GenericOp program);

  /// Order of the reductions of each program before anything was fused with it,
  /// null for a program without.
  llvm::DenseMap<Operation *, OrderAttr> orders;
  /// What to say of those that were not fused, if asked.
  SmallVector<std::pair<Location, std::string>> refusals;
};
} // namespace

// What a reduction streams fixes its order. A cast fused in front of it streams
// something narrower, and must not change its bits.
OrderAttr NormFusePass::orderOf(GenericOp program) {
  auto [entry, isNew] = orders.try_emplace(program, OrderAttr());
  if (isNew && dependsOnOrder(program))
    if (FailureOr<OrderAttr> order = naturalOrder(program); succeeded(order))
      entry->second = *order;
  return entry->second;
}

/// The programs whose results a program reads, as they are or reshaped.
static void collectProducers(GenericOp program,
                             llvm::SmallSetVector<Operation *, 4> &producers) {
  for (Value operand : program->getOperands())
    if (GenericOp producer = getProgramBehindReshapes(operand))
      producers.insert(producer);
}

/// The programs above this one that read one of its inputs and that it doesn't
/// read from, first ones first.
static void collectSiblings(GenericOp program,
                            llvm::SmallSetVector<Operation *, 4> &siblings) {
  llvm::SmallSetVector<Operation *, 4> producers;
  collectProducers(program, producers);
  SmallVector<Operation *> found;
  for (Value input : program.getInputs())
    if (isa<RankedTensorType>(input.getType()))
      for (Operation *user : input.getUsers())
        if (isa<GenericOp>(user) && user->getBlock() == program->getBlock() &&
            user->isBeforeInBlock(program) && !producers.contains(user))
          found.push_back(user);
  llvm::sort(found, [](Operation *a, Operation *b) {
    return a != b && a->isBeforeInBlock(b);
  });
  siblings.insert_range(found);
}

/// Brings two programs of one block to where they can be fused: nothing between
/// them needs the first, or the second is right above it.
static LogicalResult bringTogether(TentativeHoist &hoist, GenericOp first,
                                   GenericOp second, bool isSibling) {
  if (first->getBlock() != second->getBlock())
    return success();
  Operation *reader = findFirstReader(first, second);
  return reader ? hoist.moveAbove(second, isSibling ? first : reader)
                : success();
}

/// Fuses `program` with `other`, above it, if that can be; else says why not in
/// `reason`, which stays empty where there is nothing to fuse for.
GenericOp NormFusePass::fuse(RewriterBase &rewriter, GenericOp other,
                             GenericOp program, Kin kin, std::string &reason) {
  OrderAttr above = orderOf(other), below = orderOf(program);
  bool isSibling = kin == Kin::Sibling;
  if (above && below && above != below) {
    if (!isSibling ||
        ProgramFusion::matchSiblings(other, program, reason).has_value())
      reason = "their reductions have different orders";
    return nullptr;
  }
  OrderAttr order = above ? above : below;
  StringRef name = other.getName().value_or("");
  TentativeHoist hoist(rewriter);
  bool isNear = succeeded(bringTogether(hoist, other, program, isSibling));
  std::string saved, fusedName = name.str();
  Location loc = program.getLoc();
  GenericOp fused;
  if (!isSibling && readsReshaped(other, program)) {
    fused = fuseThroughReshapes(rewriter, other, program, order, reason, saved);
  } else {
    std::optional<ProgramFusion> fusion;
    if (!isSibling)
      fusion = ProgramFusion::match(other, program, reason);
    else if (program->isBeforeInBlock(other))
      fusion = ProgramFusion::matchSiblings(program, other, reason);
    else
      fusion = ProgramFusion::matchSiblings(other, program, reason);
    if (isSibling && !isNear && !reason.empty())
      reason = "its result is needed before this op";
    if (fusion)
      if (FailureOr<std::string> judged = judgeFusion(*fusion, order, reason);
          succeeded(judged)) {
        saved = *judged;
        fused = fusion->apply(rewriter);
      }
  }
  if (!fused)
    return nullptr;
  hoist.keep();
  orders.erase(other);
  orders.erase(program);
  orders[fused] = order;
  if (explain)
    emitRemark(loc) << "fused with " << (isSibling ? "sibling" : "producer")
                    << " '" << fusedName << "': saves " << saved;
  return fused;
}

/// Fuses a program with the first of its producers or siblings that can be, and
/// gives the fused program; else notes the reasons why none can.
GenericOp NormFusePass::fuseOne(RewriterBase &rewriter, GenericOp program,
                                Kin kin) {
  Candidates candidates;
  if (kin == Kin::Producer)
    collectProducers(program, candidates);
  else
    collectSiblings(program, candidates);
  SmallVector<std::pair<Location, std::string>> reasons;
  for (Operation *op : candidates) {
    auto other = cast<GenericOp>(op);
    std::string reason;
    if (GenericOp fused = fuse(rewriter, other, program, kin, reason))
      return fused;
    if (explain && !reason.empty())
      reasons.emplace_back(program.getLoc(),
                           (Twine("not fused with ") +
                            (kin == Kin::Producer ? "producer" : "sibling") +
                            " '" + other.getName().value_or("") +
                            "': " + reason)
                               .str());
  }
  refusals.append(reasons);
  return nullptr;
}

/// Goes through all programs once. Gives whether any were fused.
bool NormFusePass::fuseAll(RewriterBase &rewriter) {
  bool changed = false;
  refusals.clear();
  for (Kin kin : {Kin::Producer, Kin::Sibling}) {
    SmallVector<GenericOp> programs;
    getOperation()->walk([&](GenericOp op) { programs.push_back(op); });
    // A program swallows ones above it only, none of which comes again.
    for (GenericOp program : programs)
      while (GenericOp fused = fuseOne(rewriter, program, kin)) {
        changed = true;
        program = fused;
      }
  }
  return changed;
}

/// Moves a program below the first that goes along the rows which it sums, if
/// that comes later and nothing in between needs the sums.
static void moveBelowRows(RewriterBase &rewriter, GenericOp program) {
  SmallVector<Operation *> others;
  for (Value input : program.getInputs())
    if (isa<RankedTensorType>(input.getType()))
      for (Operation *user : input.getUsers())
        if (isa<GenericOp>(user) && user->getBlock() == program->getBlock())
          others.push_back(user);
  Operation *first = nullptr;
  for (Operation *user : others)
    if (user != program && goesAlongSummedRows(cast<GenericOp>(user), program) &&
        (!first || user->isBeforeInBlock(first)))
      first = user;
  if (first && program->isBeforeInBlock(first) &&
      !findFirstReader(program, first) &&
      !llvm::is_contained(ProgramUses(program).readers, first))
    rewriter.moveOpAfter(program, first);
}

/// Lets a program that goes along the rows which `program` sums do that sum on
/// the way. Gives whether one does.
bool NormFusePass::sumBesides(RewriterBase &rewriter, GenericOp program) {
  if (!sumsRows(program))
    return false;
  moveBelowRows(rewriter, program);
  llvm::SmallSetVector<Operation *, 4> others, producers;
  collectProducers(program, producers);
  others.insert_range(producers);
  collectSiblings(program, others);
  for (Operation *op : others) {
    auto other = cast<GenericOp>(op);
    if (!goesAlongSummedRows(other, program))
      continue;
    SummedRows parts = splitSum(rewriter, program);
    std::string reason;
    std::string name = other.getName().value_or("").str();
    Location place = other.getLoc();
    Kin kin = producers.contains(op) ? Kin::Producer : Kin::Sibling;
    GenericOp fused = fuse(rewriter, other, parts.workers, kin, reason);
    if (!fused) {
      rewriter.eraseOp(parts.sum);
      rewriter.eraseOp(parts.workers);
      if (explain)
        refusals.emplace_back(program.getLoc(),
                              "sums of rows not taken by '" + name +
                                  "': " + reason);
      continue;
    }
    orders.erase(program);
    // What was said of these two is not so any more.
    llvm::erase_if(refusals, [&](const auto &refusal) {
      auto isOf = [&](Location loc, const std::string &name) {
        return refusal.first == loc &&
               StringRef(refusal.second).contains(" '" + name + "': ");
      };
      return isOf(program.getLoc(), name) ||
             isOf(place, program.getName().value_or("").str());
    });
    rewriter.replaceOp(program, parts.sum);
    // Statistics that only the sum needed.
    OrderAttr order = orderOf(fused);
    orders.erase(fused);
    orders[dropUnusedResults(rewriter, fused)] = order;
    return true;
  }
  return false;
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
/// ops of the body name. A known extent is a number, and needs no dim.
static llvm::SmallBitVector findNeededDims(GenericOp op) {
  llvm::SmallBitVector needed(op.getNumDims());
  SmallVector<int64_t> extents = op.getExtents();
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
    else if (auto sum = dyn_cast<AccumulateOp>(inner))
      llvm::for_each(sum.getDims().getAsValueRange<StringAttr>(), need);
    else if (auto random = dyn_cast<RandomOp>(inner))
      llvm::for_each(random.getDims().getAsValueRange<StringAttr>(), need);
    else if (auto extent = dyn_cast<ExtentOp>(inner)) {
      if (ShapedType::isDynamic(extents[*op.getDimNumber(extent.getDim())]))
        need(extent.getDim());
    } else if (auto index = dyn_cast<IndexOp>(inner))
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
  for (auto extent :
       llvm::make_early_inc_range(op.getBlock()->getOps<ExtentOp>())) {
    if (needed.test(*op.getDimNumber(extent.getDim())))
      continue;
    SmallVector<OpFoldResult> number;
    if (failed(extent->fold({}, number)))
      return;
    rewriter.setInsertionPoint(extent);
    rewriter.replaceOpWithNewOp<arith::ConstantOp>(
        extent, cast<TypedAttr>(cast<Attribute>(number.front())));
  }
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
  orders.clear();
  root->walk([&](GenericOp op) { orderOf(op); });
  // What had too many readers may have one after siblings were fused.
  while (fuseAll(rewriter))
    ;
  // Each of them leaves one program less that sums rows.
  auto sumOne = [&] {
    return root
        ->walk([&](GenericOp op) {
          return sumBesides(rewriter, op) ? WalkResult::interrupt()
                                          : WalkResult::advance();
        })
        .wasInterrupted();
  };
  while (sumOne())
    ;
  for (const auto &[loc, text] : refusals)
    emitRemark(loc) << text;
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
