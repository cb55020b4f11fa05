//===- HostTensor.h - Tensors in host memory --------------------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_RUNTIME_HOSTTENSOR_H
#define NORM_RUNTIME_HOSTTENSOR_H

#include "norm/Runtime/HostMemory.h"
#include "norm/Runtime/LaunchPlan.h"
#include "norm/Support/DType.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"

namespace norm {

class Workers;

/// How a tensor lies in memory, other than contiguous and aligned.
struct Placement {
  /// Elements from one row (of the last dim) to the next; the row's length if
  /// not given.
  std::optional<int64_t> pitch;
  /// Elements from one index to the next along every dim, instead of a pitch.
  /// Along a dim of size 1 any number will do.
  std::optional<llvm::SmallVector<int64_t, 4>> strides;
  /// Elements by which element 0 lies beyond an aligned address.
  int64_t offset = 0;
};

/// A tensor with rows (of the last dim) of contiguous elements. Around its
/// elements, and between its rows, lie bytes which nobody may write: they hold
/// `kPoison`, and `guardsIntact` tells whether they still do.
class HostTensor {
public:
  /// What unwritten bytes hold: in every floating point type a NaN of a pattern
  /// that no arithmetic makes.
  static constexpr uint8_t kPoison = 0xff;
  /// Bytes before and after the elements; a multiple of every alignment.
  static constexpr uint64_t kGuard = 256;

  HostTensor() = default;

  /// Poisoned memory for a tensor. An error for a pitch on rank below 2 or
  /// shorter than a row; strides of another rank, below 0, not 1 along the last
  /// dim, with which elements share a place, or beside a pitch; a negative
  /// offset; an odd last extent, step or offset of elements that share bytes; or
  /// a size beyond memory.
  static llvm::Expected<HostTensor> create(DType dtype,
                                           llvm::ArrayRef<int64_t> shape,
                                           const Placement &placement,
                                           Workers &workers);

  DType dtype() const { return type; }
  llvm::ArrayRef<int64_t> shape() const { return extents; }
  llvm::ArrayRef<int64_t> strides() const { return steps; }

  /// Rows and columns: the last dim is a row, rank 0 is one row of one.
  int64_t rows() const { return numRows; }
  int64_t columns() const { return numColumns; }
  int64_t numElements() const { return numRows * numColumns; }

  /// The first element of row `row`.
  uint8_t *row(int64_t row) { return storage.get() + rowOffset(row); }
  const uint8_t *row(int64_t row) const {
    return storage.get() + rowOffset(row);
  }
  double value(int64_t rowIndex, int64_t column) const {
    return decodeAt(type, row(rowIndex), uint64_t(column));
  }

  /// All bytes, guards included; a copy of them on a device is addressed at
  /// `elementOffset()`.
  llvm::MutableArrayRef<uint8_t> bytes() {
    return {storage.get(), size_t(total)};
  }
  llvm::ArrayRef<uint8_t> bytes() const {
    return {storage.get(), size_t(total)};
  }
  uint64_t elementOffset() const { return base; }

  /// The argument for a copy of `bytes()` at `address`.
  BoundArgument bind(uint64_t address) const;

  /// Whether all bytes that aren't elements still hold the poison.
  bool guardsIntact() const;

private:
  uint64_t rowOffset(int64_t row) const;
  /// The offset of the row that is `row`th in memory.
  uint64_t placedRowOffset(int64_t row) const;

  DType type = DType::F32;
  llvm::SmallVector<int64_t, 4> extents;
  llvm::SmallVector<int64_t, 4> steps;
  int64_t numRows = 0;
  int64_t numColumns = 0;
  uint64_t base = 0;
  uint64_t total = 0;
  HostMemory storage;
};

} // namespace norm

#endif // NORM_RUNTIME_HOSTTENSOR_H
