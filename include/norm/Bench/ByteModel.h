//===- ByteModel.h - The least bytes of a call ------------------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_BENCH_BYTEMODEL_H
#define NORM_BENCH_BYTEMODEL_H

#include "norm/Runtime/LaunchPlan.h"

namespace norm::bench {

/// The bytes that a call must move at least.
struct Traffic {
  uint64_t read = 0, written = 0;

  uint64_t total() const { return read + written; }
};

/// The one byte model of all measurements: every element of every tensor that
/// kernels read, once, and every element of every tensor that they write, once.
/// What kernels of one call hand to each other in temporaries counts nothing.
/// An argument that is read and written (in place) counts for both.
Traffic minimalTraffic(const Manifest &manifest,
                       llvm::ArrayRef<BoundArgument> arguments);

/// A ratio of bytes read to bytes written, as numbers of equal streams.
struct Mix {
  unsigned reads = 1, writes = 1;
  bool operator==(const Mix &) const = default;
};

/// The mix of up to 6 streams each way that is closest to the traffic: the
/// one of the fewest streams whose ratio is within 2%, else the closest. At
/// least one stream each way.
Mix mixOf(const Traffic &traffic);

} // namespace norm::bench

#endif // NORM_BENCH_BYTEMODEL_H
