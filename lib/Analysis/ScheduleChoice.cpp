//===- ScheduleChoice.cpp - How a program got its schedule ------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Analysis/ScheduleChoice.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

#include <numeric>

using namespace norm;

llvm::StringRef norm::toString(ScheduleSource source) {
  switch (source) {
  case ScheduleSource::Model:
    return "the model";
  case ScheduleSource::Shipped:
    return "the shipped tuning";
  case ScheduleSource::File:
    return "the tuning file";
  case ScheduleSource::Given:
    return "the input";
  }
  llvm_unreachable("covered switch");
}

/// CTAs of fewer threads leave too much of an SM idle to be worth a try.
static constexpr int64_t kLeastBlock = 64, kMostBlock = 1024;

namespace {
/// Collects schedules that can run, each once.
class Neighbours {
public:
  Neighbours(const Schedule &base, const ProgramFacts &facts,
             const TargetLimits &limits, llvm::StringRef target,
             llvm::StringRef fixed)
      : base(base), facts(facts), limits(limits), target(target), fixed(fixed) {
    seen.insert(toString(base));
  }

  void collectAlong();
  void collectAcross();
  std::vector<Schedule> take() { return std::move(found); }

private:
  bool add(Schedule schedule);
  /// With the residency of `base`, else with the first one that can run.
  void addWithResidency(Schedule schedule);
  void addThreadsAlong();
  void addRowsAlong();
  void addTilesAcross();
  void addSplits();
  void addResidencies();
  void addRegisters();
  void addClusters();
  void addStages();

  const Schedule &base;
  const ProgramFacts &facts;
  const TargetLimits &limits;
  llvm::StringRef target, fixed;
  llvm::StringSet<> seen;
  std::vector<Schedule> found;
};
} // namespace

bool Neighbours::add(Schedule schedule) {
  llvm::Error error = overrideSchedule(schedule, fixed);
  if (!error)
    error = checkSchedule(schedule, facts, limits, target);
  if (error) {
    llvm::consumeError(std::move(error));
    return false;
  }
  if (seen.insert(toString(schedule)).second)
    found.push_back(schedule);
  return true;
}

void Neighbours::addWithResidency(Schedule schedule) {
  if (add(schedule))
    return;
  for (Residency residency :
       {Residency::Registers, Residency::Shared, Residency::Stream}) {
    schedule.residency = residency;
    if (residency != base.residency && add(schedule))
      return;
  }
}

void Neighbours::addThreadsAlong() {
  for (auto [factor, divisor] :
       {std::pair<int64_t, int64_t>(2, 1), {1, 2}, {4, 1}, {1, 4}}) {
    if (base.threads % divisor != 0)
      continue;
    Schedule schedule = base;
    schedule.threads = base.threads * factor / divisor;
    // Strands of a worker are no choice.
    if (!facts.strands)
      schedule.rowsPerCta = std::clamp<int64_t>(
          base.rowsPerCta, std::max<int64_t>(1, kLeastBlock / schedule.threads),
          std::max<int64_t>(1, kMostBlock / schedule.threads));
    // A cap is for a number of threads; who has half of them may have twice as
    // many registers.
    schedule.maxRegisters = 0;
    addWithResidency(schedule);
    if (base.maxRegisters) {
      schedule.maxRegisters = base.maxRegisters * divisor / factor;
      if (schedule.maxRegisters >= 32 && schedule.maxRegisters < 255)
        addWithResidency(schedule);
    }
  }
}

void Neighbours::addRowsAlong() {
  for (auto [factor, divisor] :
       {std::pair<int64_t, int64_t>(2, 1), {1, 2}, {4, 1}}) {
    if (base.rowsPerCta % divisor != 0)
      continue;
    Schedule schedule = base;
    schedule.rowsPerCta = base.rowsPerCta * factor / divisor;
    add(schedule);
  }
}

void Neighbours::addResidencies() {
  if (facts.phases < 2)
    return;
  for (Residency residency :
       {Residency::Registers, Residency::Shared, Residency::Stream}) {
    Schedule schedule = base;
    schedule.residency = residency;
    add(schedule);
  }
}

/// The cap's next steps, and no cap. Assemblers give registers by eights.
void Neighbours::addRegisters() {
  static constexpr int64_t kCaps[] = {32, 40, 48, 56, 64, 80, 96, 128, 168};
  auto set = [&](int64_t cap) {
    Schedule schedule = base;
    schedule.maxRegisters = cap;
    add(schedule);
  };
  if (base.maxRegisters == 0) {
    for (int64_t cap : {128, 64, 96, 40})
      set(cap);
    return;
  }
  set(0);
  for (const int64_t &cap : kCaps)
    if (cap > base.maxRegisters) {
      set(cap);
      break;
    }
  for (const int64_t &cap : llvm::reverse(kCaps))
    if (cap < base.maxRegisters) {
      set(cap);
      break;
    }
}

/// CTAs that share a row take all lanes of it, and hold it in shared memory.
void Neighbours::addClusters() {
  for (int64_t cluster : {base.cluster * 2, base.cluster / 2, int64_t(8),
                          int64_t(16), int64_t(1)}) {
    if (cluster < 1 || cluster == base.cluster ||
        cluster > limits.mostClusterCtas)
      continue;
    Schedule schedule = base;
    schedule.cluster = cluster;
    schedule.threads = facts.lanes;
    schedule.rowsPerCta = 1;
    schedule.residency = Residency::Stream;
    schedule.maxRegisters = 0;
    add(schedule);
  }
}

/// Rows that are on their way while others are summed.
void Neighbours::addStages() {
  if (!facts.strands)
    return;
  for (int64_t stages : {base.stages + 1, base.stages - 1, base.stages + 2,
                         base.stages - 2, int64_t(0), int64_t(2)}) {
    if (stages < 0 || stages == 1)
      continue;
    Schedule schedule = base;
    schedule.stages = stages;
    add(schedule);
  }
}

void Neighbours::collectAlong() {
  addThreadsAlong();
  addResidencies();
  addRowsAlong();
  addClusters();
  addStages();
  Schedule schedule = base;
  schedule.prefetch = !base.prefetch;
  add(schedule);
  addRegisters();
  // Workers fill the device as long as it has rows.
  if (facts.strands)
    return;
  schedule = base;
  schedule.pdl = !base.pdl;
  add(schedule);
}

/// Threads, width and positions of a tile.
void Neighbours::addTilesAcross() {
  auto addTile = [&](int64_t threads, int64_t vector, int64_t positions) {
    Schedule schedule = base;
    schedule.threads = threads;
    schedule.vector = vector;
    // Whole chunks and groups.
    int64_t unit = std::lcm(facts.inner, vector);
    schedule.rowsPerCta = std::max<int64_t>(1, positions / unit) * unit;
    // The cap of a number of threads, as above.
    if (threads * schedule.rowsPerCta / vector !=
        base.threads * base.rowsPerCta / base.vector)
      schedule.maxRegisters = 0;
    addWithResidency(schedule);
  };
  int64_t positions = base.rowsPerCta;
  for (int64_t threads : {base.threads * 2, base.threads / 2}) {
    addTile(threads, base.vector, positions);
    addTile(threads, base.vector,
            positions * base.threads / std::max<int64_t>(threads, 1));
  }
  for (int64_t vector : {base.vector * 2, base.vector / 2}) {
    if (vector < 1)
      continue;
    addTile(base.threads, vector, positions);
    addTile(base.threads, vector, positions * vector / base.vector);
  }
  for (int64_t other :
       {positions * 2, positions / 2, positions * 3 / 2, positions * 3 / 4})
    addTile(base.threads, base.vector, other);
}

void Neighbours::addSplits() {
  llvm::SmallVector<int64_t, 4> splits;
  if (base.split == 0) {
    // A tile's CTAs hold what they read only where their number is known.
    int64_t walked = facts.walked();
    for (int64_t split = walked < 0 ? 1 : countSlices(walked); split >= 1;
         split /= 2)
      splits.push_back(split);
  } else {
    splits = {base.split * 2, base.split / 2, 0};
  }
  for (int64_t split : splits) {
    if (split == 0 && base.split == 1)
      continue;
    Schedule schedule = base;
    schedule.split = split;
    if (split == 0)
      schedule.residency = Residency::Stream;
    add(schedule);
  }
}

void Neighbours::collectAcross() {
  addTilesAcross();
  addResidencies();
  addSplits();
  addRegisters();
}

llvm::Expected<std::vector<Schedule>>
norm::neighbouringSchedules(const Schedule &base, const ProgramFacts &facts,
                            const TargetLimits &limits, llvm::StringRef target,
                            llvm::StringRef fixed) {
  Schedule readable;
  if (llvm::Error error = overrideSchedule(readable, fixed))
    return std::move(error);
  if (limits.isHost)
    return std::vector<Schedule>();
  Neighbours neighbours(base, facts, limits, target, fixed);
  if (facts.inner)
    neighbours.collectAcross();
  else
    neighbours.collectAlong();
  return neighbours.take();
}
