//===- HtmlDrawings.h - Drawings of the report ------------------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_LIB_BENCH_HTMLDRAWINGS_H
#define NORM_LIB_BENCH_HTMLDRAWINGS_H

#include "norm/Bench/Results.h"

namespace norm::bench {

/// The text with the characters that HTML takes for its own replaced.
std::string escapeHtml(llvm::StringRef text);

/// `98.3%`
std::string printPercent(double share);

/// The colour of a share of the copy: red at 0.5 and below, green at 1.
std::string colourOfShare(double share);

/// The share of the copy by op (lines) and columns, of results of one suite,
/// dtype and variant.
std::string drawHeatMap(llvm::ArrayRef<const Result *> results);

/// Operations a second over operations a byte, both logarithmic, with the
/// copy's rate and the device's arithmetic as roofs. Empty where no result has
/// operations.
std::string drawRoofline(const Report &report);

} // namespace norm::bench

#endif // NORM_LIB_BENCH_HTMLDRAWINGS_H
