//===- EmulatedFibers.h - The threads of a CTA as fibers --------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_LIB_RUNTIME_EMULATEDFIBERS_H
#define NORM_LIB_RUNTIME_EMULATEDFIBERS_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <vector>

namespace norm::emulated {

/// Fibers with stacks of their own, to be used by one host thread at a time.
/// A fiber may be left suspended and started anew: what lies on its stack is
/// forgotten, so it must own nothing.
class Fibers {
public:
  static constexpr size_t kStackBytes = 256 << 10;

  /// Reserves `count` stacks, each below a page that nobody may touch.
  static llvm::Expected<std::unique_ptr<Fibers>> create(unsigned count);
  ~Fibers();
  Fibers(const Fibers &) = delete;
  Fibers &operator=(const Fibers &) = delete;

  unsigned count() const { return unsigned(fibers.size()); }

  /// Makes fibers 0 to `number` call `body` with their number when resumed
  /// next. `body` must live until none of them is resumed any more.
  void start(unsigned number, llvm::function_ref<void(unsigned)> body);

  /// Runs a fiber until it suspends itself or returns; true once it returned.
  bool resume(unsigned fiber);

  /// Called in the fiber that runs: goes back to whoever resumed it.
  void suspend() { leave(/*forever=*/false); }

private:
  struct Fiber {
    void *context = nullptr;
    void *fakeStack = nullptr; ///< the address sanitizer's
    bool done = false;
  };

  Fibers(char *memory, unsigned count) : memory(memory), fibers(count) {}
  char *stack(unsigned fiber) const;
  void leave(bool forever);
  static void enter(void *caller, Fibers *self);
  struct Entry;

  char *memory;
  std::vector<Fiber> fibers;
  llvm::function_ref<void(unsigned)> body;
  unsigned current = 0;
  void *caller = nullptr;
  const void *callerStack = nullptr;
  size_t callerStackBytes = 0;
};

} // namespace norm::emulated

#endif // NORM_LIB_RUNTIME_EMULATEDFIBERS_H
