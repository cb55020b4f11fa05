//===- HostTensor.cpp - Tensors in host memory ----------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Runtime/HostTensor.h"
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
  if (placement.pitch && shape.size() < 2)
    return llvm::createStringError(
        "expects rank 2 or more for a pitch but got shape " +
        printShape(shape));
  int64_t pitch = placement.pitch.value_or(tensor.numColumns);
  if (pitch < tensor.numColumns)
    return llvm::createStringError("expects a pitch of at least the row's " +
                                   llvm::Twine(tensor.numColumns) +
                                   " elements but got " + llvm::Twine(pitch));
  if (placement.offset < 0)
    return llvm::createStringError("expects an offset of 0 or more but got " +
                                   llvm::Twine(placement.offset));
  auto strides = pitchedStrides(shape, std::max<int64_t>(pitch, 1));
  std::optional<int64_t> span = 0;
  if (!strides)
    span = std::nullopt;
  else if (*count > 0) {
    span = 1;
    for (auto [extent, stride] : llvm::zip(shape, *strides)) {
      std::optional<int64_t> reach = llvm::checkedMul(extent - 1, stride);
      span = span && reach ? llvm::checkedAdd(*span, *reach) : std::nullopt;
    }
  }
  if (span)
    span = llvm::checkedAdd(*span, placement.offset);
  if (span)
    span = llvm::checkedMul(*span, int64_t(byteSize(dtype)));
  if (!span || *span > (int64_t(1) << 48))
    return llvm::createStringError(
        "expects a tensor that fits into memory but got shape " +
        printShape(shape));
  tensor.steps = std::move(*strides);
  tensor.base = kGuard + uint64_t(placement.offset) * byteSize(dtype);
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
  return base + uint64_t(elements) * byteSize(type);
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
    const uint8_t *start = row(i);
    if (!isPoison(next, start))
      return false;
    next = start + numColumns * int64_t(byteSize(type));
  }
  return isPoison(next, storage.get() + total);
}
