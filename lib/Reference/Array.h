//===- Array.h - Arrays of bounded values -----------------------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Row-major arrays of elements, views that broadcast and transpose them, and
// operations element by element and row by row.
//
//===----------------------------------------------------------------------===//

#ifndef NORM_LIB_REFERENCE_ARRAY_H
#define NORM_LIB_REFERENCE_ARRAY_H

#include "Element.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <vector>

namespace norm::reference {

using Shape = llvm::SmallVector<int64_t, 4>;

/// The product of the extents.
int64_t countElements(llvm::ArrayRef<int64_t> shape);

/// Whether a shape has more elements than the evaluator takes, 2^30.
bool isTooLarge(llvm::ArrayRef<int64_t> shape);

/// The strides of a row-major array of this shape.
Shape rowMajorStrides(llvm::ArrayRef<int64_t> shape);

struct Array {
  DType type = DType::F32;
  Shape shape;
  std::vector<double> value;
  /// Empty where all elements are exact.
  std::vector<double> bound;

  Array() = default;
  /// All elements 0.
  Array(DType type, llvm::ArrayRef<int64_t> shape);

  int64_t size() const { return static_cast<int64_t>(value.size()); }
  Element at(int64_t i) const {
    return {value[i], bound.empty() ? 0.0 : bound[i]};
  }
  void set(int64_t i, Element x) {
    value[i] = x.value;
    if (x.bound != 0 && bound.empty())
      bound.resize(value.size(), 0.0);
    if (!bound.empty())
      bound[i] = x.bound;
  }
  /// All elements `x`.
  void fill(Element x);
};

/// The array of `shape` whose element at a point is the one of `from` at the
/// inner product of the point with `strides`.
Array gather(const Array &from, llvm::ArrayRef<int64_t> shape,
             llvm::ArrayRef<int64_t> strides);

/// `from`, of extent 1 or equal along each dim of `shape`, repeated.
Array broadcast(const Array &from, llvm::ArrayRef<int64_t> shape);

/// Applies `function` at every point of the operands' common shape, along whose
/// dims each operand has the same extent or 1.
Array mapElements(
    DType type, llvm::ArrayRef<const Array *> operands,
    llvm::function_ref<Element(llvm::ArrayRef<Element>)> function);

/// Contiguous elements, without bounds where all are exact.
struct Row {
  llvm::ArrayRef<double> value;
  llvm::ArrayRef<double> bound;

  int64_t size() const { return static_cast<int64_t>(value.size()); }
  Element at(int64_t i) const {
    return {value[i], bound.empty() ? 0.0 : bound[i]};
  }
};

/// Row `row` of `array`, cut into rows of `columns` elements.
Row rowOf(const Array &array, int64_t row, int64_t columns);

} // namespace norm::reference

#endif // NORM_LIB_REFERENCE_ARRAY_H
