//===- ProgramDims.cpp - Rows and columns of a program --------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramDims.h"

#include "norm/Analysis/TilePlan.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::norm;

bool mlir::norm::isOne(GenericOp op, unsigned dim) {
  return op.getExtents()[dim] == 1;
}

SmallVector<unsigned> mlir::norm::walkedBy(GenericOp op, AffineMap map) {
  SmallVector<unsigned> dims;
  for (AffineExpr expr : map.getResults())
    if (auto dim = dyn_cast<AffineDimExpr>(expr);
        dim && !isOne(op, dim.getPosition()))
      dims.push_back(dim.getPosition());
  return dims;
}

AffineMap mlir::norm::leadingMap(GenericOp op) {
  AffineMap best;
  size_t most = 0;
  unsigned numInputs = op.getInputs().size();
  for (OpOperand &operand : op->getOpOperands()) {
    unsigned number = operand.getOperandNumber();
    bool isInput = number < numInputs;
    if (!isa<ShapedType>(operand.get().getType()) ||
        (isInput && op.getBlock()->getArgument(number).use_empty()))
      continue;
    AffineMap map = op.getMatchingIndexingMap(&operand);
    size_t count = walkedBy(op, map).size();
    if (best && count <= most)
      continue;
    best = map;
    most = count;
  }
  return best;
}

/// How many trailing dims are columns where no reduction tells: the fewest with
/// which every operand has all dims, all row dims, none or, of inputs, all
/// column dims; 0 if there is no such number.
static unsigned countColumnDims(GenericOp op) {
  unsigned numDims = op.getNumDims();
  auto fits = [&](AffineMap map, unsigned columns, bool isInput) {
    unsigned rank = map.getNumResults();
    auto isRange = [&](unsigned begin, unsigned end) {
      if (rank != end - begin)
        return false;
      for (auto [axis, expr] : llvm::enumerate(map.getResults()))
        if (expr != getAffineDimExpr(begin + axis, op.getContext()))
          return false;
      return true;
    };
    return rank == 0 || isRange(0, numDims) || isRange(0, numDims - columns) ||
           (isInput && isRange(numDims - columns, numDims));
  };
  for (unsigned columns = 1; columns <= numDims; ++columns)
    if (llvm::all_of(op->getOpOperands(), [&](OpOperand &operand) {
          return !isa<ShapedType>(operand.get().getType()) ||
                 fits(op.getMatchingIndexingMap(&operand), columns,
                      operand.getOperandNumber() < op.getInputs().size());
        }))
      return columns;
  return 0;
}

/// The dims, of more than one element, that some output doesn't have.
static uint64_t dimsWithoutOutput(GenericOp op) {
  uint64_t missing = 0;
  for (unsigned i = 0; i < op.getOutputs().size(); ++i) {
    AffineMap map = op.getMap(op.getInputs().size() + i);
    SmallVector<unsigned> has = walkedBy(op, map);
    for (unsigned dim = 0; dim < op.getNumDims(); ++dim)
      if (!isOne(op, dim) && !llvm::is_contained(has, dim))
        missing |= uint64_t(1) << dim;
  }
  return missing;
}

uint64_t mlir::norm::getDims(GenericOp op, ArrayAttr names) {
  uint64_t dims = 0;
  for (StringRef name : names.getAsValueRange<StringAttr>())
    dims |= uint64_t(1) << *op.getDimNumber(name);
  return dims;
}

uint64_t mlir::norm::getReducedDims(GenericOp op, ReduceOp reduce) {
  return getDims(op, reduce.getDims());
}

bool mlir::norm::dependsOnOrder(ReduceOp reduce) {
  switch (reduce.getKind()) {
  case ReduceKind::Max:
  case ReduceKind::Min:
  case ReduceKind::MaxNum:
  case ReduceKind::MinNum:
    return false;
  default:
    return isa<FloatType>(reduce.getValue().getType());
  }
}

bool mlir::norm::dependsOnOrder(GenericOp program) {
  return llvm::any_of(program.getBody().getOps<ReduceOp>(),
                      [](ReduceOp reduce) { return dependsOnOrder(reduce); });
}

std::optional<int64_t> mlir::norm::getGroupSize(GenericOp op, uint64_t columns,
                                                uint64_t dims) {
  int64_t size = 1;
  SmallVector<int64_t> extents = op.getExtents();
  bool isLast = true;
  for (unsigned dim = op.getNumDims(); dim-- > 0;) {
    if (!(columns >> dim & 1) || extents[dim] == 1)
      continue;
    bool isOne = dims >> dim & 1;
    if (isOne && (!isLast || ShapedType::isDynamic(extents[dim]) ||
                  llvm::MulOverflow(size, extents[dim], size)))
      return std::nullopt;
    isLast &= isOne;
  }
  if (!llvm::isPowerOf2_64(size))
    return std::nullopt;
  return size;
}

FailureOr<uint64_t> mlir::norm::findColumnDims(GenericOp op, bool isDiagnosed) {
  uint64_t mask = 0;
  for (auto reduce : op.getBody().getOps<ReduceOp>())
    mask |= getReducedDims(op, reduce);
  // All but those that are summed over.
  if (uint64_t workers = op.getWorkerDims(); workers && mask == 0) {
    mask = ((uint64_t(1) << op.getNumDims()) - 1) & ~workers;
    for (auto sum : op.getBody().getOps<AccumulateOp>())
      mask &= ~getDims(op, sum.getDims());
  }
  for (auto reduce : op.getBody().getOps<ReduceOp>()) {
    uint64_t dims = getReducedDims(op, reduce);
    if (dims == mask ||
        (!dependsOnOrder(reduce) && getGroupSize(op, mask, dims)))
      continue;
    if (isDiagnosed)
      reduce.emitOpError("expects all reductions of a program over the same "
                         "dims or, of kinds without an order, over the last "
                         "of them in groups of a power of two");
    return failure();
  }
  unsigned numDims = op.getNumDims();
  if (mask || numDims == 0)
    return mask;
  if (unsigned columns = countColumnDims(op))
    return ((uint64_t(1) << columns) - 1) << (numDims - columns);
  if (uint64_t missing = dimsWithoutOutput(op))
    return missing;
  // Stores next to each other matter most.
  AffineMap map = op.getMap(op.getInputs().size());
  SmallVector<unsigned> dims = walkedBy(op, map);
  return uint64_t(1) << (dims.empty() ? numDims - 1 : dims.back());
}

FailureOr<int64_t> mlir::norm::countColumns(GenericOp op, uint64_t columnMask) {
  int64_t columns = 1;
  SmallVector<int64_t> extents = op.getExtents();
  for (auto [dim, extent] : llvm::enumerate(extents))
    if (columnMask >> dim & 1 && extent == 0)
      return 0;
  for (auto [dim, extent] : llvm::enumerate(extents)) {
    if (!(columnMask >> dim & 1))
      continue;
    if (columns < 0 || ShapedType::isDynamic(extent)) {
      columns = -1;
      continue;
    }
    bool overflows = llvm::MulOverflow(columns, extent, columns);
    if (overflows || columns > ::norm::maxColumns) {
      InFlightDiagnostic diag = op.emitOpError()
                                << "expects at most " << ::norm::maxColumns
                                << " columns but got ";
      return overflows ? diag << "more than 2^63" : diag << columns;
    }
  }
  return columns;
}

SmallVector<unsigned> mlir::norm::dimsOf(GenericOp op, uint64_t mask) {
  SmallVector<unsigned> dims;
  unsigned last = 0;
  for (unsigned dim = 0; dim < op.getNumDims(); ++dim) {
    if (!(mask >> dim & 1))
      continue;
    last = dim;
    if (!isOne(op, dim))
      dims.push_back(dim);
  }
  if (dims.empty() && mask)
    dims.push_back(last);
  return dims;
}
