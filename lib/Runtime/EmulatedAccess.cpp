//===- EmulatedAccess.cpp - Checks of memory accesses ---------------------===//
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

static std::string verb(const MemoryAccess &access) {
  return (access.isWrite ? "writes " : "reads ") + llvm::utostr(access.bytes) +
         " bytes at ";
}

/// Reports an access that isn't done, and gives it other memory.
void *Cta::reject(const Thread &thread, const MemoryAccess &access,
                  FindingKind kind, llvm::StringRef text) {
  report(&thread, kind, access.site, [&] { return verb(access) + text.str(); });
  std::memset(scratch, 0, sizeof(scratch));
  return scratch;
}

static std::string hex(uint64_t address) {
  return "0x" + llvm::utohexstr(address, /*LowerCase=*/true);
}

static void *toPointer(uint64_t address) {
  return reinterpret_cast<void *>(uintptr_t(address));
}

/// `byte 5 of ...`, also for what lies before.
static std::string byteOf(uint64_t offset, llvm::StringRef memory) {
  return "byte " + llvm::itostr(int64_t(offset)) + " of " + memory.str();
}

static std::string threadText(int64_t thread) {
  return thread < 0 ? "several threads" : "thread " + llvm::itostr(thread);
}

/// `, but thread 5 wrote byte 8 of ... in 'llvm.store' at x.mlir:1:2 with no
/// barrier between`.
static std::string unordered(const KernelRun &kernel, const Race &race,
                             llvm::StringRef byte) {
  return ", but " + threadText(race.otherThread) +
         (race.otherWrote ? " wrote " : " read ") + byte.str() + " in " +
         kernel.where(race.otherSite) + " with no barrier between";
}

//===----------------------------------------------------------------------===//
// Global memory
//===----------------------------------------------------------------------===//

/// `0x7f00, byte 16 of argument 0 'x'`.
static std::string describeGlobal(const GlobalMemory &memory,
                                  const ParamRegion &place, uint64_t offset) {
  return hex(place.region->begin() + offset) + ", " +
         byteOf(offset, memory.describe(place));
}

/// Compares an access with others of the CTA, where the kernel also writes.
void Cta::noteGlobal(const Thread &thread, const MemoryAccess &access,
                     const ParamRegion &place, uint64_t offset) {
  if (place.shared < 0)
    return;
  std::optional<GlobalAccesses::Conflict> conflict =
      accesses.access(uint32_t(place.shared), offset, access.bytes,
                      access.isWrite, thread.index, access.site);
  // Threads of a cluster may be ordered by mbarriers.
  if (!conflict || cluster)
    return;
  report(&thread, FindingKind::GlobalRace, access.site, [&] {
    const GlobalMemory &memory = *kernel.memory;
    return verb(access) + describeGlobal(memory, place, offset) +
           unordered(kernel, conflict->race,
                     byteOf(conflict->byte, memory.describe(place)));
  });
}

void emulated::reportRacesBetweenCtas(const KernelRun &kernel,
                                      std::vector<AccessSpan> spans,
                                      Findings &findings) {
  const GlobalMemory &memory = *kernel.memory;
  auto report = [&](const AccessSpan &span, const AccessSpan &other,
                    uint64_t byte) {
    const ParamRegion *place =
        llvm::find_if(memory.params(), [&](const ParamRegion &param) {
          return param.shared == int(span.region);
        });
    findings.add(
        FindingKind::GlobalRace, span.site, span.cta, span.threadAt(byte), [&] {
          return (span.isWrite ? "writes " : "reads ") +
                 describeGlobal(memory, *place, byte) + ", but CTA " +
                 llvm::itostr(other.cta) + ", " +
                 threadText(other.threadAt(byte)) +
                 (other.isWrite ? " wrote it in " : " read it in ") +
                 kernel.where(other.site) + " with no order between CTAs";
        });
  };
  findRacesBetweenCtas(std::move(spans), report);
}

void *Cta::accessGlobal(const Thread &thread, const MemoryAccess &access) {
  const GlobalMemory &memory = *kernel.memory;
  int param = kernel.sites[access.site].param;
  const ParamRegion *place = param >= 0 && size_t(param) < totals.size()
                                 ? &memory.params()[size_t(param)]
                                 : memory.find(access.address);
  if (!place || !place->region)
    return reject(thread, access, FindingKind::OutOfBounds,
                  hex(access.address) + ", which no parameter points to");
  Region &region = *place->region;
  uint64_t offset = access.address - region.begin();
  auto describe = [&] { return describeGlobal(memory, *place, offset); };
  if (!region.holds(offset, access.bytes)) {
    bool isWithin =
        offset < region.bytes() && access.bytes <= region.bytes() - offset;
    return reject(thread, access, FindingKind::OutOfBounds,
                  describe() +
                      (isWithin
                           ? ", outside its rows"
                           : ", which spans " + llvm::utostr(region.bytes()) +
                                 " bytes from " + hex(region.begin())));
  }
  if (access.address % access.alignment != 0)
    return reject(thread, access, FindingKind::Misaligned,
                  describe() + ", but needs alignment " +
                      llvm::utostr(access.alignment));
  AccessBytes &total = totals[size_t(place - memory.params().data())];
  if (access.isWrite) {
    if (!place->mayWrite)
      return reject(thread, access, FindingKind::ReadOnly,
                    describe() + ", which is no output");
    total.written += access.bytes;
    noteGlobal(thread, access, *place, offset);
    region.markWritten(offset, access.bytes, memory.stamp());
    return toPointer(access.address);
  }
  if (!place->mayRead)
    return reject(thread, access, FindingKind::UndeclaredRead,
                  describe() + ", which the kernel doesn't read as declared");
  if (!region.isInitialized() && !region.isWritten(offset, access.bytes))
    report(&thread, FindingKind::UnwrittenOutput, access.site, [&] {
      return verb(access) + describe() + ", which nothing was written to";
    });
  total.read += access.bytes;
  noteGlobal(thread, access, *place, offset);
  region.markRead(offset, access.bytes, memory.stamp());
  return toPointer(access.address);
}

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

/// An access of bytes that the CTA has, at `offset` of all.
void *Cta::accessShared(const Thread &thread, const MemoryAccess &access,
                        uint64_t offset) {
  auto describe = [&](uint64_t byte) {
    return byte < SharedMemory::kStaticBytes
               ? byteOf(byte, "static shared memory")
               : byteOf(byte - SharedMemory::kStaticBytes,
                        "dynamic shared memory");
  };
  if (offset % access.alignment != 0)
    return reject(thread, access, FindingKind::Misaligned,
                  describe(offset) + ", but needs alignment " +
                      llvm::utostr(access.alignment));
  if (thread.copies.isPending(shared->data() + offset, access.bytes))
    report(&thread, FindingKind::UninitializedShared, access.site, [&] {
      return verb(access) + describe(offset) +
             ", to which a copy of the thread is on its way";
    });
  if (cluster) {
    SharedEvents::Conflict conflict = cluster->access(thread, offset, access);
    if (conflict.fault == SharedEvents::Fault::Uninitialized)
      report(&thread, FindingKind::UninitializedShared, access.site, [&] {
        return verb(access) + describe(offset) +
               ", where nothing was written to " + describe(conflict.byte);
      });
    if (conflict.fault == SharedEvents::Fault::Race)
      report(&thread, FindingKind::SharedRace, access.site, [&] {
        return verb(access) + describe(offset) + ", but " +
               cluster->describe(conflict.other, conflict.otherWrote);
      });
    return shared->data() + offset;
  }
  SharedMemory::Conflict conflict = shared->access(
      offset, access.bytes, access.isWrite, thread.index, access.site);
  switch (conflict.fault) {
  case SharedMemory::Fault::None:
    break;
  case SharedMemory::Fault::Uninitialized:
    report(&thread, FindingKind::UninitializedShared, access.site, [&] {
      return verb(access) + describe(offset) +
             ", where nothing was written to " + describe(conflict.byte);
    });
    break;
  case SharedMemory::Fault::Race:
    report(&thread, FindingKind::SharedRace, access.site, [&] {
      return verb(access) + describe(offset) +
             unordered(kernel, conflict.race, describe(conflict.byte));
    });
    break;
  }
  return shared->data() + offset;
}

bool Cta::checkWord(const Thread &thread, uint64_t address, uint32_t site) {
  uint64_t offset = address - uint64_t(uintptr_t(shared->dynamic()));
  if (offset % 8 == 0 && offset < kernel.dynamicShared &&
      kernel.dynamicShared - offset >= 8)
    return true;
  report(&thread,
         offset % 8 ? FindingKind::Misaligned : FindingKind::OutOfBounds, site,
         [&] {
           return "uses 8 bytes at " + byteOf(offset, "dynamic shared memory") +
                  ", which has " + llvm::utostr(kernel.dynamicShared) +
                  " bytes";
         });
  return false;
}

void *Cta::accessDynamic(const Thread &thread, const MemoryAccess &access) {
  uint64_t offset = access.address - uint64_t(uintptr_t(shared->dynamic()));
  if (offset >= kernel.dynamicShared ||
      access.bytes > kernel.dynamicShared - offset)
    return reject(thread, access, FindingKind::OutOfBounds,
                  byteOf(offset, "dynamic shared memory") + ", which has " +
                      llvm::utostr(kernel.dynamicShared) + " bytes");
  return accessShared(thread, access, SharedMemory::kStaticBytes + offset);
}

void Cta::startCopy(Thread &thread, uint64_t destination, uint64_t source,
                    uint32_t bytes, uint32_t site) {
  void *from =
      accessGlobal(thread, {source, bytes, bytes, /*isWrite=*/false, site});
  void *to =
      accessDynamic(thread, {destination, bytes, bytes, /*isWrite=*/true, site});
  if (from == scratch || to == scratch)
    return;
  thread.copies.start(static_cast<char *>(to), static_cast<const char *>(from),
                      bytes);
}

void *Cta::accessStatic(const Thread &thread, uint64_t base, uint64_t size,
                        const MemoryAccess &access) {
  if (access.address >= size || access.bytes > size - access.address)
    return reject(thread, access, FindingKind::OutOfBounds,
                  byteOf(access.address, "a shared buffer") + ", which has " +
                      llvm::utostr(size) + " bytes");
  return accessShared(thread, access, base + access.address);
}
