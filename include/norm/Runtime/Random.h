//===- Random.h - Counter-based random numbers ------------------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every number is a pure function of a seed and an index: the same on every
// machine and with any number of threads, and any part of a sequence can be
// made alone. Only integer arithmetic and exactly rounded operations are used.
//
//===----------------------------------------------------------------------===//

#ifndef NORM_RUNTIME_RANDOM_H
#define NORM_RUNTIME_RANDOM_H

#include <cstdint>
#include <initializer_list>

namespace norm {

/// 64 random bits. The counter is spread by the golden ratio and mixed by
/// three multiply-xorshift rounds ("variant 13" of D. Stafford's mixers, the
/// finalizer of SplitMix64, with one more round for the seed).
inline uint64_t randomBits(uint64_t seed, uint64_t index) {
  constexpr uint64_t kGolden = 0x9e3779b97f4a7c15;
  auto mix = [](uint64_t value) {
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
    value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
    return value ^ (value >> 31);
  };
  return mix(mix((seed + 1) * kGolden) + (index + 1) * kGolden);
}

/// Uniform in [0, 1), a multiple of 2^-53.
inline double randomUniform(uint64_t seed, uint64_t index) {
  return double(randomBits(seed, index) >> 11) * 0x1p-53;
}

/// Normally distributed with mean 0 and deviation 1, as far as a sum of eight
/// uniform numbers of 16 bits is (Irwin-Hall): no value is beyond 4.9, and the
/// kurtosis is 2.85 where a normal one has 3.
inline double randomNormal(uint64_t seed, uint64_t index) {
  uint64_t sum = 0;
  for (uint64_t half : {2 * index, 2 * index + 1}) {
    uint64_t bits = randomBits(seed, half);
    sum += (bits & 0xffff) + (bits >> 16 & 0xffff) + (bits >> 32 & 0xffff) +
           (bits >> 48);
  }
  // The sum's mean is 8 * 65535 / 2 and its variance 8 * (65536^2 - 1) / 12.
  constexpr double kMean = 262140.0;
  constexpr double kDeviation = 53509.91992145008;
  return (double(sum) - kMean) / kDeviation;
}

} // namespace norm

#endif // NORM_RUNTIME_RANDOM_H
