//===- TilePlan.h - Who computes which columns of a row ------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The arithmetic of mapping an order (leaves on virtual lanes) onto the threads
// of a row. Free of IR; both targets and the unit tests compute with it.
//
//===----------------------------------------------------------------------===//

#ifndef NORM_ANALYSIS_TILEPLAN_H
#define NORM_ANALYSIS_TILEPLAN_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace norm {

/// Where a streamed input stays between two phases.
enum class Residency { Registers, Shared, Stream };

/// What a schedule fixes (the C++ value of `#norm.schedule`).
struct Schedule {
  int64_t threads = 1;    ///< threads that share a row
  int64_t rowsPerCta = 1; ///< rows a CTA works on at a time
  Residency residency = Residency::Registers;
  bool prefetch = true;     ///< load per-column operands during the exchange
  int64_t vector = 1;       ///< lanes that a thread computes in one step
  int64_t maxRegisters = 0; ///< cap per thread, 0 for none
  /// Across memory: CTAs that share the rows of one, 0 if chosen at launch.
  int64_t split = 1;
  bool pdl = true;
  /// Where rows are summed: rows of a strand that are on their way at a time, 0
  /// where they are loaded when needed.
  int64_t stages = 0;
  /// Along memory: CTAs of a cluster that share the `threads` of a row, whose
  /// streamed inputs then stay in shared memory.
  int64_t cluster = 1;
};

/// The order across memory: elements per leaf, and virtual lanes.
constexpr int64_t leafAcross = 4;
constexpr int64_t lanesAcross = 32;
/// Across memory, walked columns per slice, at least, and most slices of a row.
constexpr int64_t columnsPerSlice = 128;
constexpr int64_t maxSlices = 256;

/// Slices that `walked` columns are cut into, a power of two.
int64_t countSlices(int64_t walked);
/// Walked columns of a slice (the last ones may have fewer, or none): whole
/// leaves.
int64_t sliceSize(int64_t walked);
/// Whether all slices have the same columns, and all lanes of them.
bool isWholeAcross(int64_t walked);

/// A row's columns are cut into leaves of `leaf` neighbours; leaf `k` belongs
/// to virtual lane `k mod lanes` as the lane's element `k / lanes`.
///
/// A thread computes `vector` neighbouring lanes in one step, a *chunk* of
/// `vector * leaf` columns. Lane `v` belongs to thread
/// `(v / vector) mod threads`, as its block `v / (vector * threads)`. One
/// *iteration* covers all `lanes * leaf` columns of one element of each lane.
struct TilePlan {
  int64_t columns = -1; ///< -1 where known at launch only
  int64_t leaf = 1;
  int64_t lanes = 1024;
  Schedule schedule;

  bool isDynamic() const { return columns < 0; }
  /// Columns of one chunk.
  int64_t chunkSize() const { return leaf * schedule.vector; }
  /// Columns that the threads of a row cover in one step.
  int64_t stepSize() const { return chunkSize() * schedule.threads; }
  /// Columns of one iteration.
  int64_t iterationSize() const { return leaf * lanes; }
  /// Blocks of lanes per thread.
  int64_t blocks() const { return iterationSize() / stepSize(); }
  /// Blocks that hold a column in some iteration.
  int64_t liveBlocks() const;
  /// Chunks that a thread walks, counting those beyond the last column.
  int64_t steps() const;
  /// First column of the chunk of `thread` in `block` of `iteration`.
  int64_t column(int64_t iteration, int64_t block, int64_t thread) const;
  /// Whether every thread's chunk of this step lies within the row.
  bool isFull(int64_t iteration, int64_t block) const;
  /// Whether some thread's chunk of this step holds a column.
  bool isLive(int64_t iteration, int64_t block) const;
  /// Columns that virtual lanes `v`, `v + half` hold, for every `v < half`,
  /// once lanes that are `2 * half` apart are combined. For static rows.
  std::vector<std::pair<int64_t, int64_t>> countsAt(int64_t half) const;
  /// Columns that each thread's lane of a block holds before its leaf of
  /// `iteration`, and in that leaf. For static rows and one lane per step.
  std::vector<std::pair<int64_t, int64_t>> countsAt(int64_t iteration,
                                                    int64_t block) const;
  /// Whether a chunk can hold columns on both sides of the row's end.
  bool hasPartialChunk() const;
};

/// What a target allows.
struct TargetLimits {
  bool isHost = false;
  int64_t sharedPerCta = 0;  ///< bytes of shared memory a CTA may use
  int64_t registersPerCta = 65536; ///< the same on every supported GPU
  int64_t vectorBytes = 64;  ///< SIMD width of the host
  int64_t mostClusterCtas = 1; ///< CTAs of a cluster, 1 where there are none
};

/// What the cost model looks at.
struct ProgramFacts {
  int64_t columns = -1;     ///< -1 where known at launch only
  int64_t leaf = 4;         ///< columns per leaf of the order
  int64_t lanes = 1024;     ///< virtual lanes of the order
  int64_t heldBytes = 4;    ///< bytes per column kept between two phases
  int64_t slotBytes = 4;    ///< bytes per column kept by all phases together
  int64_t stateBytes = 4;   ///< bytes per thread that exchanges write, at most
  int64_t countBytes = 0;   ///< those of them that count elements
  int64_t phases = 1;       ///< walks over the columns
  int64_t group = 1;        ///< columns of the largest group that is reduced
  int64_t columnBytes = 8;  ///< bytes per column read and written, at least
  int64_t work = 0;         ///< operations per column
  int64_t rows = -1;        ///< -1 where known at launch only
  int64_t strands = 0;      ///< of each worker that sums rows, 0 where none does
  int64_t sumBytes = 0;     ///< bytes per column of sums over rows
  int64_t inputBytes = 4;   ///< those of columnBytes that are read
  // Across memory:
  int64_t inner = 0;     ///< inner columns of the order; 0: along memory
  int64_t narrowest = 4; ///< bytes of an element of the narrowest input
  int64_t run = 1;       ///< neighbours in memory, a multiple of a chunk
  int64_t positions = -1; ///< elements of all rows for one walked column, -1
                          ///< where known at launch only

  /// Walked columns, -1 where known at launch only.
  int64_t walked() const {
    return columns < 0 || inner == 0 ? columns : columns / inner;
  }
};

/// Bytes of shared memory that a GPU kernel can declare by itself.
constexpr int64_t maxStaticShared = 48 << 10;

/// The most columns of a row: kernels count columns in 32 bits.
constexpr int64_t maxColumns = int64_t(1) << 30;

/// Columns per leaf for a row whose narrowest streamed input has elements of
/// `bytes`: one 16-byte access.
int64_t leafFor(int64_t bytes);

/// Of the lanes that threads have across memory, those whose states lie in
/// shared memory at a time: the first halving is on the way there.
constexpr int64_t storedLanes(int64_t threads) {
  return threads > 1 ? threads / 2 : 1;
}

/// Sums over the rows of a kernel: the workers that share the rows, and the
/// strands of each, which take a row each. They are part of the order of the
/// sum, so functions of the columns alone. With 16 columns to a thread, a worker
/// is a CTA of 256 threads, two of which fit an SM of an H200, or of 512.
constexpr int64_t workersFor(int64_t columns) {
  return columns <= 4096 ? 264 : 132;
}
int64_t strandsFor(int64_t columns);
/// The most columns whose sums over rows a CTA keeps in registers.
constexpr int64_t maxSummedColumns = 16384;

/// The most columns of a group that a warp reduces, each thread a leaf.
constexpr int64_t maxGroup(int64_t leaf) { return 32 * leaf; }

/// The schedule that the model picks. Measured on sm_90: one row per CTA with
/// 1 to 4 accesses of 16 bytes per thread, 8 where arithmetic is what takes the
/// time, at most 16 held in registers in rows of more than 16384 columns of 2
/// bytes; CTAs of 64 threads where a row has no more; re-read what doesn't fit.
Schedule chooseSchedule(const ProgramFacts &facts, const TargetLimits &limits);

/// Sets fields from text such as `threads=256,residency=stream`.
llvm::Error overrideSchedule(Schedule &schedule, llvm::StringRef text);

/// Why a schedule can't run on a target; success where it can.
llvm::Error checkSchedule(const Schedule &schedule, const ProgramFacts &facts,
                          const TargetLimits &limits, llvm::StringRef target);

llvm::StringRef toString(Residency residency);
std::string toString(const Schedule &schedule);

} // namespace norm

#endif // NORM_ANALYSIS_TILEPLAN_H
