//===- ProgramInlining.cpp - Two bodies in one program --------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramFusion.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/CSE.h"

using namespace mlir;
using namespace mlir::norm;

/// A fused program's name has at most this many characters.
static constexpr size_t maxNameSize = 48;

static bool hasReduction(GenericOp op) {
  return !op.getBlock()->getOps<ReduceOp>().empty();
}

/// "add" and "rms_norm" make "add_rms_norm". Where that is too long, the part
/// that reduces names the whole.
static std::string joinNames(GenericOp producer, GenericOp consumer) {
  StringRef first = producer.getName().value_or("");
  StringRef second = consumer.getName().value_or("");
  if (first.empty() || second.empty())
    return (first + second).str();
  if (first.size() + 1 + second.size() <= maxNameSize)
    return (first + "_" + second).str();
  return (hasReduction(producer) && !hasReduction(consumer) ? first : second)
      .str();
}

namespace {
/// The operands of the fused op while they are collected.
class OperandList {
public:
  explicit OperandList(unsigned numDims) : numDims(numDims) {}

  /// Appends an operand with its map in the fused space; `dims` gives for each
  /// of its own dims the expression there.
  unsigned append(Value operand, AffineMap map, ArrayRef<AffineExpr> dims) {
    operands.push_back(operand);
    maps.push_back(map.replaceDimsAndSymbols(dims, {}, numDims, 0));
    return operands.size() - 1;
  }
  /// The same, but a second read of the same elements is the first.
  unsigned appendInput(Value operand, AffineMap map,
                       ArrayRef<AffineExpr> dims) {
    AffineMap fused = map.replaceDimsAndSymbols(dims, {}, numDims, 0);
    for (unsigned i = 0, e = operands.size(); i != e; ++i)
      if (operands[i] == operand && maps[i] == fused)
        return i;
    return append(operand, map, dims);
  }

  SmallVector<Value> operands;
  SmallVector<AffineMap> maps;

private:
  unsigned numDims;
};

/// One of the two programs, seen from the fused space.
struct Side {
  GenericOp op;
  /// For each dim, its expression and its name in the fused space.
  SmallVector<AffineExpr> exprs;
  SmallVector<StringRef> names;
  IRMapping mapping;
};
} // namespace

static Attribute rename(Side &side, Attribute name) {
  auto text = cast<StringAttr>(name);
  std::optional<unsigned> dim = side.op.getDimNumber(text);
  return StringAttr::get(name.getContext(), side.names[*dim]);
}

/// Appends a body, its dims under their new names.
static void inlineBody(RewriterBase &rewriter, Side &side) {
  for (Operation &inner : side.op.getBlock()->without_terminator()) {
    Operation *copy = rewriter.clone(inner, side.mapping);
    auto renameAll = [&](ArrayAttr names) {
      return rewriter.getArrayAttr(llvm::map_to_vector(
          names, [&](Attribute name) { return rename(side, name); }));
    };
    if (auto reduce = dyn_cast<ReduceOp>(copy)) {
      reduce.setDimsAttr(renameAll(reduce.getDims()));
    } else if (auto sum = dyn_cast<AccumulateOp>(copy)) {
      sum.setDimsAttr(renameAll(sum.getDims()));
      sum.setWorkerAttr(cast<StringAttr>(rename(side, sum.getWorkerAttr())));
    } else if (auto random = dyn_cast<RandomOp>(copy)) {
      random.setDimsAttr(renameAll(random.getDims()));
    } else if (auto extent = dyn_cast<ExtentOp>(copy)) {
      extent.setDimAttr(cast<StringAttr>(rename(side, extent.getDimAttr())));
    } else if (auto index = dyn_cast<IndexOp>(copy)) {
      index.setDimAttr(cast<StringAttr>(rename(side, index.getDimAttr())));
    }
  }
}

void norm::dropUnusedInputs(RewriterBase &rewriter, GenericOp op) {
  SmallVector<Attribute> maps = llvm::to_vector(op.getIndexingMaps());
  auto fixesExtents = [&](unsigned number) {
    AffineMap map = cast<AffineMapAttr>(maps[number]).getValue();
    return llvm::all_of(map.getResults(), [&](AffineExpr expr) {
      for (auto [other, attr] : llvm::enumerate(maps))
        if (other != number &&
            llvm::is_contained(
                cast<AffineMapAttr>(attr).getValue().getResults(), expr))
          return true;
      return isa<AffineConstantExpr>(expr);
    });
  };
  rewriter.modifyOpInPlace(op, [&] {
    for (unsigned i = op.getInputs().size(); i-- > 0;) {
      if (!op.getBlock()->getArgument(i).use_empty() || !fixesExtents(i))
        continue;
      op.getInputsMutable().erase(i);
      op.getBlock()->eraseArgument(i);
      maps.erase(maps.begin() + i);
    }
    op.setIndexingMapsAttr(rewriter.getArrayAttr(maps));
  });
}

GenericOp norm::dropUnusedResults(RewriterBase &rewriter, GenericOp op) {
  unsigned numInputs = op.getInputs().size();
  SmallVector<Value> outputs;
  SmallVector<AffineMap> maps;
  SmallVector<unsigned> kept;
  for (unsigned i = 0; i != numInputs; ++i)
    maps.push_back(op.getMap(i));
  for (OpResult result : op->getResults()) {
    unsigned number = numInputs + result.getResultNumber();
    if (result.use_empty() && op.getBlock()->getArgument(number).use_empty())
      continue;
    kept.push_back(result.getResultNumber());
    outputs.push_back(op.getOutputs()[kept.back()]);
    maps.push_back(op.getMap(number));
  }
  if (kept.empty() || kept.size() == op->getNumResults())
    return op;
  SmallVector<int64_t> told(op.getNumDims(), ShapedType::kDynamic);
  llvm::SmallBitVector isTold(op.getNumDims());
  SmallVector<Value> operands(op.getInputs());
  llvm::append_range(operands, outputs);
  for (auto [operand, map] : llvm::zip(operands, maps))
    for (auto [axis, expr] : llvm::enumerate(map.getResults()))
      if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
        isTold.set(dim.getPosition());
        int64_t extent =
            cast<ShapedType>(operand.getType()).getDimSize(axis);
        if (ShapedType::isStatic(extent))
          told[dim.getPosition()] = extent;
      }
  if (!isTold.all() || told != op.getExtents())
    return op;
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(op);
  SmallVector<StringRef> names;
  for (unsigned dim = 0; dim != op.getNumDims(); ++dim)
    names.push_back(op.getDimName(dim));
  auto made = GenericOp::create(rewriter, op.getLoc(), op.getInputs(), outputs,
                                names, maps);
  made->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  made.setNameAttr(op.getNameAttr());
  made.setOrderAttr(op.getOrderAttr());
  made.setScheduleAttr(op.getScheduleAttr());
  SmallVector<Value> arguments(numInputs + op->getNumResults());
  for (unsigned i = 0; i != numInputs; ++i)
    arguments[i] = made.getBlock()->getArgument(i);
  for (auto [i, number] : llvm::enumerate(kept))
    arguments[numInputs + number] = made.getBlock()->getArgument(numInputs + i);
  // Nothing uses the arguments of results that nobody uses.
  for (Value &argument : arguments)
    if (!argument)
      argument = op.getBlock()->getArgument(&argument - arguments.data());
  Operation *yield = op.getBlock()->getTerminator();
  SmallVector<Value> yielded;
  for (unsigned number : kept)
    yielded.push_back(yield->getOperand(number));
  rewriter.modifyOpInPlace(yield, [&] { yield->setOperands(yielded); });
  rewriter.inlineBlockBefore(op.getBlock(), made.getBlock(),
                             made.getBlock()->end(), arguments);
  for (auto [i, number] : llvm::enumerate(kept))
    rewriter.replaceAllUsesWith(op->getResult(number), made->getResult(i));
  rewriter.eraseOp(op);
  return made;
}

GenericOp ProgramFusion::build(RewriterBase &rewriter) {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(consumer);
  MLIRContext *context = rewriter.getContext();
  // Dims go by the names of the base, which tell rows from columns.
  GenericOp base = baseIsProducer ? producer : consumer;
  unsigned numDims = base.getNumDims();
  Side from{producer, {}, {}, {}}, to{consumer, {}, {}, {}};
  SmallVector<StringRef> names;
  for (unsigned dim = 0; dim != numDims; ++dim)
    names.push_back(base.getDimName(dim));
  auto fill = [&](Side &side, ArrayRef<std::optional<unsigned>> toOther) {
    for (unsigned dim = 0, e = side.op.getNumDims(); dim != e; ++dim) {
      std::optional<unsigned> fused = side.op == base ? dim : toOther[dim];
      side.exprs.push_back(fused ? getAffineDimExpr(*fused, context)
                                 : getAffineConstantExpr(0, context));
      side.names.push_back(fused ? names[*fused] : StringRef());
    }
  };
  fill(from, toConsumer);
  fill(to, toProducer);

  // Inputs.
  OperandList operands(numDims);
  SmallVector<std::pair<BlockArgument, unsigned>> arguments[2];
  auto addInput = [&](Side &side, OpOperand &operand) {
    unsigned number = operand.getOperandNumber();
    arguments[&side == &to].emplace_back(
        side.op.getBlock()->getArgument(number),
        operands.appendInput(operand.get(), side.op.getMap(number),
                             side.exprs));
  };
  for (OpOperand *input : producer.getDpsInputOperands())
    addInput(from, *input);
  auto isKept = [&](OpResult result) {
    return shared.test(result.getResultNumber());
  };
  // What a dropped output held before may still be read.
  for (OpOperand &init : producer.getDpsInitsMutable())
    if (!isKept(producer.getTiedOpResult(&init)) &&
        !producer.getBlock()->getArgument(init.getOperandNumber()).use_empty())
      addInput(from, init);
  for (OpOperand *input : consumer.getDpsInputOperands())
    if (input->get().getDefiningOp() != producer)
      addInput(to, *input);
  unsigned numInputs = operands.operands.size();

  // Outputs: those of the consumer, then what else the producer has to give.
  replaced.clear();
  auto addOutput = [&](Side &side, OpOperand &init) {
    unsigned number = init.getOperandNumber();
    Value destination = init.get();
    // Two outputs can't share what one of the ops had for itself.
    if (auto empty = destination.getDefiningOp<tensor::EmptyOp>())
      if (llvm::is_contained(ArrayRef(operands.operands).drop_front(numInputs),
                             destination))
        destination = rewriter.clone(*empty)->getResult(0);
    arguments[&side == &to].emplace_back(
        side.op.getBlock()->getArgument(number),
        operands.append(destination, side.op.getMap(number), side.exprs));
    replaced.push_back(side.op.getTiedOpResult(&init));
  };
  for (OpOperand &init : consumer.getDpsInitsMutable())
    addOutput(to, init);
  for (OpOperand &init : producer.getDpsInitsMutable())
    if (isKept(producer.getTiedOpResult(&init)))
      addOutput(from, init);

  ArrayRef<Value> all(operands.operands);
  auto fused = GenericOp::create(
      rewriter, rewriter.getFusedLoc({consumer.getLoc(), producer.getLoc()}),
      all.take_front(numInputs), all.drop_front(numInputs), names,
      operands.maps);
  std::string name = joinNames(producer, consumer);
  if (!name.empty())
    fused.setName(name);

  rewriter.setInsertionPointToStart(fused.getBlock());
  for (Side *side : {&from, &to})
    for (auto [argument, number] : arguments[side == &to])
      side->mapping.map(argument, fused.getBlock()->getArgument(number));
  inlineBody(rewriter, from);
  auto getYielded = [&](OpResult result) {
    Side &side = result.getOwner() == producer ? from : to;
    Value value = side.op.getBlock()->getTerminator()->getOperand(
        result.getResultNumber());
    return side.mapping.lookup(value);
  };
  for (OpOperand *input : consumer.getDpsInputOperands())
    if (input->get().getDefiningOp() == producer)
      to.mapping.map(
          consumer.getBlock()->getArgument(input->getOperandNumber()),
          getYielded(cast<OpResult>(input->get())));
  inlineBody(rewriter, to);
  YieldOp::create(rewriter, consumer.getLoc(),
                  llvm::map_to_vector(replaced, getYielded));

  DominanceInfo dominance(fused);
  eliminateCommonSubExpressions(rewriter, dominance, fused);
  dropUnusedInputs(rewriter, fused);
  return fused;
}

GenericOp ProgramFusion::apply(RewriterBase &rewriter) {
  moveReshapesBelow(rewriter, producer, consumer, consumer);
  for (OpResult result : producer->getResults())
    if (llvm::any_of(result.getUsers(),
                     [&](Operation *user) { return user != consumer; }))
      shared.set(result.getResultNumber());
  GenericOp fused = build(rewriter);
  for (auto [old, result] : llvm::zip_equal(replaced, fused.getResults()))
    rewriter.replaceAllUsesWith(old, result);
  rewriter.eraseOp(consumer);
  rewriter.eraseOp(producer);
  return fused;
}
