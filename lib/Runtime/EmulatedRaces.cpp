//===- EmulatedRaces.cpp - Accesses that nothing orders -------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EmulatedRaces.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <tuple>

using namespace norm::emulated;

/// Pages of a CTA beyond which a barrier empties them: 20 MB of cells.
static constexpr size_t kMaxPages = 1024;

//===----------------------------------------------------------------------===//
// Within a CTA
//===----------------------------------------------------------------------===//

std::optional<Race> AccessCell::note(uint32_t epoch, bool isWrite,
                                     unsigned thread, unsigned site) {
  std::optional<Race> race;
  if (writeEpoch == epoch && writer != thread)
    race = Race{true, int64_t(writer), writeSite};
  if (isWrite) {
    if (!race && readEpoch == epoch && reader != thread)
      race = Race{false, reader == kMany ? int64_t(-1) : int64_t(reader),
                  readSite};
    writeEpoch = epoch;
    writer = uint16_t(thread);
    writeSite = site;
  } else if (readEpoch != epoch) {
    readEpoch = epoch;
    reader = uint16_t(thread);
    readSite = site;
  } else if (reader != thread) {
    reader = kMany;
  }
  return race;
}

AccessCell *GlobalAccesses::findPage(uint64_t key) {
  Recent &place = recent[(key ^ (key >> kRegionShift)) % recent.size()];
  if (place.key == key)
    return place.page;
  AccessCell *&page = byKey[key];
  if (!page) {
    if (used == pages.size())
      pages.push_back(std::make_unique<AccessCell[]>(kPage));
    page = pages[used++].get();
  }
  place = {key, page};
  return page;
}

std::optional<GlobalAccesses::Conflict>
GlobalAccesses::access(uint32_t region, uint64_t offset, uint64_t count,
                       bool isWrite, unsigned thread, unsigned site) {
  std::optional<Conflict> conflict;
  uint64_t key = uint64_t(region) << kRegionShift;
  for (uint64_t byte = offset, end = offset + count; byte < end;) {
    AccessCell *cells = findPage(key | byte / kPage);
    uint64_t stop = std::min(end, (byte / kPage + 1) * kPage);
    for (; byte < stop; ++byte)
      if (std::optional<Race> race =
              cells[byte % kPage].note(epoch, isWrite, thread, site))
        if (!conflict)
          conflict = {byte, *race};
  }
  return conflict;
}

void GlobalAccesses::passBarrier() {
  ++epoch;
  // What was done before is ordered with all that follows in this CTA.
  if (used > kMaxPages) {
    flush();
    firstEpoch = epoch;
  }
}

void GlobalAccesses::passUnitBarrier() {
  ++epoch;
  flush();
  firstEpoch = epoch;
  ++era;
}

/// Appends a span, or makes the last one longer.
static void append(std::vector<AccessSpan> &spans, const AccessSpan &next) {
  if (!spans.empty()) {
    AccessSpan &last = spans.back();
    uint64_t length = next.end - next.begin;
    bool isSingle = last.end - last.begin == last.piece;
    if (last.end == next.begin && last.region == next.region &&
        last.site == next.site && length == last.piece &&
        (last.thread < 0) == (next.thread < 0) &&
        (isSingle || last.threadAt(last.end) == next.thread)) {
      if (isSingle)
        last.step = next.thread - last.thread;
      last.end = next.end;
      return;
    }
  }
  spans.push_back(next);
}

void GlobalAccesses::addSpans(uint64_t key, const AccessCell *cells,
                              bool ofWrites,
                              std::vector<AccessSpan> &spans) const {
  uint32_t region = uint32_t(key >> kRegionShift);
  uint64_t base = (key & ((uint64_t(1) << kRegionShift) - 1)) * kPage;
  auto isIn = [&](const AccessCell &cell) {
    return (ofWrites ? cell.writeEpoch : cell.readEpoch) >= firstEpoch;
  };
  auto origin = [&](const AccessCell &cell) {
    return ofWrites ? std::pair(cell.writer, cell.writeSite)
                    : std::pair(cell.reader, cell.readSite);
  };
  for (uint64_t begin = 0; begin < kPage;) {
    if (!isIn(cells[begin])) {
      ++begin;
      continue;
    }
    auto [thread, site] = origin(cells[begin]);
    uint64_t end = begin + 1;
    while (end < kPage && isIn(cells[end]) &&
           origin(cells[end]) == std::pair(thread, site))
      ++end;
    AccessSpan span;
    span.begin = base + begin;
    span.end = base + end;
    span.cta = current;
    span.unit = unit;
    span.era = era;
    span.piece = end - begin;
    span.thread = thread == AccessCell::kMany ? -1 : int64_t(thread);
    span.region = region;
    span.site = site;
    span.isWrite = ofWrites;
    append(spans, span);
    begin = end;
  }
}

void GlobalAccesses::flush() {
  if (used == 0)
    return;
  std::vector<std::pair<uint64_t, AccessCell *>> inOrder(byKey.begin(),
                                                         byKey.end());
  llvm::sort(inOrder);
  for (bool ofWrites : {true, false}) {
    std::vector<AccessSpan> spans;
    for (auto [key, cells] : inOrder)
      addSpans(key, cells, ofWrites, spans);
    list.insert(list.end(), spans.begin(), spans.end());
  }
  byKey.clear();
  used = 0;
  recent.fill(Recent());
}

//===----------------------------------------------------------------------===//
// Between CTAs
//===----------------------------------------------------------------------===//

/// Whose accesses are compared: those of different CTAs or of different units.
using Owner = int64_t AccessSpan::*;

namespace {
/// Of the spans so far, the two of different owners that reach farthest. If any
/// span of another owner reaches a byte, one of these does.
class Farthest {
public:
  explicit Farthest(Owner owner) : owner(owner) {}

  void add(const AccessSpan &span) {
    if (!first || span.end > first->end) {
      if (first && first->*owner != span.*owner)
        second = first;
      first = &span;
    } else if (span.*owner != first->*owner &&
               (!second || span.end > second->end)) {
      second = &span;
    }
  }
  /// One that holds the byte `begin` of `span` and is of another owner.
  const AccessSpan *findOther(const AccessSpan &span) const {
    for (const AccessSpan *other : {first, second})
      if (other && other->*owner != span.*owner && other->end > span.begin)
        return other;
    return nullptr;
  }
  void clear() { first = second = nullptr; }

private:
  Owner owner;
  const AccessSpan *first = nullptr;
  const AccessSpan *second = nullptr;
};
} // namespace

/// Compares spans of different owners that have the same `groupOf`, by which
/// they are sorted before all else.
template <typename Group>
static void findRaces(
    std::vector<AccessSpan> &spans, Owner owner, Group groupOf,
    llvm::function_ref<void(const AccessSpan &, const AccessSpan &, uint64_t)>
        report) {
  auto key = [&](const AccessSpan &span) {
    return std::tuple(groupOf(span), span.begin, span.cta, span.site, span.end,
                      span.isWrite, span.era);
  };
  llvm::sort(spans, [&](const AccessSpan &a, const AccessSpan &b) {
    return key(a) < key(b);
  });
  Farthest writes(owner), reads(owner);
  const AccessSpan *last = nullptr;
  for (const AccessSpan &span : spans) {
    if (last && groupOf(*last) != groupOf(span)) {
      writes.clear();
      reads.clear();
    }
    last = &span;
    const AccessSpan *other = writes.findOther(span);
    if (!other && span.isWrite)
      other = reads.findOther(span);
    if (other)
      report(span, *other, span.begin);
    (span.isWrite ? writes : reads).add(span);
  }
}

void norm::emulated::findRacesBetweenCtas(
    std::vector<AccessSpan> spans,
    llvm::function_ref<void(const AccessSpan &, const AccessSpan &, uint64_t)>
        report) {
  findRaces(
      spans, &AccessSpan::unit,
      [](const AccessSpan &span) { return span.region; }, report);
  if (llvm::any_of(
          spans, [](const AccessSpan &span) { return span.unit != span.cta; }))
    findRaces(
        spans, &AccessSpan::cta,
        [](const AccessSpan &span) {
          return std::tuple(span.unit, span.era, span.region);
        },
        report);
}
