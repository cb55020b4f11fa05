//===- InPlace.cpp - Results in the memory of arguments -------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "InPlace.h"

#include "norm/Dialect/Norm/Transforms/Passes.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::norm;

static bool isReshape(Operation *op) {
  return isa_and_nonnull<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op);
}

static SmallVector<ReassociationIndices> getGroups(Operation *reshape) {
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(reshape))
    return expand.getReassociationIndices();
  return cast<tensor::CollapseShapeOp>(reshape).getReassociationIndices();
}

/// Whether `back` undoes what `reshape` does.
static bool isInverse(Operation *reshape, Operation *back) {
  return reshape->getName() != back->getName() &&
         getGroups(reshape) == getGroups(back) &&
         reshape->getOperand(0).getType() == back->getResult(0).getType() &&
         reshape->getResult(0).getType() == back->getOperand(0).getType();
}

namespace {
/// Finds who writes one result, and looks at all that read the argument.
class InPlaceFinder {
public:
  InPlaceFinder(func::FuncOp function, unsigned argument, unsigned result)
      : function(function) {
    found.argument = argument;
    found.result = result;
  }
  FailureOr<InPlaceResult> find();

private:
  LogicalResult findWriter();
  LogicalResult visit(Value value);
  LogicalResult visitRead(OpOperand &use);
  InFlightDiagnostic fail(Operation *at) {
    return at->emitError("expects argument ")
           << found.argument << ", in place of which result " << found.result
           << " is written, ";
  }

  func::FuncOp function;
  InPlaceResult found;
  /// The reshapes between the program and the result, last one first, and those
  /// between the argument and what is visited.
  SmallVector<Operation *> back, path;
};
} // namespace

LogicalResult InPlaceFinder::findWriter() {
  Operation *terminator = function.getBody().front().getTerminator();
  Value value = terminator->getOperand(found.result);
  while (isReshape(value.getDefiningOp())) {
    back.push_back(value.getDefiningOp());
    value = back.back()->getOperand(0);
  }
  found.program = value.getDefiningOp<GenericOp>();
  if (!found.program)
    return fail(terminator) << "to be updated by a program, which makes the "
                               "result, but got no such program";
  found.output = cast<OpResult>(value).getResultNumber();
  return success();
}

LogicalResult InPlaceFinder::visitRead(OpOperand &use) {
  Operation *user = use.getOwner();
  GenericOp program = found.program;
  if (user != program) {
    if (isa<GenericOp>(user) && user->isBeforeInBlock(program))
      return success();
    StringRef name = user->getName().getStringRef();
    if (auto other = dyn_cast<GenericOp>(user))
      name = other.getName().value_or(name);
    return fail(user) << "not to be read once it is overwritten, but '" << name
                      << "' reads it";
  }
  bool isSame = path.size() == back.size() && !program.isDpsInit(&use);
  for (unsigned i = 0; isSame && i < path.size(); ++i)
    isSame = isInverse(path[i], back[i]);
  AffineMap read = program.getMatchingIndexingMap(&use);
  AffineMap written = program.getMap(program.getInputs().size() + found.output);
  if (!isSame || read != written)
    return fail(program) << "to be read at the element that is written, but "
                            "operand "
                         << use.getOperandNumber() << " of '"
                         << program.getName().value_or("") << "' reads "
                         << (isSame ? "others" : "it reshaped otherwise");
  found.reads.push_back(use.getOperandNumber());
  return success();
}

LogicalResult InPlaceFinder::visit(Value value) {
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    if (isa<tensor::DimOp>(user))
      continue;
    if (!isReshape(user)) {
      if (failed(visitRead(use)))
        return failure();
      continue;
    }
    path.push_back(user);
    if (failed(visit(user->getResult(0))))
      return failure();
    path.pop_back();
  }
  return success();
}

FailureOr<InPlaceResult> InPlaceFinder::find() {
  if (failed(findWriter()) ||
      failed(visit(function.getArgument(found.argument))))
    return failure();
  if (found.reads.empty() && !back.empty())
    return fail(found.program)
           << "to be read by '" << found.program.getName().value_or("")
           << "', which makes the result in another shape";
  llvm::sort(found.reads);
  return found;
}

FailureOr<SmallVector<InPlaceResult>>
norm::findInPlaceResults(func::FuncOp function) {
  SmallVector<InPlaceResult> results;
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    auto number = function.getArgAttrOfType<IntegerAttr>(
        i, NormDialect::kInPlaceAttrName);
    if (!number)
      continue;
    FailureOr<InPlaceResult> found =
        InPlaceFinder(function, i, unsigned(number.getInt())).find();
    if (failed(found))
      return failure();
    for (InPlaceResult &other : results)
      if (other.getProgramResult() == found->getProgramResult())
        return function.emitError("expects results ")
               << other.result << " and " << found->result
               << ", written in place of arguments " << other.argument
               << " and " << i << ", to be different values";
    results.push_back(*found);
  }
  return results;
}

void InPlaceResult::replaceArgument(RewriterBase &rewriter,
                                    func::FuncOp function,
                                    const llvm::DenseSet<Type> &pitched) {
  BlockArgument memory = function.getArgument(argument);
  auto type = cast<RankedTensorType>(memory.getType());
  auto layout = function.getArgAttrOfType<StridedLayoutAttr>(
      argument, NormDialect::kLayoutAttrName);
  memory.setType(getBoundaryType(type, pitched.contains(type), layout));
  function.removeArgAttr(argument, NormDialect::kLayoutAttrName);
  function.removeArgAttr(argument, NormDialect::kInPlaceAttrName);
  function.setType(
      rewriter.getFunctionType(function.getBody().front().getArgumentTypes(),
                               function.getResultTypes()));
  rewriter.setInsertionPointToStart(&function.getBody().front());
  auto tensor = bufferization::ToTensorOp::create(
      rewriter, memory.getLoc(), type, memory, /*restrict=*/true,
      /*writable=*/true);
  rewriter.replaceAllUsesExcept(memory, tensor, tensor);

  Value content =
      reads.empty() ? tensor.getResult() : program->getOperand(reads.front());
  SmallVector<Attribute> maps(program.getIndexingMaps().getValue());
  Block *block = program.getBlock();
  rewriter.modifyOpInPlace(program, [&] {
    unsigned numInputs = program.getInputs().size();
    program.getOutputsMutable()[output].set(content);
    for (unsigned number : llvm::reverse(reads)) {
      block->getArgument(number).replaceAllUsesWith(
          block->getArgument(numInputs-- + output));
      program.getInputsMutable().erase(number);
      block->eraseArgument(number);
      maps.erase(maps.begin() + number);
    }
    program.setIndexingMapsAttr(rewriter.getArrayAttr(maps));
  });
}
