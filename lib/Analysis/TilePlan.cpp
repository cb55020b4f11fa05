//===- TilePlan.cpp - Who computes which columns of a row ------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Analysis/TilePlan.h"

#include "SumSchedule.h"
#include "norm/Analysis/RingPlan.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace norm;

//===----------------------------------------------------------------------===//
// Arithmetic of a plan
//===----------------------------------------------------------------------===//

int64_t TilePlan::liveBlocks() const {
  if (isDynamic())
    return blocks();
  return std::min<int64_t>(blocks(), llvm::divideCeil(columns, stepSize()));
}

int64_t TilePlan::steps() const {
  return llvm::divideCeil(std::max<int64_t>(columns, 0), stepSize());
}

int64_t TilePlan::column(int64_t iteration, int64_t block,
                         int64_t thread) const {
  return iteration * iterationSize() + block * stepSize() +
         thread * chunkSize();
}

bool TilePlan::isFull(int64_t iteration, int64_t block) const {
  return column(iteration, block, 0) + stepSize() <= columns;
}

bool TilePlan::isLive(int64_t iteration, int64_t block) const {
  return column(iteration, block, 0) < columns;
}

/// Columns among the leaves of lane `v`.
static int64_t columnsOfLane(const TilePlan &plan, int64_t v) {
  int64_t size = plan.iterationSize();
  int64_t whole = plan.columns / size, rest = plan.columns % size;
  return whole * plan.leaf +
         std::clamp<int64_t>(rest - v * plan.leaf, 0, plan.leaf);
}

std::vector<std::pair<int64_t, int64_t>>
TilePlan::countsAt(int64_t half) const {
  std::vector<int64_t> held(2 * half, 0);
  for (int64_t v = 0; v < lanes; ++v)
    held[v % (2 * half)] += columnsOfLane(*this, v);
  std::vector<std::pair<int64_t, int64_t>> counts;
  for (int64_t v = 0; v < half; ++v)
    counts.emplace_back(held[v], held[v + half]);
  return counts;
}

std::vector<std::pair<int64_t, int64_t>>
TilePlan::countsAt(int64_t iteration, int64_t block) const {
  std::vector<std::pair<int64_t, int64_t>> counts;
  for (int64_t thread = 0; thread < schedule.threads; ++thread) {
    int64_t first = column(iteration, block, thread);
    counts.emplace_back(iteration * leaf,
                        std::clamp<int64_t>(columns - first, 0, leaf));
  }
  return counts;
}

bool TilePlan::hasPartialChunk() const {
  return isDynamic() || columns % chunkSize() != 0;
}

//===----------------------------------------------------------------------===//
// Cost model
//===----------------------------------------------------------------------===//

/// Bounds code size: the steps of a phase are unrolled where values stay in
/// registers.
static constexpr int64_t maxStepsInRegisters = 32;

int64_t norm::countSlices(int64_t walked) {
  return std::clamp<int64_t>(
      llvm::bit_floor<uint64_t>(std::max<int64_t>(walked, 1) / columnsPerSlice),
      1, maxSlices);
}

int64_t norm::sliceSize(int64_t walked) {
  return llvm::alignTo(
      llvm::divideCeil(std::max<int64_t>(walked, 1), countSlices(walked)),
      leafAcross);
}

/// Bytes of shared memory in which the warps of a CTA meet; at most.
static int64_t exchangeBytes(const Schedule &s, const ProgramFacts &facts) {
  // Those of two rows in turn, where one row follows the other.
  int64_t rows = s.rowsPerCta * (facts.strands ? 2 : 1);
  return s.threads <= 32 ? 0 : s.threads * rows * facts.stateBytes;
}

/// Bytes of shared memory that keep what phases hand on.
static int64_t slotBytes(const Schedule &s, const ProgramFacts &facts) {
  int64_t steps = llvm::divideCeil(std::max<int64_t>(facts.columns, 1),
                                   facts.leaf * s.threads);
  return steps * facts.leaf * s.threads * facts.slotBytes * s.rowsPerCta;
}

bool norm::isWholeAcross(int64_t walked) {
  int64_t size = sliceSize(walked);
  return walked == countSlices(walked) * size &&
         size % (leafAcross * lanesAcross) == 0;
}

int64_t norm::leafFor(int64_t bytes) {
  return bytes <= 0 ? 1 : std::max<int64_t>(1, 16 / bytes);
}

/// The least common multiple of what a chunk must hold and `size` is a multiple
/// of whole groups of inner columns.
static int64_t tileUnit(int64_t inner, int64_t size) {
  return std::lcm(inner, size);
}

/// Bytes of shared memory in which the lanes of a CTA's rows meet.
static int64_t exchangeBytesAcross(const Schedule &s,
                                   const ProgramFacts &facts) {
  // Each thread's states, then those of the slices.
  int64_t block = s.threads * s.rowsPerCta / s.vector;
  return (storedLanes(s.threads) * s.rowsPerCta +
          std::max(block, s.rowsPerCta / facts.inner)) *
         facts.stateBytes;
}

/// What the model takes an SM to hold, and their number: of the chips it was
/// measured on.
static constexpr int64_t numSMs = 132, sharedPerSM = 228 << 10,
                         threadsPerSM = 2048, registersPerSM = 65536;

/// Chunks that a thread holds across memory, between phases.
static int64_t stepsAcross(const Schedule &s, const ProgramFacts &facts) {
  int64_t walked = facts.walked();
  int64_t step = leafAcross * lanesAcross;
  return countSlices(walked) / s.split *
         llvm::divideCeil(sliceSize(walked), step) * step / s.threads;
}

/// Bytes of shared memory that hold them.
static int64_t slotBytesAcross(const Schedule &s, const ProgramFacts &facts) {
  return stepsAcross(s, facts) * facts.slotBytes * s.threads * s.rowsPerCta;
}

/// Lets the CTAs of `tiles` hold what they read, if all of them can do so at
/// once: in registers if that leaves enough of them, else in shared memory.
static bool holdAcross(Schedule &s, const ProgramFacts &facts,
                       const TargetLimits &limits, int64_t tiles) {
  int64_t block = s.threads * s.rowsPerCta / s.vector;
  int64_t perSM =
      std::max<int64_t>(1, llvm::divideCeil(tiles * s.split, numSMs));
  // Where every CTA works for itself, they needn't run at once.
  if (s.split == 1)
    perSM = std::min<int64_t>(perSM, std::max<int64_t>(1, 1024 / block));
  if (perSM * block > threadsPerSM)
    return false;
  int64_t registers =
      std::min<int64_t>(255, registersPerSM / (perSM * block) / 8 * 8);
  int64_t heldRegisters =
      stepsAcross(s, facts) * s.vector * facts.slotBytes / 4;
  // What a thread needs besides; where lanes differ, more than it has.
  int64_t others = isWholeAcross(facts.walked()) ? 64 : 96;
  if (heldRegisters <= 64 && heldRegisters + others <= registers) {
    s.residency = Residency::Registers;
    s.maxRegisters = registers < 255 ? registers : 0;
    return true;
  }
  // With fewer, threads would spill what they don't even hold.
  if (registers < 64)
    return false;
  int64_t shared = slotBytesAcross(s, facts);
  // Each CTA takes 1 KB for the system.
  // Counts are the same for all threads, and needn't be kept.
  ProgramFacts states = facts;
  if (isWholeAcross(facts.walked()))
    states.stateBytes -= facts.countBytes;
  int64_t all = shared + exchangeBytesAcross(s, states) + 1024;
  if (stepsAcross(s, facts) > maxStepsInRegisters ||
      perSM * all > sharedPerSM ||
      shared + exchangeBytesAcross(s, facts) > limits.sharedPerCta)
    return false;
  s.residency = Residency::Shared;
  s.maxRegisters = registers < 255 ? registers : 0;
  return true;
}

/// Sets the positions of a CTA: about 20 chunks and whole groups of inner
/// columns; fewer where that makes too few CTAs. `isEven`: no CTA with fewer
/// than the others; `multiple` divides the CTA's threads. False where no number
/// of them is possible with the schedule's threads and vector.
static bool setPositions(Schedule &s, const ProgramFacts &facts, bool isEven,
                         int64_t multiple) {
  int64_t unit = tileUnit(facts.inner, s.vector);
  int64_t wanted = std::max<int64_t>(1, 20 * s.vector / unit);
  int64_t units =
      facts.positions < 0 ? -1 : llvm::divideCeil(facts.positions, unit);
  if (units >= 0) {
    wanted = std::clamp<int64_t>(units, 1, wanted);
    int64_t slices = facts.walked() < 0 ? 1 : countSlices(facts.walked());
    while (wanted > 1 && wanted / 2 * unit * facts.narrowest >= 64 &&
           llvm::divideCeil(units, wanted) * slices < numSMs * 3 / 2)
      wanted /= 2;
  }
  auto fits = [&](int64_t count) {
    s.rowsPerCta = count * unit;
    int64_t block = s.threads * s.rowsPerCta / s.vector;
    // More threads leave each too few registers where two CTAs share an SM.
    constexpr int64_t mostThreads = 384;
    return s.rowsPerCta <= 1024 && block <= mostThreads &&
           block % multiple == 0 &&
           exchangeBytesAcross(s, facts) <= maxStaticShared;
  };
  for (int64_t count = wanted; count > (isEven ? wanted / 2 : 0); --count)
    if (!(isEven && units % count != 0) && fits(count))
      return true;
  return false;
}

/// Across memory on a GPU: the lanes of a row are threads.
static Schedule chooseAcross(const ProgramFacts &facts,
                             const TargetLimits &limits) {
  Schedule schedule;
  schedule.prefetch = false;
  int64_t walked = facts.walked();
  int64_t most = facts.lanes;
  if (walked >= 0)
    while (most > 1 && most * facts.leaf / 2 >= walked)
      most /= 2;
  int64_t chunk = std::max<int64_t>(1, 16 / facts.narrowest);
  while (facts.run % chunk)
    chunk /= 2;
  // Wide accesses first, then CTAs of the same size, whole warps, many threads.
  auto find = [&] {
    for (; chunk >= 1; chunk /= 2)
      for (auto [isEven, multiple, least] :
           {std::tuple<bool, int64_t, int64_t>(facts.positions >= 0, 32,
                                               std::max<int64_t>(1, most / 2)),
            {false, 32, 1},
            {false, 1, 1}})
        for (int64_t threads = most; threads >= least; threads /= 2) {
          schedule.vector = chunk;
          schedule.threads = threads;
          if (setPositions(schedule, facts, isEven, multiple))
            return;
        }
  };
  find();
  chunk = schedule.vector;
  schedule.residency = Residency::Stream;
  schedule.split = 0;
  if (walked < 0)
    return schedule;
  int64_t slices = countSlices(walked);
  if (slices == 1)
    schedule.split = 1;
  if (facts.positions < 0 || facts.phases == 1)
    return schedule;
  // A lane without a leaf loads another one's.
  if (walked == 0 || walked % leafAcross != 0)
    return schedule;
  // As many CTAs as run at once; each holds its slices.
  int64_t tiles = llvm::divideCeil(facts.positions, schedule.rowsPerCta);
  Schedule held = schedule;
  for (held.split = slices; held.split >= 1; held.split /= 2)
    if (holdAcross(held, facts, limits, tiles))
      return held;
  return schedule;
}

/// Across memory on the host: a chunk is a vector of whole groups.
static Schedule chooseHostAcross(const ProgramFacts &facts,
                                 const TargetLimits &limits) {
  Schedule schedule;
  schedule.residency = Residency::Stream;
  schedule.prefetch = false;
  int64_t lanes = limits.vectorBytes / 4;
  schedule.vector = facts.inner;
  for (int64_t size = facts.inner; size <= lanes; size += facts.inner)
    if (facts.run % size == 0)
      schedule.vector = size;
  if (facts.inner == 1)
    for (schedule.vector = lanes; facts.run % schedule.vector;)
      schedule.vector /= 2;
  schedule.rowsPerCta = schedule.vector;
  return schedule;
}

/// The most threads per row whose exchanges fit into static shared memory.
static int64_t threadsForExchange(const ProgramFacts &facts) {
  // A CTA has 128 threads at least, and a row of one warp exchanges nothing
  // there.
  for (int64_t threads : {1024, 512, 256, 128})
    if (threads * facts.stateBytes <= maxStaticShared)
      return threads;
  return 32;
}

static Schedule chooseHostSchedule(const ProgramFacts &facts,
                                   const TargetLimits &limits) {
  if (facts.inner)
    return chooseHostAcross(facts, limits);
  Schedule schedule;
  schedule.residency = Residency::Stream;
  // Two vectors of f32 lanes in flight; a row of few leaves needs fewer.
  int64_t leaf = facts.leaf;
  schedule.vector = std::max<int64_t>(1, 2 * limits.vectorBytes / 4 / leaf * 2);
  if (facts.columns >= 0) {
    int64_t leaves =
        llvm::divideCeil(std::max<int64_t>(facts.columns, 1), leaf);
    schedule.vector =
        std::min<int64_t>(schedule.vector, llvm::PowerOf2Ceil(leaves));
  }
  // A group lies in one chunk.
  schedule.vector = std::max(schedule.vector, facts.group / leaf);
  schedule.vector = std::min(schedule.vector, facts.lanes);
  return schedule;
}

/// Threads of a row of `leaves` leaves. Measured on an H200, 64 to 8192
/// columns.
static int64_t threadsOfRow(const ProgramFacts &facts, int64_t leaves) {
  // A few rows take as long as one: as many threads as have leaves, while all
  // rows are resident at once.
  constexpr int64_t mostThreads = 512, resident = 2048 * 128;
  if (facts.rows >= 0 && facts.rows <= resident / 64 && leaves <= 4096) {
    int64_t threads =
        std::min<int64_t>(mostThreads, llvm::bit_floor<uint64_t>(leaves));
    int64_t fitting =
        llvm::bit_floor<uint64_t>(resident / std::max<int64_t>(facts.rows, 1));
    if (threads >= 128 && fitting >= 128)
      return std::min(threads, fitting);
  }
  if (leaves > 4096)
    return leaves <= 6144 && facts.heldBytes <= 2 ? 256 : 1024;
  // What a row costs besides its leaves is shared by those of a thread. Where
  // arithmetic takes longer than memory, by as many as stay in registers.
  bool isHeavy = facts.group == 1 && facts.work > 5 * facts.columnBytes;
  if (isHeavy && leaves <= 1024) {
    int64_t threads = llvm::PowerOf2Ceil(llvm::divideCeil(leaves, 8));
    return std::max<int64_t>(threads, leaves > 128 ? 64 : 4);
  }
  if (leaves > 1024)
    return 256;
  // Of several streams each has an access in flight.
  int64_t narrowest = 16 / facts.leaf;
  if (facts.columnBytes >= 4 * narrowest) {
    int64_t threads = std::min<int64_t>(512, llvm::PowerOf2Ceil(leaves));
    if (leaves <= 128 || leaves % threads == 0)
      return std::max<int64_t>(threads, 4);
  }
  int64_t perThread =
      leaves <= 128 || (facts.columnBytes > 2 * narrowest && leaves <= 512) ? 2
                                                                            : 4;
  // Where memory takes little time, each exchange counts more, as long as
  // registers last.
  if (facts.columnBytes < 2 * narrowest)
    for (int64_t most = facts.phases > 2 ? 8 : 4;
         perThread < most &&
         2 * perThread * facts.leaf * facts.heldBytes <= 128;)
      perThread *= 2;
  // Most threads have something to do.
  int64_t threads = llvm::bit_floor<uint64_t>(leaves / perThread);
  int64_t least =
      leaves > 128 ? 64 : std::min<int64_t>(4, llvm::PowerOf2Ceil(leaves));
  int64_t most = leaves <= 128 && facts.leaf >= 8 ? 32
                 : leaves <= 512                  ? 128
                                                  : 256;
  threads = std::clamp(threads, least, most);
  // Half of them where that leaves fewer idle in the last step.
  auto share = [&](int64_t threads) {
    int64_t steps = llvm::divideCeil(leaves, threads);
    return 100 * leaves / (threads * steps);
  };
  if (leaves > 128 && leaves <= 256 && share(threads) < 85 &&
      share(threads / 2) > share(threads))
    threads /= 2;
  return threads;
}

/// The same for rows of which each begins at another address: what a thread
/// does once a row is more there, so that it has up to 8 chunks, or 10 where
/// each is much work, and fewer without a column. Three phases of little work
/// would take too many registers. Measured on an H200 for elements of 2 bytes:
/// 2% at 2047 and 4095 columns, 5 to 17% for softmax and at 257.
static int64_t threadsOfOddRow(const ProgramFacts &facts, int64_t leaves,
                               int64_t threads) {
  constexpr int64_t few = 4096;
  // 4 bytes are a word, which any row is aligned to.
  bool isOdd = facts.leaf > 4 && facts.columns % (facts.leaf / 4) != 0;
  if (threads < 2 || !isOdd || facts.group > 1 ||
      (facts.rows >= 0 && facts.rows <= few))
    return threads;
  int64_t half = threads / 2, steps = llvm::divideCeil(leaves, half);
  bool isHeavy = facts.work > 3 * facts.columnBytes;
  bool isShared = isHeavy ? half >= 16 && steps <= 10
                          : half >= 32 && steps <= 8 && facts.phases <= 2;
  bool isDenser = half >= 8 && steps <= 8 &&
                  10 * half * steps < 9 * llvm::alignTo(leaves, threads);
  return isShared || isDenser ? half : threads;
}

Schedule norm::chooseSchedule(const ProgramFacts &facts,
                              const TargetLimits &limits) {
  if (limits.isHost)
    return chooseHostSchedule(facts, limits);
  if (facts.inner)
    return chooseAcross(facts, limits);
  if (facts.strands)
    return chooseSumSchedule(facts, limits);
  if (std::optional<Schedule> ring = chooseRing(facts, limits))
    return *ring;
  Schedule schedule;
  if (facts.columns < 0) {
    schedule.threads =
        std::min({int64_t(512), facts.lanes, threadsForExchange(facts)});
    schedule.rowsPerCta = std::max<int64_t>(1, 128 / schedule.threads);
    schedule.residency = Residency::Stream;
    return schedule;
  }
  int64_t leaf = facts.leaf;
  int64_t leaves = llvm::divideCeil(std::max<int64_t>(facts.columns, 1), leaf);
  schedule.threads =
      threadsOfOddRow(facts, leaves, threadsOfRow(facts, leaves));
  schedule.threads = std::max(schedule.threads, facts.group / leaf);
  schedule.threads = std::min(schedule.threads, facts.lanes);
  int64_t most = threadsForExchange(facts);
  schedule.threads = std::min(schedule.threads, most);
  // Bytes that a thread holds: at most as much as the registers it can have.
  auto held = [&] {
    return llvm::divideCeil(leaves, schedule.threads) * leaf * facts.heldBytes;
  };
  if (schedule.threads == 1024 && held() > 128)
    schedule.threads = 512;
  // Narrow values are held beside what they are computed with, which several
  // phases make of them.
  bool isTight = facts.phases > 2 && schedule.threads == 1024 &&
                 facts.heldBytes <= 2 && held() >= 128;
  int64_t mostHeld = schedule.threads >= 512 ? 384 : 512;
  if (facts.phases > 1 && (held() > mostHeld || isTight)) {
    schedule.threads = std::min(facts.lanes, most);
    schedule.rowsPerCta = std::max<int64_t>(1, 128 / schedule.threads);
    int64_t shared =
        slotBytes(schedule, facts) + exchangeBytes(schedule, facts);
    schedule.residency =
        shared <= limits.sharedPerCta ? Residency::Shared : Residency::Stream;
  }
  // Without anything to hold a phase still is unrolled in registers.
  if (schedule.residency == Residency::Registers &&
      llvm::divideCeil(leaves, schedule.threads) > maxStepsInRegisters)
    schedule.residency = Residency::Stream;
  // Small CTAs wait less for each other's rows; an SM runs 32 of them.
  schedule.rowsPerCta = std::max<int64_t>(1, 64 / schedule.threads);
  // All that a thread can have with two CTAs on an SM, or one of many threads.
  if (leaves > 2048 && schedule.residency == Residency::Registers)
    schedule.maxRegisters = schedule.threads == 1024 ? 64 : 128;
  schedule.prefetch = llvm::divideCeil(leaves, schedule.threads) <= 2;
  return schedule;
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

llvm::StringRef norm::toString(Residency residency) {
  switch (residency) {
  case Residency::Registers:
    return "registers";
  case Residency::Shared:
    return "shared";
  case Residency::Stream:
    return "stream";
  }
  llvm_unreachable("covered switch");
}

std::string norm::toString(const Schedule &s) {
  std::string text =
      llvm::formatv("threads={0},rows_per_cta={1},residency={2},prefetch={3},"
                    "vector={4}",
                    s.threads, s.rowsPerCta, toString(s.residency),
                    s.prefetch ? "true" : "false", s.vector)
          .str();
  if (s.maxRegisters)
    text += llvm::formatv(",max_registers={0}", s.maxRegisters).str();
  if (s.split != 1)
    text += llvm::formatv(",split={0}", s.split).str();
  if (!s.pdl)
    text += ",pdl=false";
  if (s.stages)
    text += llvm::formatv(",stages={0}", s.stages).str();
  if (s.cluster != 1)
    text += llvm::formatv(",cluster={0}", s.cluster).str();
  return text;
}

template <typename... Ts>
static llvm::Error makeError(const char *format, Ts &&...args) {
  return llvm::createStringError(
      llvm::formatv(format, std::forward<Ts>(args)...).str());
}

static llvm::Error setField(Schedule &schedule, llvm::StringRef key,
                            llvm::StringRef value) {
  if (key == "residency") {
    auto residency = llvm::StringSwitch<std::optional<Residency>>(value)
                         .Case("registers", Residency::Registers)
                         .Case("shared", Residency::Shared)
                         .Case("stream", Residency::Stream)
                         .Default(std::nullopt);
    if (!residency)
      return makeError("expects 'residency' to be registers, shared or stream "
                       "but got '{0}'",
                       value);
    schedule.residency = *residency;
    return llvm::Error::success();
  }
  if (key == "prefetch" || key == "pdl") {
    if (value != "true" && value != "false")
      return makeError("expects '{0}' to be true or false but got '{1}'", key,
                       value);
    (key == "pdl" ? schedule.pdl : schedule.prefetch) = value == "true";
    return llvm::Error::success();
  }
  int64_t *field = llvm::StringSwitch<int64_t *>(key)
                       .Case("threads", &schedule.threads)
                       .Case("rows_per_cta", &schedule.rowsPerCta)
                       .Case("vector", &schedule.vector)
                       .Case("max_registers", &schedule.maxRegisters)
                       .Case("split", &schedule.split)
                       .Case("stages", &schedule.stages)
                       .Case("cluster", &schedule.cluster)
                       .Default(nullptr);
  if (!field)
    return makeError("expects a field of the schedule (threads, rows_per_cta, "
                     "residency, prefetch, vector, max_registers, split, pdl, "
                     "stages, cluster) "
                     "but got '{0}'",
                     key);
  if (value.getAsInteger(10, *field))
    return makeError("expects '{0}' to be a number but got '{1}'", key, value);
  return llvm::Error::success();
}

llvm::Error norm::overrideSchedule(Schedule &schedule, llvm::StringRef text) {
  llvm::SmallVector<llvm::StringRef> fields;
  text.split(fields, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  bool setsThreads = false, setsRows = false, setsRegisters = false;
  bool setsCluster = false, setsResidency = false;
  for (llvm::StringRef field : fields) {
    auto [key, value] = field.trim().split('=');
    if (llvm::Error error = setField(schedule, key.trim(), value.trim()))
      return error;
    setsThreads |= key.trim() == "threads";
    setsRows |= key.trim() == "rows_per_cta";
    setsRegisters |= key.trim() == "max_registers";
    setsCluster |= key.trim() == "cluster";
    setsResidency |= key.trim() == "residency";
  }
  // All lanes have threads in a cluster, and its CTAs one row.
  if (setsCluster && schedule.cluster > 1) {
    if (!setsThreads)
      schedule.threads = 1024;
    if (!setsRows)
      schedule.rowsPerCta = 1;
    if (!setsResidency)
      schedule.residency = Residency::Stream;
    if (!setsRegisters)
      schedule.maxRegisters = 0;
    return llvm::Error::success();
  }
  // The model's rows and registers go with its threads; more threads leave less
  // room.
  if ((setsThreads || setsRows) && !setsRegisters)
    schedule.maxRegisters = 0;
  if (setsThreads && !setsRows && schedule.threads > 0)
    schedule.rowsPerCta =
        std::clamp<int64_t>(1024 / schedule.threads, 1, schedule.rowsPerCta);
  return llvm::Error::success();
}

/// Of an order across memory.
/// States of slices that a thread loads to combine them, in code without loops.
static int64_t slicesPerThread(const Schedule &s, const ProgramFacts &facts) {
  int64_t walked = facts.walked();
  int64_t slices = walked < 0 ? maxSlices : countSlices(walked);
  int64_t groups = s.rowsPerCta / facts.inner;
  int64_t block = s.threads * s.rowsPerCta / s.vector;
  int64_t ways = 1;
  while (2 * ways <= slices && 2 * ways * groups <= block)
    ways *= 2;
  return slices / ways * llvm::divideCeil(groups * ways, block);
}

static llvm::Error checkAcross(const Schedule &s, const ProgramFacts &facts,
                               const TargetLimits &limits,
                               llvm::StringRef target) {
  if (s.cluster != 1)
    return checkRing(s, facts, limits, target);
  if (s.stages)
    return makeError("expects 'stages' to be 0 across memory but got {0}",
                     s.stages);
  if (s.vector < 1 || facts.run % s.vector != 0)
    return makeError("expects 'vector' to divide the {0} neighbours in memory "
                     "but got {1}",
                     facts.run, s.vector);
  if (limits.isHost) {
    if (s.threads != 1 || s.rowsPerCta != s.vector ||
        s.vector % facts.inner != 0)
      return makeError("expects one thread, and whole groups of {0} as vector "
                       "and 'rows_per_cta', but got {1}, {2} and {3}",
                       facts.inner, s.threads, s.vector, s.rowsPerCta);
    return llvm::Error::success();
  }
  if (s.threads < 1 || s.threads > facts.lanes ||
      !llvm::isPowerOf2_64(s.threads))
    return makeError("expects 'threads' to be a power of two from 1 to {0} but "
                     "got {1}",
                     facts.lanes, s.threads);
  if (!llvm::isPowerOf2_64(s.vector) || s.vector > 16)
    return makeError("expects 'vector' to be a power of two up to 16 but got "
                     "{0}",
                     s.vector);
  if (s.rowsPerCta % tileUnit(facts.inner, s.vector) != 0 || s.rowsPerCta < 1 ||
      s.rowsPerCta > 1024)
    return makeError("expects 'rows_per_cta' to be a multiple of {0} up to "
                     "1024 but got {1}",
                     tileUnit(facts.inner, s.vector), s.rowsPerCta);
  int64_t block = s.threads * s.rowsPerCta / s.vector;
  if (block > 1024)
    return makeError("expects at most 1024 threads per CTA but got {0}", block);
  if (int64_t bytes = exchangeBytesAcross(s, facts); bytes > maxStaticShared)
    return makeError("schedule needs {0} bytes of static shared memory per CTA "
                     "but {1} allows {2}",
                     bytes, target, maxStaticShared);
  // Bounds code size. A schedule of the model's needs 128 at most.
  if (int64_t states = slicesPerThread(s, facts);
      facts.stateBytes && states > 256)
    return makeError("schedule needs {0} slices per thread to be combined but "
                     "at most 256 are allowed",
                     states);
  int64_t walked = facts.walked();
  if (s.split < 0 || s.split > maxSlices ||
      (s.split > 0 && !llvm::isPowerOf2_64(s.split)) ||
      (s.split > 1 && (walked < 0 || s.split > countSlices(walked))))
    return makeError("expects 'split' to be 0 or a power of two, at most the "
                     "row's {0} slices, but got {1}",
                     walked < 0 ? 1 : countSlices(walked), s.split);
  if (s.residency == Residency::Stream)
    return llvm::Error::success();
  if (walked <= 0 || s.split == 0 || walked % leafAcross != 0)
    return makeError("expects residency stream, or a split and whole leaves of "
                     "static columns, but got {0}",
                     toString(s.residency));
  if (int64_t steps = stepsAcross(s, facts); steps > 128)
    return makeError("schedule needs {0} chunks per thread to be held but at "
                     "most 128 are allowed",
                     steps);
  int64_t bytes = slotBytesAcross(s, facts) + exchangeBytesAcross(s, facts);
  if (s.residency == Residency::Shared && bytes > limits.sharedPerCta)
    return makeError("schedule needs {0} bytes of shared memory per CTA but "
                     "{1} allows {2}",
                     bytes, target, limits.sharedPerCta);
  return llvm::Error::success();
}

llvm::Error norm::checkSchedule(const Schedule &s, const ProgramFacts &facts,
                                const TargetLimits &limits,
                                llvm::StringRef target) {
  if (s.maxRegisters < 0 || s.maxRegisters > 255)
    return makeError("expects 'max_registers' from 0 to 255 but got {0}",
                     s.maxRegisters);
  if (facts.inner)
    return checkAcross(s, facts, limits, target);
  if (s.split != 1)
    return makeError("expects 'split' to be 1 along memory but got {0}",
                     s.split);
  if (s.cluster != 1)
    return checkRing(s, facts, limits, target);
  if (s.stages && (!facts.strands || limits.isHost))
    return makeError("expects 'stages' only where a kernel of a GPU sums rows "
                     "but got {0}",
                     s.stages);
  if (facts.strands)
    if (llvm::Error error = checkSumSchedule(s, facts, limits, target))
      return error;
  auto isPowerOf2 = [](int64_t v) { return v > 0 && llvm::isPowerOf2_64(v); };
  if (!isPowerOf2(s.threads) || s.threads > 1024)
    return makeError("expects 'threads' to be a power of two from 1 to 1024 "
                     "but got {0}",
                     s.threads);
  if (!isPowerOf2(s.vector) || s.vector > facts.lanes ||
      s.threads * s.vector > facts.lanes)
    return makeError("expects 'vector' to be a power of two with at most {2} "
                     "lanes per step but got {0} x {1}",
                     s.threads, s.vector, facts.lanes);
  if (s.threads * s.vector * facts.leaf < facts.group)
    return makeError(
        "expects the threads of a row to take the {0} columns of a "
        "group in a step but got {1} x {2} x {3}",
        facts.group, s.threads, s.vector, facts.leaf);
  if (s.rowsPerCta < 1 || s.rowsPerCta > 1024 ||
      s.threads * s.rowsPerCta > 1024)
    return makeError("expects at most 1024 threads per CTA but got {0} x {1}",
                     s.threads, s.rowsPerCta);
  if (limits.isHost) {
    if (s.threads != 1 || s.rowsPerCta != 1)
      return makeError("expects 'threads' and 'rows_per_cta' to be 1 on the "
                       "host but got {0} and {1}",
                       s.threads, s.rowsPerCta);
    // A row is in the cache; reading it again is what holding it would do.
    if (s.residency != Residency::Stream)
      return makeError("expects 'residency' to be stream on the host but got "
                       "{0}",
                       toString(s.residency));
    return llvm::Error::success();
  }
  if (s.vector != 1)
    return makeError("expects 'vector' to be 1 on {0} but got {1}", target,
                     s.vector);
  if (s.threads * s.rowsPerCta % 32 != 0)
    return makeError("expects whole warps per CTA but got {0} x {1} threads",
                     s.threads, s.rowsPerCta);
  // The cap would win over the number of threads, which then couldn't start.
  int64_t block = s.threads * s.rowsPerCta;
  if (s.maxRegisters * block > limits.registersPerCta)
    return makeError("schedule needs up to {0} registers for each of {1} "
                     "threads but {2} allows {3} per CTA",
                     s.maxRegisters, block, target, limits.registersPerCta);
  int64_t exchanged = exchangeBytes(s, facts);
  if (exchanged > maxStaticShared)
    return makeError("schedule needs {0} bytes of shared memory for exchanges "
                     "but at most {1} are allowed",
                     exchanged, maxStaticShared);
  // Bounds code size: a thread's blocks of lanes are unrolled.
  int64_t blocks = llvm::divideCeil(facts.lanes, s.threads);
  if (facts.columns >= 0)
    blocks = std::min<int64_t>(
        blocks, llvm::divideCeil(std::max<int64_t>(facts.columns, 1),
                                 facts.leaf * s.threads));
  if (blocks > 32)
    return makeError("schedule needs {0} lanes per thread but at most 32 are "
                     "allowed",
                     blocks);
  if (s.residency == Residency::Stream)
    return llvm::Error::success();
  if (facts.columns < 0)
    return makeError("expects residency stream where the columns are known at "
                     "launch only but got {0}",
                     toString(s.residency));
  int64_t leaf = facts.leaf;
  int64_t steps =
      llvm::divideCeil(std::max<int64_t>(facts.columns, 1), leaf * s.threads);
  if (s.residency == Residency::Registers && steps > maxStepsInRegisters)
    return makeError("schedule needs {0} chunks per thread in registers but "
                     "at most {1} are allowed",
                     steps, maxStepsInRegisters);
  int64_t bytes = slotBytes(s, facts) + exchanged;
  if (s.residency == Residency::Shared && bytes > limits.sharedPerCta)
    return makeError("schedule needs {0} bytes of shared memory per CTA but "
                     "{1} allows {2}",
                     bytes, target, limits.sharedPerCta);
  return llvm::Error::success();
}
