//===- Array.cpp - Arrays of bounded values -------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Array.h"
#include <algorithm>
#include <cassert>

using namespace ::norm;
using namespace ::norm::reference;

int64_t reference::countElements(llvm::ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  return count;
}

bool reference::isTooLarge(llvm::ArrayRef<int64_t> shape) {
  double count = 1;
  for (int64_t extent : shape)
    count *= double(extent);
  return count > 0x1p30;
}

Shape reference::rowMajorStrides(llvm::ArrayRef<int64_t> shape) {
  Shape strides(shape.size(), 1);
  for (size_t i = shape.size(); i > 1; --i)
    strides[i - 2] = strides[i - 1] * shape[i - 1];
  return strides;
}

Array::Array(DType type, llvm::ArrayRef<int64_t> shape)
    : type(type), shape(shape), value(countElements(shape), 0.0) {}

void Array::fill(Element x) {
  std::fill(value.begin(), value.end(), x.value);
  bound.clear();
  if (x.bound != 0)
    bound.assign(value.size(), x.bound);
}

namespace {
/// A walk over the points of a shape with one position per operand.
/// Neighbouring dims that every operand walks evenly are merged first.
class Walk {
public:
  Walk(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<Shape> operandStrides) {
    for (size_t dim = 0; dim < shape.size(); ++dim) {
      if (shape[dim] == 1)
        continue;
      if (!extents.empty() && canMerge(shape[dim], operandStrides, dim)) {
        extents.back() *= shape[dim];
        for (auto [strides, all] : llvm::zip(this->strides, operandStrides))
          strides.back() = all[dim];
        continue;
      }
      extents.push_back(shape[dim]);
      strides.resize(operandStrides.size());
      for (auto [strides, all] : llvm::zip(this->strides, operandStrides))
        strides.push_back(all[dim]);
    }
    if (extents.empty())
      extents.push_back(1);
    strides.resize(operandStrides.size());
    for (Shape &s : strides)
      s.resize(extents.size(), 0);
  }

  /// Calls `run(positions, innerStrides, count)` for each innermost line.
  template <typename Run>
  void forEachLine(Run run) const {
    if (llvm::is_contained(extents, 0))
      return;
    size_t operands = strides.size(), inner = extents.size() - 1;
    Shape positions(operands, 0), innerStrides;
    for (const Shape &s : strides)
      innerStrides.push_back(s[inner]);
    Shape index(inner, 0);
    while (true) {
      run(positions, innerStrides, extents[inner]);
      size_t dim = inner;
      for (; dim > 0; --dim) {
        for (size_t k = 0; k < operands; ++k)
          positions[k] += strides[k][dim - 1];
        if (++index[dim - 1] < extents[dim - 1])
          break;
        for (size_t k = 0; k < operands; ++k)
          positions[k] -= strides[k][dim - 1] * extents[dim - 1];
        index[dim - 1] = 0;
      }
      if (dim == 0)
        return;
    }
  }

private:
  bool canMerge(int64_t extent, llvm::ArrayRef<Shape> operandStrides,
                size_t dim) const {
    for (auto [strides, all] : llvm::zip(this->strides, operandStrides))
      if (strides.back() != all[dim] * extent)
        return false;
    return true;
  }

  Shape extents;
  llvm::SmallVector<Shape> strides;
};
} // namespace

Array reference::gather(const Array &from, llvm::ArrayRef<int64_t> shape,
                        llvm::ArrayRef<int64_t> strides) {
  Array result(from.type, shape);
  bool isExact = from.bound.empty();
  if (!isExact)
    result.bound.resize(result.value.size());
  int64_t to = 0;
  Walk walk(shape, {Shape(strides)});
  walk.forEachLine(
      [&](const Shape &positions, const Shape &step, int64_t count) {
        int64_t position = positions[0];
        for (int64_t i = 0; i < count; ++i, ++to, position += step[0]) {
          result.value[to] = from.value[position];
          if (!isExact)
            result.bound[to] = from.bound[position];
        }
      });
  return result;
}

/// The strides that walk `from` along `shape`, staying where its extent is 1.
static Shape broadcastStrides(llvm::ArrayRef<int64_t> from,
                              llvm::ArrayRef<int64_t> shape) {
  assert(from.size() == shape.size() && "arrays of one rank");
  Shape strides = rowMajorStrides(from);
  for (size_t i = 0; i < from.size(); ++i)
    if (from[i] == 1)
      strides[i] = 0;
  return strides;
}

Array reference::broadcast(const Array &from, llvm::ArrayRef<int64_t> shape) {
  return gather(from, shape, broadcastStrides(from.shape, shape));
}

Array reference::mapElements(
    DType type, llvm::ArrayRef<const Array *> operands,
    llvm::function_ref<Element(llvm::ArrayRef<Element>)> function) {
  Shape shape;
  if (!operands.empty())
    shape.assign(operands.front()->shape.size(), 1);
  for (const Array *operand : operands)
    for (size_t i = 0; i < shape.size(); ++i)
      if (operand->shape[i] != 1)
        shape[i] = operand->shape[i];
  Array result(type, shape);
  llvm::SmallVector<Shape> strides;
  for (const Array *operand : operands)
    strides.push_back(broadcastStrides(operand->shape, shape));
  int64_t to = 0;
  llvm::SmallVector<Element, 4> elements(operands.size());
  Walk(shape, strides)
      .forEachLine([&](Shape positions, const Shape &step, int64_t count) {
        for (int64_t i = 0; i < count; ++i, ++to) {
          for (size_t k = 0; k < operands.size(); ++k) {
            elements[k] = operands[k]->at(positions[k]);
            positions[k] += step[k];
          }
          result.set(to, function(elements));
        }
      });
  return result;
}

Row reference::rowOf(const Array &array, int64_t row, int64_t columns) {
  Row result;
  result.value = llvm::ArrayRef(array.value).slice(row * columns, columns);
  if (!array.bound.empty())
    result.bound = llvm::ArrayRef(array.bound).slice(row * columns, columns);
  return result;
}
