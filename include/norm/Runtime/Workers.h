//===- Workers.h - Loops over all cores -------------------------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_RUNTIME_WORKERS_H
#define NORM_RUNTIME_WORKERS_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/ThreadPool.h"
#include <cstdint>

namespace norm {

/// A pool of threads, one per core that the process may use, for loops over
/// ranges. The threads start at the first loop large enough to need them.
class Workers {
public:
  /// `threads` 0 means one per core.
  explicit Workers(unsigned threads = 0);

  unsigned count() const { return pool.getMaxConcurrency(); }

  /// Calls `body(begin, end)` for consecutive ranges that cover [0, count), on
  /// several threads where there is more than one range, and returns when all
  /// have returned. A range has at least `grain` elements, but for the last.
  /// Where the cuts lie depends on the number of threads: `body` must not.
  void forRanges(int64_t count, int64_t grain,
                 llvm::function_ref<void(int64_t, int64_t)> body);

private:
  llvm::DefaultThreadPool pool;
};

} // namespace norm

#endif // NORM_RUNTIME_WORKERS_H
