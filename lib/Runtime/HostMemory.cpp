//===- HostMemory.cpp - Large allocations of host memory ------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Runtime/HostMemory.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <sys/mman.h>

using namespace norm;

static constexpr uint64_t kAlignment = 256;
/// The size of a large page on x86-64, and on AArch64 with pages of 4 KiB.
static constexpr uint64_t kLargePage = 2 << 20;

HostMemory norm::allocateHostMemory(uint64_t bytes) {
  // No machine has so much; the rounding below must not overflow.
  if (bytes > uint64_t(1) << 62)
    return nullptr;
  bool large = bytes >= 2 * kLargePage;
  uint64_t alignment = large ? kLargePage : kAlignment;
  // aligned_alloc takes multiples of the alignment only.
  uint64_t size = llvm::alignTo(std::max<uint64_t>(bytes, 1), alignment);
  HostMemory memory(
      static_cast<uint8_t *>(std::aligned_alloc(alignment, size)));
#ifdef MADV_HUGEPAGE
  // Advice: it doesn't matter if the system doesn't take it.
  if (memory && large)
    (void)madvise(memory.get(), size, MADV_HUGEPAGE);
#endif
  return memory;
}
