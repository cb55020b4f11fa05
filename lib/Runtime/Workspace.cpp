//===- Workspace.cpp - Memory that lives across launches ------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Workspace.h"
#include "llvm/ADT/STLExtras.h"

using namespace norm;

llvm::Error WorkspaceMemory::enter(
    const LaunchPlan &plan,
    llvm::function_ref<llvm::Error(uint64_t address, uint64_t bytes)> clear) {
  if (plan.workspaceBytes == 0)
    return llvm::Error::success();
  if (isKnown && !isInGraph && llvm::equal(zero, plan.counters))
    return llvm::Error::success();
  invalidate();
  for (const ByteRange &range : plan.counters)
    if (llvm::Error error = clear(address() + range.offset, range.bytes))
      return error;
  assumeCleared(plan);
  return llvm::Error::success();
}

llvm::Expected<std::shared_ptr<WorkspaceMemory>>
WorkspacePool::get(uint64_t bytes, Allocate allocate) {
  if (current && current->bytes() >= bytes)
    return current;
  llvm::Expected<std::unique_ptr<Buffer>> memory = allocate(bytes);
  if (!memory)
    return memory.takeError();
  if (current && current->isSharedWithGraph())
    inGraphs.push_back(current);
  current = std::make_shared<WorkspaceMemory>(std::move(*memory));
  llvm::erase_if(all, [](const auto &known) { return known.expired(); });
  all.push_back(current);
  return current;
}

void WorkspacePool::invalidate() {
  for (const std::weak_ptr<WorkspaceMemory> &known : all)
    if (std::shared_ptr<WorkspaceMemory> memory = known.lock())
      memory->invalidate();
}
