//===- ByteModel.cpp - The least bytes of a call --------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Bench/ByteModel.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <cmath>

using namespace norm;
using namespace norm::bench;

/// The most streams each way, and how far a ratio may be off.
static constexpr unsigned kMostStreams = 6;
static constexpr double kCloseEnough = 0.02;

static uint64_t bytesOfElements(const BoundArgument &argument) {
  uint64_t count = 1;
  for (int64_t extent : argument.shape)
    count *= uint64_t(extent);
  return bytesOf(argument.dtype, count);
}

Traffic bench::minimalTraffic(const Manifest &manifest,
                              llvm::ArrayRef<BoundArgument> arguments) {
  Traffic traffic;
  for (unsigned i = 0; i < arguments.size(); ++i) {
    uint64_t bytes = bytesOfElements(arguments[i]);
    if (llvm::any_of(manifest.kernels, [&](const Kernel &kernel) {
          return llvm::is_contained(kernel.reads, i);
        }))
      traffic.read += bytes;
    if (llvm::any_of(manifest.kernels, [&](const Kernel &kernel) {
          return llvm::is_contained(kernel.writes, i);
        }))
      traffic.written += bytes;
  }
  return traffic;
}

Mix bench::mixOf(const Traffic &traffic) {
  double wanted = double(std::max<uint64_t>(traffic.read, 1)) /
                  double(std::max<uint64_t>(traffic.written, 1));
  Mix best;
  double bestOff = HUGE_VAL;
  for (unsigned streams = 2; streams <= 2 * kMostStreams; ++streams)
    for (unsigned reads = 1; reads < streams; ++reads) {
      unsigned writes = streams - reads;
      if (reads > kMostStreams || writes > kMostStreams)
        continue;
      double off = std::fabs(std::log(double(reads) / double(writes) / wanted));
      if (off < bestOff) {
        best = {reads, writes};
        bestOff = off;
      }
      if (off <= kCloseEnough)
        return {reads, writes};
    }
  return best;
}
