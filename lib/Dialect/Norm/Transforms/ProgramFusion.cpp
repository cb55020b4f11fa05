//===- ProgramFusion.cpp - When and where two programs may be one ---------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramFusion.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::norm;

/// A cheap producer has at most this many ops.
static constexpr unsigned maxCheapOps = 8;

//===----------------------------------------------------------------------===//
// Extents
//===----------------------------------------------------------------------===//

namespace {
/// What fixes an extent: a size value, or an axis of a tensor.
using ExtentKey = std::pair<Value, int64_t>;
} // namespace

/// Follows an axis to where its size comes from.
static ExtentKey getExtentKey(Value tensor, int64_t axis) {
  while (auto op = tensor.getDefiningOp<DestinationStyleOpInterface>())
    tensor = op.getTiedOpOperand(cast<OpResult>(tensor))->get();
  auto empty = tensor.getDefiningOp<tensor::EmptyOp>();
  if (!empty || !empty.getType().isDynamicDim(axis))
    return {tensor, axis};
  Value size = cast<Value>(empty.getMixedSizes()[axis]);
  if (auto dim = size.getDefiningOp<tensor::DimOp>())
    if (std::optional<int64_t> source = dim.getConstantIndex())
      return getExtentKey(dim.getSource(), *source);
  return {size, -1};
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
static uint64_t getReducedDims(GenericOp op, bool &agree) {
  uint64_t all = 0;
  agree = true;
  for (auto reduce : op.getBlock()->getOps<ReduceOp>()) {
    uint64_t mask = 0;
    for (StringRef name : reduce.getDims().getAsValueRange<StringAttr>())
      mask |= uint64_t(1) << *op.getDimNumber(name);
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
  return !isa<ReduceOp>(op);
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
    AffineMap written = producer.getMap(producer.getInputs().size() + result);
    AffineMap read = consumer.getMatchingIndexingMap(&operand);
    for (auto [from, to] :
         llvm::zip_equal(written.getResults(), read.getResults())) {
      auto fromDim = dyn_cast<AffineDimExpr>(from);
      auto toDim = dyn_cast<AffineDimExpr>(to);
      // Position 0 of an axis of size 1 is the whole axis.
      if (!fromDim)
        continue;
      if (!toDim) {
        if (!isUnitDim(producer, fromDim.getPosition())) {
          reason = "it computes along the axis of size 1 that is read at 0";
          return failure();
        }
        zeroDims.push_back(fromDim.getPosition());
        continue;
      }
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
  }
  if (llvm::any_of(zeroDims, [&](unsigned dim) { return toConsumer[dim]; })) {
    reason = "its results are read through different maps";
    return failure();
  }
  // A transposed read in a program that had none before is no gain.
  std::optional<unsigned> last;
  for (std::optional<unsigned> dim : toConsumer) {
    if (dim && last && *dim < *last) {
      reason = "its results are read transposed";
      return failure();
    }
    if (dim)
      last = dim;
  }
  return success();
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
          !haveSameExtent(producer, p, consumer, c))
        continue;
      toConsumer[p] = c;
      toProducer[c] = p;
      break;
    }
  }
}

/// One space has to hold the other; who runs over more dims than before has to
/// be cheap enough to be computed again along them.
LogicalResult ProgramFusion::checkSpaces(std::string &reason) {
  bool producerIsOpen = false;
  for (unsigned p = 0, e = toConsumer.size(); p != e; ++p)
    producerIsOpen |= !toConsumer[p] && !llvm::is_contained(zeroDims, p);
  bool consumerIsOpen = llvm::any_of(toProducer, [](auto dim) { return !dim; });
  baseIsProducer = producerIsOpen;
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

  if (!llvm::all_of(producer->getUsers(),
                    [&](Operation *user) { return user == consumer; })) {
    reason = "it has fewer dims and other uses";
    return failure();
  }
  // The innermost dims of a row: where nothing is reduced, the last one.
  bool agree;
  uint64_t inRow = getReducedDims(consumer, agree);
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

/// Reductions of one program go over the same, innermost dims: others would
/// need an exchange in between that no kernel has.
LogicalResult ProgramFusion::checkReductions(std::string &reason) {
  bool producerAgrees, consumerAgrees;
  uint64_t ofProducer = getReducedDims(producer, producerAgrees);
  uint64_t ofConsumer = getReducedDims(consumer, consumerAgrees);
  if (ofProducer == 0)
    return success();
  uint64_t mapped = 0;
  for (unsigned p = 0, e = toConsumer.size(); p != e; ++p)
    if (ofProducer >> p & 1)
      mapped |= toConsumer[p] ? uint64_t(1) << *toConsumer[p] : 0;
  if (ofConsumer != 0 &&
      (!producerAgrees || !consumerAgrees || mapped != ofConsumer)) {
    reason = "the two reduce over different dims";
    return failure();
  }
  unsigned numDims = producer.getNumDims();
  unsigned innermost = llvm::countr_zero(ofProducer);
  if (llvm::popcount(ofProducer) != static_cast<int>(numDims - innermost)) {
    reason = "it reduces over dims that are not the last ones";
    return failure();
  }
  return success();
}

/// The fused op stands where the consumer does; nothing above may need it.
LogicalResult ProgramFusion::checkOtherUses(std::string &reason) {
  for (Operation *user : producer->getUsers()) {
    Operation *inBlock = consumer->getBlock()->findAncestorOpInBlock(*user);
    if (user != consumer && (!inBlock || inBlock->isBeforeInBlock(consumer) ||
                             inBlock == consumer)) {
      reason = "its result is needed before this op";
      return failure();
    }
  }
  return success();
}

std::optional<ProgramFusion> ProgramFusion::match(GenericOp producer,
                                                  GenericOp consumer,
                                                  std::string &reason) {
  if (!producer.hasTensorSemantics() || !consumer.hasTensorSemantics()) {
    reason = "programs are fused on tensors only";
    return std::nullopt;
  }
  if (producer->getBlock() != consumer->getBlock()) {
    reason = "it is in another block";
    return std::nullopt;
  }
  for (GenericOp op : {producer, consumer})
    if (op.getOrder() || op.getSchedule()) {
      reason = "a program with an order or a schedule is final";
      return std::nullopt;
    }
  ProgramFusion fusion(producer, consumer);
  if (failed(fusion.bindAxes(reason)))
    return std::nullopt;
  fusion.bindByExtents();
  if (failed(fusion.checkSpaces(reason)) ||
      failed(fusion.checkReductions(reason)) ||
      failed(fusion.checkOtherUses(reason)))
    return std::nullopt;
  return fusion;
}
