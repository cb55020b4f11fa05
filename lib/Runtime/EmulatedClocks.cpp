//===- EmulatedClocks.cpp - What is ordered in a cluster ------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EmulatedClocks.h"

using namespace norm::emulated;

llvm::Expected<std::unique_ptr<SharedEvents>>
SharedEvents::create(uint64_t bytes) {
  auto made = std::make_unique<SharedEvents>();
  // Pages of cells that no kernel uses are never made.
  made->cells.reset(static_cast<Cell *>(std::calloc(bytes, sizeof(Cell))));
  if (!made->cells)
    return llvm::createStringError("expects memory for what was done to a "
                                   "CTA's shared memory but got none");
  return made;
}

SharedEvents::Conflict SharedEvents::note(Cell &cell, uint64_t byte,
                                          bool isWrite, Event event,
                                          const Clock &seen) {
  if (cell.version != version)
    cell = {version, false, {}, {}};
  Conflict conflict;
  auto race = [&](const Event &other, bool otherWrote) {
    if (other.time > seen.at(other.agent) && conflict.fault == Fault::None)
      conflict = {Fault::Race, byte, otherWrote, other};
  };
  race(cell.write, true);
  if (!isWrite) {
    if (cell.write.time == 0)
      conflict = {Fault::Uninitialized, byte, false, {}};
    bool isSeen = cell.read.time <= seen.at(cell.read.agent);
    if (!cell.hasReaders && (isSeen || cell.read.agent == event.agent)) {
      cell.read = event;
      return conflict;
    }
    llvm::SmallVector<Event, 0> &list = readers[byte];
    if (!cell.hasReaders)
      list.assign({cell.read});
    cell.hasReaders = true;
    for (Event &other : list)
      if (other.agent == event.agent) {
        other = event;
        return conflict;
      }
    list.push_back(event);
    return conflict;
  }
  if (cell.hasReaders) {
    auto list = readers.find(byte);
    for (const Event &other : list->second)
      race(other, false);
    readers.erase(list);
  } else {
    race(cell.read, false);
  }
  cell = {version, false, event, {}};
  return conflict;
}

SharedEvents::Conflict SharedEvents::access(uint64_t offset, uint64_t count,
                                            bool isWrite, Event event,
                                            const Clock &seen) {
  Conflict first;
  for (uint64_t byte = offset; byte < offset + count; ++byte) {
    Conflict conflict = note(cells.get()[byte], byte, isWrite, event, seen);
    if (first.fault == Fault::None)
      first = conflict;
  }
  return first;
}
