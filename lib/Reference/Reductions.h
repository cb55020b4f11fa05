//===- Reductions.h - Reductions of bounded values --------------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reductions of a row, bounded for every tree of a given depth.
//
//===----------------------------------------------------------------------===//

#ifndef NORM_LIB_REFERENCE_REDUCTIONS_H
#define NORM_LIB_REFERENCE_REDUCTIONS_H

#include "Array.h"

namespace norm::reference {

/// The most additions on the way of an element to the result, in a row of
/// `count` elements: leaves of at least `leaf` elements, 1024 lanes that add
/// their leaves one after the other, and 16 levels of halving in all.
int64_t reductionDepth(int64_t count, int64_t leaf);

/// The same where the elements are not the last dims of an array, and lanes may
/// walk across it.
int64_t unorderedDepth(int64_t count);

/// The sum in `type`; -0.0 of no element.
Element sum(DType type, Row row, int64_t depth);

/// The product in `type`; 1 of no element.
Element product(DType type, Row row, int64_t depth);

/// The extremum by one of the functions of Element.h.
Element extremum(Element (*combine)(Element, Element), Row row,
                 Element identity);

struct Moments {
  Element mean;
  Element m2;
};

/// How the moments are computed: by merging (mean, M2) of parts, the mean being
/// one number or (`MergedExact`) a sum of two; or also by sums, first of the
/// elements and then of the squared centred ones, where values are of at most 16
/// bits (`AnyNarrow`) or wider (`Any`).
enum class MomentsForm { Merged, MergedExact, AnyNarrow, Any };

/// The mean, and the sum of the squares of the centred elements, in `type`.
Moments moments(DType type, Row row, int64_t depth, MomentsForm form);

/// The sum of `exp(x - max)`, by any form, online or not. `max` must be the
/// row's maximum.
Element sumOfExponentials(DType type, Row row, Element max, int64_t depth);

/// Half-width, in units of the last place, of what exp may return.
constexpr double kExpUlps = 2;

} // namespace norm::reference

#endif // NORM_LIB_REFERENCE_REDUCTIONS_H
