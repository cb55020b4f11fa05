//===- BufferTrace.cpp - Which buffer a value is a view of ----------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BufferTrace.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

#include <numeric>

using namespace mlir;
using namespace ::norm;

using Axis = BufferTrace::Axis;

void Axis::Product::multiply(const Product &other) {
  llvm::append_range(dims, other.dims);
  factor *= other.factor;
  divisor *= other.divisor;
  uint64_t common = std::gcd(factor, divisor);
  // A factor of 0 leaves nothing to divide.
  factor /= common;
  divisor /= common;
}

/// Of the trace of `collapse`'s source, that of its result.
static void collapseAxes(BufferTrace &trace, memref::CollapseShapeOp collapse) {
  llvm::SmallVector<Axis, 2> axes;
  for (const ReassociationIndices &group : collapse.getReassociationIndices()) {
    Axis &axis = axes.emplace_back();
    for (int64_t number : group) {
      const Axis &from = trace.axes[number];
      axis.extent.multiply(from.extent);
      // Stepping along collapsed axes steps along the innermost one.
      if (from.strideDim) {
        axis.strideDim = from.strideDim;
        axis.steps = from.steps;
      }
    }
  }
  trace.axes = std::move(axes);
}

/// The extent of the part of an axis whose other parts have `parts` elements.
/// A dim of the buffer that isn't known to be a multiple of them has to be one;
/// none where it isn't one dim.
static std::optional<Axis::Product>
divide(BufferTrace &trace, const Axis::Product &whole, uint64_t parts) {
  if (parts == 0)
    return Axis::Product{{}, 0, 1};
  Axis::Product part = whole;
  part.multiply({{}, 1, parts});
  if (part.divisor == 1)
    return part;
  if (part.dims.size() != 1)
    return std::nullopt;
  trace.multiples.push_back({part.dims.front(), part.divisor});
  return part;
}

/// The same for an expansion, whose parts are static but for one.
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
    unsigned unknown = llvm::count_if(
        wide, [&](int64_t axis) { return type.isDynamicDim(axis); });
    uint64_t known = 1;
    for (int64_t axis : wide)
      known *= type.isDynamicDim(axis) ? 1 : type.getDimSize(axis);
    std::optional<Axis::Product> rest = unknown == 0 ? Axis::Product()
                                        : unknown == 1
                                            ? divide(trace, from.extent, known)
                                            : std::nullopt;
    if (!rest)
      return expand.emitError("expects static extents of the parts of axis ")
             << number << " but got " << expand.getSrc().getType() << " as "
             << type;
    Axis::Product steps = from.steps;
    for (int64_t axis : llvm::reverse(wide)) {
      Axis &part = axes[axis];
      part.strideDim = from.strideDim;
      part.steps = steps;
      if (wide.size() == 1)
        part.extent = from.extent;
      else if (type.isDynamicDim(axis))
        part.extent = *rest;
      else
        part.extent.factor = type.getDimSize(axis);
      steps.multiply(part.extent);
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
      trace.axes.push_back({{{dim}, 1, 1}, dim, {}});
  return trace;
}
