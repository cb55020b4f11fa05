//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One case of the differential fuzzer: a program, its extents and data, and the
// ways in which it is run again for a result of the same bits.
//
//===----------------------------------------------------------------------===//

#ifndef NORM_FUZZ_CASE_H
#define NORM_FUZZ_CASE_H

#include "norm/Fuzz/Program.h"
#include <optional>
#include <utility>

namespace norm::fuzz {

/// What a row of an argument holds.
enum class RowData : uint8_t {
  Normal,
  Integers,  ///< small ones: sums are exact
  Constant,  ///< one number
  LargeMean, ///< a mean far above the deviation
  Tiny,      ///< squares vanish
  Subnormal,
  Huge,       ///< squares overflow
  Zeros,      ///< of both signs
  Cancelling, ///< huge ones of both signs
  WithNaN,
  WithInf,
  NegativeInf, ///< runs of -inf
  OnlyNegativeInf,
};
inline constexpr unsigned kNumRowData = 13;

/// Each row takes one of `kinds`, by its number.
struct ArgumentData {
  uint64_t seed = 0;
  std::vector<RowData> kinds = {RowData::Normal};

  /// The element at (row, column) of a tensor whose rows have `columns`.
  double at(DType dtype, int64_t row, int64_t column, int64_t columns) const;
};

/// Elements by which a tensor's base and rows lie off.
struct Layout {
  int64_t offset = 0;
  int64_t padding = 0; ///< beyond each row, and each index of further axes
  bool operator==(const Layout &) const = default;
};

/// A second way of running a program. Defaults are those of the first one.
struct Rerun {
  std::string device;
  std::string schedule;
  /// Of each kernel another schedule that its target can run, a few steps from
  /// the model's; 0 for the model's.
  uint64_t steps = 0;
  /// By argument, then by result; empty for dense and aligned.
  std::vector<Layout> layouts;
  /// These indices of the first dim only, which `isFirstDimFree`.
  std::optional<std::pair<int64_t, int64_t>> rows;
  uint8_t flipDynamic = 0; ///< dims, by bit, that are open where they were not
  /// Returns one more value, made from a result.
  bool extraOutput = false;
  /// Launches of the same executable, each of which must give the same bits.
  unsigned launches = 1;
  unsigned hostThreads = 0; ///< 0 for all
};

/// What is drawn.
enum class CaseKind : uint8_t {
  Any,
  Plain,
  Sums,     ///< with sums over rows beside what goes along them
  Backward, ///< the backward of a plain function
};

struct Case {
  Graph graph;
  Space space;
  std::vector<ArgumentData> data; ///< by argument
  bool backward = false;          ///< the backward of the graph is what runs
  std::string device;             ///< of the first run
  std::vector<Rerun> variants;
};

/// A device to draw schedules for.
struct Target {
  std::string device;
  std::string target;
};

/// Limits on what is drawn.
struct Limits {
  int64_t maxColumns = 65537;
  int64_t maxElements = 1 << 17;
  unsigned maxOps = 9;
  unsigned variants = 4;
  CaseKind kind = CaseKind::Any;
};

/// The case of a seed and an index. `targets` isn't empty; the first one runs
/// what the others are compared with.
Case makeCase(uint64_t seed, uint64_t index, const std::vector<Target> &targets,
              const Limits &limits);

/// A legal schedule of the target, or one that it refuses for its size.
class Chooser;
std::string makeSchedule(Chooser &choose, const Space &space,
                         const std::string &target);

/// Extents and dims to normalize.
Space makeSpace(Chooser &choose, const Limits &limits);

/// The same for rows in memory that are to be summed.
Space makeSummedSpace(Chooser &choose, const Limits &limits);

/// A graph over a space, with sums over rows if there are rows. Every op it
/// makes is one that the compiler takes on all targets.
Graph makeGraph(Chooser &choose, const Space &space, const Limits &limits,
                bool sums = false);

/// How a variant differs from the first run, for people.
std::string describe(const Rerun &variant);

} // namespace norm::fuzz

#endif // NORM_FUZZ_CASE_H
