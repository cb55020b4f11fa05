//===- EmulatedUnit.cpp - CTAs that share rows ----------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The CTAs meet here, not by their counter, which keeps its zeros. What a GPU
// would count is checked instead.
//
//===----------------------------------------------------------------------===//

#include "EmulatedUnit.h"
#include "llvm/ADT/StringExtras.h"

using namespace norm;
using namespace norm::emulated;

/// Arrivals and departures.
static constexpr uint64_t kCounterBytes = 8;

using Progress = Cta::Progress;

Unit::Unit(const KernelRun &launch, llvm::ArrayRef<Cta *> ctas)
    : kernel(launch) {
  for (Cta *cta : ctas)
    members.push_back({cta, Progress::Exited});
}

void Unit::run(int64_t unit) {
  current = unit;
  random = ~kernel.seed + uint64_t(unit) * 0xd1342543de82ef95;
  phase = 0;
  ended = false;
  for (auto [index, member] : llvm::enumerate(members))
    member.cta->start(unit * int64_t(members.size()) + int64_t(index));
  do
    proceed();
  while (meet());
  checkEnd();
  for (Member &member : members)
    member.cta->finish();
}

/// Runs all CTAs until they wait or end.
void Unit::proceed() {
  std::vector<Member *> ready;
  for (Member &member : members)
    ready.push_back(&member);
  while (!ready.empty()) {
    std::swap(ready[size_t(nextRandom(random) % ready.size())], ready.back());
    ready.back()->progress = ready.back()->cta->proceed();
    ready.pop_back();
  }
}

/// Called where no CTA can run. False where they don't go on.
bool Unit::meet() {
  auto is = [](Progress progress) {
    return [progress](const Member &member) {
      return member.progress == progress;
    };
  };
  if (!llvm::all_of(members, is(Progress::Waits))) {
    // What made a CTA stuck was reported.
    if (llvm::any_of(members, is(Progress::Waits)) &&
        llvm::none_of(members, is(Progress::Stuck)))
      reportMissing();
    return false;
  }
  const UnitBarrier &barrier = members.front().cta->unitBarrier();
  if (!checkCounter(barrier) || !checkOrder(barrier))
    return false;
  ++phase;
  ended = barrier.isLast;
  for (Member &member : members)
    member.cta->passUnitBarrier();
  return true;
}

/// Reports at the first of the CTAs.
bool Unit::reject(FindingKind kind, llvm::function_ref<std::string()> text) {
  members.front().cta->reportAtBarrier(kind, text);
  return false;
}

std::string Unit::describe(size_t cta) const {
  return "CTA " + llvm::itostr(members[cta].cta->block());
}

/// Some CTAs wait, the others have exited.
void Unit::reportMissing() {
  size_t waiting = 0, gone = 0;
  while (members[waiting].progress != Progress::Waits)
    ++waiting;
  while (members[gone].progress == Progress::Waits)
    ++gone;
  members[waiting].cta->reportAtBarrier(FindingKind::Deadlock, [&] {
    return "waits for the " + llvm::utostr(members.size()) +
           " CTAs that share a row, but " + describe(gone) + " has exited";
  });
}

bool Unit::checkCounter(const UnitBarrier &barrier) {
  for (size_t i = 1; i < members.size(); ++i) {
    const UnitBarrier &other = members[i].cta->unitBarrier();
    if (other != barrier)
      return reject(FindingKind::UnitBarrier, [&] {
        return other.counter != barrier.counter
                   ? describe(0) + " and " + describe(i) +
                         " share a row but meet at different counters"
                   : describe(0) + " and " + describe(i) +
                         " meet in different barriers";
      });
  }
  if (barrier.arrivals != members.size())
    return reject(FindingKind::UnitBarrier, [&] {
      return "waits for " + llvm::utostr(barrier.arrivals) + " CTAs but " +
             llvm::utostr(members.size()) + " share a row";
    });
  // A CTA by itself doesn't touch the counter.
  if (members.size() == 1)
    return true;
  if (!kernel.memory->isCounter(barrier.counter, kCounterBytes))
    return reject(FindingKind::UnitBarrier, [&] {
      return "expects the address of a counter in the workspace but got 0x" +
             llvm::utohexstr(barrier.counter, /*LowerCase=*/true);
    });
  if (phase == 0)
    used.push_back({barrier.counter, current, members.front().cta->site()});
  else if (used.back().address != barrier.counter)
    return reject(FindingKind::UnitBarrier, [] {
      return std::string("meets at another counter than before");
    });
  return true;
}

bool Unit::checkOrder(const UnitBarrier &barrier) {
  if (ended)
    return reject(FindingKind::UnitBarrier,
                  [] { return std::string("comes after the last barrier"); });
  if (barrier.phase != phase)
    return reject(FindingKind::UnitBarrier, [&] {
      return "has phase " + llvm::utostr(barrier.phase) + " but " +
             llvm::utostr(phase) + " barriers were passed before";
    });
  return true;
}

/// Reports counters that a GPU wouldn't leave zero.
void Unit::checkEnd() {
  bool isWhole = llvm::all_of(members, [](const Member &member) {
    return member.progress == Progress::Exited;
  });
  if (isWhole && phase != 0 && !ended)
    reject(FindingKind::UnitBarrier, [] {
      return std::string(
          "exits without a last barrier, which makes its counter "
          "zero again");
    });
}

void emulated::reportSharedCounters(const KernelRun &kernel,
                                    std::vector<UsedCounter> counters,
                                    Findings &findings) {
  llvm::sort(counters, [](const UsedCounter &a, const UsedCounter &b) {
    return std::pair(a.address, a.unit) < std::pair(b.address, b.unit);
  });
  for (size_t i = 1; i < counters.size(); ++i) {
    const UsedCounter &first = counters[i - 1], &second = counters[i];
    if (second.address - first.address >= kCounterBytes)
      continue;
    auto [less, more] = std::minmax(first.unit, second.unit);
    findings.add(FindingKind::UnitBarrier, second.site, more * kernel.split, -1,
                 [less = less, &kernel] {
                   return "meets at a counter of CTA " +
                          llvm::itostr(less * kernel.split) +
                          ", with which it shares no row";
                 });
  }
}
