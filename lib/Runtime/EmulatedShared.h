//===- EmulatedShared.h - A CTA's shared memory, and its races --*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_LIB_RUNTIME_EMULATEDSHARED_H
#define NORM_LIB_RUNTIME_EMULATEDSHARED_H

#include "EmulatedRaces.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <cstdlib>
#include <memory>

namespace norm::emulated {

/// Shared memory of one CTA after the other, and what was done to each byte.
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
    Race race;
  };
  /// Notes an access of bytes [offset, offset + count), which must be within
  /// the memory, and tells the first thing wrong with it.
  Conflict access(uint64_t offset, uint64_t count, bool isWrite,
                  unsigned thread, unsigned site);

private:
  struct Free {
    void operator()(void *pointer) const { std::free(pointer); }
  };

  std::unique_ptr<char, Free> memory;
  std::unique_ptr<AccessCell, Free> cells;
  uint32_t epoch = 0;
  uint32_t ctaEpoch = 0;
};

} // namespace norm::emulated

#endif // NORM_LIB_RUNTIME_EMULATEDSHARED_H
