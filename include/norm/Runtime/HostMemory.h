//===- HostMemory.h - Large allocations of host memory ----------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_RUNTIME_HOSTMEMORY_H
#define NORM_RUNTIME_HOSTMEMORY_H

#include <cstdint>
#include <cstdlib>
#include <memory>

namespace norm {

struct FreeHostMemory {
  void operator()(uint8_t *memory) const { std::free(memory); }
};

/// Host memory that is freed with the object.
using HostMemory = std::unique_ptr<uint8_t[], FreeHostMemory>;

/// `bytes` bytes (0 is fine) at a multiple of 256, undefined; null if there is
/// not as much. Large blocks are backed by large pages where the system has
/// them: touching gigabytes for the first time is slow otherwise.
HostMemory allocateHostMemory(uint64_t bytes);

} // namespace norm

#endif // NORM_RUNTIME_HOSTMEMORY_H
