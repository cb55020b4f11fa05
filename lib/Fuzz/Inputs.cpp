//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Inputs.h"
#include "llvm/ADT/STLExtras.h"

using namespace norm;
using namespace norm::fuzz;

static Value valueOf(const Execution &execution, unsigned index) {
  size_t count = execution.arguments.size();
  return index < count ? execution.arguments[index]
                       : execution.results[index - count];
}

llvm::SmallVector<int64_t, 5> fuzz::shapeOf(const Execution &execution,
                                            unsigned index) {
  return execution.space.shape(valueOf(execution, index));
}

Placement fuzz::placementOf(const Execution &execution, unsigned index) {
  Placement placement;
  if (index >= execution.layouts.size())
    return placement;
  const Layout &layout = execution.layouts[index];
  placement.offset = layout.offset;
  llvm::SmallVector<int64_t, 5> shape = shapeOf(execution, index);
  if (layout.padding && shape.size() == 2)
    placement.pitch = shape.back() + layout.padding;
  if (!layout.padding || shape.size() < 3)
    return placement;
  llvm::SmallVector<int64_t, 4> strides(shape.size(), 1);
  for (size_t axis = shape.size() - 1; axis-- > 0;)
    strides[axis] = strides[axis + 1] * std::max<int64_t>(shape[axis + 1], 1) +
                    layout.padding;
  placement.strides = std::move(strides);
  return placement;
}

namespace {
/// Where an element of a value is in the rows of the space, of which this may
/// be a part.
class Places {
public:
  Places(const Execution &execution, const Value &value)
      : space(execution.space), axes(space.axes(value)),
        shape(space.shape(value)), firstRow(execution.firstRow) {
    ofSpace = llvm::all_of(
        axes, [](Space::Axis axis) { return axis.dim != Space::kGroupAxis; });
    hasColumns = llvm::any_of(axes, [&](Space::Axis axis) {
      return !ofSpace || space.dims[axis.dim].isColumn;
    });
  }

  int64_t columns() const { return hasColumns ? space.size(true) : 1; }

  /// Row and column of the element `flat` in C order.
  std::pair<int64_t, int64_t> at(int64_t flat) const {
    // Of another grid, whose first axis is the space's, if any is.
    if (!ofSpace) {
      bool isPart = !axes.front().isUnit && axes.front().dim == 0;
      int64_t size = 1;
      for (int64_t extent : llvm::drop_begin(shape))
        size *= extent;
      return {0, flat + (isPart ? firstRow * size : 0)};
    }
    llvm::SmallVector<int64_t, 5> indices(space.dims.size(), 0);
    for (size_t i = axes.size(); i-- > 0;) {
      if (!axes[i].isUnit)
        indices[axes[i].dim] =
            flat % shape[i] + (axes[i].dim == 0 ? firstRow : 0);
      flat /= shape[i];
    }
    int64_t numbers[2] = {0, 0};
    for (auto [dim, index] : llvm::zip(space.dims, indices)) {
      int64_t &number = numbers[dim.isColumn];
      number = number * dim.extent + index;
    }
    return {numbers[0], numbers[1]};
  }

private:
  const Space &space;
  llvm::SmallVector<Space::Axis, 5> axes;
  llvm::SmallVector<int64_t, 5> shape;
  int64_t firstRow;
  bool ofSpace, hasColumns;
};
} // namespace

llvm::Expected<HostTensor> fuzz::makeArgument(const Execution &execution,
                                              unsigned index,
                                              Workers &workers) {
  Value value = valueOf(execution, index);
  llvm::Expected<HostTensor> tensor =
      HostTensor::create(value.dtype, shapeOf(execution, index),
                         placementOf(execution, index), workers);
  if (!tensor)
    return tensor;
  Places places(execution, value);
  int64_t columns = places.columns();
  int64_t count = tensor->numElements();
  for (int64_t flat = 0; flat < count; ++flat) {
    auto [row, column] = places.at(flat);
    encodeAt(value.dtype,
             execution.data[index].at(value.dtype, row, column, columns),
             tensor->row(flat / tensor->columns()),
             uint64_t(flat % tensor->columns()));
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
  unsigned numArguments = unsigned(execution.arguments.size());
  unsigned count = numArguments + unsigned(execution.results.size());
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
