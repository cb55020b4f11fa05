//===- Foreign.cpp - Ops that don't become kernels ------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Foreign.h"

#include "norm/Dialect/Norm/IR/Norm.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/CallInterfaces.h"

using namespace mlir;

static bool isTensor(Type type) { return isa<TensorType>(type); }

bool mlir::norm::isCall(Operation *op) { return isa<CallOpInterface>(op); }

bool mlir::norm::isTable(Operation *op) {
  return isa<arith::ConstantOp>(op) && isTensor(op->getResult(0).getType());
}

bool mlir::norm::isForeign(Operation *op) {
  if (isCall(op) || isTable(op))
    return true;
  if (llvm::none_of(op->getOperandTypes(), isTensor) &&
      llvm::none_of(op->getResultTypes(), isTensor))
    return false;
  return !isa<GenericOp, tensor::CastOp, tensor::CollapseShapeOp, tensor::DimOp,
              tensor::EmptyOp, tensor::ExpandShapeOp, func::ReturnOp,
              bufferization::MaterializeInDestinationOp>(op);
}
