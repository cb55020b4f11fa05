//===- EmulatedShared.cpp - A CTA's shared memory, and its races ----------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EmulatedShared.h"
#include <algorithm>
#include <cstring>

using namespace norm::emulated;

llvm::Expected<std::unique_ptr<SharedMemory>> SharedMemory::create() {
  constexpr uint64_t bytes = kStaticBytes + kDynamicBytes;
  auto made = std::make_unique<SharedMemory>();
  made->memory.reset(static_cast<char *>(std::aligned_alloc(1024, bytes)));
  // Pages of cells that no kernel uses are never made.
  made->cells.reset(static_cast<Cell *>(std::calloc(bytes, sizeof(Cell))));
  if (!made->memory || !made->cells)
    return llvm::createStringError("expects memory for a CTA's shared memory "
                                   "but got none");
  std::memset(made->memory.get(), 0, bytes);
  return made;
}

SharedMemory::Conflict SharedMemory::access(uint64_t offset, uint64_t count,
                                            bool isWrite, unsigned thread,
                                            unsigned site) {
  Conflict conflict;
  auto note = [&](Fault fault, uint64_t byte, bool otherWrote, uint16_t other,
                  unsigned otherSite) {
    if (conflict.fault == Fault::None)
      conflict = {fault, byte, otherWrote,
                  other == kMany ? int64_t(-1) : int64_t(other), otherSite};
  };
  for (uint64_t byte = offset; byte < offset + count; ++byte) {
    Cell &cell = cells.get()[byte];
    if (cell.writeEpoch == epoch && cell.writer != thread)
      note(Fault::Race, byte, true, cell.writer, cell.writeSite);
    if (isWrite) {
      if (cell.readEpoch == epoch && cell.reader != thread)
        note(Fault::Race, byte, false, cell.reader, cell.readSite);
      cell.writeEpoch = epoch;
      cell.writer = uint16_t(thread);
      cell.writeSite = site;
      continue;
    }
    if (cell.writeEpoch < ctaEpoch)
      note(Fault::Uninitialized, byte, false, kMany, 0);
    bool isFirst = cell.readEpoch != epoch;
    if (!isFirst && cell.reader != thread) {
      cell.reader = kMany;
    } else if (isFirst) {
      cell.readEpoch = epoch;
      cell.reader = uint16_t(thread);
      cell.readSite = site;
    }
  }
  return conflict;
}
