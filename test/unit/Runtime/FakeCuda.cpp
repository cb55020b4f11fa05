//===- FakeCuda.cpp - A CUDA driver without a device ----------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FakeCuda.h"
#include <cstdlib>
#include <cstring>
#include <memory>

using norm::test::FakeCuda;
using norm::test::FakeLaunch;

namespace {

FakeCuda state;
std::vector<std::unique_ptr<std::string>> functions;
constexpr int kInvalidValue = 1, kOutOfMemory = 2, kInvalidContext = 201,
              kInvalidPtx = 218, kNotFound = 500;

/// Calls that need a context fail without one.
int needContext() { return state.current ? 0 : kInvalidContext; }

/// The stream that the device made, or that a test lends.
bool isStream(void *stream) {
  return stream == &state.streams || stream == state.borrowedStream;
}

const char *nameOf(void *function) {
  return static_cast<std::string *>(function)->c_str();
}

void note(const char *function) {
  if (state.numCalls < state.calls.size())
    state.calls[state.numCalls] = function;
  ++state.numCalls;
}

void carryOut(const FakeLaunch &work) {
  if (state.isQueueing) {
    state.queue.push_back(work);
    return;
  }
  if (work.symbol == "memset") {
    state.memsets.push_back(work.params[2]);
    std::memset(reinterpret_cast<void *>(work.params[0]), int(work.params[1]),
                work.params[2]);
    return;
  }
  state.launches.push_back(work);
  state.launchContexts.push_back(state.current);
  if (state.onLaunch)
    state.onLaunch(work);
}

void enqueue(const FakeLaunch &work) {
  if (work.stream && work.stream == state.capturing)
    state.captured.push_back(work);
  else
    carryOut(work);
}

int record(FakeLaunch launch, void *stream, void **params) {
  if (state.launchStatus)
    return state.launchStatus;
  launch.stream = stream;
  for (unsigned i = 0; i < state.paramsPerKernel; ++i) {
    uint64_t value;
    std::memcpy(&value, params[i], 8);
    launch.params.push_back(value);
  }
  enqueue(launch);
  return 0;
}

} // namespace

extern "C" {

FakeCuda *fakeCuda() { return &state; }

int cuInit(unsigned) {
  note(__func__);
  return state.initStatus;
}
int cuDriverGetVersion(int *version) {
  note(__func__);
  *version = state.driverVersion;
  return 0;
}
int cuGetErrorName(int status, const char **text) {
  note(__func__);
  *text = status == kInvalidPtx    ? "CUDA_ERROR_INVALID_PTX"
          : status == kOutOfMemory ? "CUDA_ERROR_OUT_OF_MEMORY"
          : status == 100          ? "CUDA_ERROR_NO_DEVICE"
          : status == 700          ? "CUDA_ERROR_ILLEGAL_ADDRESS"
          : status == kNotFound    ? "CUDA_ERROR_NOT_FOUND"
                                   : nullptr;
  return *text ? 0 : kInvalidValue;
}
int cuGetErrorString(int status, const char **text) {
  note(__func__);
  *text = status == kInvalidPtx    ? "a PTX JIT compilation failed"
          : status == kOutOfMemory ? "out of memory"
          : status == 100          ? "no CUDA-capable device is detected"
          : status == 700          ? "an illegal memory access was encountered"
          : status == kNotFound    ? "named symbol not found"
                                   : nullptr;
  return *text ? 0 : kInvalidValue;
}
int cuDeviceGetCount(int *count) {
  note(__func__);
  *count = state.deviceCount;
  return 0;
}
int cuDeviceGet(int *device, int ordinal) {
  note(__func__);
  *device = ordinal + 40;
  return 0;
}
int cuDeviceGetName(char *text, int bytes, int device) {
  note(__func__);
  if (device != 40 || bytes < 10)
    return kInvalidValue;
  std::strcpy(text, "Fake GPU");
  return 0;
}
int cuDeviceGetAttribute(int *value, int attribute, int) {
  note(__func__);
  switch (attribute) {
  case 13:
    *value = 1980000;
    return 0;
  case 16:
    *value = 132;
    return 0;
  case 36:
    *value = 3201000;
    return 0;
  case 37:
    *value = 6144;
    return 0;
  case 38:
    *value = 1 << 20;
    return 0;
  case 75:
    *value = state.major;
    return 0;
  case 76:
    *value = state.minor;
    return 0;
  case 95:
    *value = state.cooperative;
    return 0;
  case 97:
    *value = 232448;
    return 0;
  }
  return kInvalidValue;
}
int cuDevicePrimaryCtxRetain(void **context, int) {
  note(__func__);
  ++state.contexts;
  *context = &state;
  return 0;
}
int cuDevicePrimaryCtxRelease_v2(int) {
  note(__func__);
  --state.contexts;
  return 0;
}
int cuCtxSetCurrent(void *context) {
  note(__func__);
  if (context && context != &state && context != state.borrowed)
    return kInvalidContext;
  state.current = context;
  return 0;
}
int cuCtxGetCurrent(void **context) {
  note(__func__);
  *context = state.current;
  return 0;
}
int cuCtxGetDevice(int *device) {
  note(__func__);
  *device = 40;
  return needContext();
}
int cuMemGetInfo_v2(size_t *free, size_t *total) {
  note(__func__);
  *free = state.freeBytes;
  *total = 2 * state.freeBytes;
  return needContext();
}
int cuMemAlloc_v2(unsigned long long *address, size_t bytes) {
  note(__func__);
  if (bytes == 0)
    return kInvalidValue;
  if (bytes > state.freeBytes)
    return kOutOfMemory;
  ++state.memory;
  *address = reinterpret_cast<uintptr_t>(
      std::aligned_alloc(512, (bytes + 511) / 512 * 512));
  return needContext();
}
int cuMemFree_v2(unsigned long long address) {
  note(__func__);
  --state.memory;
  std::free(reinterpret_cast<void *>(address));
  return needContext();
}
int cuMemcpyHtoDAsync_v2(unsigned long long to, const void *from, size_t bytes,
                         void *) {
  note(__func__);
  std::memcpy(reinterpret_cast<void *>(to), from, bytes);
  return needContext();
}
int cuMemcpyDtoHAsync_v2(void *to, unsigned long long from, size_t bytes,
                         void *) {
  note(__func__);
  std::memcpy(to, reinterpret_cast<void *>(from), bytes);
  return needContext();
}
int cuMemcpyDtoDAsync_v2(unsigned long long to, unsigned long long from,
                         size_t bytes, void *) {
  note(__func__);
  std::memcpy(reinterpret_cast<void *>(to), reinterpret_cast<void *>(from),
              bytes);
  return needContext();
}
int cuMemsetD8Async(unsigned long long to, unsigned char byte, size_t count,
                    void *stream) {
  note(__func__);
  enqueue({"memset", {}, {}, 0, 1, {to, byte, count}, false, false, stream});
  return needContext();
}
int cuStreamCreate(void **stream, unsigned) {
  note(__func__);
  ++state.streams;
  *stream = &state.streams;
  return needContext();
}
int cuStreamDestroy_v2(void *) {
  note(__func__);
  --state.streams;
  return 0;
}
int cuStreamSynchronize(void *stream) {
  note(__func__);
  if (stream != &state.streams)
    return kInvalidValue;
  return state.syncStatus ? state.syncStatus : needContext();
}
int cuEventCreate(void **event, unsigned) {
  note(__func__);
  ++state.events;
  *event = &state.events;
  return needContext();
}
int cuEventDestroy_v2(void *) {
  note(__func__);
  --state.events;
  return 0;
}
int cuEventRecord(void *, void *) {
  note(__func__);
  return needContext();
}
int cuEventSynchronize(void *) {
  note(__func__);
  return needContext();
}
int cuEventElapsedTime(float *milliseconds, void *, void *) {
  note(__func__);
  *milliseconds = 0.5f;
  return needContext();
}
int cuModuleLoadDataEx(void **loaded, const void *image, unsigned count,
                       int *options, void **values) {
  note(__func__);
  state.image = static_cast<const char *>(image);
  if (state.image.find("wrong") != std::string::npos) {
    for (unsigned i = 0; i + 1 < count; ++i)
      if (options[i] == 5 && options[i + 1] == 6 &&
          reinterpret_cast<uintptr_t>(values[i + 1]) >= 64)
        std::strcpy(static_cast<char *>(values[i]),
                    "ptxas line 3: syntax error near 'wrong'\n");
    return kInvalidPtx;
  }
  ++state.modules;
  *loaded = &state.modules;
  return needContext();
}
int cuModuleUnload(void *) {
  note(__func__);
  --state.modules;
  return 0;
}
int cuModuleGetFunction(void **function, void *, const char *symbol) {
  note(__func__);
  if (state.image.find(symbol) == std::string::npos)
    return kNotFound;
  functions.push_back(std::make_unique<std::string>(symbol));
  *function = functions.back().get();
  return 0;
}
int cuFuncGetAttribute(int *value, int attribute, void *) {
  note(__func__);
  *value = attribute == 0   ? 512
           : attribute == 3 ? state.localBytes
           : attribute == 4 ? 40
                            : 0;
  return 0;
}
int cuFuncSetAttribute(void *function, int attribute, int value) {
  note(__func__);
  state.attributes.push_back(std::string(nameOf(function)) + " " +
                             std::to_string(attribute) + "=" +
                             std::to_string(value));
  return 0;
}
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *ctas, void *function,
                                                int threads, size_t shared) {
  note(__func__);
  state.occupancies.push_back(std::string(nameOf(function)) + " " +
                              std::to_string(threads) + " " +
                              std::to_string(shared));
  *ctas = state.ctasPerMultiprocessor;
  return needContext();
}
int cuLaunchCooperativeKernel(void *function, unsigned gx, unsigned gy,
                              unsigned gz, unsigned bx, unsigned by,
                              unsigned bz, unsigned shared, void *stream,
                              void **params) {
  note(__func__);
  if (!isStream(stream))
    return kInvalidValue;
  if (state.isForgetful)
    return state.launchStatus;
  return record(
      {nameOf(function), {gx, gy, gz}, {bx, by, bz}, shared, 1, {}, true},
      stream, params);
}
int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz,
                   unsigned bx, unsigned by, unsigned bz, unsigned shared,
                   void *stream, void **params, void **) {
  note(__func__);
  if (!isStream(stream))
    return kInvalidValue;
  if (state.isForgetful)
    return state.launchStatus;
  // The runtime's own kernel has other parameters.
  if (std::string(nameOf(function)) == "norm_read_all")
    return 0;
  return record({nameOf(function), {gx, gy, gz}, {bx, by, bz}, shared, 1, {}},
                stream, params);
}

struct FakeAttribute {
  int id;
  char pad[4];
  union {
    char bytes[64];
    unsigned cluster[3];
    int cooperative;
    int programmaticStreamSerializationAllowed;
  };
};
struct FakeConfig {
  unsigned grid[3], block[3], shared;
  void *stream;
  FakeAttribute *attributes;
  unsigned count;
};
#ifndef NORM_FAKE_CUDA_OLD
int cuLaunchKernelEx(const FakeConfig *config, void *function, void **params,
                     void **) {
  note(__func__);
  if (!isStream(config->stream))
    return kInvalidValue;
  if (state.isForgetful)
    return state.launchStatus;
  FakeLaunch launch{nameOf(function), {}, {}, config->shared, 1, {}};
  std::memcpy(launch.grid, config->grid, sizeof(launch.grid));
  std::memcpy(launch.block, config->block, sizeof(launch.block));
  for (unsigned i = 0; i < config->count; ++i) {
    if (config->attributes[i].id == 2)
      launch.cooperative = config->attributes[i].cooperative == 1;
    if (config->attributes[i].id == 4)
      launch.cluster = config->attributes[i].cluster[0];
    if (config->attributes[i].id == 6)
      launch.dependent =
          config->attributes[i].programmaticStreamSerializationAllowed == 1;
  }
  return record(launch, config->stream, params);
}
int cuOccupancyMaxActiveClusters(int *clusters, void *function,
                                 const FakeConfig *config) {
  note(__func__);
  if (config->count != 1 || config->attributes[0].id != 4)
    return kInvalidValue;
  state.occupancies.push_back(
      std::string(nameOf(function)) + " " + std::to_string(config->block[0]) +
      " " + std::to_string(config->shared) + " cluster " +
      std::to_string(config->attributes[0].cluster[0]));
  *clusters = state.clusters;
  return needContext();
}
#endif

#ifndef NORM_FAKE_CUDA_OLD
int cuDeviceGetPCIBusId(char *text, int bytes, int device) {
  note(__func__);
  if (device != 40 || bytes < 13)
    return kInvalidValue;
  std::strcpy(text, "0000:17:00.0");
  return 0;
}
int cuStreamIsCapturing(void *stream, int *status) {
  note(__func__);
  if (!isStream(stream))
    return kInvalidValue;
  *status = stream && stream == state.capturing;
  return needContext();
}
int cuStreamBeginCapture_v2(void *stream, int mode) {
  note(__func__);
  if (stream != &state.streams || mode != 1 || state.capturing)
    return kInvalidValue;
  state.capturing = stream;
  state.captured.clear();
  return needContext();
}
int cuStreamEndCapture(void *stream, void **graph) {
  note(__func__);
  if (stream != &state.streams || !state.capturing)
    return kInvalidValue;
  state.capturing = nullptr;
  ++state.graphs;
  *graph = &state.graphs;
  return needContext();
}
int cuGraphInstantiateWithFlags(void **executable, void *graph,
                                unsigned long long flags) {
  note(__func__);
  if (graph != &state.graphs || flags != 0)
    return kInvalidValue;
  ++state.graphExecs;
  *executable = &state.graphExecs;
  return needContext();
}
int cuGraphLaunch(void *executable, void *stream) {
  note(__func__);
  if (executable != &state.graphExecs || stream != &state.streams)
    return kInvalidValue;
  for (FakeLaunch work : state.captured) {
    work.stream = stream;
    carryOut(work);
  }
  return needContext();
}
int cuGraphDestroy(void *) {
  note(__func__);
  --state.graphs;
  return 0;
}
int cuGraphExecDestroy(void *) {
  note(__func__);
  --state.graphExecs;
  return 0;
}
#endif
} // extern "C"
