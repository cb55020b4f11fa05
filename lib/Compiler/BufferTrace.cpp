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
  if (!type || type.getRank() == 0 || parts[axis].step == 0)
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

/// Puts an axis right within another; `extent` is that of the inner one.
static void appendAxis(std::vector<unsigned> &dims, BufferTrace::Part &part,
                       ArrayRef<unsigned> inner,
                       const BufferTrace::Part &innerPart, int64_t extent) {
  if (inner.empty())
    return;
  if (dims.empty()) {
    dims = inner;
    part = innerPart;
    return;
  }
  // Two parts of one dim, put together again.
  bool adjacent = ArrayRef(dims) == inner && ShapedType::isStatic(extent) &&
                  part.step != 0 && part.step == innerPart.step * extent;
  if (adjacent) {
    part.step = innerPart.step;
    part.divisor = std::max<int64_t>(part.divisor / extent, 1);
    return;
  }
  dims.insert(dims.end(), inner.begin(), inner.end());
  part.isWhole &= innerPart.isWhole;
  part.step = innerPart.step;
  part.divisor *= innerPart.divisor;
}

/// Of the trace of `collapse`'s source, that of its result.
static void collapseAxes(BufferTrace &trace, memref::CollapseShapeOp collapse) {
  BufferTrace result;
  result.base = trace.base;
  for (const ReassociationIndices &group : collapse.getReassociationIndices()) {
    std::vector<unsigned> &dims = result.axes.emplace_back();
    BufferTrace::Part &part = result.parts.emplace_back();
    for (int64_t from : group)
      appendAxis(dims, part, trace.axes[from], trace.parts[from],
                 collapse.getSrcType().getDimSize(from));
  }
  trace = std::move(result);
}

/// Spreads an axis over several of the extents `shape`, none of which is 1.
/// Fails where they aren't whole dims of the buffer, nor parts of one.
static LogicalResult splitAxis(const std::vector<unsigned> &dims,
                               BufferTrace::Part part, ArrayRef<int64_t> shape,
                               ArrayRef<int64_t> baseShape,
                               MutableArrayRef<std::vector<unsigned>> toDims,
                               MutableArrayRef<BufferTrace::Part> toParts) {
  auto fits = [&](auto pair) {
    auto [dim, extent] = pair;
    return baseShape[dim] == extent || ShapedType::isDynamic(extent) ||
           ShapedType::isDynamic(baseShape[dim]);
  };
  if (dims.size() == shape.size() && part.isWhole &&
      llvm::all_of(llvm::zip_equal(dims, shape), fits)) {
    for (auto [to, dim] : llvm::zip_equal(toDims, dims))
      to = {dim};
    return success();
  }
  if (dims.size() != 1)
    return failure();
  // A dynamic extent is what the static ones leave.
  int64_t product = 1;
  for (int64_t extent : shape)
    if (ShapedType::isStatic(extent))
      product *= std::max<int64_t>(extent, 1);
  int64_t step = part.step;
  for (unsigned i = shape.size(); i-- > 0;) {
    bool isDynamic = ShapedType::isDynamic(shape[i]);
    toDims[i] = dims;
    toParts[i] = {/*isWhole=*/false, step,
                  isDynamic ? part.divisor * product : 1};
    step = isDynamic ? 0 : step * shape[i];
  }
  return success(llvm::count_if(shape, ShapedType::isDynamic) <= 1);
}

/// The same for an expansion.
static LogicalResult expandAxes(BufferTrace &trace,
                                memref::ExpandShapeOp expand) {
  MemRefType type = expand.getResultType();
  auto base = cast<MemRefType>(trace.base.getType());
  BufferTrace result;
  result.base = trace.base;
  result.axes.resize(type.getRank());
  result.parts.resize(type.getRank());
  for (auto [from, group] : llvm::enumerate(expand.getReassociationIndices())) {
    SmallVector<int64_t> wide, extents;
    for (int64_t axis : group)
      if (type.getDimSize(axis) != 1) {
        wide.push_back(axis);
        extents.push_back(type.getDimSize(axis));
      }
    if (wide.size() <= 1) {
      int64_t axis = wide.empty() ? group.back() : wide.front();
      result.axes[axis] = trace.axes[from];
      result.parts[axis] = trace.parts[from];
      continue;
    }
    SmallVector<std::vector<unsigned>> dims(wide.size());
    SmallVector<BufferTrace::Part> parts(wide.size());
    if (failed(splitAxis(trace.axes[from], trace.parts[from], extents,
                         base.getShape(), dims, parts)))
      return expand.emitError("expects parts of one dim of a buffer but got ")
             << expand.getSrc().getType() << " as " << type;
    for (auto [axis, to, part] : llvm::zip_equal(wide, dims, parts)) {
      result.axes[axis] = to;
      result.parts[axis] = part;
    }
  }
  trace = std::move(result);
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
  trace.parts.resize(trace.axes.size());
  return trace;
}
