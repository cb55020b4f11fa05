//===- FakeCuda.h - A CUDA driver without a device --------------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A library with the driver's entry points, written from NVIDIA's reference
// and not from norm's declarations of them. Device memory is host memory,
// launches are recorded and handed to the test, and whatever was created and
// not destroyed is counted.
//
//===----------------------------------------------------------------------===//

#ifndef NORM_TEST_UNIT_RUNTIME_FAKECUDA_H
#define NORM_TEST_UNIT_RUNTIME_FAKECUDA_H

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace norm::test {

struct FakeLaunch {
  std::string symbol; ///< `memset` for one, of params address, byte and bytes
  unsigned grid[3], block[3], shared, cluster;
  std::vector<uint64_t> params;
  bool cooperative = false;
  bool dependent = false; ///< programmatic stream serialization
  void *stream = nullptr;
};

struct FakeCuda {
  // What the driver answers.
  int initStatus = 0;
  int deviceCount = 1;
  int driverVersion = 13000;
  int major = 9, minor = 0;
  int launchStatus = 0;
  int syncStatus = 0;
  int cooperative = 1; ///< whether there are cooperative launches
  int ctasPerMultiprocessor = 2;
  int clusters = 7; ///< that are resident at once
  int localBytes = 0; ///< of each thread
  size_t freeBytes = size_t(16) << 20;
  unsigned paramsPerKernel = 0;
  std::function<void(const FakeLaunch &)> onLaunch;
  void *borrowed = nullptr;       ///< a context of the test's own
  void *borrowedStream = nullptr; ///< a stream of the test's own
  /// Memsets and launches are only queued, for the test to carry out.
  bool isQueueing = false;
  bool isForgetful = false; ///< launches are neither recorded nor handed out

  /// The current context; there is one thread.
  void *current = nullptr;

  // What was seen.
  std::vector<FakeLaunch> launches;
  std::vector<std::string> attributes;  ///< "symbol attribute=value"
  std::vector<std::string> occupancies; ///< "symbol threads shared"
  std::vector<size_t> memsets;          ///< bytes of each
  std::vector<void *> launchContexts;   ///< current at each launch
  std::string image;
  int memory = 0, modules = 0, streams = 0, events = 0, contexts = 0;
  int graphs = 0, graphExecs = 0;
  void *capturing = nullptr;        ///< the stream that is being captured
  std::vector<FakeLaunch> captured; ///< by the last capture
  std::vector<FakeLaunch> queue;    ///< memsets as well
  /// The names of the functions called, the first ones only.
  std::array<const char *, 16> calls = {};
  unsigned numCalls = 0;
};

} // namespace norm::test

#endif // NORM_TEST_UNIT_RUNTIME_FAKECUDA_H
