//===- BufferTrace.cpp - Which buffer a value is a view of ----------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BufferTrace.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace ::norm;

using Axis = BufferTrace::Axis;

/// Of the trace of `collapse`'s source, that of its result.
static void collapseAxes(BufferTrace &trace, memref::CollapseShapeOp collapse) {
  llvm::SmallVector<Axis, 2> axes;
  for (const ReassociationIndices &group : collapse.getReassociationIndices()) {
    Axis &axis = axes.emplace_back();
    for (int64_t number : group) {
      const Axis &from = trace.axes[number];
      llvm::append_range(axis.dims, from.dims);
      axis.factor *= from.factor;
      // Stepping along collapsed axes steps along the innermost one.
      if (from.strideDim) {
        axis.strideDim = from.strideDim;
        axis.strideFactor = from.strideFactor;
      }
    }
  }
  trace.axes = std::move(axes);
}

/// The same for an expansion, whose parts are static but for one that takes the
/// place of what it is a part of.
static LogicalResult expandAxes(BufferTrace &trace,
                                memref::ExpandShapeOp expand) {
  MemRefType type = expand.getResultType();
  llvm::SmallVector<Axis, 2> axes(type.getRank());
  for (auto [number, group] :
       llvm::enumerate(expand.getReassociationIndices())) {
    const Axis &from = trace.axes[number];
    SmallVector<int64_t> wide;
    for (int64_t axis : group)
      if (type.getDimSize(axis) != 1)
        wide.push_back(axis);
    uint64_t inner = 1;
    for (int64_t axis : llvm::reverse(wide)) {
      Axis &part = axes[axis];
      part.strideDim = from.strideDim;
      part.strideFactor = from.strideFactor * inner;
      if (wide.size() == 1) {
        part.dims = from.dims;
        part.factor = from.factor;
      } else if (type.isDynamicDim(axis)) {
        return expand.emitError("expects static extents of the parts of axis ")
               << number << " but got " << expand.getSrc().getType() << " as "
               << type;
      } else {
        part.factor = type.getDimSize(axis);
        inner *= part.factor;
      }
    }
  }
  trace.axes = std::move(axes);
  return success();
}

FailureOr<BufferTrace> norm::traceBuffer(Value value) {
  Operation *op = value.getDefiningOp();
  if (auto collapse = dyn_cast_if_present<memref::CollapseShapeOp>(op)) {
    FailureOr<BufferTrace> trace = traceBuffer(collapse.getSrc());
    if (succeeded(trace))
      collapseAxes(*trace, collapse);
    return trace;
  }
  if (auto expand = dyn_cast_if_present<memref::ExpandShapeOp>(op)) {
    FailureOr<BufferTrace> trace = traceBuffer(expand.getSrc());
    if (succeeded(trace) && failed(expandAxes(*trace, expand)))
      return failure();
    return trace;
  }
  if (auto cast = dyn_cast_if_present<memref::CastOp>(op))
    return traceBuffer(cast.getSource());
  if (op && !isa<memref::AllocOp>(op))
    return op->emitError("expects operands of kernels to be arguments or "
                         "temporaries but got the result of '")
           << op->getName() << "'";

  BufferTrace trace;
  trace.base = value;
  if (auto type = dyn_cast<MemRefType>(value.getType()))
    for (unsigned dim = 0; dim < type.getRank(); ++dim)
      trace.axes.push_back({{dim}, 1, dim, 1});
  return trace;
}
