//===- EmulatedRaces.h - Accesses that nothing orders -----------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_LIB_RUNTIME_EMULATEDRACES_H
#define NORM_LIB_RUNTIME_EMULATEDRACES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace norm::emulated {

/// An earlier access of the same CTA that no barrier orders with this one.
struct Race {
  bool otherWrote = false;
  int64_t otherThread = -1; ///< -1 for several
  unsigned otherSite = 0;
};

/// What a CTA did to one byte: the last thread that wrote it, the threads that
/// read it, and when, in epochs; each barrier begins another. Accesses in one
/// epoch by different threads, one of which writes, are a race. 0 in both
/// epochs: nothing was done.
struct AccessCell {
  static constexpr uint16_t kMany = 0xffff; ///< several readers

  uint32_t writeEpoch;
  uint32_t readEpoch;
  uint16_t writer;
  uint16_t reader;
  uint32_t writeSite;
  uint32_t readSite;

  /// Notes an access, and tells the first that races with it.
  std::optional<Race> note(uint32_t epoch, bool isWrite, unsigned thread,
                           unsigned site);
};

/// Bytes [begin, end) of a region that one CTA accessed at one place of the
/// kernel: the first `piece` bytes by `thread`, the next ones by `thread +
/// step`, and so on.
struct AccessSpan {
  uint64_t begin = 0;
  uint64_t end = 0;
  int64_t cta = 0;
  int64_t unit = 0; ///< number of the CTAs that the CTA shares rows with
  uint64_t piece = 0;
  int64_t thread = -1; ///< -1 for several
  int64_t step = 0;
  uint32_t region = 0;
  uint32_t site = 0;
  uint32_t era = 0; ///< how often the unit had met before
  bool isWrite = false;

  int64_t threadAt(uint64_t byte) const {
    return thread + step * int64_t((byte - begin) / piece);
  }
};

/// The accesses of one CTA after the other to memory that the kernel writes.
class GlobalAccesses {
public:
  /// Forgets the spans of earlier launches.
  void enterLaunch() { list.clear(); }
  void enterCta(int64_t cta, int64_t ofUnit) {
    current = cta;
    unit = ofUnit;
    era = 0;
    firstEpoch = ++epoch;
  }
  void passBarrier();
  /// All CTAs of the unit passed a barrier.
  void passUnitBarrier();
  /// What the CTA did becomes spans.
  void leaveCta() { flush(); }

  struct Conflict {
    uint64_t byte = 0; ///< offset in the region
    Race race;
  };
  /// Notes an access of bytes [offset, offset + count) of a region, and tells
  /// the first race with another thread of the CTA.
  std::optional<Conflict> access(uint32_t region, uint64_t offset,
                                 uint64_t count, bool isWrite, unsigned thread,
                                 unsigned site);

  llvm::ArrayRef<AccessSpan> spans() const { return list; }

private:
  static constexpr uint64_t kPage = 1024;
  static constexpr unsigned kRegionShift = 48;
  using Page = std::unique_ptr<AccessCell[]>;

  AccessCell *findPage(uint64_t key);
  void flush();
  void addSpans(uint64_t key, const AccessCell *cells, bool ofWrites,
                std::vector<AccessSpan> &spans) const;

  int64_t current = 0;
  int64_t unit = 0;
  uint32_t era = 0;
  uint32_t epoch = 0;
  uint32_t firstEpoch = 0; ///< what is older has been flushed
  std::vector<Page> pages;
  size_t used = 0; ///< pages in use; the others keep outdated cells
  llvm::DenseMap<uint64_t, AccessCell *> byKey;
  /// Pages found before, each at the place that its key has here.
  struct Recent {
    uint64_t key = ~uint64_t(0);
    AccessCell *page = nullptr;
  };
  std::array<Recent, 64> recent;
  std::vector<AccessSpan> list;
};

/// Calls `report(span, other, byte)` for spans that share a byte with one of
/// another CTA where one of the two writes and nothing orders them: only CTAs
/// of one unit are ordered, by the unit's barriers. The order of `spans`
/// doesn't matter.
void findRacesBetweenCtas(
    std::vector<AccessSpan> spans,
    llvm::function_ref<void(const AccessSpan &span, const AccessSpan &other,
                            uint64_t byte)>
        report);

} // namespace norm::emulated

#endif // NORM_LIB_RUNTIME_EMULATEDRACES_H
