//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Inputs.h"

using namespace norm;
using namespace norm::fuzz;

static Value valueOf(const Execution &execution, unsigned index) {
  const Graph &graph = execution.graph;
  size_t count = graph.arguments.size();
  return graph.values[index < count ? graph.arguments[index]
                                    : graph.outputs[index - count]];
}

llvm::SmallVector<int64_t, 4> fuzz::shapeOf(const Execution &execution,
                                            unsigned index) {
  return execution.space.shape(valueOf(execution, index).support);
}

Placement fuzz::placementOf(const Execution &execution, unsigned index) {
  Placement placement;
  if (index >= execution.layouts.size())
    return placement;
  const Layout &layout = execution.layouts[index];
  placement.offset = layout.offset;
  llvm::SmallVector<int64_t, 4> shape = shapeOf(execution, index);
  if (layout.padding && shape.size() == 2)
    placement.pitch = shape.back() + layout.padding;
  return placement;
}

llvm::Expected<HostTensor> fuzz::makeArgument(const Execution &execution,
                                              unsigned index,
                                              Workers &workers) {
  Value value = valueOf(execution, index);
  llvm::SmallVector<int64_t, 4> shape = shapeOf(execution, index);
  llvm::Expected<HostTensor> tensor = HostTensor::create(
      value.dtype, shape, placementOf(execution, index), workers);
  if (!tensor)
    return tensor;
  // The data is that of the whole tensor, of which this may be some rows. Its
  // rows are those of the space, whatever the rank.
  int64_t columns = 1;
  if (value.support != Support::Row)
    for (int64_t extent : execution.space.columns)
      columns *= extent;
  int64_t skipped = 0;
  if (value.support == Support::Row || value.support == Support::Full) {
    skipped = execution.firstRow;
    for (int64_t extent : llvm::ArrayRef(execution.space.rows)
                              .drop_front(execution.space.rows.empty() ? 0 : 1))
      skipped *= extent;
  }
  int64_t count = tensor->numElements();
  unsigned size = byteSize(value.dtype);
  for (int64_t flat = 0; flat < count; ++flat) {
    int64_t row = flat / columns + skipped;
    encode(value.dtype,
           execution.data[index].at(value.dtype, row, flat % columns, columns),
           tensor->row(flat / tensor->columns()) +
               (flat % tensor->columns()) * int64_t(size));
  }
  return tensor;
}

double fuzz::scalarOf(const Execution &execution, unsigned index) {
  DType dtype = valueOf(execution, index).dtype;
  return roundTo(dtype, execution.data[index].at(dtype, 0, 0, 1));
}

llvm::Expected<tools::CallData> fuzz::makeCall(const Execution &execution,
                                               Workers &workers) {
  tools::CallData data;
  unsigned numArguments = unsigned(execution.graph.arguments.size());
  unsigned count = numArguments + unsigned(execution.graph.outputs.size());
  for (unsigned i = 0; i < count; ++i) {
    tools::CallArgument &argument = data.values.emplace_back();
    Value value = valueOf(execution, i);
    if (i < numArguments && value.support == Support::Scalar) {
      argument.scalar = scalarOf(execution, i);
      continue;
    }
    argument.placement = placementOf(execution, i);
    llvm::Expected<HostTensor> tensor =
        i < numArguments
            ? makeArgument(execution, i, workers)
            : HostTensor::create(value.dtype, shapeOf(execution, i),
                                 argument.placement, workers);
    if (!tensor)
      return tensor.takeError();
    argument.tensor = std::move(*tensor);
    if (i >= numArguments)
      data.results.push_back(i);
  }
  return std::move(data);
}
