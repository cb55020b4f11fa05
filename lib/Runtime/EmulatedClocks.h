//===- EmulatedClocks.h - What is ordered in a cluster ----------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where threads meet by mbarriers, no barrier cuts time into epochs. Who has
// seen what is told by vector clocks instead.
//
//===----------------------------------------------------------------------===//

#ifndef NORM_LIB_RUNTIME_EMULATEDCLOCKS_H
#define NORM_LIB_RUNTIME_EMULATEDCLOCKS_H

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

namespace norm::emulated {

/// Who accesses memory: the threads of a cluster, CTA after CTA; then, for each
/// mbarrier, what copies with it, and for each thread that stores by copies,
/// what copies for it.
using Agent = uint32_t;

/// Of each agent, the time up to which its accesses have been seen.
class Clock {
public:
  uint32_t at(Agent agent) const {
    return agent < times.size() ? times[agent] : 0;
  }
  void set(Agent agent, uint32_t time) {
    if (agent >= times.size())
      times.resize(agent + 1);
    times[agent] = time;
  }
  void join(const Clock &other) {
    if (other.times.size() > times.size())
      times.resize(other.times.size());
    for (size_t i = 0; i < other.times.size(); ++i)
      times[i] = std::max(times[i], other.times[i]);
  }

private:
  std::vector<uint32_t> times;
};

/// An access, as its agent did it at a time of its own.
struct Event {
  Agent agent = 0;
  uint32_t time = 0; ///< from 1 on; 0 for none
  uint32_t site = 0;
};

/// What was done to the shared memory of one CTA, byte by byte.
class SharedEvents {
public:
  static llvm::Expected<std::unique_ptr<SharedEvents>> create(uint64_t bytes);

  /// Forgets everything.
  void reset() {
    ++version;
    readers.clear();
  }

  enum class Fault { None, Uninitialized, Race };
  struct Conflict {
    Fault fault = Fault::None;
    uint64_t byte = 0;
    bool otherWrote = false;
    Event other;
  };
  /// Notes an access of bytes [offset, offset + count) by `event`, whose agent
  /// has seen what `seen` says, and tells the first thing wrong with it.
  Conflict access(uint64_t offset, uint64_t count, bool isWrite, Event event,
                  const Clock &seen);
  /// Who wrote a byte last.
  Event writerOf(uint64_t byte) const {
    const Cell &cell = cells.get()[byte];
    return cell.version == version ? cell.write : Event();
  }

private:
  struct Cell {
    uint32_t version;
    bool hasReaders; ///< several reads that nothing orders: in `readers`
    Event write, read;
  };
  struct Free {
    void operator()(void *pointer) const { std::free(pointer); }
  };

  Conflict note(Cell &cell, uint64_t byte, bool isWrite, Event event,
                const Clock &seen);

  std::unique_ptr<Cell, Free> cells;
  uint32_t version = 0;
  llvm::DenseMap<uint64_t, llvm::SmallVector<Event, 0>> readers;
};

} // namespace norm::emulated

#endif // NORM_LIB_RUNTIME_EMULATEDCLOCKS_H
