//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random numbers of the fuzzers: a seed and a counter, so that a case is made
// again from (seed, index) alone.
//
//===----------------------------------------------------------------------===//

#ifndef NORM_FUZZ_CHOOSER_H
#define NORM_FUZZ_CHOOSER_H

#include "norm/Runtime/Random.h"
#include "llvm/ADT/ArrayRef.h"
#include <cstdint>
#include <initializer_list>

namespace norm::fuzz {

class Chooser {
public:
  Chooser(uint64_t seed, uint64_t index) : seed(randomBits(seed, index)) {}

  uint64_t bits() { return randomBits(seed, count++); }
  /// 0 to `n - 1`; 0 for an `n` of 0.
  uint64_t below(uint64_t n) { return n == 0 ? 0 : bits() % n; }
  int64_t between(int64_t low, int64_t high) {
    return low + int64_t(below(uint64_t(high - low + 1)));
  }
  /// True in `percent` of 100 cases.
  bool chance(unsigned percent) { return below(100) < percent; }
  template <typename T>
  const T &pick(llvm::ArrayRef<T> list) {
    return list[below(list.size())];
  }
  template <typename T>
  T pick(std::initializer_list<T> list) {
    return list.begin()[below(list.size())];
  }

private:
  uint64_t seed;
  uint64_t count = 0;
};

} // namespace norm::fuzz

#endif // NORM_FUZZ_CHOOSER_H
