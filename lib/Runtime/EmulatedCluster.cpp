//===- EmulatedCluster.cpp - CTAs that see each other's memory ------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EmulatedCluster.h"
#include "llvm/ADT/StringExtras.h"
#include <cstring>

using namespace norm;
using namespace norm::emulated;

using State = Thread::State;

/// Steps of one CTA before another one is drawn, at most.
static constexpr unsigned kSteps = 8;

llvm::Expected<std::unique_ptr<Cluster>>
Cluster::create(const KernelRun &launch, llvm::ArrayRef<Cta *> ctas) {
  std::unique_ptr<Cluster> made(new Cluster(launch, ctas));
  for (size_t i = 0; i < ctas.size(); ++i)
    if (llvm::Error error = SharedEvents::create(SharedMemory::kStaticBytes +
                                                 SharedMemory::kDynamicBytes)
                                .moveInto(made->events.emplace_back()))
      return error;
  return made;
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

Agent Cluster::agentOf(const Thread &thread) const {
  return Agent(thread.cta->rank() * kernel.threads + thread.index);
}

void Cluster::reset() {
  for (std::unique_ptr<SharedEvents> &memory : events)
    memory->reset();
  nextAgent = Agent(ctas.size() * kernel.threads);
  clocks.assign(nextAgent, Clock());
  for (Agent agent = 0; agent < nextAgent; ++agent)
    clocks[agent].set(agent, 1);
  fences.assign(nextAgent, {});
  barriers.clear();
  copies.clear();
  pending.clear();
}

void Cluster::run(int64_t number) {
  random = ~kernel.seed + uint64_t(number) * 0xd1342543de82ef95;
  current = number;
  draws = 0;
  reset();
  for (auto [rank, cta] : llvm::enumerate(ctas)) {
    cta->join(this, unsigned(rank));
    cta->start(number * int64_t(ctas.size()) + int64_t(rank));
  }
  while (step() || passBarriers())
    ;
  if (llvm::any_of(ctas, [](Cta *cta) { return cta->isLive(); }))
    reportDeadlock();
  else
    checkDraws();
  for (Cta *cta : ctas) {
    cta->finish();
    cta->join(nullptr, 0);
  }
}

/// Does something that can be done. False where there is nothing.
bool Cluster::step() {
  llvm::SmallVector<Cta *, 16> ready;
  for (Cta *cta : ctas)
    if (cta->isReady())
      ready.push_back(cta);
  if (ready.empty() && pending.empty())
    return false;
  // About as many copies end as CTAs get on.
  bool lands =
      ready.empty() || (!pending.empty() && nextRandom(random) % 3 == 0);
  if (lands) {
    std::swap(pending[size_t(nextRandom(random) % pending.size())],
              pending.back());
    Copy copy = pending.back();
    pending.pop_back();
    land(copy);
    return true;
  }
  Cta *cta = ready[size_t(nextRandom(random) % ready.size())];
  for (unsigned i = 0; i < kSteps && cta->isReady(); ++i)
    cta->step();
  return true;
}

/// Lets threads go on from barriers at which all are. False where none are.
bool Cluster::passBarriers() {
  bool passed = false;
  for (Cta *cta : ctas)
    passed |= cta->tryPassBarrier();
  if (passed)
    return true;
  Clock all;
  bool isAny = false;
  for (Cta *cta : ctas)
    for (Thread &thread : cta->all()) {
      if (thread.state == State::Exited)
        continue;
      if (thread.state != State::AtClusterBarrier)
        return false;
      isAny = true;
    }
  if (!isAny)
    return false;
  for (const Clock &clock : clocks)
    all.join(clock);
  for (Cta *cta : ctas)
    for (Thread &thread : cta->all())
      if (thread.state == State::AtClusterBarrier) {
        clockOf(thread) = all;
        tick(agentOf(thread));
        cta->makeReady(thread);
      }
  return true;
}

void Cluster::passBarrier(Cta &cta) {
  Clock all;
  for (Thread &thread : cta.all())
    all.join(clockOf(thread));
  for (Thread &thread : cta.all()) {
    clockOf(thread) = all;
    tick(agentOf(thread));
  }
}

void Cluster::reportDeadlock() {
  for (Cta *cta : ctas)
    for (const Thread &thread : cta->all())
      if (thread.state != State::Exited) {
        report(thread, FindingKind::Deadlock, thread.site, [&] {
          return "no thread of the cluster can go on: " +
                 cta->describeThreads();
        });
        return;
      }
}

void Cluster::exit(Thread &thread) {
  auto own = copies.find(agentOf(thread));
  if (own == copies.end())
    return;
  const ThreadCopies &list = own->second;
  if (list.time > clockOf(thread).at(list.agent))
    report(thread, FindingKind::Mbarrier, thread.site, [] {
      return std::string("exits before it has waited for its last copies to "
                         "global memory");
    });
}

//===----------------------------------------------------------------------===//
// Tickets
//===----------------------------------------------------------------------===//

/// Clusters draw in turn: the same numbers however they are spread over host
/// threads. The counter keeps its zeros.
int64_t Cluster::draw(Thread &thread, uint64_t counter, int64_t rows,
                      int64_t clusters, uint32_t site) {
  constexpr uint64_t kBytes = 8;
  int64_t all = kernel.ctas / kernel.cluster;
  auto wrong = [&](llvm::function_ref<std::string()> text) {
    report(thread, FindingKind::Ticket, site, text);
  };
  if (counter % kBytes != 0 || !kernel.memory->isCounter(counter, kBytes))
    wrong([&] {
      return "expects the address of a counter in the workspace but got 0x" +
             llvm::utohexstr(counter, /*LowerCase=*/true);
    });
  if (clusters != all || rows < clusters)
    wrong([&] {
      return "draws " + llvm::itostr(rows) + " numbers by " +
             llvm::itostr(clusters) + " clusters, but there are " +
             llvm::itostr(all);
    });
  if (draws != 0 && drawn >= rows - clusters)
    wrong([&] {
      return "draws again after " + llvm::itostr(drawn) + " of " +
             llvm::itostr(rows) + " numbers, which was its last";
    });
  drawn = draws++ * all + current;
  drawnOf = rows;
  drawSite = site;
  return drawn;
}

/// Whether all numbers have been drawn when all clusters have exited.
void Cluster::checkDraws() {
  int64_t all = kernel.ctas / kernel.cluster;
  if (draws != 0 && drawn < drawnOf - all)
    ctas.front()->findings.add(
        FindingKind::Ticket, drawSite, ctas.front()->block(), -1, [&] {
          return "exits after number " + llvm::itostr(drawn) + " of " +
                 llvm::itostr(drawnOf) +
                 ", but each cluster draws until it gets one from " +
                 llvm::itostr(drawnOf - all) + " on";
        });
}

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

void Cluster::report(const Thread &thread, FindingKind kind, uint32_t site,
                     llvm::function_ref<std::string()> text) {
  thread.cta->findings.add(kind, site, thread.cta->block(),
                           int64_t(thread.index), text);
}

uint64_t Cluster::offsetOf(const Thread &thread, uint64_t address) const {
  return address - uint64_t(uintptr_t(thread.cta->sharedData()));
}

std::string Cluster::describe(const Event &event, bool wrote) const {
  Agent threads = Agent(ctas.size() * kernel.threads);
  std::string who = "a copy";
  if (event.agent < threads)
    who = "thread " + llvm::utostr(event.agent % kernel.threads) + " of CTA " +
          llvm::itostr(ctas[event.agent / kernel.threads]->block());
  return who + (wrote ? " wrote" : " read") + " it in " +
         kernel.where(event.site) + " and nothing orders the two";
}

SharedEvents::Conflict Cluster::access(const Thread &thread, uint64_t offset,
                                       const MemoryAccess &access) {
  const Clock &seen = clockOf(thread);
  Agent agent = agentOf(thread);
  return events[thread.cta->rank()]->access(
      offset, access.bytes, access.isWrite,
      {agent, seen.at(agent), access.site}, seen);
}

/// Notes an access that something does for a thread. False where it races.
bool Cluster::checkEvent(Thread &thread, unsigned rank, uint64_t offset,
                         uint32_t bytes, bool isWrite, Event event) {
  SharedEvents::Conflict conflict =
      events[rank]->access(offset, bytes, isWrite, event, clockOf(thread));
  auto place = [&] {
    return (isWrite ? "writes " : "reads ") + llvm::utostr(bytes) +
           " bytes at byte " +
           llvm::itostr(int64_t(conflict.byte) -
                        int64_t(SharedMemory::kStaticBytes)) +
           " of dynamic shared memory";
  };
  if (conflict.fault == SharedEvents::Fault::Uninitialized)
    report(thread, FindingKind::UninitializedShared, event.site,
           [&] { return place() + ", where nothing was written"; });
  if (conflict.fault == SharedEvents::Fault::Race)
    report(thread, FindingKind::SharedRace, event.site, [&] {
      return place() + ", but " + describe(conflict.other, conflict.otherWrote);
    });
  return conflict.fault == SharedEvents::Fault::None;
}

/// Whether a copy's size and place in shared memory are possible.
bool Cluster::checkCopy(Thread &thread, uint64_t shared, uint32_t bytes,
                        uint32_t site) {
  uint64_t offset = offsetOf(thread, shared) - SharedMemory::kStaticBytes;
  if (bytes == 0 || bytes % 16 != 0 || offset % 16 != 0) {
    report(thread, FindingKind::Misaligned, site, [&] {
      return "copies " + llvm::utostr(bytes) + " bytes at byte " +
             llvm::itostr(int64_t(offset)) +
             " of dynamic shared memory, but copies are of whole pieces of 16 "
             "bytes";
    });
    return false;
  }
  if (offset < kernel.dynamicShared && bytes <= kernel.dynamicShared - offset)
    return true;
  report(thread, FindingKind::OutOfBounds, site, [&] {
    return "copies " + llvm::utostr(bytes) + " bytes at byte " +
           llvm::itostr(int64_t(offset)) +
           " of dynamic shared memory, which has " +
           llvm::utostr(kernel.dynamicShared) + " bytes";
  });
  return false;
}

void Cluster::fence(Thread &thread) {
  Agent agent = agentOf(thread);
  fences[agent].push_back(clocks[agent].at(agent));
  tick(agent);
}

/// Whether threads that wrote what a copy reads have fenced it since, before
/// they told the one who starts the copy.
void Cluster::checkFence(Thread &thread, uint64_t offset, uint32_t bytes,
                         uint32_t site) {
  for (uint64_t byte = offset; byte < offset + bytes; ++byte) {
    Event writer = events[thread.cta->rank()]->writerOf(byte);
    if (writer.time == 0 || writer.agent >= fences.size())
      continue;
    const std::vector<uint32_t> &times = fences[writer.agent];
    auto fence = llvm::lower_bound(times, writer.time);
    if (fence != times.end() && *fence <= clockOf(thread).at(writer.agent))
      continue;
    report(thread, FindingKind::MissingFence, site, [&] {
      return "copies byte " + llvm::utostr(byte - SharedMemory::kStaticBytes) +
             " of dynamic shared memory, but " + describe(writer, true) +
             " by a proxy fence";
    });
    return;
  }
}

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

void Cluster::meet(Thread &thread, uint32_t site) {
  thread.cta->suspend(thread, State::AtClusterBarrier, site);
}

void Cluster::makeBarrier(Thread &thread, uint64_t address, uint32_t count,
                          uint32_t site) {
  if (!thread.cta->checkWord(thread, address, site))
    return;
  Mbarrier &barrier = barriers[{thread.cta->rank(), offsetOf(thread, address)}];
  if (barrier.count != 0) {
    report(thread, FindingKind::Mbarrier, site,
           [] { return std::string("is made where there is one"); });
    return;
  }
  barrier.count = barrier.missing = count;
  barrier.agent = nextAgent++;
  Agent agent = agentOf(thread);
  barrier.made = {agent, clocks[agent].at(agent), site};
}

/// What a thread means by an address; null, and a finding, where there is no
/// mbarrier that it can know of.
Cluster::Mbarrier *Cluster::find(Thread &thread, uint64_t address,
                                 unsigned rank, uint32_t site) {
  auto found = barriers.find({rank, offsetOf(thread, address)});
  bool isSeen =
      found != barriers.end() &&
      found->second.made.time <= clockOf(thread).at(found->second.made.agent);
  if (isSeen)
    return &found->second;
  report(thread, FindingKind::Mbarrier, site, [&] {
    std::string place = "byte " +
                        llvm::itostr(int64_t(offsetOf(thread, address)) -
                                     int64_t(SharedMemory::kStaticBytes)) +
                        " of dynamic shared memory";
    return found == barriers.end()
               ? "expects an mbarrier at " + place + " but none was made"
               : "uses the mbarrier at " + place + ", but " +
                     describe(found->second.made, true);
  });
  return nullptr;
}

/// Begins the next phase if the present one is complete.
void Cluster::advance(Place place, Mbarrier &barrier) {
  if (barrier.missing != 0 || barrier.bytes != 0)
    return;
  ++barrier.phase;
  barrier.missing = barrier.count;
  barrier.past.join(barrier.present);
  barrier.present = Clock();
  Cta *cta = ctas[place.first];
  for (Thread &thread : cta->all())
    if (thread.state == State::AtMbarrier && thread.place == place.second &&
        isComplete(barrier, thread.number)) {
      finishWait(thread, barrier);
      cta->makeReady(thread);
    }
}

void Cluster::finishWait(Thread &thread, const Mbarrier &barrier) {
  clockOf(thread).join(barrier.past);
}

void Cluster::arriveOnce(Thread &thread, Place place, Mbarrier &barrier) {
  barrier.present.join(clockOf(thread));
  tick(agentOf(thread));
  if (barrier.missing == 0) {
    report(thread, FindingKind::Mbarrier, thread.site, [&] {
      return "arrives at a phase that has had its " +
             llvm::utostr(barrier.count) + " arrivals";
    });
    return;
  }
  --barrier.missing;
  advance(place, barrier);
}

void Cluster::expect(Thread &thread, uint64_t address, uint32_t bytes,
                     uint32_t site) {
  /// The most that an mbarrier counts: the PTX ISA manual, "Tx-count".
  constexpr uint32_t kMostBytes = (1 << 20) - 1;
  unsigned rank = thread.cta->rank();
  thread.site = site;
  Mbarrier *barrier = find(thread, address, rank, site);
  if (!barrier)
    return;
  if (bytes > kMostBytes)
    report(thread, FindingKind::Mbarrier, site, [&] {
      return "announces " + llvm::utostr(bytes) + " bytes but at most " +
             llvm::utostr(kMostBytes) + " are allowed";
    });
  barrier->bytes += bytes;
  arriveOnce(thread, {rank, offsetOf(thread, address)}, *barrier);
}

void Cluster::arrive(Thread &thread, uint64_t address, uint32_t site) {
  thread.place = offsetOf(thread, address);
  thread.address = address;
  thread.cta->suspend(thread, State::AtArrival, site);
}

/// A warp without an mbarrier.
static constexpr uint64_t kNoPlace = ~uint64_t(0);

void Cluster::meetWarp(Thread &thread, uint32_t site) {
  thread.place = kNoPlace;
  thread.cta->suspend(thread, State::AtArrival, site);
}

/// Lets a warp arrive once all its lanes that haven't exited are there.
void Cluster::tryArrive(Cta &cta, uint32_t index) {
  llvm::MutableArrayRef<Thread> lanes = cta.warp(index);
  Thread *first = nullptr;
  Clock all;
  for (Thread &lane : lanes) {
    if (lane.state == State::Exited)
      continue;
    if (lane.state != State::AtArrival ||
        (first && (lane.site != first->site || lane.place != first->place)))
      return;
    if (!first)
      first = &lane;
    all.join(clockOf(lane));
  }
  if (!first)
    return;
  bool arrives = first->place != kNoPlace;
  for (Thread &lane : lanes)
    if (lane.state == State::AtArrival) {
      clockOf(lane) = all;
      // The arrival is the first lane's, whose time moves on with it.
      if (&lane != first || !arrives)
        tick(agentOf(lane));
      cta.makeReady(lane);
    }
  if (!arrives)
    return;
  if (Mbarrier *barrier = find(*first, first->address, cta.rank(), first->site))
    arriveOnce(*first, {cta.rank(), first->place}, *barrier);
}

void Cluster::wait(Thread &thread, uint64_t address, uint32_t parity,
                   uint32_t site) {
  Mbarrier *barrier = find(thread, address, thread.cta->rank(), site);
  if (!barrier)
    return;
  if (isComplete(*barrier, parity & 1)) {
    finishWait(thread, *barrier);
    return;
  }
  thread.place = offsetOf(thread, address);
  thread.number = parity & 1;
  thread.cta->suspend(thread, State::AtMbarrier, site);
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

void Cluster::load(Thread &thread, uint64_t destination, uint64_t source,
                   uint32_t bytes, uint64_t address, uint32_t site) {
  unsigned rank = thread.cta->rank();
  Mbarrier *barrier = find(thread, address, rank, site);
  if (!barrier || !checkCopy(thread, destination, bytes, site))
    return;
  Copy copy = {Copy::Load, rank, offsetOf(thread, address)};
  copy.to = reinterpret_cast<char *>(uintptr_t(destination));
  if (thread.cta->accessGlobal(thread, {source, bytes, 16, false, site}) ==
      reinterpret_cast<void *>(uintptr_t(source)))
    copy.from = reinterpret_cast<char *>(uintptr_t(source));
  copy.bytes = bytes;
  copy.site = site;
  copy.agent = barrier->agent;
  copy.time = ++barrier->time;
  checkEvent(thread, rank, offsetOf(thread, destination), bytes, true,
             {copy.agent, copy.time, site});
  pending.push_back(copy);
}

void Cluster::send(Thread &thread, uint64_t bits, uint32_t bytes,
                   uint64_t destination, uint64_t address, uint32_t rank,
                   uint32_t site) {
  if (rank >= ctas.size()) {
    report(thread, FindingKind::Mbarrier, site, [&] {
      return "sends to CTA " + llvm::utostr(rank) + " of a cluster of " +
             llvm::utostr(ctas.size());
    });
    return;
  }
  uint64_t offset = offsetOf(thread, destination);
  uint64_t inDynamic = offset - SharedMemory::kStaticBytes;
  if (inDynamic % bytes != 0 || inDynamic >= kernel.dynamicShared ||
      bytes > kernel.dynamicShared - inDynamic) {
    report(thread,
           inDynamic % bytes ? FindingKind::Misaligned
                             : FindingKind::OutOfBounds,
           site, [&] {
             return "sends " + llvm::utostr(bytes) + " bytes to byte " +
                    llvm::itostr(int64_t(inDynamic)) +
                    " of dynamic shared memory, which has " +
                    llvm::utostr(kernel.dynamicShared) + " bytes";
           });
    return;
  }
  Mbarrier *barrier = find(thread, address, rank, site);
  if (!barrier)
    return;
  Copy copy = {Copy::Send, rank, offsetOf(thread, address)};
  copy.to = ctas[rank]->sharedData() + offset;
  copy.bits = bits;
  copy.bytes = bytes;
  copy.site = site;
  copy.agent = barrier->agent;
  copy.time = ++barrier->time;
  checkEvent(thread, rank, offset, bytes, true, {copy.agent, copy.time, site});
  // What is sent was computed from what the thread read before.
  barrier->present.join(clockOf(thread));
  tick(agentOf(thread));
  pending.push_back(copy);
}

void Cluster::store(Thread &thread, uint64_t destination, uint64_t source,
                    uint32_t bytes, uint32_t site) {
  if (!checkCopy(thread, source, bytes, site))
    return;
  ThreadCopies &own = copies[agentOf(thread)];
  if (own.groups.empty()) {
    own.agent = nextAgent++;
    own.groups.emplace_back();
  }
  Copy copy = {Copy::Store, thread.cta->rank()};
  copy.from = reinterpret_cast<char *>(uintptr_t(source));
  void *allowed =
      thread.cta->accessGlobal(thread, {destination, bytes, 16, true, site});
  if (allowed == reinterpret_cast<void *>(uintptr_t(destination)))
    copy.to = static_cast<char *>(allowed);
  copy.bytes = bytes;
  copy.site = site;
  copy.agent = agentOf(thread);
  copy.group = own.groups.size() - 1;
  Group &group = own.groups.back();
  ++group.left;
  group.time = ++own.time;
  uint64_t offset = offsetOf(thread, source);
  if (checkEvent(thread, copy.rank, offset, bytes, false,
                 {own.agent, own.time, site}))
    checkFence(thread, offset, bytes, site);
  thread.site = site;
  pending.push_back(copy);
}

void Cluster::commit(Thread &thread) {
  ThreadCopies &own = copies[agentOf(thread)];
  if (!own.groups.empty())
    own.groups.emplace_back();
}

bool Cluster::isThrough(const ThreadCopies &own, uint32_t pendingGroups) const {
  // The last group isn't committed yet.
  size_t committed = own.groups.empty() ? 0 : own.groups.size() - 1;
  for (size_t i = 0; i + pendingGroups < committed; ++i)
    if (own.groups[i].left != 0)
      return false;
  return true;
}

void Cluster::waitForCopies(Thread &thread, uint32_t pendingGroups, bool,
                            uint32_t site) {
  thread.number = pendingGroups;
  if (isThrough(copies[agentOf(thread)], pendingGroups))
    finishCopies(thread);
  else
    thread.cta->suspend(thread, State::AtCopies, site);
}

void Cluster::finishCopies(Thread &thread) {
  const ThreadCopies &own = copies[agentOf(thread)];
  size_t committed = own.groups.empty() ? 0 : own.groups.size() - 1;
  Clock &clock = clockOf(thread);
  // A group may be empty.
  for (size_t i = 0; i + thread.number < committed; ++i)
    clock.set(own.agent, std::max(clock.at(own.agent), own.groups[i].time));
}

/// Does what a copy was started for.
void Cluster::land(Copy copy) {
  if (copy.kind == Copy::Store) {
    if (copy.to)
      std::memcpy(copy.to, copy.from, copy.bytes);
    ThreadCopies &own = copies[copy.agent];
    --own.groups[copy.group].left;
    Cta *cta = ctas[copy.rank];
    Thread &thread = cta->all()[copy.agent % kernel.threads];
    if (thread.state == State::AtCopies && isThrough(own, thread.number)) {
      finishCopies(thread);
      cta->makeReady(thread);
    }
    return;
  }
  Cta *cta = ctas[copy.rank];
  if (!cta->isLive()) {
    cta->findings.add(FindingKind::Mbarrier, copy.site, cta->block(), -1, [&] {
      return "brings " + llvm::utostr(copy.bytes) +
             " bytes to a CTA that has exited";
    });
    return;
  }
  if (copy.kind == Copy::Send)
    std::memcpy(copy.to, &copy.bits, copy.bytes);
  else if (copy.from)
    std::memcpy(copy.to, copy.from, copy.bytes);
  else
    std::memset(copy.to, 0, copy.bytes);
  Place place = {copy.rank, copy.barrier};
  Mbarrier &barrier = barriers[place];
  barrier.bytes -= copy.bytes;
  barrier.present.set(copy.agent,
                      std::max(barrier.present.at(copy.agent), copy.time));
  advance(place, barrier);
}
