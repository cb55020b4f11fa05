//===- EmulatedRoutines.cpp - What emulated code calls --------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EmulatedRoutines.h"
#include "EmulatedCluster.h"

using namespace norm;
using namespace norm::emulated;

// Grids and CTAs have one dimension.
static int64_t threadId(Thread *thread, uint32_t dimension) {
  return dimension == 0 ? int64_t(thread->index) : 0;
}
static int64_t blockId(Thread *thread, uint32_t dimension) {
  return dimension == 0 ? thread->cta->block() : 0;
}
static int64_t blockDim(Thread *thread, uint32_t dimension) {
  return dimension == 0 ? int64_t(thread->cta->launch().threads) : 1;
}
static int64_t gridDim(Thread *thread, uint32_t dimension) {
  return dimension == 0 ? thread->cta->launch().ctas : 1;
}

static void *accessGlobal(Thread *thread, uint64_t address, uint32_t bytes,
                          uint32_t alignment, uint32_t isWrite, uint32_t site) {
  return thread->cta->accessGlobal(
      *thread, {address, bytes, alignment, isWrite != 0, site});
}

static void *accessShared(Thread *thread, uint64_t address, uint32_t bytes,
                          uint32_t alignment, uint32_t isWrite, uint32_t site) {
  return thread->cta->accessDynamic(
      *thread, {address, bytes, alignment, isWrite != 0, site});
}

static void *accessStatic(Thread *thread, uint64_t base, uint64_t size,
                          uint64_t offset, uint32_t bytes, uint32_t isWrite,
                          uint32_t site) {
  return thread->cta->accessStatic(*thread, base, size,
                                   {offset, bytes, 1, isWrite != 0, site});
}

static void *dynamicShared(Thread *thread) {
  return thread->cta->dynamicShared();
}

static void waitAtBarrier(Thread *thread, uint32_t site) {
  thread->cta->waitAtBarrier(*thread, site);
}

static void waitAtUnitBarrier(Thread *thread, uint64_t counter,
                              uint32_t arrivals, uint32_t phase,
                              uint32_t isLast, uint32_t site) {
  thread->cta->waitAtUnitBarrier(*thread,
                                 {counter, arrivals, phase, isLast != 0}, site);
}

static uint64_t shuffle(Thread *thread, uint64_t bits, uint32_t mode,
                        uint32_t offset, uint32_t width, uint32_t site) {
  thread->bits = bits;
  thread->mode = mode;
  thread->offset = offset;
  thread->width = width;
  thread->site = site;
  return thread->cta->shuffle(*thread);
}

static void startCopy(Thread *thread, uint64_t destination, uint64_t source,
                      uint32_t bytes, uint32_t site) {
  thread->cta->startCopy(*thread, destination, source, bytes, site);
}
static void commitCopies(Thread *thread) { thread->copies.commit(); }
static void waitForCopies(Thread *thread, uint32_t left) {
  thread->copies.wait(left);
}

static uint32_t shuffleValid(Thread *thread) { return thread->valid; }

/// Calls a member function of the thread's cluster.
template <auto Member, typename... Ts>
static void ofCluster(Thread *thread, uint32_t site, Ts... arguments) {
  if (Cluster *cluster = thread->cta->findCluster(*thread, site))
    (cluster->*Member)(*thread, arguments...);
}

static void meetCluster(Thread *thread, uint32_t site) {
  ofCluster<&Cluster::meet>(thread, site, site);
}
static void meetWarp(Thread *thread, uint32_t site) {
  ofCluster<&Cluster::meetWarp>(thread, site, site);
}
static void makeMbarrier(Thread *thread, uint64_t barrier, uint32_t count,
                         uint32_t site) {
  ofCluster<&Cluster::makeBarrier>(thread, site, barrier, count, site);
}
static void expectBytes(Thread *thread, uint64_t barrier, uint32_t bytes,
                        uint32_t site) {
  ofCluster<&Cluster::expect>(thread, site, barrier, bytes, site);
}
static void arriveAtMbarrier(Thread *thread, uint64_t barrier, uint32_t site) {
  ofCluster<&Cluster::arrive>(thread, site, barrier, site);
}
static void waitAtMbarrier(Thread *thread, uint64_t barrier, uint32_t parity,
                           uint32_t site) {
  ofCluster<&Cluster::wait>(thread, site, barrier, parity, site);
}
static void bulkLoad(Thread *thread, uint64_t destination, uint64_t source,
                     uint32_t bytes, uint64_t barrier, uint32_t site) {
  ofCluster<&Cluster::load>(thread, site, destination, source, bytes, barrier,
                            site);
}
static void bulkStore(Thread *thread, uint64_t destination, uint64_t source,
                      uint32_t bytes, uint32_t site) {
  ofCluster<&Cluster::store>(thread, site, destination, source, bytes, site);
}
static void bulkCommit(Thread *thread, uint32_t site) {
  ofCluster<&Cluster::commit>(thread, site);
}
static void bulkWait(Thread *thread, uint32_t pending, uint32_t read,
                     uint32_t site) {
  ofCluster<&Cluster::waitForCopies>(thread, site, pending, read != 0, site);
}
static void proxyFence(Thread *thread, uint32_t site) {
  ofCluster<&Cluster::fence>(thread, site);
}
static void sendWord(Thread *thread, uint64_t bits, uint32_t bytes,
                     uint64_t destination, uint64_t barrier, uint32_t rank,
                     uint32_t site) {
  ofCluster<&Cluster::send>(thread, site, bits, bytes, destination, barrier,
                            rank, site);
}

static int64_t drawTicket(Thread *thread, uint64_t counter, int64_t rows,
                          int64_t clusters, uint32_t site) {
  Cluster *cluster = thread->cta->findCluster(*thread, site);
  return cluster ? cluster->draw(*thread, counter, rows, clusters, site) : rows;
}

llvm::ArrayRef<SupportRoutine> emulated::emulatedRoutines() {
  static const SupportRoutine routines[] = {
      {"norm_emulated_thread_id", reinterpret_cast<void *>(&threadId)},
      {"norm_emulated_block_id", reinterpret_cast<void *>(&blockId)},
      {"norm_emulated_block_dim", reinterpret_cast<void *>(&blockDim)},
      {"norm_emulated_grid_dim", reinterpret_cast<void *>(&gridDim)},
      {"norm_emulated_global", reinterpret_cast<void *>(&accessGlobal)},
      {"norm_emulated_shared", reinterpret_cast<void *>(&accessShared)},
      {"norm_emulated_static_shared", reinterpret_cast<void *>(&accessStatic)},
      {"norm_emulated_dynamic_shared",
       reinterpret_cast<void *>(&dynamicShared)},
      {"norm_emulated_barrier", reinterpret_cast<void *>(&waitAtBarrier)},
      {"norm_emulated_unit_barrier",
       reinterpret_cast<void *>(&waitAtUnitBarrier)},
      {"norm_emulated_shuffle", reinterpret_cast<void *>(&shuffle)},
      {"norm_emulated_shuffle_valid", reinterpret_cast<void *>(&shuffleValid)},
      {"norm_emulated_copy", reinterpret_cast<void *>(&startCopy)},
      {"norm_emulated_copy_commit", reinterpret_cast<void *>(&commitCopies)},
      {"norm_emulated_copy_wait", reinterpret_cast<void *>(&waitForCopies)},
      {"norm_emulated_cluster_barrier", reinterpret_cast<void *>(&meetCluster)},
      {"norm_emulated_warp_barrier", reinterpret_cast<void *>(&meetWarp)},
      {"norm_emulated_mbarrier_init", reinterpret_cast<void *>(&makeMbarrier)},
      {"norm_emulated_mbarrier_expect", reinterpret_cast<void *>(&expectBytes)},
      {"norm_emulated_mbarrier_arrive",
       reinterpret_cast<void *>(&arriveAtMbarrier)},
      {"norm_emulated_mbarrier_wait",
       reinterpret_cast<void *>(&waitAtMbarrier)},
      {"norm_emulated_bulk_load", reinterpret_cast<void *>(&bulkLoad)},
      {"norm_emulated_bulk_store", reinterpret_cast<void *>(&bulkStore)},
      {"norm_emulated_bulk_commit", reinterpret_cast<void *>(&bulkCommit)},
      {"norm_emulated_bulk_wait", reinterpret_cast<void *>(&bulkWait)},
      {"norm_emulated_proxy_fence", reinterpret_cast<void *>(&proxyFence)},
      {"norm_emulated_ticket", reinterpret_cast<void *>(&drawTicket)},
      {"norm_emulated_send", reinterpret_cast<void *>(&sendWord)},
  };
  return routines;
}
