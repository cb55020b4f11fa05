//===- Workers.cpp - Loops over all cores ---------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Runtime/Workers.h"
#include <algorithm>

using namespace norm;

// Ranges per thread: enough to even out a thread that starts late, few enough
// that handing them out costs nothing next to the work.
static constexpr int64_t kRangesPerThread = 4;

Workers::Workers(unsigned threads)
    : pool(llvm::hardware_concurrency(threads)) {}

void Workers::forRanges(int64_t count, int64_t grain,
                        llvm::function_ref<void(int64_t, int64_t)> body) {
  if (count <= 0)
    return;
  int64_t ranges = int64_t(pool.getMaxConcurrency()) * kRangesPerThread;
  int64_t size = std::max({(count - 1) / ranges + 1, grain, int64_t(1)});
  if (pool.getMaxConcurrency() == 1 || count <= size)
    return body(0, count);
  llvm::ThreadPoolTaskGroup group(pool);
  for (int64_t begin = 0; begin < count;) {
    int64_t end = count - begin > size ? begin + size : count;
    group.async([body, begin, end] { body(begin, end); });
    begin = end;
  }
  group.wait();
}
