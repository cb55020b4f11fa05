//===- EmulatedCta.cpp - One CTA after the other: its threads -------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EmulatedCluster.h"
#include "llvm/ADT/StringExtras.h"

using namespace norm;
using namespace norm::emulated;

static constexpr uint32_t kWarp = 32;

llvm::Expected<std::unique_ptr<Cta>> Cta::create() {
  std::unique_ptr<Cta> cta(new Cta());
  if (llvm::Error error = SharedMemory::create().moveInto(cta->shared))
    return error;
  return cta;
}

llvm::Error Cta::enter(const KernelRun &launch) {
  kernel = launch;
  findings = Findings();
  accesses.enterLaunch();
  totals.assign(launch.memory->params().size(), {});
  threads.resize(launch.threads);
  if (fibers && fibers->count() >= launch.threads)
    return llvm::Error::success();
  fibers.reset();
  return Fibers::create(launch.threads).moveInto(fibers);
}

/// SplitMix64: Steele, Lea, Flood, "Fast splittable pseudorandom number
/// generators", OOPSLA 2014.
uint64_t emulated::nextRandom(uint64_t &state) {
  uint64_t z = state += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

void Cta::report(const Thread *thread, FindingKind kind, unsigned site,
                 llvm::function_ref<std::string()> text) {
  findings.add(kind, site, current, thread ? int64_t(thread->index) : -1, text);
}

//===----------------------------------------------------------------------===//
// Scheduling
//===----------------------------------------------------------------------===//

void Cta::makeReady(Thread &thread) {
  thread.state = Thread::State::Ready;
  ready.push_back(thread.index);
}

void Cta::start(int64_t block) {
  current = block;
  state = kernel.seed + uint64_t(block) * 0xd1342543de82ef95;
  live = kernel.threads;
  shared->enterCta();
  accesses.enterCta(block, block / kernel.unit());
  ready.clear();
  for (auto [index, thread] : llvm::enumerate(threads)) {
    thread = Thread();
    thread.cta = this;
    thread.index = uint32_t(index);
    makeReady(thread);
  }
  fibers->start(kernel.threads, entry);
}

void Cta::step() {
  size_t pick = size_t(nextRandom(state) % ready.size());
  uint32_t index = ready[pick];
  ready[pick] = ready.back();
  ready.pop_back();
  if (fibers->resume(index)) {
    threads[index].state = Thread::State::Exited;
    --live;
    if (cluster)
      cluster->exit(threads[index]);
  }
  if (cluster)
    cluster->tryArrive(*this, index);
  if (threads[index].state != Thread::State::AtBarrier)
    tryShuffle(index);
}

void Cta::suspend(Thread &thread, Thread::State reason, uint32_t site) {
  thread.state = reason;
  thread.site = site;
  fibers->suspend();
}

Cta::Progress Cta::proceed() {
  while (true) {
    while (!ready.empty())
      step();
    if (live == 0)
      return Progress::Exited;
    const Thread &first = *llvm::find_if(threads, [](const Thread &thread) {
      return thread.state != Thread::State::Exited;
    });
    if (llvm::all_of(threads, [](const Thread &thread) {
          return thread.state == Thread::State::Exited ||
                 thread.state == Thread::State::AtUnitBarrier;
        }))
      return checkUnitBarrier(first) ? Progress::Waits : Progress::Stuck;
    if (!passBarrier())
      return Progress::Stuck;
  }
}

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

void Cta::waitAtBarrier(Thread &thread, uint32_t site) {
  suspend(thread, Thread::State::AtBarrier, site);
}

bool Cta::tryPassBarrier() {
  bool isThere = live != 0 && llvm::all_of(threads, [](const Thread &thread) {
    return thread.state == Thread::State::Exited ||
           thread.state == Thread::State::AtBarrier;
  });
  return isThere && passBarrier();
}

Cluster *Cta::findCluster(const Thread &thread, uint32_t site) {
  if (!cluster)
    report(&thread, FindingKind::Mbarrier, site, [] {
      return std::string("expects a kernel with clusters of 2 CTAs or more");
    });
  return cluster;
}

void Cta::waitAtUnitBarrier(Thread &thread, const UnitBarrier &barrier,
                            uint32_t site) {
  thread.state = Thread::State::AtUnitBarrier;
  thread.barrier = barrier;
  thread.site = site;
  fibers->suspend();
}

/// Whether all threads call the same barrier with the same operands.
bool Cta::checkUnitBarrier(const Thread &first) {
  if (live == kernel.threads &&
      llvm::all_of(threads, [&](const Thread &thread) {
        return thread.site == first.site && thread.barrier == first.barrier;
      }))
    return true;
  bool isSameSite = llvm::all_of(threads, [&](const Thread &thread) {
    return thread.state != Thread::State::Exited && thread.site == first.site;
  });
  report(nullptr, FindingKind::BarrierDivergence, first.site, [&] {
    return isSameSite
               ? "not all threads meet other CTAs with the same counter, "
                 "number of CTAs and phase"
               : "not all threads meet: " + describeThreads();
  });
  return false;
}

void Cta::passUnitBarrier() {
  shared->passBarrier();
  accesses.passUnitBarrier();
  for (Thread &thread : threads)
    makeReady(thread);
}

/// Called where no thread can run. False where the CTA cannot go on.
bool Cta::passBarrier() {
  const Thread *first = nullptr;
  bool isSame = live == kernel.threads, isBarrier = true;
  for (const Thread &thread : threads) {
    if (thread.state == Thread::State::Exited)
      continue;
    isBarrier &= thread.state == Thread::State::AtBarrier;
    isSame &= !first || thread.site == first->site;
    if (!first)
      first = &thread;
  }
  if (!isBarrier) {
    report(nullptr, FindingKind::Deadlock, first->site,
           [&] { return "no thread can go on: " + describeThreads(); });
    return false;
  }
  if (!isSame)
    report(nullptr, FindingKind::BarrierDivergence, first->site,
           [&] { return "not all threads meet: " + describeThreads(); });
  shared->passBarrier();
  accesses.passBarrier();
  if (cluster)
    cluster->passBarrier(*this);
  for (Thread &thread : threads)
    if (thread.state == Thread::State::AtBarrier)
      makeReady(thread);
  return true;
}

std::string KernelRun::where(unsigned site) const {
  if (site >= sites.size())
    return "an unknown place";
  return "'" + sites[site].operation + "' at " + sites[site].location;
}

/// `threads 0-31 wait in 'gpu.barrier' at x.mlir:1:2, threads 32-63 exited`.
std::string Cta::describeThreads() const {
  std::vector<std::pair<std::string, std::string>> groups;
  for (uint32_t begin = 0; begin < threads.size();) {
    const Thread &first = threads[begin];
    bool exited = first.state == Thread::State::Exited;
    uint32_t end = begin + 1;
    while (end < threads.size() && threads[end].state == first.state &&
           (exited || threads[end].site == first.site))
      ++end;
    std::string what =
        exited ? "have exited" : "wait in " + kernel.where(first.site);
    std::string range = llvm::utostr(begin);
    if (end - begin > 1)
      range += "-" + llvm::utostr(end - 1);
    auto known = llvm::find_if(
        groups, [&](const auto &group) { return group.first == what; });
    if (known == groups.end())
      groups.emplace_back(what, range);
    else
      known->second += ", " + range;
    begin = end;
  }
  std::string text;
  for (const auto &[what, ranges] : groups)
    text += (text.empty() ? "threads " : "; threads ") + ranges + " " + what;
  return text;
}

//===----------------------------------------------------------------------===//
// Shuffles
//===----------------------------------------------------------------------===//

uint64_t Cta::shuffle(Thread &thread) {
  thread.state = Thread::State::AtShuffle;
  fibers->suspend();
  return thread.bits;
}

llvm::MutableArrayRef<Thread> Cta::warp(uint32_t thread) {
  size_t first = thread / kWarp * kWarp;
  return llvm::MutableArrayRef(threads).slice(
      first, std::min<size_t>(kWarp, threads.size() - first));
}

/// Exchanges the values of a warp once all its lanes that haven't exited wait
/// in the same shuffle. The instruction names all lanes of the warp.
void Cta::tryShuffle(uint32_t index) {
  llvm::MutableArrayRef<Thread> lanes = warp(index);
  const Thread *first = nullptr;
  for (const Thread &lane : lanes) {
    if (lane.state == Thread::State::Exited)
      continue;
    if (lane.state != Thread::State::AtShuffle ||
        (first && lane.site != first->site))
      return;
    first = &lane;
  }
  if (!first)
    return;
  uint64_t values[kWarp];
  for (auto [value, lane] : llvm::zip(values, lanes))
    value = lane.bits;
  // Lanes become ready after all of them have read.
  for (Thread &lane : lanes)
    if (lane.state == Thread::State::AtShuffle)
      exchange(lanes, lane);
  for (auto [index, lane] : llvm::enumerate(lanes))
    if (lane.state == Thread::State::AtShuffle) {
      lane.bits = values[lane.offset];
      makeReady(lane);
    }
}

/// Finds the lane that `lane` reads from, which takes the place of `offset`.
void Cta::exchange(llvm::MutableArrayRef<Thread> lanes, Thread &lane) {
  uint32_t self = lane.index % kWarp;
  uint32_t width = lane.width;
  uint32_t from = self;
  if (width == 0 || width > kWarp || self >= width) {
    report(&lane, FindingKind::InactiveLane, lane.site, [&] {
      return "lane " + llvm::utostr(self) + " takes part in a shuffle of " +
             llvm::utostr(width) + " lanes";
    });
    width = kWarp;
  }
  // gpu.shuffle's modes, in the order of its enumeration.
  switch (lane.mode) {
  case 0:
    from = self ^ lane.offset;
    break;
  case 1:
    from = lane.offset < width ? self + lane.offset : width;
    break;
  case 2:
    from = lane.offset <= self ? self - lane.offset : width;
    break;
  default:
    from = lane.offset;
  }
  lane.valid = from < width;
  lane.offset = self;
  if (!lane.valid)
    return;
  if (from < lanes.size() && lanes[from].state == Thread::State::AtShuffle) {
    lane.offset = from;
    return;
  }
  report(&lane, FindingKind::InactiveLane, lane.site, [&] {
    return "reads from lane " + llvm::utostr(from) + ", which " +
           (from < lanes.size() ? "has exited" : "the CTA doesn't have");
  });
}
