//===- Workspace.h - Memory that lives across launches ----------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_LIB_RUNTIME_WORKSPACE_H
#define NORM_LIB_RUNTIME_WORKSPACE_H

#include "norm/Runtime/Device.h"

namespace norm {

/// The workspace of launches that run one after the other, and which counters
/// in it are known to be zero.
class WorkspaceMemory {
public:
  /// `isCallers`: what is in it from one launch to the next is the caller's
  /// business.
  explicit WorkspaceMemory(std::unique_ptr<Buffer> memory,
                           bool isCallers = false)
      : memory(std::move(memory)), isCallers(isCallers) {}

  uint64_t address() const { return memory->address(); }
  uint64_t bytes() const { return memory->bytes(); }

  /// To be called before each run of `plan`: makes its counters zero, by
  /// `clear`, unless the run before had the same ones and left them so.
  llvm::Error enter(
      const LaunchPlan &plan,
      llvm::function_ref<llvm::Error(uint64_t address, uint64_t bytes)> clear);
  /// The counters of `plan` are zero, its caller says.
  void assumeCleared(const LaunchPlan &plan) {
    zero.assign(plan.counters.begin(), plan.counters.end());
    isKnown = true;
  }
  /// A launch failed: nothing is known of the content any more.
  void invalidate() { isKnown = false; }

  /// A launch was captured into a graph. Whenever that is launched it works in
  /// this memory, of which nothing is known from then on: each run, in the
  /// graph or not, makes its counters zero.
  void shareWithGraph() { isInGraph = !isCallers; }
  bool isSharedWithGraph() const { return isInGraph; }

private:
  std::unique_ptr<Buffer> memory;
  bool isCallers;
  bool isInGraph = false;
  bool isKnown = false;
  llvm::SmallVector<ByteRange, 2> zero; ///< where it is known
};

/// Memory that somebody else owns.
class BorrowedBuffer final : public Buffer {
public:
  BorrowedBuffer(uint64_t base, uint64_t size) : Buffer(base, size) {}
};

/// The workspace of one executable, which grows. A launch keeps the one that it
/// was prepared with, and the pool those that graphs work in.
class WorkspacePool {
public:
  using Allocate =
      llvm::function_ref<llvm::Expected<std::unique_ptr<Buffer>>(uint64_t)>;

  /// One of `bytes` bytes or more, made by `allocate` if the last isn't.
  llvm::Expected<std::shared_ptr<WorkspaceMemory>> get(uint64_t bytes,
                                                       Allocate allocate);
  /// Launches failed, and nobody knows which.
  void invalidate();

private:
  std::vector<std::weak_ptr<WorkspaceMemory>> all;
  std::vector<std::shared_ptr<WorkspaceMemory>> inGraphs;
  std::shared_ptr<WorkspaceMemory> current;
};

} // namespace norm

#endif // NORM_LIB_RUNTIME_WORKSPACE_H
