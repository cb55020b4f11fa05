//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Draws what surrounds a graph: extents, data, and ways to run it again.
//
//===----------------------------------------------------------------------===//

#include "norm/Fuzz/Case.h"
#include "norm/Fuzz/Chooser.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <utility>

using namespace norm;
using namespace norm::fuzz;

namespace {

/// A row in memory: rows, then columns.
Space chooseRows(Chooser &choose, const Limits &limits) {
  static constexpr int64_t edges[] = {
      0,    1,    2,     3,     4,     5,     7,    8,    9,    15,
      16,   17,   31,    32,    33,    63,    64,   65,   127,  128,
      129,  255,  256,   257,   384,   511,   512,  513,  768,  1000,
      1023, 1024, 1025,  2047,  2048,  2049,  4095, 4096, 4097, 8191,
      8192, 8193, 16383, 16385, 65535, 65536, 65537};
  size_t count = std::size(edges);
  while (count > 1 && edges[count - 1] > limits.maxColumns)
    --count;
  // Wide rows cost the most and are drawn less.
  size_t range = choose.chance(80) ? std::min<size_t>(count, 33) : count;
  int64_t columns = edges[choose.below(range)];
  if (choose.chance(10))
    columns = choose.between(0, std::min<int64_t>(limits.maxColumns, 300));
  int64_t most =
      std::max<int64_t>(1, limits.maxElements / std::max<int64_t>(columns, 1));
  int64_t rows =
      choose.pick<int64_t>({0, 1, 1, 2, 3, 3, 4, 5, 7, 9, 33, 67, 128});
  rows = std::min(rows, most);
  Space space;
  if (choose.chance(10))
    space.dims = {{std::min<int64_t>(rows, 5)}, {choose.between(1, 3)}};
  else if (!choose.chance(3))
    space.dims = {{rows}};
  if (columns % 4 == 0 && columns > 0 && choose.chance(12)) {
    int64_t outer = choose.pick<int64_t>({1, 2, 4});
    space.dims.push_back({outer, true});
    columns /= outer;
  }
  space.dims.push_back({columns, true});
  return space;
}

/// Which dims of a tensor of samples, channels and positions are normalized.
void chooseChannelColumns(Chooser &choose, Space &space) {
  unsigned kind = unsigned(choose.below(3));
  for (unsigned dim = 0; dim < space.rank(); ++dim)
    space.dims[dim].isColumn = kind == 0   ? dim != 0 // a sample
                               : kind == 1 ? dim != 0 && dim != space.channel
                                           : dim != space.channel;
}

/// Any dims, whether in memory or across it.
Space chooseAxes(Chooser &choose, const Limits &limits) {
  static constexpr int64_t walked[] = {0,   1,   2,   3,   4,   5,   63,
                                       64,  65,  127, 128, 129, 255, 256,
                                       257, 511, 512, 513, 1000};
  static constexpr int64_t positions[] = {0,  1,  2,  7,  8,  9,  15,
                                          16, 17, 31, 32, 33, 100};
  auto edge = [&](llvm::ArrayRef<int64_t> list) {
    // An extent of 0 leaves little to compare.
    return list[choose.chance(3) ? 0 : 1 + choose.below(list.size() - 1)];
  };
  Space space;
  unsigned rank = unsigned(choose.pick({1, 2, 2, 3, 3, 3, 4, 4, 5}));
  space.dims.resize(rank);
  bool hasChannels = rank >= 3 && choose.chance(45);
  if (hasChannels) {
    space.channel = choose.chance(85) ? choose.pick({1u, rank - 1})
                                      : unsigned(choose.between(1, rank - 1));
    chooseChannelColumns(choose, space);
  } else {
    space.channel = unsigned(choose.below(rank));
    uint64_t columns = 1 + choose.below((1u << rank) - 1);
    for (unsigned dim = 0; dim < rank; ++dim)
      space.dims[dim].isColumn = columns >> dim & 1;
  }
  // One dim of either sort has an extent of note.
  bool hasEdge[2] = {false, false};
  for (unsigned n = 0, dim = unsigned(choose.below(rank)); n < rank;
       ++n, dim = (dim + 1) % rank) {
    bool isColumn = space.dims[dim].isColumn;
    bool isFirst = !std::exchange(hasEdge[isColumn], true);
    space.dims[dim].extent = isFirst && isColumn ? edge(walked)
                             : isFirst ? edge(positions)
                                       : choose.pick<int64_t>({1, 2, 3, 4, 7});
  }
  if (hasChannels && choose.chance(60))
    space.dims[space.channel].extent =
        choose.pick<int64_t>({1, 2, 3, 4, 6, 8, 12, 16, 32, 33});
  auto shorten = [&](auto isTooLarge) {
    while (isTooLarge()) {
      Dim *largest =
          llvm::max_element(space.dims, [](const Dim &a, const Dim &b) {
            return a.extent < b.extent;
          });
      largest->extent = std::max<int64_t>(1, largest->extent / 2);
    }
  };
  shorten([&] {
    return space.size(true) > limits.maxColumns ||
           space.size(true) * space.size(false) >
               std::max<int64_t>(1, limits.maxElements);
  });
  return space;
}

} // namespace

Space fuzz::makeSpace(Chooser &choose, const Limits &limits) {
  Space space = choose.chance(30) ? chooseRows(choose, limits)
                                  : chooseAxes(choose, limits);
  int64_t channels = space.dims[space.channel].extent;
  for (int64_t groups : {2, 3, 4, 8, 16, 32, 33})
    if (channels > 0 && channels % groups == 0 && choose.chance(50))
      space.groups = groups;
  for (unsigned dim = 0; dim < space.rank(); ++dim)
    space.order.push_back(dim);
  for (unsigned dim = space.rank(); dim > 1; --dim)
    std::swap(space.order[dim - 1], space.order[choose.below(dim)]);
  if (choose.chance(70))
    for (Dim &dim : space.dims)
      dim.dynamic = choose.chance(dim.isColumn ? 25 : 50);
  return space;
}

Space fuzz::makeSummedSpace(Chooser &choose, const Limits &limits) {
  // A few have more columns than a kernel sums.
  constexpr int64_t kColumns = 16385;
  Limits narrow = limits;
  narrow.maxColumns = std::min(limits.maxColumns, kColumns);
  Space space = chooseRows(choose, narrow);
  if (!space.hasRows())
    space.dims.insert(space.dims.begin(), Dim{3});
  // Numbers of rows at which workers and strands have more than one.
  int64_t columns = std::max<int64_t>(space.size(true), 1);
  if (space.count(false) == 1 && choose.chance(60))
    space.dims.front().extent = std::min(
        choose.pick<int64_t>({8, 31, 32, 33, 65, 131, 132, 133, 263, 264, 265,
                              300, 529, 1057, 2113, 8447, 8449, 17000}),
        std::max<int64_t>(1, limits.maxElements / columns));
  for (unsigned dim = 0; dim < space.rank(); ++dim) {
    space.order.insert(space.order.begin(), dim);
    space.dims[dim].dynamic = choose.chance(space.dims[dim].isColumn ? 4 : 40);
  }
  return space;
}

namespace {

ArgumentData chooseData(Chooser &choose, bool tame) {
  ArgumentData data;
  data.seed = choose.bits();
  if (tame)
    return data;
  data.kinds.clear();
  for (uint64_t n = 1 + choose.below(4); n > 0; --n)
    data.kinds.push_back(RowData(choose.below(kNumRowData)));
  return data;
}

Layout chooseLayout(Chooser &choose, bool hasPitch) {
  Layout layout;
  if (choose.chance(50))
    layout.offset = choose.between(1, 9);
  if (hasPitch && choose.chance(50))
    layout.padding = choose.pick<int64_t>({1, 2, 3, 5, 8, 16, 64});
  return layout;
}

bool hasOpenStrides(const Case &made, unsigned value) {
  size_t rank = made.space.axes(made.graph.values[value]).size();
  return rank == 2 ||
         (rank > 2 && llvm::is_contained(made.graph.strided, value));
}

/// Fields that kernels along and across memory may have.
std::string makeSumSchedule(Chooser &choose) {
  std::string text =
      choose.chance(60)
          ? llvm::formatv("max_registers={0}", choose.pick({0, 32, 64, 128}))
          : llvm::formatv("threads={0}", choose.pick({1, 2, 4, 8, 16, 32}));
  if (choose.chance(30))
    text += choose.pick({",prefetch=true", ",prefetch=false"});
  return text;
}

Rerun makeVariant(Chooser &choose, const Case &made, const Target &target) {
  Rerun variant;
  variant.device = target.device;
  bool hasSums =
      made.backward ||
      llvm::any_of(made.graph.ops, [](const Op &op) { return op.ofRows; });
  int64_t rows =
      isFirstDimFree(made.graph, made.space) ? made.space.dims[0].extent : 0;
  // Kernels that sum rows and those beside them share few fields.
  if (hasSums && target.target == "host" && choose.chance(80))
    variant.schedule = "";
  else if (hasSums && choose.chance(70))
    variant.steps = 1 | choose.bits();
  else if (hasSums && choose.chance(40))
    variant.schedule = makeSumSchedule(choose);
  else if (choose.chance(60))
    variant.schedule = makeSchedule(choose, made.space, target.target);
  switch (choose.below(7)) {
  case 0:
    if (rows > 1) {
      int64_t begin = choose.between(0, rows - 1);
      variant.rows = {begin, choose.between(begin + 1, rows)};
    }
    break;
  case 1:
  case 2:
    for (unsigned dim = 0; dim < made.space.rank(); ++dim)
      if (choose.chance(40) && !isFixed(made.graph, made.space, dim))
        variant.flipDynamic |= uint8_t(1u << dim);
    break;
  case 3:
    variant.extraOutput = true;
    break;
  case 4:
    variant.launches = 3;
    break;
  case 5:
    variant.hostThreads = unsigned(choose.between(1, 5));
    break;
  default:
    break;
  }
  if (choose.chance(35))
    for (const std::vector<unsigned> *list :
         {&made.graph.arguments, &made.graph.outputs})
      for (unsigned value : *list)
        variant.layouts.push_back(
            isPacked(made.graph.values[value].dtype)
                ? Layout()
                : chooseLayout(choose, hasOpenStrides(made, value)));
  return variant;
}

} // namespace

/// Of rows whose neighbours in memory are of other rows.
static std::string makeScheduleAcross(Chooser &choose, const Space &space,
                                      const std::string &target) {
  // Neighbours in memory that are of other rows.
  int64_t run = 1;
  for (const Dim &dim : llvm::reverse(space.dims)) {
    if (dim.isColumn || dim.dynamic)
      break;
    run *= dim.extent;
  }
  llvm::SmallVector<int64_t> divisors = {1};
  for (int64_t vector : {2, 3, 4, 5, 7, 8, 9, 16, 31, 32, 33})
    if (run % vector == 0)
      divisors.push_back(vector);
  if (target == "host") {
    int64_t vector = choose.pick<int64_t>(divisors);
    return llvm::formatv("vector={0},rows_per_cta={0}", vector);
  }
  int64_t vector = choose.pick<int64_t>({1, 1, 2, 2, 4, 8, 16});
  while (vector > 1 && run % vector != 0)
    vector /= 2;
  // A thread's lanes are unrolled: few threads mean much code.
  int64_t threads =
      int64_t(1) << (choose.chance(85) ? 2 + choose.below(4) : choose.below(2));
  int64_t positions = choose.pick<int64_t>({1, 2, 3, 5, 8, 16, 31, 32, 33, 64});
  std::string text = llvm::formatv(
      "threads={0},rows_per_cta={1},vector={2},split={3},prefetch={4}", threads,
      positions * vector, vector, choose.pick({0, 0, 1, 1, 2, 4, 8}),
      choose.pick({"true", "false"}));
  llvm::StringRef residency =
      choose.pick({"stream", "stream", "registers", "shared"});
  return text + ",residency=" + residency.str();
}

std::string fuzz::makeSchedule(Chooser &choose, const Space &space,
                               const std::string &target) {
  if (space.count(true) > 0 && (space.isAcross() || choose.chance(10)))
    return makeScheduleAcross(choose, space, target);
  // Code grows with what a thread has to do, and the time to compile it faster
  // than that: the ends of the range are drawn less.
  if (target == "host")
    return llvm::formatv("vector={0}",
                         int64_t(1) << choose.below(choose.chance(15) ? 8 : 6));
  if (choose.chance(12))
    return llvm::formatv("cluster={0}", int64_t(2) << choose.below(4));
  llvm::StringRef residency = choose.pick({"registers", "shared", "stream"});
  unsigned least = residency == "stream" && choose.chance(85) ? 7 : 0;
  int64_t threads = int64_t(1) << (least + choose.below(11 - least));
  // Whole warps, and at most 1024 threads.
  int64_t fewest = std::max<int64_t>(1, 32 / threads);
  int64_t rows = fewest << choose.below(3);
  if (rows * threads > 1024)
    rows = fewest;
  std::string text = llvm::formatv(
      "threads={0},rows_per_cta={1},residency={2},prefetch={3}", threads, rows,
      choose.pick({"registers", "shared", "stream"}),
      choose.pick({"true", "false"}));
  if (choose.chance(10))
    text += llvm::formatv(",max_registers={0}", choose.pick({32, 64, 128}));
  return text;
}

/// A sixth of the programs have sums over rows, an eighth are backwards.
static CaseKind chooseKind(uint64_t seed, uint64_t index,
                           const Limits &limits) {
  if (limits.kind != CaseKind::Any)
    return limits.kind;
  // Numbers of its own: what the others draw doesn't depend on it.
  uint64_t place = Chooser(~seed, index).below(24);
  return place < 4   ? CaseKind::Sums
         : place < 7 ? CaseKind::Backward
                     : CaseKind::Plain;
}

Case fuzz::makeCase(uint64_t seed, uint64_t index,
                    const std::vector<Target> &targets, const Limits &limits) {
  Chooser choose(seed, index);
  Case made;
  CaseKind kind = chooseKind(seed, index, limits);
  bool sums = kind == CaseKind::Sums;
  made.backward = kind == CaseKind::Backward;
  made.space =
      sums ? makeSummedSpace(choose, limits) : makeSpace(choose, limits);
  made.graph = makeGraph(choose, made.space, limits, sums);
  for (unsigned dim = 0; dim < made.space.rank(); ++dim)
    if (isFixed(made.graph, made.space, dim))
      made.space.dims[dim].dynamic = false;
  made.device = targets.front().device;
  bool tame = choose.chance(55);
  for (unsigned argument : made.graph.arguments) {
    // Parameters and scalars are mostly ordinary numbers.
    bool full = made.graph.values[argument].support == Support::Full;
    made.data.push_back(
        chooseData(choose, tame || (!full && choose.chance(70))));
  }
  // Every other target once as it is, then variants on any.
  for (const Target &target : llvm::drop_begin(targets))
    made.variants.emplace_back().device = target.device;
  for (unsigned i = 0; i < limits.variants; ++i)
    made.variants.push_back(
        makeVariant(choose, made, choose.pick<Target>(targets)));
  return made;
}
