//===- EmulatedCopies.h - Copies that a thread waits for --------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_LIB_RUNTIME_EMULATEDCOPIES_H
#define NORM_LIB_RUNTIME_EMULATEDCOPIES_H

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <cstring>

namespace norm::emulated {

/// The copies from global to shared memory that one thread has started, in the
/// groups in which it waits for them (`cp.async`). Bytes come as late as they
/// can: when they are waited for.
class ThreadCopies {
public:
  void start(char *destination, const char *source, uint32_t bytes) {
    pending.push_back({destination, source, bytes, group});
  }
  void commit() { ++group; }
  /// All but the last `left` groups that were committed.
  void wait(uint32_t left) {
    llvm::erase_if(pending, [&](const Copy &copy) {
      if (copy.group + left >= group)
        return false;
      std::memcpy(copy.destination, copy.source, copy.bytes);
      return true;
    });
  }
  /// Whether bytes from `place` on are on their way.
  bool isPending(const char *place, uint64_t bytes) const {
    return llvm::any_of(pending, [&](const Copy &copy) {
      return place < copy.destination + copy.bytes &&
             copy.destination < place + bytes;
    });
  }

private:
  struct Copy {
    char *destination;
    const char *source;
    uint32_t bytes;
    uint64_t group;
  };
  llvm::SmallVector<Copy, 0> pending;
  uint64_t group = 0; ///< the one that is open
};

} // namespace norm::emulated

#endif // NORM_LIB_RUNTIME_EMULATEDCOPIES_H
