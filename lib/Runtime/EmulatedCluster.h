//===- EmulatedCluster.h - CTAs that see each other's memory ----*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_LIB_RUNTIME_EMULATEDCLUSTER_H
#define NORM_LIB_RUNTIME_EMULATEDCLUSTER_H

#include "EmulatedClocks.h"
#include "EmulatedCta.h"
#include <map>

namespace norm::emulated {

/// Runs the CTAs of one cluster after the other on the calling host thread, all
/// threads of a cluster together. Copies happen at random moments between the
/// steps of threads.
class Cluster {
public:
  static llvm::Expected<std::unique_ptr<Cluster>>
  create(const KernelRun &launch, llvm::ArrayRef<Cta *> ctas);

  /// Runs the cluster with this number until all of its threads have exited or
  /// none can go on.
  void run(int64_t number);

  // What threads call by way of their CTA. Addresses are those of their code.
  void meet(Thread &thread, uint32_t site);
  void meetWarp(Thread &thread, uint32_t site);
  void makeBarrier(Thread &thread, uint64_t barrier, uint32_t count,
                   uint32_t site);
  void expect(Thread &thread, uint64_t barrier, uint32_t bytes, uint32_t site);
  void arrive(Thread &thread, uint64_t barrier, uint32_t site);
  void wait(Thread &thread, uint64_t barrier, uint32_t parity, uint32_t site);
  void load(Thread &thread, uint64_t destination, uint64_t source,
            uint32_t bytes, uint64_t barrier, uint32_t site);
  void store(Thread &thread, uint64_t destination, uint64_t source,
             uint32_t bytes, uint32_t site);
  void commit(Thread &thread);
  void waitForCopies(Thread &thread, uint32_t pending, bool read,
                     uint32_t site);
  void fence(Thread &thread);
  void send(Thread &thread, uint64_t bits, uint32_t bytes, uint64_t destination,
            uint64_t barrier, uint32_t rank, uint32_t site);
  int64_t draw(Thread &thread, uint64_t counter, int64_t rows, int64_t clusters,
               uint32_t site);

  // What CTAs call.
  SharedEvents::Conflict access(const Thread &thread, uint64_t offset,
                                const MemoryAccess &access);
  void passBarrier(Cta &cta);
  void tryArrive(Cta &cta, uint32_t index);
  void exit(Thread &thread);
  /// Who did something, and where: `thread 3 of CTA 1 wrote ... in ...`.
  std::string describe(const Event &event, bool wrote) const;

private:
  struct Mbarrier {
    uint32_t count = 0, missing = 0;
    int64_t bytes = 0;   ///< that were announced and haven't come
    uint64_t phase = 0;  ///< number of the present one
    Clock present, past; ///< what arrived
    Agent agent = 0;     ///< that copies with it
    uint32_t time = 0;   ///< its last one
    Event made;
  };
  /// Stores by copies that one thread waits for together.
  struct Group {
    uint32_t left = 0;
    uint32_t time = 0; ///< the last of its agent
  };
  struct ThreadCopies {
    Agent agent = 0;
    uint32_t time = 0;
    std::vector<Group> groups; ///< the last one takes what comes next
  };
  struct Copy {
    enum Kind { Load, Store, Send } kind;
    unsigned rank = 0;    ///< of the CTA whose mbarrier it arrives at
    uint64_t barrier = 0; ///< offset
    char *to = nullptr;
    const char *from = nullptr; ///< null for zeros
    uint64_t bits = 0;
    uint32_t bytes = 0, time = 0, site = 0;
    Agent agent = 0; ///< Store: the thread's
    size_t group = 0;
  };
  /// An mbarrier by its CTA and offset.
  using Place = std::pair<unsigned, uint64_t>;

  Cluster(const KernelRun &launch, llvm::ArrayRef<Cta *> ctas)
      : kernel(launch), ctas(ctas) {}

  Agent agentOf(const Thread &thread) const;
  Clock &clockOf(const Thread &thread) { return clocks[agentOf(thread)]; }
  void tick(Agent agent) {
    clocks[agent].set(agent, clocks[agent].at(agent) + 1);
  }
  void reset();
  bool step();
  bool passBarriers();
  void land(Copy copy);
  void reportDeadlock();
  void checkDraws();
  bool isComplete(const Mbarrier &barrier, uint32_t parity) const {
    return (barrier.phase & 1) != parity;
  }
  bool isThrough(const ThreadCopies &copies, uint32_t pending) const;
  void finishWait(Thread &thread, const Mbarrier &barrier);
  void finishCopies(Thread &thread);
  void advance(Place place, Mbarrier &barrier);
  void arriveOnce(Thread &thread, Place place, Mbarrier &barrier);
  bool checkCopy(Thread &thread, uint64_t shared, uint32_t bytes,
                 uint32_t site);
  void checkFence(Thread &thread, uint64_t offset, uint32_t bytes,
                  uint32_t site);
  Mbarrier *find(Thread &thread, uint64_t address, unsigned rank,
                 uint32_t site);
  bool checkEvent(Thread &thread, unsigned rank, uint64_t offset,
                  uint32_t bytes, bool isWrite, Event event);
  void report(const Thread &thread, FindingKind kind, uint32_t site,
              llvm::function_ref<std::string()> text);
  uint64_t offsetOf(const Thread &thread, uint64_t address) const;

  const KernelRun &kernel;
  std::vector<Cta *> ctas;
  std::vector<std::unique_ptr<SharedEvents>> events;
  uint64_t random = 0;
  std::vector<Clock> clocks;
  std::vector<std::vector<uint32_t>> fences; ///< times, by thread
  Agent nextAgent = 0;
  std::map<Place, Mbarrier> barriers;
  std::map<Agent, ThreadCopies> copies; ///< by thread
  std::vector<Copy> pending;
  int64_t current = 0; ///< number of the cluster
  // Of the numbers drawn: how many, the last one, of how many, and where.
  int64_t draws = 0, drawn = 0, drawnOf = 0;
  uint32_t drawSite = 0;
};

} // namespace norm::emulated

#endif // NORM_LIB_RUNTIME_EMULATEDCLUSTER_H
