//===- EmulatedRoutines.cpp - What emulated code calls --------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EmulatedRoutines.h"
#include "EmulatedCta.h"

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

static uint32_t shuffleValid(Thread *thread) { return thread->valid; }

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
  };
  return routines;
}
