//===- FuseReshapes.cpp - Fusing programs with reshapes between -----------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FuseReshapes.h"

#include "FusionModel.h"
#include "ReadPath.h"

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
  void notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) override {
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

namespace {
/// Two programs with reshapes between, and what they become.
class ReshapeFusion {
public:
  ReshapeFusion(RewriterBase &rewriter, GenericOp producer, GenericOp consumer)
      : rewriter(rewriter), producer(producer), consumer(consumer) {}

  /// Builds both programs, split; without an effect where they don't fuse.
  /// `saved` says what they save otherwise.
  std::optional<ProgramFusion> match(OrderAttr order, std::string &reason,
                                     std::string &saved);
  /// Puts them into the place of the given ones.
  void replace();

private:
  LogicalResult build(std::string &reason);
  LogicalResult splitProducer(const ReadPath &path);
  FailureOr<DimSplit::Operand> getOperand(const ReadPath &path);

  RewriterBase &rewriter;
  DimSplit producer, consumer;
  GenericOp newProducer, newConsumer;
};
} // namespace

/// Splits the producer as a path that ends at one of its results has it.
LogicalResult ReshapeFusion::splitProducer(const ReadPath &path) {
  GenericOp op = producer.getProgram();
  unsigned result = cast<OpResult>(path.getSource()).getResultNumber();
  AffineMap written = op.getMap(op.getInputs().size() + result);
  for (auto [axis, expr] : llvm::enumerate(written.getResults())) {
    DimParts parts = path.getParts(axis);
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (!parts.empty() && (!dim || !producer.add(dim.getPosition(), parts)))
      return failure();
  }
  return success();
}

/// What the consumer reads at the end of a path, both programs being split.
FailureOr<DimSplit::Operand> ReshapeFusion::getOperand(const ReadPath &path) {
  GenericOp op = producer.getProgram();
  unsigned result = cast<OpResult>(path.getSource()).getResultNumber();
  AffineMap written = op.getMap(op.getInputs().size() + result);
  // Another path may have split a dim that this one reads whole.
  for (auto [axis, expr] : llvm::enumerate(written.getResults()))
    if (auto dim = dyn_cast<AffineDimExpr>(expr))
      if (producer.isSplit(dim.getPosition()) && path.getParts(axis).empty())
        return failure();
  FailureOr<AffineMap> map = path.getMap();
  if (failed(map))
    return failure();
  return DimSplit::Operand{newProducer->getResult(result), *map};
}

LogicalResult ReshapeFusion::build(std::string &reason) {
  GenericOp reader = consumer.getProgram();
  rewriter.setInsertionPoint(reader);
  DimSizes sizes(rewriter);
  SmallVector<ReadPath> paths;
  for (OpOperand &operand : reader->getOpOperands()) {
    if (getProgramBehindReshapes(operand.get()) != producer.getProgram())
      continue;
    if (reader.isDpsInit(&operand)) {
      reason = "its result is a destination here";
      return failure();
    }
    paths.emplace_back(consumer, operand, sizes);
  }
  reason = "the reshapes between the two don't split their dims alike";
  for (ReadPath &path : paths)
    if (failed(path.follow()))
      return failure();
  for (const ReadPath &path : paths)
    if (failed(splitProducer(path)))
      return failure();
  newProducer = producer.getProgram();
  if (!producer.isEmpty()) {
    FailureOr<GenericOp> built = producer.build(rewriter, DimSplit::Operands());
    if (failed(built))
      return failure();
    newProducer = *built;
  }
  DimSplit::Operands operands;
  for (const ReadPath &path : paths) {
    FailureOr<DimSplit::Operand> read = getOperand(path);
    if (failed(read))
      return failure();
    operands[path.getOperandNumber()] = *read;
  }
  FailureOr<GenericOp> built = consumer.build(rewriter, operands);
  if (failed(built))
    return failure();
  newConsumer = *built;
  return success();
}

std::optional<ProgramFusion>
ReshapeFusion::match(OrderAttr order, std::string &reason, std::string &saved) {
  GenericOp from = producer.getProgram(), to = consumer.getProgram();
  if (failed(ProgramFusion::checkPlaces(from, to, reason)))
    return std::nullopt;
  llvm::SmallBitVector shared = ProgramUses::findShared(from, to);
  Attempt attempt(rewriter);
  if (failed(build(reason)))
    return std::nullopt;
  auto fusion =
      ProgramFusion::matchSpaces(newProducer, newConsumer, shared, reason);
  if (!fusion)
    return std::nullopt;
  FailureOr<std::string> judged = judgeFusion(*fusion, order, reason);
  if (failed(judged))
    return std::nullopt;
  saved = *judged;
  attempt.keep = true;
  return fusion;
}

void ReshapeFusion::replace() {
  GenericOp from = producer.getProgram(), to = consumer.getProgram();
  rewriter.setInsertionPoint(to);
  Operation *last = consumer.replaceResults(rewriter, newConsumer);
  rewriter.eraseOp(to);
  ProgramUses uses(from);
  for (Operation *reshape : llvm::reverse(uses.reshapes))
    if (reshape->use_empty())
      rewriter.eraseOp(reshape);
  if (newProducer == from)
    return;
  moveReshapesBelow(rewriter, from, newConsumer, last);
  rewriter.setInsertionPointAfter(last);
  producer.replaceResults(rewriter, newProducer);
  rewriter.eraseOp(from);
}

GenericOp norm::fuseThroughReshapes(RewriterBase &rewriter, GenericOp producer,
                                    GenericOp consumer, OrderAttr order,
                                    std::string &reason, std::string &saved) {
  ReshapeFusion reshaped(rewriter, producer, consumer);
  std::optional<ProgramFusion> fusion = reshaped.match(order, reason, saved);
  if (!fusion)
    return nullptr;
  reshaped.replace();
  return fusion->apply(rewriter);
}
