//===- FuseReshapes.cpp - Fusing programs with reshapes between -----------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FuseReshapes.h"

#include "DimSplit.h"
#include "ProgramFusion.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::norm;

GenericOp norm::getProgramBehindReshapes(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (auto program = dyn_cast<GenericOp>(op))
      return program;
    if (!isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(op))
      break;
    value = op->getOperand(0);
  }
  return nullptr;
}

bool norm::readsReshaped(GenericOp producer, GenericOp consumer) {
  return llvm::any_of(consumer->getOperands(), [&](Value operand) {
    return operand.getDefiningOp() != producer &&
           getProgramBehindReshapes(operand) == producer;
  });
}

//===----------------------------------------------------------------------===//
// Where the axes of a result are read
//===----------------------------------------------------------------------===//

namespace {
/// A dim of the consumer, or a part of one, along which an axis is read.
struct Piece {
  unsigned dim;
  std::optional<unsigned> part;
  OpFoldResult size;
};

/// The pieces that an axis consists of, the outermost first. None for an axis
/// of size 1 that is read at 0.
using Pieces = SmallVector<Piece, 2>;

/// Follows one operand of the consumer up to the producer's result.
class ReadPath {
public:
  ReadPath(DimSplit &consumer, OpOperand &operand, DimSizes &sizes)
      : consumer(consumer), operand(operand), sizes(sizes) {}

  /// Splits dims of the consumer, then of the producer. Fails where the
  /// reshapes don't come down to splits.
  LogicalResult follow();
  LogicalResult splitProducer(DimSplit &producer) const;
  /// The result, and the map by which the split consumer reads it when split
  /// as well. Fails where the two splits don't agree.
  FailureOr<DimSplit::Operand> getOperand(DimSplit &producer,
                                          GenericOp splitProducer) const;

private:
  void start();
  LogicalResult passCollapse(tensor::CollapseShapeOp collapse);
  void passExpand(tensor::ExpandShapeOp expand);
  LogicalResult distribute(const Pieces &pieces, Value source,
                           ArrayRef<int64_t> group, SmallVector<Pieces> &axes);
  OpFoldResult getSize(Value tensor, int64_t axis);

  DimSplit &consumer;
  OpOperand &operand;
  DimSizes &sizes;
  OpResult result;
  SmallVector<Pieces> axes;
};
} // namespace

static bool isUnit(const Piece &piece) {
  return getConstantIntValue(piece.size) == 1;
}

static Pieces dropUnits(const Pieces &pieces) {
  Pieces kept;
  llvm::copy_if(pieces, std::back_inserter(kept), std::not_fn(isUnit));
  return kept;
}

static DimParts getSizes(const Pieces &pieces) {
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
  return sizes.get(operand.getOwner()->getLoc(), tensor, axis);
}

void ReadPath::start() {
  auto op = cast<GenericOp>(operand.getOwner());
  AffineMap map = op.getMatchingIndexingMap(&operand);
  for (auto [axis, expr] : llvm::enumerate(map.getResults())) {
    Pieces &pieces = axes.emplace_back();
    if (auto dim = dyn_cast<AffineDimExpr>(expr))
      pieces.push_back(
          {dim.getPosition(), std::nullopt, getSize(operand.get(), axis)});
  }
}

/// Spreads the pieces of an axis over the axes that were collapsed to it.
LogicalResult ReadPath::distribute(const Pieces &pieces, Value source,
                                   ArrayRef<int64_t> group,
                                   SmallVector<Pieces> &to) {
  ArrayRef<int64_t> shape =
      cast<RankedTensorType>(source.getType()).getShape();
  Pieces wide = dropUnits(pieces), units;
  llvm::copy_if(pieces, std::back_inserter(units), isUnit);
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
    parts.push_back(getSize(source, axis));
    if (!parts.back())
      return failure();
  }
  if (wide.size() == 1 && !wide[0].part &&
      consumer.add(wide[0].dim, parts)) {
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
  Value value = operand.get();
  while (!isa<GenericOp>(value.getDefiningOp())) {
    if (auto collapse = value.getDefiningOp<tensor::CollapseShapeOp>()) {
      if (failed(passCollapse(collapse)))
        return failure();
    } else {
      passExpand(value.getDefiningOp<tensor::ExpandShapeOp>());
    }
    value = value.getDefiningOp()->getOperand(0);
  }
  result = cast<OpResult>(value);
  return success();
}

LogicalResult ReadPath::splitProducer(DimSplit &producer) const {
  GenericOp op = producer.getProgram();
  AffineMap written =
      op.getMap(op.getInputs().size() + result.getResultNumber());
  for (auto [pieces, expr] : llvm::zip_equal(axes, written.getResults())) {
    Pieces wide = dropUnits(pieces);
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (wide.size() > 1 &&
        (!dim || !producer.add(dim.getPosition(), getSizes(wide))))
      return failure();
  }
  return success();
}

FailureOr<DimSplit::Operand>
ReadPath::getOperand(DimSplit &producer, GenericOp splitProducer) const {
  GenericOp op = producer.getProgram();
  MLIRContext *context = op.getContext();
  AffineMap written =
      op.getMap(op.getInputs().size() + result.getResultNumber());
  SmallVector<AffineExpr> exprs;
  for (auto [pieces, expr] : llvm::zip_equal(axes, written.getResults())) {
    Pieces wide = dropUnits(pieces);
    if (wide.empty() && !pieces.empty())
      wide.push_back(pieces.front());
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if ((dim ? producer.getNumParts(dim.getPosition()) : 1) !=
        std::max<size_t>(wide.size(), 1))
      return failure();
    for (const Piece &piece : wide) {
      // This operand may read a dim whole and another one its parts.
      if (consumer.isSplit(piece.dim) && !piece.part)
        return failure();
      exprs.push_back(getAffineDimExpr(
          consumer.getFirst(piece.dim) + piece.part.value_or(0), context));
    }
    if (wide.empty())
      exprs.push_back(getAffineConstantExpr(0, context));
  }
  return DimSplit::Operand{
      splitProducer->getResult(result.getResultNumber()),
      AffineMap::get(consumer.getNumDims(), 0, exprs, context)};
}

//===----------------------------------------------------------------------===//
// Both programs, split
//===----------------------------------------------------------------------===//

namespace {
/// Erases what was made and is of no use after all.
class Attempt : public OpBuilder::Listener {
public:
  explicit Attempt(RewriterBase &rewriter)
      : rewriter(rewriter), outer(rewriter.getListener()) {
    rewriter.setListener(this);
  }
  ~Attempt() override {
    rewriter.setListener(outer);
    if (keep)
      return;
    for (Operation *op : llvm::reverse(made))
      rewriter.eraseOp(op);
  }
  void notifyOperationInserted(Operation *op,
                               OpBuilder::InsertPoint) override {
    // Ops of a body go with their program.
    if (!op->getParentOfType<GenericOp>())
      made.push_back(op);
  }
  bool keep = false;

private:
  RewriterBase &rewriter;
  OpBuilder::Listener *outer;
  SmallVector<Operation *> made;
};
} // namespace

/// Whether `expand` undoes a collapse from `type` by `groups`.
static bool isInverse(tensor::ExpandShapeOp expand, RankedTensorType type,
                      ArrayRef<ReassociationIndices> groups) {
  if (expand.getResultType() != type ||
      ArrayRef<ReassociationIndices>(expand.getReassociationIndices()) !=
          groups)
    return false;
  // A size follows from the others of its group.
  return llvm::all_of(groups, [&](const ReassociationIndices &group) {
    return llvm::count_if(group, [&](int64_t axis) {
             return type.isDynamicDim(axis);
           }) <= 1;
  });
}

/// Gives the users of a program's results back what they used, now that it is
/// split, by ops at the insertion point. Returns the last one, or `last`.
static Operation *replaceResults(RewriterBase &rewriter, const DimSplit &split,
                                 GenericOp made, Operation *last) {
  GenericOp old = split.getProgram();
  for (auto [number, from, to] :
       llvm::enumerate(old.getResults(), made.getResults())) {
    if (from.getType() == to.getType()) {
      rewriter.replaceAllUsesWith(from, to);
      continue;
    }
    SmallVector<ReassociationIndices> groups = split.getReassociation(number);
    for (Operation *user : llvm::make_early_inc_range(from.getUsers()))
      if (auto expand = dyn_cast<tensor::ExpandShapeOp>(user))
        if (isInverse(expand, cast<RankedTensorType>(to.getType()), groups))
          rewriter.replaceOp(expand, to);
    if (from.use_empty())
      continue;
    auto collapse = tensor::CollapseShapeOp::create(
        rewriter, old.getLoc(), from.getType(), to, groups);
    rewriter.replaceAllUsesWith(from, collapse.getResult());
    last = collapse;
  }
  return last;
}

namespace {
/// Two programs with reshapes between, and what they become.
class ReshapeFusion {
public:
  ReshapeFusion(RewriterBase &rewriter, GenericOp producer, GenericOp consumer)
      : rewriter(rewriter), producer(producer), consumer(consumer) {}

  /// Builds both programs, split; without an effect where they don't fuse.
  std::optional<ProgramFusion> match(std::string &reason);
  /// Puts them into the place of the given ones.
  void replace();

private:
  LogicalResult build(std::string &reason);

  RewriterBase &rewriter;
  DimSplit producer, consumer;
  GenericOp newProducer, newConsumer;
};
} // namespace

LogicalResult ReshapeFusion::build(std::string &reason) {
  GenericOp reader = consumer.getProgram();
  rewriter.setInsertionPoint(reader);
  DimSizes sizes(rewriter);
  SmallVector<std::pair<unsigned, ReadPath>> paths;
  for (OpOperand &operand : reader->getOpOperands()) {
    if (getProgramBehindReshapes(operand.get()) != producer.getProgram())
      continue;
    if (reader.isDpsInit(&operand)) {
      reason = "its result is a destination here";
      return failure();
    }
    paths.emplace_back(operand.getOperandNumber(),
                       ReadPath(consumer, operand, sizes));
  }
  reason = "the reshapes between the two don't split their dims alike";
  for (auto &[number, path] : paths)
    if (failed(path.follow()))
      return failure();
  for (auto &[number, path] : paths)
    if (failed(path.splitProducer(producer)))
      return failure();
  newProducer = producer.getProgram();
  if (!producer.isEmpty()) {
    FailureOr<GenericOp> built = producer.build(rewriter, DimSplit::Operands());
    if (failed(built))
      return failure();
    newProducer = *built;
  }
  DimSplit::Operands operands;
  for (auto &[number, path] : paths) {
    FailureOr<DimSplit::Operand> read = path.getOperand(producer, newProducer);
    if (failed(read))
      return failure();
    operands[number] = *read;
  }
  FailureOr<GenericOp> built = consumer.build(rewriter, operands);
  if (failed(built))
    return failure();
  newConsumer = *built;
  return success();
}

std::optional<ProgramFusion> ReshapeFusion::match(std::string &reason) {
  GenericOp from = producer.getProgram(), to = consumer.getProgram();
  if (failed(ProgramFusion::checkPlaces(from, to, reason)))
    return std::nullopt;
  Attempt attempt(rewriter);
  if (failed(build(reason)))
    return std::nullopt;
  auto fusion = ProgramFusion::matchSpaces(
      newProducer, newConsumer, ProgramUses(from).areShared(to), reason);
  attempt.keep = fusion.has_value();
  return fusion;
}

void ReshapeFusion::replace() {
  GenericOp from = producer.getProgram(), to = consumer.getProgram();
  rewriter.setInsertionPoint(to);
  Operation *last = replaceResults(rewriter, consumer, newConsumer, newConsumer);
  rewriter.eraseOp(to);
  for (Operation *reshape : llvm::reverse(ProgramUses(from).reshapes))
    if (reshape->use_empty())
      rewriter.eraseOp(reshape);
  if (newProducer == from)
    return;
  moveReshapesBelow(rewriter, from, newConsumer, last);
  rewriter.setInsertionPointAfter(last);
  replaceResults(rewriter, producer, newProducer, last);
  rewriter.eraseOp(from);
}

GenericOp norm::fuseThroughReshapes(RewriterBase &rewriter, GenericOp producer,
                                    GenericOp consumer, std::string &reason) {
  ReshapeFusion reshaped(rewriter, producer, consumer);
  std::optional<ProgramFusion> fusion = reshaped.match(reason);
  if (!fusion)
    return nullptr;
  reshaped.replace();
  return fusion->apply(rewriter);
}
