//===- EmulatedMemory.h - Global memory as kernels may use it ---*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_LIB_RUNTIME_EMULATEDMEMORY_H
#define NORM_LIB_RUNTIME_EMULATEDMEMORY_H

#include "EmulatedFindings.h"
#include "norm/Runtime/LaunchPlan.h"
#include <atomic>
#include <memory>

namespace norm::emulated {

/// The elements of one buffer, and what has been done to each of their bytes:
/// for reads and writes the stamp of the last kernel that did it, 0 for none.
class Region {
public:
  /// `initialized`: holds data before the first kernel.
  Region(const BoundArgument &tensor, bool initialized);

  uint64_t begin() const { return first; }
  uint64_t bytes() const { return span; }
  uint64_t elementBytes() const { return total; }
  bool isInitialized() const { return initialized; }
  /// Elements share bytes: only the whole span is known.
  bool hasOverlap() const { return overlap; }

  /// Whether bytes [offset, offset + count) are all of elements.
  bool holds(uint64_t offset, uint64_t count) const {
    return offset < span && count <= span - offset &&
           (gaps.empty() || !isInGap(offset, count));
  }
  void markRead(uint64_t offset, uint64_t count, uint8_t stamp) {
    mark(reads.get() + offset, count, stamp);
  }
  void markWritten(uint64_t offset, uint64_t count, uint8_t stamp) {
    mark(writes.get() + offset, count, stamp);
  }
  bool isWritten(uint64_t offset, uint64_t count) const;
  /// Element bytes that have the stamp.
  uint64_t countRead(uint8_t stamp) const { return count(reads.get(), stamp); }
  uint64_t countWritten(uint8_t stamp) const {
    return count(writes.get(), stamp);
  }
  /// Offset of the first element byte that wasn't written with the stamp.
  uint64_t firstUnwritten(uint8_t stamp) const;
  /// Forgets all stamps.
  void reset();

private:
  using Shadow = std::atomic<uint8_t>;
  /// Rows that lie apart: bytes from one to the next, and how many.
  struct Dim {
    uint64_t stride;
    uint64_t extent;
  };

  static void mark(Shadow *shadow, uint64_t count, uint8_t stamp) {
    // Two threads may mark a byte at once; both write the same.
    for (uint64_t i = 0; i < count; ++i)
      if (shadow[i].load(std::memory_order_relaxed) != stamp)
        shadow[i].store(stamp, std::memory_order_relaxed);
  }
  bool isInGap(uint64_t offset, uint64_t count) const;
  uint64_t count(const Shadow *shadow, uint8_t stamp) const;
  /// Calls `body` with the offset of each run of `run` bytes.
  void forRuns(llvm::function_ref<void(uint64_t)> body) const;

  uint64_t first;
  uint64_t span = 0;
  uint64_t run = 0; ///< bytes of elements without a gap
  uint64_t total = 0;
  bool initialized;
  bool overlap = false;
  std::vector<Dim> gaps; ///< outermost first; empty for one run
  std::unique_ptr<Shadow[]> reads;
  std::unique_ptr<Shadow[]> writes;
};

/// A region as a kernel's parameter leads to it.
struct ParamRegion {
  Region *region = nullptr; ///< null for a parameter that isn't an address
  unsigned buffer = 0;
  bool mayRead = false;
  bool mayWrite = false;
  /// Number of the region where the kernel writes it; else -1, since what
  /// nobody writes has no races.
  int shared = -1;
};

/// All buffers of a launch, and what the kernel that runs may do with them.
class GlobalMemory {
public:
  GlobalMemory(const Manifest &manifest, llvm::ArrayRef<BoundArgument> buffers,
               const LaunchPlan &plan);

  /// Forgets what earlier launches did.
  void reset();
  /// The kernel that runs from now on.
  void enter(unsigned kernel);

  llvm::ArrayRef<ParamRegion> params() const { return current; }
  uint8_t stamp() const { return currentStamp; }
  /// Whether `bytes` bytes at an address are counters of the workspace, and a
  /// multiple of 4.
  bool isCounter(uint64_t address, uint64_t bytes) const;
  /// Offset in the workspace of the first counter byte that isn't zero.
  std::optional<uint64_t> firstUsedCounter() const;
  /// The region at an address that no parameter is known for.
  const ParamRegion *find(uint64_t address) const;
  /// `argument 0 'x'`, or `the workspace`.
  std::string describe(const ParamRegion &param) const;

  /// Compares what the kernel did with what the manifest says; `totals` are
  /// the bytes of all accesses by parameter.
  KernelTraffic leave(const KernelLaunch &launch,
                      llvm::ArrayRef<AccessBytes> totals,
                      Findings &findings) const;

private:
  const Manifest &manifest;
  std::vector<std::unique_ptr<Region>> regions;
  std::vector<Region *> byBuffer;  ///< null for scalars; the last: workspace
  std::vector<ByteRange> counters; ///< of the workspace
  std::vector<ParamRegion> current;
  uint8_t currentStamp = 0;
};

} // namespace norm::emulated

#endif // NORM_LIB_RUNTIME_EMULATEDMEMORY_H
