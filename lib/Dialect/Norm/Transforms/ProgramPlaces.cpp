//===- ProgramPlaces.cpp - Moving programs within a block -----------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramPlaces.h"

#include "ProgramFusion.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::norm;

Operation *norm::findFirstReader(GenericOp program, Operation *before) {
  Operation *first = nullptr;
  for (Operation *reader : ProgramUses(program).readers) {
    Operation *inBlock = program->getBlock()->findAncestorOpInBlock(*reader);
    if (!inBlock || !inBlock->isBeforeInBlock(before))
      continue;
    if (!first || inBlock->isBeforeInBlock(first))
      first = inBlock;
  }
  return first;
}

/// Collects what has to be moved so that `op` can stand right above `limit`.
/// Ops of one block are run together, so that it's enough for them to have no
/// effects.
static LogicalResult collect(Operation *op, Operation *limit,
                             llvm::SetVector<Operation *> &ops) {
  if (op == limit || !isMemoryEffectFree(op))
    return failure();
  if (op->getNumRegions() != 0 && !op->hasTrait<OpTrait::IsIsolatedFromAbove>())
    return failure();
  for (Value operand : op->getOperands()) {
    Operation *def = operand.getDefiningOp();
    if (!def || def->getBlock() != op->getBlock() ||
        def->isBeforeInBlock(limit) || ops.contains(def))
      continue;
    if (failed(collect(def, limit, ops)))
      return failure();
  }
  ops.insert(op);
  return success();
}

LogicalResult TentativeHoist::moveAbove(Operation *op, Operation *limit) {
  llvm::SetVector<Operation *> ops;
  if (failed(collect(op, limit, ops)))
    return failure();
  for (Operation *each : ops) {
    moved.emplace_back(each, each->getNextNode());
    rewriter.moveOpBefore(each, limit);
  }
  return success();
}

TentativeHoist::~TentativeHoist() {
  for (auto [op, next] : llvm::reverse(moved))
    rewriter.moveOpBefore(op, next);
}
