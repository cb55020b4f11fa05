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
  made->cells.reset(
      static_cast<AccessCell *>(std::calloc(bytes, sizeof(AccessCell))));
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
  for (uint64_t byte = offset; byte < offset + count; ++byte) {
    AccessCell &cell = cells.get()[byte];
    bool isWritten = isWrite || cell.writeEpoch >= ctaEpoch;
    std::optional<Race> race = cell.note(epoch, isWrite, thread, site);
    if (conflict.fault != Fault::None)
      continue;
    if (race)
      conflict = {Fault::Race, byte, *race};
    else if (!isWritten)
      conflict = {Fault::Uninitialized, byte, {}};
  }
  return conflict;
}
