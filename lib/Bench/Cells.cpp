//===- Cells.cpp - What is measured, one by one ---------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Bench/Cells.h"
#include "norm/Bench/Ops.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Regex.h"

using namespace norm;
using namespace norm::bench;

namespace {

/// Rows on which a compiled kernel is tried.
constexpr int64_t kCompileRows = 4;

template <typename T>
bool isChosen(const std::vector<T> &chosen, const T &value) {
  return chosen.empty() || llvm::is_contained(chosen, value);
}

/// What was chosen; the grid's list where nothing was.
template <typename T>
const std::vector<T> &chosenOr(const std::vector<T> &chosen,
                               const std::vector<T> &grid) {
  return chosen.empty() ? grid : chosen;
}

/// What is done with each shape of a suite.
llvm::ArrayRef<llvm::StringRef> variantsOf(llvm::StringRef suite) {
  static constexpr llvm::StringRef kPrefill[] = {"cold", "hot"};
  static constexpr llvm::StringRef kDecode[] = {"chain", "chain+pdl",
                                                "products", "products+pdl"};
  static constexpr llvm::StringRef kCompile[] = {"process", "kernel"};
  static constexpr llvm::StringRef kOther[] = {""};
  if (suite == "prefill")
    return kPrefill;
  if (suite == "decode")
    return kDecode;
  if (suite == "compile")
    return kCompile;
  return kOther;
}

/// Collects cells, each once.
class Collector {
public:
  Collector(const Grid &grid, const CellChoice &choice)
      : grid(grid), choice(choice), filter(filterOf(choice)) {}

  /// The filter; anything passes an empty one.
  static llvm::StringRef filterOf(const CellChoice &choice) {
    return choice.filter.empty() ? llvm::StringRef(".")
                                 : llvm::StringRef(choice.filter);
  }

  llvm::Error add(llvm::StringRef suite);
  std::vector<Cell> take() { return std::move(cells); }

private:
  void add(llvm::StringRef suite, const Shapes &shapes);
  void addColumns(Cell cell, const Shapes &shapes);
  void add(Cell cell);

  const Grid &grid;
  const CellChoice &choice;
  llvm::Regex filter;
  llvm::StringSet<> known;
  std::vector<Cell> cells;
};

llvm::Error Collector::add(llvm::StringRef suite) {
  auto found = grid.suites.find(suite.str());
  if (found == grid.suites.end())
    return llvm::createStringError("expects a suite of the grid but got '" +
                                   suite + "'");
  for (const Shapes &shapes : found->second)
    add(suite, shapes);
  return llvm::Error::success();
}

void Collector::add(Cell cell) {
  const Op *op = findOp(cell.op);
  if (!op || cell.columns % op->multiple != 0)
    return;
  if (choice.elements)
    cell.rows = std::min(cell.rows,
                         std::max<int64_t>(*choice.elements / cell.columns, 1));
  for (llvm::StringRef variant : variantsOf(cell.suite)) {
    cell.variant = variant.str();
    if (filter.match(cell.id()) && known.insert(cell.id()).second)
      cells.push_back(cell);
  }
}

void Collector::add(llvm::StringRef suite, const Shapes &shapes) {
  for (const std::string &op : shapes.ops) {
    if (!isChosen(choice.ops, op))
      continue;
    for (DType dtype : chosenOr(choice.dtypes, shapes.dtypes)) {
      Cell cell{suite.str(), op, dtype, 1, 1, "", shapes.launches};
      for (auto [rows, columns] : shapes.pairs) {
        if (!isChosen(choice.rows, rows) || !isChosen(choice.columns, columns))
          continue;
        cell.rows = rows;
        cell.columns = columns;
        add(cell);
      }
      if (!shapes.columns.empty())
        addColumns(cell, shapes);
    }
  }
}

void Collector::addColumns(Cell cell, const Shapes &shapes) {
  for (int64_t columns : chosenOr(choice.columns, shapes.columns)) {
    cell.columns = columns;
    const std::vector<int64_t> &rows = chosenOr(choice.rows, shapes.rows);
    if (rows.empty() || cell.suite == "compile") {
      // What is compiled has no rows: they are a few that it is tried on.
      cell.rows = cell.suite == "compile" ? kCompileRows
                                          : grid.rowsFor(cell.dtype, columns);
      add(cell);
      continue;
    }
    for (int64_t some : rows) {
      cell.rows = some;
      add(cell);
    }
  }
}

} // namespace

std::string Cell::id() const {
  std::string id = llvm::formatv("{0}/{1}/{2}/{3}x{4}", suite, op, name(dtype),
                                 rows, columns);
  return variant.empty() ? id : id + "/" + variant;
}

llvm::Expected<std::vector<Cell>> bench::makeCells(const Grid &grid,
                                                   const CellChoice &choice) {
  std::string problem;
  if (!llvm::Regex(Collector::filterOf(choice)).isValid(problem))
    return llvm::createStringError(
        "--filter: expects a regular expression but got '" + choice.filter +
        "' (" + problem + ")");
  Grid sized = grid;
  if (choice.elements)
    sized.elements16 = sized.elements32 = *choice.elements;
  Collector collector(sized, choice);
  std::vector<std::string> suites = choice.suites;
  if (suites.empty())
    for (const auto &[name, shapes] : sized.suites)
      suites.push_back(name);
  for (const std::string &suite : suites)
    if (llvm::Error error = collector.add(suite))
      return error;
  std::vector<Cell> cells = collector.take();
  if (cells.empty())
    return llvm::createStringError(
        "expects something to measure but the options choose nothing");
  return cells;
}

llvm::StringRef bench::bandOf(int64_t columns) {
  if (columns % 2 != 0)
    return "odd";
  if (columns <= 32768)
    return "to 32768";
  return columns <= 262144 ? "to 262144" : "beyond";
}
