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
      race =
          Race{false, reader == kMany ? int64_t(-1) : int64_t(reader), readSite};
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
  if (key == lastKey)
    return lastPage;
  AccessCell *&page = byKey[key];
  if (!page) {
    if (used == pages.size())
      pages.push_back(std::make_unique<AccessCell[]>(kPage));
    page = pages[used++].get();
  }
  lastKey = key;
  return lastPage = page;
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
  lastKey = ~uint64_t(0);
}

//===----------------------------------------------------------------------===//
// Between CTAs
//===----------------------------------------------------------------------===//

namespace {
/// Of the spans so far, the two of different CTAs that reach farthest. If any
/// span of another CTA reaches a byte, one of these does.
class Farthest {
public:
  void add(const AccessSpan &span) {
    if (!first || span.end > first->end) {
      if (first && first->cta != span.cta)
        second = first;
      first = &span;
    } else if (span.cta != first->cta && (!second || span.end > second->end)) {
      second = &span;
    }
  }
  /// One that holds the byte `begin` of `span` and is of another CTA.
  const AccessSpan *findOther(const AccessSpan &span) const {
    for (const AccessSpan *other : {first, second})
      if (other && other->cta != span.cta && other->end > span.begin)
        return other;
    return nullptr;
  }

private:
  const AccessSpan *first = nullptr;
  const AccessSpan *second = nullptr;
};
} // namespace

void norm::emulated::findRacesBetweenCtas(
    std::vector<AccessSpan> spans,
    llvm::function_ref<void(const AccessSpan &, const AccessSpan &, uint64_t)>
        report) {
  auto key = [](const AccessSpan &span) {
    return std::tuple(span.region, span.begin, span.cta, span.site, span.end,
                      span.isWrite);
  };
  llvm::sort(spans, [&](const AccessSpan &a, const AccessSpan &b) {
    return key(a) < key(b);
  });
  Farthest writes, reads;
  uint32_t region = 0;
  for (const AccessSpan &span : spans) {
    if (span.region != region) {
      region = span.region;
      writes = reads = Farthest();
    }
    const AccessSpan *other = writes.findOther(span);
    if (!other && span.isWrite)
      other = reads.findOther(span);
    if (other)
      report(span, *other, span.begin);
    (span.isWrite ? writes : reads).add(span);
  }
}
