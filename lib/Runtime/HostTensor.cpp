//===- HostTensor.cpp - Tensors in host memory ----------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Runtime/HostTensor.h"
#include "ArgumentChecks.h"
#include "norm/Runtime/Workers.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/CheckedArithmetic.h"
#include "llvm/Support/MathExtras.h"
#include <cstring>

using namespace norm;

/// Bytes per task when memory is filled.
static constexpr int64_t kFillGrain = 1 << 20;

/// Row-major strides with `pitch` elements between rows; empty on overflow.
static std::optional<llvm::SmallVector<int64_t, 4>>
pitchedStrides(llvm::ArrayRef<int64_t> shape, int64_t pitch) {
  llvm::SmallVector<int64_t, 4> strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;) {
    std::optional<int64_t> next =
        i + 1 == shape.size()
            ? pitch
            : llvm::checkedMul(strides[i], std::max<int64_t>(shape[i], 1));
    if (!next)
      return std::nullopt;
    strides[i - 1] = *next;
  }
  return strides;
}

/// The dims of a tensor that are stepped along, the last one left out, those
/// with the longest steps first.
static llvm::SmallVector<size_t, 4> outerDims(llvm::ArrayRef<int64_t> shape,
                                              llvm::ArrayRef<int64_t> strides) {
  llvm::SmallVector<size_t, 4> dims;
  for (size_t dim = 0; dim + 1 < shape.size(); ++dim)
    if (shape[dim] > 1)
      dims.push_back(dim);
  llvm::sort(dims, [&](size_t a, size_t b) {
    return std::pair(strides[a], b) > std::pair(strides[b], a);
  });
  return dims;
}

/// Checks given strides of a tensor with elements.
static llvm::Error checkStrides(llvm::ArrayRef<int64_t> shape,
                                llvm::ArrayRef<int64_t> strides) {
  if (strides.size() != shape.size())
    return llvm::createStringError("expects " + llvm::Twine(shape.size()) +
                                   " strides for shape " + printShape(shape) +
                                   " but got " + llvm::Twine(strides.size()));
  for (int64_t stride : strides)
    if (stride < 0)
      return llvm::createStringError("expects strides of 0 or more but got " +
                                     llvm::Twine(stride));
  if (shape.empty() || llvm::is_contained(shape, 0))
    return llvm::Error::success();
  if (shape.back() > 1 && strides.back() != 1)
    return llvm::createStringError(
        "expects stride 1 along the last dim but got " +
        llvm::Twine(strides.back()));
  std::optional<int64_t> reach = shape.back();
  llvm::SmallVector<size_t, 4> dims = outerDims(shape, strides);
  for (size_t dim : llvm::reverse(dims)) {
    if (!reach || strides[dim] < *reach)
      return llvm::createStringError(
          "expects a place of its own for every element but got stride " +
          llvm::Twine(strides[dim]) + " along dim " + llvm::Twine(dim) +
          (reach ? ", where " + llvm::Twine(*reach) + " elements lie between"
                 : llvm::Twine()));
    std::optional<int64_t> step =
        llvm::checkedMul(strides[dim], shape[dim] - 1);
    reach = step ? llvm::checkedAdd(*step, *reach) : std::nullopt;
  }
  return llvm::Error::success();
}

/// The strides that a placement gives a shape; none where they are too large.
static llvm::Expected<std::optional<llvm::SmallVector<int64_t, 4>>>
stridesOf(llvm::ArrayRef<int64_t> shape, const Placement &placement) {
  if (placement.strides) {
    if (placement.pitch)
      return llvm::createStringError("expects a pitch or strides but got both");
    if (llvm::Error error = checkStrides(shape, *placement.strides))
      return std::move(error);
    return placement.strides;
  }
  if (placement.pitch && shape.size() < 2)
    return llvm::createStringError(
        "expects rank 2 or more for a pitch but got shape " +
        printShape(shape));
  int64_t columns = shape.empty() ? 1 : shape.back();
  int64_t pitch = placement.pitch.value_or(columns);
  if (pitch < columns)
    return llvm::createStringError("expects a pitch of at least the row's " +
                                   llvm::Twine(columns) + " elements but got " +
                                   llvm::Twine(pitch));
  return pitchedStrides(shape, std::max<int64_t>(pitch, 1));
}

/// Elements from the first to behind the last one; none on overflow.
static std::optional<int64_t> spanOf(llvm::ArrayRef<int64_t> shape,
                                     llvm::ArrayRef<int64_t> strides) {
  if (llvm::is_contained(shape, 0))
    return 0;
  std::optional<int64_t> span = 1;
  for (auto [extent, stride] : llvm::zip(shape, strides)) {
    std::optional<int64_t> reach = llvm::checkedMul(extent - 1, stride);
    span = span && reach ? llvm::checkedAdd(*span, *reach) : std::nullopt;
  }
  return span;
}

llvm::Expected<HostTensor> HostTensor::create(DType dtype,
                                              llvm::ArrayRef<int64_t> shape,
                                              const Placement &placement,
                                              Workers &workers) {
  llvm::Expected<int64_t> count = norm::numElements(shape);
  if (!count)
    return count.takeError();
  HostTensor tensor;
  tensor.type = dtype;
  tensor.extents.assign(shape.begin(), shape.end());
  tensor.numColumns = shape.empty() ? 1 : shape.back();
  // Without columns the rows don't matter, and their product may be huge.
  tensor.numRows = tensor.numColumns == 0 ? 0 : *count / tensor.numColumns;
  auto strides = stridesOf(shape, placement);
  if (!strides)
    return strides.takeError();
  if (placement.offset < 0)
    return llvm::createStringError("expects an offset of 0 or more but got " +
                                   llvm::Twine(placement.offset));
  if (*strides)
    if (llvm::Error error =
            checkPacked(dtype, shape, **strides))
      return std::move(error);
  if (isPacked(dtype) && placement.offset % 2 != 0)
    return llvm::createStringError(
        "expects an even offset of " + name(dtype) +
        ", two of which share a byte, but got " +
        llvm::Twine(placement.offset));
  std::optional<int64_t> span =
      *strides ? spanOf(shape, **strides) : std::nullopt;
  if (span)
    span = llvm::checkedAdd(*span, placement.offset);
  if (span)
    span = isPacked(dtype)
               ? *span / 2
               : llvm::checkedMul(*span, int64_t(byteSize(dtype)));
  if (!span || *span > (int64_t(1) << 48))
    return llvm::createStringError(
        "expects a tensor that fits into memory but got shape " +
        printShape(shape));
  tensor.steps = std::move(**strides);
  tensor.base = kGuard + bytesOf(dtype, uint64_t(placement.offset));
  tensor.total = llvm::alignTo(uint64_t(*span) + 2 * kGuard, kGuard);
  tensor.storage = allocateHostMemory(tensor.total);
  if (!tensor.storage)
    return llvm::createStringError("expects " + llvm::Twine(tensor.total) +
                                   " bytes of host memory but got none");
  uint8_t *data = tensor.storage.get();
  workers.forRanges(int64_t(tensor.total), kFillGrain,
                    [&](int64_t begin, int64_t end) {
                      std::memset(data + begin, kPoison, size_t(end - begin));
                    });
  return tensor;
}

uint64_t HostTensor::rowOffset(int64_t row) const {
  int64_t elements = 0;
  for (size_t dim = extents.size(); dim-- > 1;) {
    elements += row % extents[dim - 1] * steps[dim - 1];
    row /= extents[dim - 1];
  }
  return base + bytesOf(type, uint64_t(elements));
}

uint64_t HostTensor::placedRowOffset(int64_t row) const {
  int64_t elements = 0;
  llvm::SmallVector<size_t, 4> dims = outerDims(extents, steps);
  for (size_t dim : llvm::reverse(dims)) {
    elements += row % extents[dim] * steps[dim];
    row /= extents[dim];
  }
  return base + bytesOf(type, uint64_t(elements));
}

BoundArgument HostTensor::bind(uint64_t address) const {
  BoundArgument argument;
  argument.dtype = type;
  argument.address = address + base;
  argument.shape = extents;
  argument.strides = steps;
  return argument;
}

static bool isPoison(const uint8_t *begin, const uint8_t *end) {
  return std::all_of(begin, end,
                     [](uint8_t byte) { return byte == HostTensor::kPoison; });
}

bool HostTensor::guardsIntact() const {
  const uint8_t *next = storage.get();
  for (int64_t i = 0; i < numRows; ++i) {
    const uint8_t *start = storage.get() + placedRowOffset(i);
    if (!isPoison(next, start))
      return false;
    next = start + bytesOf(type, uint64_t(numColumns));
  }
  return isPoison(next, storage.get() + total);
}
