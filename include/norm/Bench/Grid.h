//===- Grid.h - The shapes that are measured --------------------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_BENCH_GRID_H
#define NORM_BENCH_GRID_H

#include "norm/Support/DType.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace norm::bench {

/// Ops, dtypes and shapes that are combined with each other.
struct Shapes {
  std::string name; ///< where a suite has several
  std::vector<std::string> ops;
  std::vector<DType> dtypes;
  /// Either columns, with the rows or as many as make up `Grid::elements`...
  std::vector<int64_t> columns;
  std::vector<int64_t> rows;
  /// ... or pairs of rows and columns.
  std::vector<std::pair<int64_t, int64_t>> pairs;
  /// Launches of a graph.
  unsigned launches = 1;
};

struct Grid {
  /// Elements of a tensor, by the bits of an element: 16 (or fewer) and 32 (or
  /// more).
  int64_t elements16 = 0, elements32 = 0;
  /// By the names of suites, in `suiteNames()`.
  std::map<std::string, std::vector<Shapes>> suites;

  /// Rows of a tensor with so many columns: elements / columns, rounded, but 1
  /// at least.
  int64_t rowsFor(DType dtype, int64_t columns) const;
};

/// The suites: `forward`, `fused`, `prefill`, `decode`, `backward`, `compile`,
/// `launch`, `published`.
llvm::ArrayRef<llvm::StringRef> suiteNames();

/// Reads a grid, in the form of tools/norm-bench/grid.json. An error names the
/// field that is missing, malformed or not known; `fileName` is its prefix.
llvm::Expected<Grid> parseGrid(llvm::StringRef text, llvm::StringRef fileName);

/// The text of tools/norm-bench/grid.json.
llvm::StringRef defaultGridText();

} // namespace norm::bench

#endif // NORM_BENCH_GRID_H
