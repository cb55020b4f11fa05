//===- ProgramFusion.cpp - When and where two programs may be one ---------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramFusion.h"

#include "norm/Analysis/Program.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::norm;

/// A cheap producer has at most this many ops.
static constexpr unsigned maxCheapOps = 8;

//===----------------------------------------------------------------------===//
// Uses
//===----------------------------------------------------------------------===//

ProgramUses::ProgramUses(GenericOp program) {
  llvm::SmallSetVector<Operation *, 8> work;
  work.insert(program);
  // The set grows at its end; an op comes after all that it uses.
  for (unsigned next = 0; next != work.size(); ++next)
    for (Operation *user : work[next]->getUsers()) {
      bool isReshape =
          isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(user) &&
          user->getBlock() == program->getBlock();
      if (!isReshape)
        readers.insert(user);
      else if (work.insert(user))
        reshapes.push_back(user);
    }
}

llvm::SmallBitVector ProgramUses::findShared(GenericOp program,
                                             GenericOp consumer) {
  llvm::SmallBitVector shared(program->getNumResults());
  for (OpResult result : program->getResults()) {
    SmallVector<Value> views{result};
    while (!views.empty())
      for (Operation *user : views.pop_back_val().getUsers()) {
        bool isReshape =
            isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(user) &&
            user->getBlock() == program->getBlock();
        if (isReshape)
          views.push_back(user->getResult(0));
        else if (user != consumer)
          shared.set(result.getResultNumber());
      }
  }
  return shared;
}

bool ProgramUses::areBefore(GenericOp consumer) const {
  return llvm::any_of(readers, [&](Operation *user) {
    if (user == consumer)
      return false;
    Operation *inBlock = consumer->getBlock()->findAncestorOpInBlock(*user);
    return !inBlock || inBlock == consumer ||
           inBlock->isBeforeInBlock(consumer);
  });
}

void mlir::norm::moveReshapesBelow(RewriterBase &rewriter, GenericOp program,
                             GenericOp consumer, Operation *last) {
  for (Operation *reshape : ProgramUses(program).reshapes) {
    if (!reshape->isBeforeInBlock(consumer))
      continue;
    rewriter.moveOpAfter(reshape, last);
    last = reshape;
  }
}

//===----------------------------------------------------------------------===//
// Extents
//===----------------------------------------------------------------------===//

ExtentKey mlir::norm::getExtentKey(Value size) {
  if (auto dim = size.getDefiningOp<tensor::DimOp>())
    if (std::optional<int64_t> axis = dim.getConstantIndex())
      return getExtentKey(dim.getSource(), *axis);
  return {size, -1};
}

ExtentKey mlir::norm::getExtentKey(Value tensor, int64_t axis) {
  while (true) {
    Operation *op = tensor.getDefiningOp();
    if (auto program = dyn_cast_if_present<DestinationStyleOpInterface>(op)) {
      tensor = program.getTiedOpOperand(cast<OpResult>(tensor))->get();
      continue;
    }
    if (!cast<ShapedType>(tensor.getType()).isDynamicDim(axis))
      break;
    if (auto empty = dyn_cast_if_present<tensor::EmptyOp>(op))
      return getExtentKey(cast<Value>(empty.getMixedSizes()[axis]));
    if (auto expand = dyn_cast_if_present<tensor::ExpandShapeOp>(op))
      return getExtentKey(cast<Value>(expand.getMixedOutputShape()[axis]));
    auto collapse = dyn_cast_if_present<tensor::CollapseShapeOp>(op);
    if (!collapse || collapse.getReassociationIndices()[axis].size() != 1)
      break;
    axis = collapse.getReassociationIndices()[axis][0];
    tensor = collapse.getSrc();
  }
  return {tensor, axis};
}

static llvm::SmallVector<ExtentKey> getExtentKeys(GenericOp op, unsigned dim) {
  llvm::SmallVector<ExtentKey> keys;
  AffineExpr expr = getAffineDimExpr(dim, op.getContext());
  for (OpOperand &operand : op->getOpOperands())
    if (auto axis = op.getMatchingIndexingMap(&operand).getResultPosition(expr))
      keys.push_back(getExtentKey(operand.get(), *axis));
  return keys;
}

/// Whether two dims are known to have the same extent.
static bool haveSameExtent(GenericOp a, unsigned dimA, GenericOp b,
                           unsigned dimB) {
  int64_t extentA = a.getExtents()[dimA], extentB = b.getExtents()[dimB];
  if (ShapedType::isStatic(extentA) || ShapedType::isStatic(extentB))
    return extentA == extentB;
  SmallVector<ExtentKey> keys = getExtentKeys(a, dimA);
  return llvm::any_of(getExtentKeys(b, dimB), [&](ExtentKey key) {
    return llvm::is_contained(keys, key);
  });
}

//===----------------------------------------------------------------------===//
// Bodies
//===----------------------------------------------------------------------===//

/// The dims that the reductions of a body go over, if there are any and all go
/// over the same ones.
static uint64_t getAllReducedDims(GenericOp op, bool &agree) {
  uint64_t all = 0;
  agree = true;
  for (auto reduce : op.getBlock()->getOps<ReduceOp>()) {
    uint64_t mask = getReducedDims(op, reduce);
    agree &= all == 0 || all == mask;
    all |= mask;
  }
  return all;
}

static bool hasReduction(GenericOp op) {
  return !op.getBlock()->getOps<ReduceOp>().empty();
}

/// Whether nothing but axes of size 1 depends on a dim.
static bool isUnitDim(GenericOp op, unsigned dim) {
  AffineExpr expr = getAffineDimExpr(dim, op.getContext());
  for (OpOperand &operand : op->getOpOperands())
    if (auto axis = op.getMatchingIndexingMap(&operand).getResultPosition(expr))
      if (op.getShape(&operand)[*axis] != 1)
        return false;
  StringRef name = op.getDimName(dim);
  for (Operation &inner : *op.getBlock()) {
    if (auto reduce = dyn_cast<ReduceOp>(inner)) {
      if (llvm::is_contained(reduce.getDims().getAsValueRange<StringAttr>(),
                             name))
        return false;
    } else if (auto sum = dyn_cast<AccumulateOp>(inner)) {
      if (sum.getWorker() == name ||
          llvm::is_contained(sum.getDims().getAsValueRange<StringAttr>(), name))
        return false;
    } else if (auto random = dyn_cast<RandomOp>(inner)) {
      if (llvm::is_contained(random.getDims().getAsValueRange<StringAttr>(),
                             name))
        return false;
    } else if (auto extent = dyn_cast<ExtentOp>(inner)) {
      if (extent.getDim() == name)
        return false;
    } else if (auto index = dyn_cast<IndexOp>(inner)) {
      if (index.getDim() == name)
        return false;
    }
  }
  return true;
}

/// Whether computing the op again for every row costs next to nothing.
static bool isCheapOp(Operation &op) {
  if (isa<arith::DivFOp, arith::RemFOp, arith::DivSIOp, arith::DivUIOp,
          arith::RemSIOp, arith::RemUIOp>(op))
    return false;
  if (isa<math::MathDialect>(op.getDialect()))
    return isa<math::AbsFOp, math::AbsIOp, math::CopySignOp, math::FmaOp,
               math::FloorOp, math::CeilOp, math::TruncOp, math::RoundEvenOp>(
        op);
  return !isa<ReduceOp, AccumulateOp, RandomOp>(op);
}

bool ProgramFusion::isCheap() const {
  GenericOp op = producer;
  unsigned count = 0;
  for (Operation &inner : op.getBlock()->without_terminator()) {
    if (!isCheapOp(inner))
      return false;
    count += !inner.hasTrait<OpTrait::ConstantLike>();
  }
  return count <= maxCheapOps;
}

//===----------------------------------------------------------------------===//
// Matching
//===----------------------------------------------------------------------===//

/// Binds the dims by which two maps go along the axes of one tensor.
LogicalResult ProgramFusion::bind(AffineMap from, AffineMap to,
                                  std::string &reason) {
  for (auto [fromAxis, toAxis] :
       llvm::zip_equal(from.getResults(), to.getResults())) {
    auto fromDim = dyn_cast<AffineDimExpr>(fromAxis);
    auto toDim = dyn_cast<AffineDimExpr>(toAxis);
    if (!fromDim || !toDim)
      continue;
    auto &there = toConsumer[fromDim.getPosition()];
    auto &back = toProducer[toDim.getPosition()];
    if ((there && *there != toDim.getPosition()) ||
        (back && *back != fromDim.getPosition())) {
      reason = "its results are read through different maps";
      return failure();
    }
    there = toDim.getPosition();
    back = fromDim.getPosition();
  }
  return success();
}

/// Binds the dims through which a result is written and read.
LogicalResult ProgramFusion::bindAxes(std::string &reason) {
  for (OpOperand &operand : consumer->getOpOperands()) {
    if (operand.get().getDefiningOp() != producer)
      continue;
    if (consumer.isDpsInit(&operand)) {
      reason = "its result is a destination here";
      return failure();
    }
    unsigned result = cast<OpResult>(operand.get()).getResultNumber();
    if (producer.getBlock()
            ->getTerminator()
            ->getOperand(result)
            .getDefiningOp<AccumulateOp>()) {
      reason = "the sums of its workers are whole once all of it is through";
      return failure();
    }
    AffineMap written = producer.getMap(producer.getInputs().size() + result);
    AffineMap read = consumer.getMatchingIndexingMap(&operand);
    for (auto [from, to] :
         llvm::zip_equal(written.getResults(), read.getResults())) {
      auto fromDim = dyn_cast<AffineDimExpr>(from);
      // Position 0 of an axis of size 1 is the whole axis.
      if (!fromDim || isa<AffineDimExpr>(to))
        continue;
      if (!isUnitDim(producer, fromDim.getPosition())) {
        reason = "it computes along the axis of size 1 that is read at 0";
        return failure();
      }
      zeroDims.push_back(fromDim.getPosition());
    }
    if (failed(bind(written, read, reason)))
      return failure();
  }
  if (llvm::any_of(zeroDims, [&](unsigned dim) { return toConsumer[dim]; })) {
    reason = "its results are read through different maps";
    return failure();
  }
  return success();
}

/// Whether a dim is that of workers which sum others.
static bool isWorkerDim(GenericOp op, unsigned dim) {
  return op.getWorkerDims() >> dim & 1;
}

/// Whether an operand differs along all dims of its program.
static bool hasAllDims(GenericOp op, AffineMap map) {
  SmallVector<int64_t> extents = op.getExtents();
  for (unsigned dim = 0, e = op.getNumDims(); dim != e; ++dim)
    if (extents[dim] != 1 && !map.isFunctionOfDim(dim) &&
        !isWorkerDim(op, dim))
      return false;
  return true;
}

static std::string printDims(GenericOp op) {
  std::string text = "(";
  for (unsigned dim = 0, e = op.getNumDims(); dim != e; ++dim)
    text += (dim ? ", " : "") + op.getDimName(dim).str();
  return text + ")";
}

/// The dims, as a bit set, that nothing of the other program is bound to,
/// without those of workers.
static uint64_t findOpenDims(GenericOp op,
                             ArrayRef<std::optional<unsigned>> toOther) {
  uint64_t open = 0;
  for (auto [dim, other] : llvm::enumerate(toOther))
    if (!other && !isWorkerDim(op, dim))
      open |= uint64_t(1) << dim;
  return open;
}

/// Binds the dims through which two siblings read the same tensors. Fails
/// without a reason where what they share is but a small part of what they
/// read.
LogicalResult ProgramFusion::bindShared(std::string &reason) {
  bool isWorth = false, isNear = false;
  for (OpOperand *first : producer.getDpsInputOperands()) {
    for (OpOperand *second : consumer.getDpsInputOperands()) {
      auto type = dyn_cast<RankedTensorType>(first->get().getType());
      if (first->get() != second->get() || !type || type.getRank() == 0)
        continue;
      AffineMap from = producer.getMatchingIndexingMap(first);
      AffineMap to = consumer.getMatchingIndexingMap(second);
      bool ofFirst = hasAllDims(producer, from);
      bool ofSecond = hasAllDims(consumer, to);
      isNear |= ofFirst || ofSecond;
      if (!ofFirst || !ofSecond)
        continue;
      isWorth = true;
      if (failed(bind(from, to, reason))) {
        reason = "they read what they share through different maps";
        return failure();
      }
    }
  }
  if (isWorth)
    bindByExtents();
  if (!isWorth && !isNear)
    return failure();
  if (isWorth && !findOpenDims(producer, toConsumer) &&
      !findOpenDims(consumer, toProducer))
    return success();
  reason = "their iteration spaces differ, " + printDims(producer) + " and " +
           printDims(consumer);
  return failure();
}

/// Whether two dims can be bound with all bound dims in the same order in both
/// programs.
bool ProgramFusion::keepsOrder(unsigned p, unsigned c) const {
  for (auto [other, bound] : llvm::enumerate(toConsumer))
    if (bound && (other < p) != (*bound < c))
      return false;
  return true;
}

/// Binds what the axes left open, as the columns of a statistic to those of the
/// values it is applied to.
void ProgramFusion::bindByExtents() {
  for (unsigned p = 0, e = toConsumer.size(); p != e; ++p) {
    if (toConsumer[p] || llvm::is_contained(zeroDims, p))
      continue;
    for (unsigned c = 0, f = toProducer.size(); c != f; ++c) {
      if (toProducer[c] || !keepsOrder(p, c) ||
          isWorkerDim(producer, p) != isWorkerDim(consumer, c) ||
          !haveSameExtent(producer, p, consumer, c))
        continue;
      toConsumer[p] = c;
      toProducer[c] = p;
      break;
    }
  }
}

/// The dims of a set, by their order in the base.
static SmallVector<unsigned> orderIn(uint64_t dims,
                                     ArrayRef<std::optional<unsigned>> toBase) {
  SmallVector<unsigned> ordered;
  for (unsigned dim = 0, e = toBase.size(); dim != e; ++dim)
    if ((dims >> dim & 1) && toBase[dim])
      ordered.push_back(*toBase[dim]);
  return ordered;
}

/// Sums of workers are over all rows of one space, which both have.
LogicalResult ProgramFusion::checkWorkers(bool producerIsOpen,
                                          bool consumerIsOpen,
                                          std::string &reason) {
  if (producerIsOpen || consumerIsOpen || !zeroDims.empty()) {
    reason = "one sums over rows that the other hasn't";
    return failure();
  }
  bool isOfBoth = producer.getWorkerDims() && consumer.getWorkerDims();
  bool isSame = llvm::all_of(llvm::enumerate(toConsumer), [&](auto entry) {
    return entry.value() || !isWorkerDim(producer, entry.index());
  });
  if (isOfBoth && !isSame) {
    reason = "each sums over rows by workers of its own";
    return failure();
  }
  baseIsProducer = producer.getWorkerDims() != 0;
  bool agree;
  GenericOp other = baseIsProducer ? consumer : producer;
  uint64_t reduced = getAllReducedDims(other, agree);
  if (!llvm::is_sorted(orderIn(reduced, baseIsProducer ? toProducer
                                                       : toConsumer))) {
    reason = "it would reduce in another order";
    return failure();
  }
  return success();
}

/// One space has to hold the other; who runs over more dims than before has to
/// be cheap enough to be computed again along them.
LogicalResult ProgramFusion::checkSpaces(std::string &reason) {
  uint64_t open = findOpenDims(producer, toConsumer);
  for (unsigned dim : zeroDims)
    open &= ~(uint64_t(1) << dim);
  bool producerIsOpen = open != 0;
  bool consumerIsOpen = findOpenDims(consumer, toProducer) != 0;
  if (producer.getWorkerDims() || consumer.getWorkerDims())
    return checkWorkers(producerIsOpen, consumerIsOpen, reason);
  // Reductions stay in the space that fixes their order.
  baseIsProducer =
      producerIsOpen || (!consumerIsOpen && zeroDims.empty() &&
                         hasReduction(producer) && !hasReduction(consumer));
  if (producerIsOpen && consumerIsOpen) {
    reason = "each has a dim that the other lacks";
    return failure();
  }
  if (producerIsOpen && hasReduction(consumer)) {
    reason = "it has a dim that the reductions here lack";
    return failure();
  }
  if (!consumerIsOpen)
    return success();

  if (shared.any()) {
    reason = "it has fewer dims and other uses";
    return failure();
  }
  // The innermost dims of a row: where nothing is reduced, the last one.
  bool agree;
  uint64_t inRow = getAllReducedDims(consumer, agree);
  if (inRow == 0)
    inRow = uint64_t(1) << (consumer.getNumDims() - 1);
  bool perRow = llvm::none_of(
      toConsumer, [&](auto dim) { return dim && (inRow >> *dim & 1); });
  if (hasReduction(producer) || (!perRow && !isCheap())) {
    reason = "it has fewer dims and is too expensive to compute again";
    return failure();
  }
  return success();
}

/// Whether the reductions here are over groups of the dims, `rows`, that those
/// of the other program are over, or over these: of neighbours in memory, few
/// enough for any order.
static bool reducesGroupsOf(GenericOp op, uint64_t rows) {
  int64_t most = 128;
  for (Value operand : op.getOperands())
    if (getElementTypeOrSelf(operand.getType()).getIntOrFloatBitWidth() > 32)
      most = 64;
  return llvm::all_of(op.getBlock()->getOps<ReduceOp>(), [&](ReduceOp reduce) {
    uint64_t mask = getReducedDims(op, reduce);
    std::optional<int64_t> size = getGroupSize(op, rows, mask);
    return mask == rows ||
           (!dependsOnOrder(reduce) && (mask & ~rows) == 0 && size &&
            *size <= most);
  });
}

/// Reductions of one program go over the same dims, in one order: others would
/// need an exchange in between that no kernel has, or get other bits. Those of
/// the consumer may go over groups of the columns.
LogicalResult ProgramFusion::checkReductions(std::string &reason) {
  bool producerAgrees, consumerAgrees;
  uint64_t ofProducer = getAllReducedDims(producer, producerAgrees);
  uint64_t ofConsumer = getAllReducedDims(consumer, consumerAgrees);
  if (ofProducer == 0 || ofConsumer == 0)
    return success();
  SmallVector<unsigned> mapped = orderIn(ofProducer, toConsumer);
  uint64_t mask = 0;
  for (unsigned dim : mapped)
    mask |= uint64_t(1) << dim;
  FailureOr<OrderAttr> order = naturalOrder(producer);
  bool isOfGroups = producerAgrees && succeeded(order) && !order->isAcross() &&
                    reducesGroupsOf(consumer, mask);
  if (!isOfGroups &&
      (!producerAgrees || !consumerAgrees || mask != ofConsumer)) {
    reason = "the two reduce over different dims";
    return failure();
  }
  if (!llvm::is_sorted(mapped)) {
    reason = "the two reduce in different orders";
    return failure();
  }
  return success();
}

/// What the fused program reads and writes has to tell the extents of all its
/// dims.
LogicalResult ProgramFusion::checkExtents(std::string &reason) {
  GenericOp base = baseIsProducer ? producer : consumer;
  SmallVector<int64_t> extents = base.getExtents();
  llvm::SmallBitVector told(base.getNumDims());
  auto note = [&](GenericOp op, OpOperand &operand) {
    AffineMap map = op.getMatchingIndexingMap(&operand);
    for (unsigned dim = 0, e = op.getNumDims(); dim != e; ++dim) {
      std::optional<unsigned> fused = dim;
      if (op != base)
        fused = (op == producer ? toConsumer : toProducer)[dim];
      if (fused && map.isFunctionOfDim(dim))
        told.set(*fused);
    }
  };
  for (OpOperand &operand : producer->getOpOperands())
    if (!producer.isDpsInit(&operand) ||
        shared.test(producer.getTiedOpResult(&operand).getResultNumber()))
      note(producer, operand);
  for (OpOperand &operand : consumer->getOpOperands())
    if (operand.get().getDefiningOp() != producer)
      note(consumer, operand);
  for (auto [dim, extent] : llvm::enumerate(extents))
    if (extent != 1 && !told.test(dim)) {
      reason = "nothing else tells the extents of its result";
      return failure();
    }
  return success();
}

std::optional<ProgramFusion>
ProgramFusion::matchSpaces(GenericOp producer, GenericOp consumer,
                           const llvm::SmallBitVector &shared,
                           std::string &reason) {
  ProgramFusion fusion(producer, consumer, shared);
  if (failed(fusion.bindAxes(reason)))
    return std::nullopt;
  fusion.bindByExtents();
  if (failed(fusion.checkSpaces(reason)) ||
      failed(fusion.checkReductions(reason)) ||
      failed(fusion.checkExtents(reason)))
    return std::nullopt;
  return fusion;
}

/// The fused op stands where the consumer does; nothing above may need it.
LogicalResult ProgramFusion::checkPlaces(GenericOp producer, GenericOp consumer,
                                         std::string &reason) {
  if (!producer.hasTensorSemantics() || !consumer.hasTensorSemantics()) {
    reason = "programs are fused on tensors only";
    return failure();
  }
  if (producer->getBlock() != consumer->getBlock()) {
    reason = "it is in another block";
    return failure();
  }
  for (GenericOp op : {producer, consumer})
    if (op.getOrder() || op.getSchedule()) {
      reason = "a program with an order or a schedule is final";
      return failure();
    }
  if (ProgramUses(producer).areBefore(consumer)) {
    reason = "its result is needed before this op";
    return failure();
  }
  return success();
}

std::optional<ProgramFusion> ProgramFusion::match(GenericOp producer,
                                                  GenericOp consumer,
                                                  std::string &reason) {
  if (failed(checkPlaces(producer, consumer, reason)))
    return std::nullopt;
  return matchSpaces(producer, consumer,
                     ProgramUses::findShared(producer, consumer), reason);
}

std::optional<ProgramFusion> ProgramFusion::matchSiblings(GenericOp first,
                                                          GenericOp second,
                                                          std::string &reason) {
  if (failed(checkPlaces(first, second, reason)))
    return std::nullopt;
  ProgramFusion fusion(first, second, ProgramUses::findShared(first, second));
  if (failed(fusion.bindShared(reason)) || failed(fusion.checkSpaces(reason)) ||
      failed(fusion.checkReductions(reason)))
    return std::nullopt;
  return fusion;
}
