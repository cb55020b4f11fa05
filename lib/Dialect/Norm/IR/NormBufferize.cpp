//===- NormBufferize.cpp - Bufferization of norm.generic ------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Dialect/Norm/IR/Norm.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace mlir::norm;
using namespace mlir::bufferization;

bool GenericOp::bufferizesToMemoryRead(OpOperand &operand,
                                       const AnalysisState &) {
  return !getBlock()->getArgument(operand.getOperandNumber()).use_empty();
}

bool GenericOp::bufferizesToMemoryWrite(OpOperand &operand,
                                        const AnalysisState &) {
  return operand.getOperandNumber() >= getInputs().size();
}

AliasingValueList GenericOp::getAliasingValues(OpOperand &operand,
                                               const AnalysisState &) {
  if (operand.getOperandNumber() < getInputs().size() || getNumResults() == 0)
    return {};
  return {{getResult(operand.getOperandNumber() - getInputs().size()),
           BufferRelation::Equivalent}};
}

// A row is read whole before it is written only where a reduce stands between;
// whether an output may share memory with an input is declared, not inferred.
bool GenericOp::bufferizesToElementwiseAccess(const AnalysisState &,
                                              ArrayRef<OpOperand *>) {
  return false;
}

LogicalResult GenericOp::bufferize(RewriterBase &rewriter,
                                   const BufferizationOptions &options,
                                   BufferizationState &state) {
  if (!hasTensorSemantics())
    return success();
  rewriter.setInsertionPoint(*this);
  SmallVector<Value> operands;
  for (Value operand : getOperands()) {
    if (!isa<RankedTensorType>(operand.getType())) {
      operands.push_back(operand);
      continue;
    }
    FailureOr<Value> buffer = getBuffer(rewriter, operand, options, state);
    if (failed(buffer))
      return failure();
    operands.push_back(*buffer);
  }
  ArrayRef<Value> all(operands);
  OperationState newState(getLoc(), getOperationName());
  newState.addOperands(operands);
  newState.addAttributes((*this)->getAttrs());
  newState.addRegion()->takeBody(getBody());
  rewriter.create(newState);
  replaceOpWithBufferizedValues(rewriter, *this,
                                all.drop_front(getInputs().size()));
  return success();
}
