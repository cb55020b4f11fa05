//===- EmulatedCta.h - One CTA after the other ------------------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_LIB_RUNTIME_EMULATEDCTA_H
#define NORM_LIB_RUNTIME_EMULATEDCTA_H

#include "EmulatedCopies.h"
#include "EmulatedFibers.h"
#include "EmulatedMemory.h"
#include "EmulatedRaces.h"
#include "EmulatedShared.h"

namespace norm::emulated {

struct Thread;

/// A kernel's entry in emulated code.
using EmulatedKernel = void(Thread *thread, const uint64_t *params);

/// A launch of one kernel, the same for all its CTAs.
struct KernelRun {
  EmulatedKernel *entry = nullptr;
  const uint64_t *params = nullptr;
  const GlobalMemory *memory = nullptr;
  llvm::ArrayRef<Site> sites;
  unsigned threads = 0; ///< of a CTA
  int64_t ctas = 0;
  int64_t split = 1;          ///< CTAs that share a row
  int64_t cluster = 1;        ///< CTAs of a cluster
  uint64_t dynamicShared = 0; ///< bytes
  uint64_t seed = 0;

  /// CTAs that run together.
  int64_t unit() const { return cluster > 1 ? cluster : split; }
  /// `'llvm.store' at x.mlir:3:4`.
  std::string where(unsigned site) const;
};

/// An access of memory as the code announces it.
struct MemoryAccess {
  uint64_t address = 0;
  uint32_t bytes = 0;
  uint32_t alignment = 1;
  bool isWrite = false;
  uint32_t site = 0;
};

class Cta;
class Cluster;

/// A meeting of the CTAs that share a row, as a thread calls it.
struct UnitBarrier {
  uint64_t counter = 0; ///< address
  uint32_t arrivals = 0;
  uint32_t phase = 0;
  bool isLast = false;
  bool operator==(const UnitBarrier &) const = default;
};

/// A GPU thread; the code knows it by its address only.
struct Thread {
  enum class State : uint8_t {
    Ready,
    AtBarrier,
    AtUnitBarrier,
    AtShuffle,
    AtClusterBarrier,
    AtArrival,  ///< of a warp at an mbarrier
    AtMbarrier, ///< for its phase
    AtCopies,
    Exited
  };

  Cta *cta = nullptr;
  uint32_t index = 0; ///< in the CTA
  State state = State::Ready;
  uint32_t site = 0; ///< where it waits
  // The shuffle it waits at, and what it got from it.
  uint64_t bits = 0;
  uint32_t mode = 0;
  uint32_t offset = 0;
  uint32_t width = 0;
  bool valid = false;
  UnitBarrier barrier; ///< the one it waits at
  ThreadCopies copies;
  // The mbarrier, and the parity or number of groups, that it waits for.
  uint64_t address = 0;
  uint64_t place = 0; ///< offset in shared memory
  uint32_t number = 0;
};

/// The next of the random numbers that `state` leads to.
uint64_t nextRandom(uint64_t &state);

/// One CTA of a kernel, and then another one, on the calling host thread. Its
/// threads run in a random order between the points at which they wait for each
/// other.
class Cta {
public:
  static llvm::Expected<std::unique_ptr<Cta>> create();

  /// The launch that the next CTAs belong to; findings and totals start anew.
  llvm::Error enter(const KernelRun &launch);
  /// The next CTA, of which nothing has run yet.
  void start(int64_t block);
  enum class Progress {
    Exited, ///< all threads have
    Waits,  ///< all threads are at `unitBarrier()`
    Stuck,  ///< no thread can go on
  };
  /// Runs until the CTA ends or waits for others.
  Progress proceed();
  /// Lets the threads go on from the barrier where they wait for other CTAs.
  void passUnitBarrier();
  // What a cluster calls, whose CTA number `rank` this is from now on.
  void join(Cluster *toCluster, unsigned withRank) {
    cluster = toCluster;
    number = withRank;
  }
  unsigned rank() const { return number; }
  bool isReady() const { return !ready.empty(); }
  bool isLive() const { return live != 0; }
  /// Runs one of the threads that can run until it waits or exits.
  void step();
  /// Lets threads go on from the CTA's barrier if all wait there.
  bool tryPassBarrier();
  void makeReady(Thread &thread);
  llvm::MutableArrayRef<Thread> all() { return threads; }
  llvm::MutableArrayRef<Thread> warp(uint32_t thread);
  std::string describeThreads() const;
  /// Called by the thread that runs.
  void suspend(Thread &thread, Thread::State state, uint32_t site);
  /// Whether 8 bytes at an address are the CTA's; reports where not.
  bool checkWord(const Thread &thread, uint64_t address, uint32_t site);

  /// The CTA is not run any more.
  void finish() { accesses.leaveCta(); }

  const UnitBarrier &unitBarrier() const { return threads.front().barrier; }
  /// Where the threads wait for other CTAs, or did so last.
  uint32_t site() const { return threads.front().site; }
  /// A finding there.
  void reportAtBarrier(FindingKind kind,
                       llvm::function_ref<std::string()> text) {
    report(nullptr, kind, site(), text);
  }

  Findings findings;
  std::vector<AccessBytes> totals; ///< by parameter
  GlobalAccesses accesses;

  // What emulated code calls. Accesses return where to do them, which is other
  // memory if they aren't allowed.
  void *accessGlobal(const Thread &thread, const MemoryAccess &access);
  void *accessDynamic(const Thread &thread, const MemoryAccess &access);
  /// `address` is an offset in a buffer of `size` bytes at `base`.
  void *accessStatic(const Thread &thread, uint64_t base, uint64_t size,
                     const MemoryAccess &access);
  /// Starts a copy of `bytes` from global to dynamic shared memory.
  void startCopy(Thread &thread, uint64_t destination, uint64_t source,
                 uint32_t bytes, uint32_t site);
  void waitAtBarrier(Thread &thread, uint32_t site);
  void waitAtUnitBarrier(Thread &thread, const UnitBarrier &barrier,
                         uint32_t site);
  uint64_t shuffle(Thread &thread);
  int64_t block() const { return current; }
  const KernelRun &launch() const { return kernel; }
  char *dynamicShared() const { return shared->dynamic(); }
  char *sharedData() const { return shared->data(); }
  /// The cluster that runs the CTA; null, and a finding, where none does.
  Cluster *findCluster(const Thread &thread, uint32_t site);

private:
  Cta() = default;

  bool checkUnitBarrier(const Thread &first);
  void tryShuffle(uint32_t thread);
  void exchange(llvm::MutableArrayRef<Thread> lanes, Thread &lane);
  bool passBarrier();
  void noteGlobal(const Thread &thread, const MemoryAccess &access,
                  const ParamRegion &place, uint64_t offset);
  void report(const Thread *thread, FindingKind kind, unsigned site,
              llvm::function_ref<std::string()> text);
  void *reject(const Thread &thread, const MemoryAccess &access,
               FindingKind kind, llvm::StringRef text);
  void *accessShared(const Thread &thread, const MemoryAccess &access,
                     uint64_t offset);

  /// What a fiber calls.
  struct Entry {
    Cta *cta;
    void operator()(unsigned thread) const {
      cta->kernel.entry(&cta->threads[thread], cta->kernel.params);
    }
  };

  KernelRun kernel;
  Entry entry = {this};
  Cluster *cluster = nullptr;
  unsigned number = 0; ///< in the cluster
  int64_t current = 0;
  uint64_t state = 0; ///< of the random numbers
  uint32_t live = 0;  ///< threads that haven't exited
  std::vector<Thread> threads;
  std::vector<uint32_t> ready;
  std::unique_ptr<Fibers> fibers;
  std::unique_ptr<SharedMemory> shared;
  /// Takes the place of memory that may not be accessed.
  alignas(64) char scratch[4096] = {};
};

/// Adds what `spans`, of all CTAs of a launch, show of races between them.
void reportRacesBetweenCtas(const KernelRun &kernel,
                            std::vector<AccessSpan> spans, Findings &findings);

} // namespace norm::emulated

#endif // NORM_LIB_RUNTIME_EMULATEDCTA_H
