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

std::optional<unsigned> BufferTrace::strideDim(unsigned axis) const {
  auto type = dyn_cast<MemRefType>(base.getType());
  if (!type || type.getRank() == 0)
    return std::nullopt;
  if (axes[axis].empty())
    return 0;
  // Stepping along collapsed dims steps along the innermost one. One of extent
  // 1 may have any stride.
  for (unsigned dim : llvm::reverse(axes[axis]))
    if (type.getDimSize(dim) != 1)
      return dim;
  return axes[axis].back();
}

/// Of the trace of `collapse`'s source, that of its result.
static void collapseAxes(BufferTrace &trace, memref::CollapseShapeOp collapse) {
  llvm::SmallVector<std::vector<unsigned>, 2> axes;
  for (const ReassociationIndices &group : collapse.getReassociationIndices()) {
    std::vector<unsigned> &axis = axes.emplace_back();
    for (int64_t from : group)
      axis.insert(axis.end(), trace.axes[from].begin(), trace.axes[from].end());
  }
  trace.axes = std::move(axes);
}

/// The same for an expansion, which must add axes of extent 1 only.
static LogicalResult expandAxes(BufferTrace &trace,
                                memref::ExpandShapeOp expand) {
  MemRefType type = expand.getResultType();
  llvm::SmallVector<std::vector<unsigned>, 2> axes(type.getRank());
  for (auto [from, group] : llvm::enumerate(expand.getReassociationIndices())) {
    SmallVector<int64_t> wide;
    for (int64_t axis : group)
      if (type.getDimSize(axis) != 1)
        wide.push_back(axis);
    if (wide.size() > 1)
      return expand.emitError("expects no split of an operand's dims but got ")
             << expand.getSrc().getType() << " as " << type;
    if (!wide.empty())
      axes[wide.front()] = trace.axes[from];
    else if (!group.empty())
      axes[group.back()] = trace.axes[from];
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
    for (int64_t axis = 0; axis < type.getRank(); ++axis)
      trace.axes.push_back({unsigned(axis)});
  return trace;
}
