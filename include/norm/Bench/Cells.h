//===- Cells.h - What is measured, one by one -------------------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_BENCH_CELLS_H
#define NORM_BENCH_CELLS_H

#include "norm/Bench/Grid.h"
#include <optional>

namespace norm::bench {

/// One measurement.
struct Cell {
  std::string suite;
  std::string op;
  DType dtype = DType::BF16;
  int64_t rows = 1;
  int64_t columns = 1;
  /// What is done with it, of a suite that does several things: `cold` or `hot`
  /// (prefill), `chain`, `chain+pdl`, `products` or `products+pdl` (decode),
  /// `process` or `kernel` (compile). Else empty.
  std::string variant;
  /// Launches of a graph (decode).
  unsigned launches = 1;

  int64_t elements() const { return rows * columns; }
  /// `prefill/rms_norm/bf16/512x2048/cold`
  std::string id() const;
};

/// What is chosen of a grid; an empty list chooses all.
struct CellChoice {
  std::vector<std::string> suites;
  std::vector<std::string> ops;
  /// Instead of the grid's; of pairs of rows and columns, those with them.
  std::vector<DType> dtypes;
  std::vector<int64_t> columns;
  std::vector<int64_t> rows;
  /// A regular expression that occurs in the id.
  std::string filter;
  /// Instead of the grid's elements. Rows that are given are cut to it.
  std::optional<int64_t> elements;
};

/// The chosen cells of a grid, in its order, each once. An error for a filter
/// that isn't a regular expression, for a suite that the grid doesn't have, and
/// if nothing is chosen.
llvm::Expected<std::vector<Cell>> makeCells(const Grid &grid,
                                            const CellChoice &choice);

/// The bands in which results are summarized: `odd` (an odd number of columns),
/// `to 32768`, `to 262144`, `beyond`.
llvm::StringRef bandOf(int64_t columns);

} // namespace norm::bench

#endif // NORM_BENCH_CELLS_H
