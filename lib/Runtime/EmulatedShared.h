//===- EmulatedShared.h - A CTA's shared memory, and its races --*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_LIB_RUNTIME_EMULATEDSHARED_H
#define NORM_LIB_RUNTIME_EMULATEDSHARED_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <cstdlib>
#include <memory>

namespace norm::emulated {

/// Shared memory of one CTA after the other. Each byte remembers the last
/// thread that wrote it and the threads that read it, with the interval
/// between two barriers of the CTA in which they did: accesses in one interval
/// by different threads, one of which writes, are a race.
class SharedMemory {
public:
  /// Bytes that kernels declare themselves come first, then the dynamic ones.
  static constexpr uint64_t kStaticBytes = 48 << 10;
  static constexpr uint64_t kDynamicBytes = 256 << 10;

  static llvm::Expected<std::unique_ptr<SharedMemory>> create();

  char *data() const { return memory.get(); }
  char *dynamic() const { return memory.get() + kStaticBytes; }

  /// Nothing of what was written before is initialized any more.
  void enterCta() { ctaEpoch = ++epoch; }
  void passBarrier() { ++epoch; }

  enum class Fault { None, Uninitialized, Race };
  /// What an access found at `byte` of an access.
  struct Conflict {
    Fault fault = Fault::None;
    uint64_t byte = 0; ///< offset in the memory
    bool otherWrote = false;
    int64_t otherThread = -1; ///< -1 for several
    unsigned otherSite = 0;
  };
  /// Notes an access of bytes [offset, offset + count), which must be within
  /// the memory, and tells the first thing wrong with it.
  Conflict access(uint64_t offset, uint64_t count, bool isWrite,
                  unsigned thread, unsigned site);

private:
  /// 0 in both epochs: nothing was done since the memory was made.
  struct Cell {
    uint32_t writeEpoch;
    uint32_t readEpoch;
    uint16_t writer;
    uint16_t reader; ///< kMany for several
    uint32_t writeSite;
    uint32_t readSite;
  };
  static constexpr uint16_t kMany = 0xffff;
  struct Free {
    void operator()(void *pointer) const { std::free(pointer); }
  };

  std::unique_ptr<char, Free> memory;
  std::unique_ptr<Cell, Free> cells;
  uint32_t epoch = 0;
  uint32_t ctaEpoch = 0;
};

} // namespace norm::emulated

#endif // NORM_LIB_RUNTIME_EMULATEDSHARED_H
