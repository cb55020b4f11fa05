//===- CudaDriver.h - The CUDA driver, loaded at run time -------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The part of the CUDA Driver API that norm calls, declared here so that
// neither a CUDA toolkit nor its headers are needed, and one table of entry
// points filled from the driver's library. Types and constants follow NVIDIA's
// CUDA Driver API reference, version 13.0; all calls exist since CUDA 11.0 but
// `cuLaunchKernelEx` (11.8) and `cuGraphInstantiateWithFlags` (11.4).
//
//===----------------------------------------------------------------------===//

#ifndef NORM_RUNTIME_CUDADRIVER_H
#define NORM_RUNTIME_CUDADRIVER_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstddef>
#include <cstdint>
#include <memory>

namespace norm::cuda {

using Status = int; // CUresult
using DeviceId = int;
using Address = unsigned long long; // CUdeviceptr
using Context = struct ContextObject *;
using Module = struct ModuleObject *;
using Function = struct FunctionObject *;
using Stream = struct StreamObject *;
using Event = struct EventObject *;
using Graph = struct GraphObject *;
using GraphExec = struct GraphExecObject *;

enum : Status { kSuccess = 0 };

/// CUdevice_attribute
enum DeviceAttribute : int {
  kMaxGridDimX = 5,
  kClockRate = 13, // kHz
  kMultiprocessorCount = 16,
  kMemoryClockRate = 36,      // kHz
  kGlobalMemoryBusWidth = 37, // bits
  kL2CacheSize = 38,          // bytes
  kComputeCapabilityMajor = 75,
  kComputeCapabilityMinor = 76,
  kCooperativeLaunch = 95,
  kMaxSharedMemoryPerBlockOptin = 97, // bytes
};

/// CUfunction_attribute
enum FunctionAttribute : int {
  kMaxThreadsPerBlock = 0,
  kSharedSizeBytes = 1,
  kLocalSizeBytes = 3,
  kNumRegs = 4,
  kMaxDynamicSharedSizeBytes = 8,
  kNonPortableClusterSizeAllowed = 14,
};

/// CUjit_option
enum JitOption : int {
  kInfoLogBuffer = 3,
  kInfoLogBufferSizeBytes = 4,
  kErrorLogBuffer = 5,
  kErrorLogBufferSizeBytes = 6,
};

/// CUlaunchAttributeID
enum LaunchAttributeId : int {
  kLaunchCooperative = 2,
  kLaunchClusterDimension = 4,
  kLaunchProgrammaticSerialization = 6,
};

/// CUstreamCaptureMode: calls of other threads aren't looked at.
enum CaptureMode : int { kCaptureThreadLocal = 1 };

/// CUlaunchAttribute
struct LaunchAttribute {
  LaunchAttributeId id;
  char padding[8 - sizeof(LaunchAttributeId)];
  union Value {
    char bytes[64];
    struct {
      unsigned x, y, z;
    } clusterDim;
    int cooperative;
    int programmaticSerialization;
    uint64_t aligned; // the union holds pointers
  } value;
};
static_assert(sizeof(LaunchAttribute) == 72);

/// CUlaunchConfig
struct LaunchConfig {
  unsigned gridDimX, gridDimY, gridDimZ;
  unsigned blockDimX, blockDimY, blockDimZ;
  unsigned sharedMemBytes;
  Stream stream;
  LaunchAttribute *attributes;
  unsigned numAttributes;
};
static_assert(sizeof(LaunchConfig) == 56);

/// The calls, by the names under which the library exports them. The arguments
/// are (member, exported name, parameters).
#define NORM_CUDA_CALLS(CALL)                                                  \
  CALL(init, "cuInit", (unsigned flags))                                       \
  CALL(driverGetVersion, "cuDriverGetVersion", (int *version))                 \
  CALL(getErrorName, "cuGetErrorName", (Status status, const char **text))     \
  CALL(getErrorString, "cuGetErrorString", (Status status, const char **text)) \
  CALL(deviceGetCount, "cuDeviceGetCount", (int *count))                       \
  CALL(deviceGet, "cuDeviceGet", (DeviceId * device, int ordinal))             \
  CALL(deviceGetName, "cuDeviceGetName",                                       \
       (char *text, int bytes, DeviceId device))                               \
  CALL(deviceGetAttribute, "cuDeviceGetAttribute",                             \
       (int *value, DeviceAttribute attribute, DeviceId device))               \
  CALL(primaryCtxRetain, "cuDevicePrimaryCtxRetain",                           \
       (Context * context, DeviceId device))                                   \
  CALL(primaryCtxRelease, "cuDevicePrimaryCtxRelease_v2", (DeviceId device))   \
  CALL(ctxSetCurrent, "cuCtxSetCurrent", (Context context))                    \
  CALL(ctxGetCurrent, "cuCtxGetCurrent", (Context * context))                  \
  CALL(ctxGetDevice, "cuCtxGetDevice", (DeviceId * device))                    \
  CALL(memGetInfo, "cuMemGetInfo_v2", (size_t *free, size_t *total))           \
  CALL(memAlloc, "cuMemAlloc_v2", (Address * address, size_t bytes))           \
  CALL(memFree, "cuMemFree_v2", (Address address))                             \
  CALL(memcpyHtoDAsync, "cuMemcpyHtoDAsync_v2",                                \
       (Address to, const void *from, size_t bytes, Stream stream))            \
  CALL(memcpyDtoHAsync, "cuMemcpyDtoHAsync_v2",                                \
       (void *to, Address from, size_t bytes, Stream stream))                  \
  CALL(memcpyDtoDAsync, "cuMemcpyDtoDAsync_v2",                                \
       (Address to, Address from, size_t bytes, Stream stream))                \
  CALL(memsetD8Async, "cuMemsetD8Async",                                       \
       (Address to, unsigned char byte, size_t count, Stream stream))          \
  CALL(streamCreate, "cuStreamCreate", (Stream * stream, unsigned flags))      \
  CALL(streamDestroy, "cuStreamDestroy_v2", (Stream stream))                   \
  CALL(streamSynchronize, "cuStreamSynchronize", (Stream stream))              \
  CALL(eventCreate, "cuEventCreate", (Event * event, unsigned flags))          \
  CALL(eventDestroy, "cuEventDestroy_v2", (Event event))                       \
  CALL(eventRecord, "cuEventRecord", (Event event, Stream stream))             \
  CALL(eventSynchronize, "cuEventSynchronize", (Event event))                  \
  CALL(eventElapsedTime, "cuEventElapsedTime",                                 \
       (float *milliseconds, Event start, Event end))                          \
  CALL(moduleLoadDataEx, "cuModuleLoadDataEx",                                 \
       (Module * loaded, const void *image, unsigned numOptions,               \
        JitOption *options, void **values))                                    \
  CALL(moduleUnload, "cuModuleUnload", (Module loaded))                        \
  CALL(moduleGetFunction, "cuModuleGetFunction",                               \
       (Function * function, Module loaded, const char *symbol))               \
  CALL(funcGetAttribute, "cuFuncGetAttribute",                                 \
       (int *value, FunctionAttribute attribute, Function function))           \
  CALL(funcSetAttribute, "cuFuncSetAttribute",                                 \
       (Function function, FunctionAttribute attribute, int value))            \
  CALL(occupancy, "cuOccupancyMaxActiveBlocksPerMultiprocessor",               \
       (int *ctas, Function function, int threads, size_t sharedBytes))        \
  CALL(launchCooperative, "cuLaunchCooperativeKernel",                         \
       (Function function, unsigned gridX, unsigned gridY, unsigned gridZ,     \
        unsigned blockX, unsigned blockY, unsigned blockZ,                     \
        unsigned sharedBytes, Stream stream, void **params))                   \
  CALL(launchKernel, "cuLaunchKernel",                                         \
       (Function function, unsigned gridX, unsigned gridY, unsigned gridZ,     \
        unsigned blockX, unsigned blockY, unsigned blockZ,                     \
        unsigned sharedBytes, Stream stream, void **params, void **extra))

/// The calls that a driver may lack, in the same form.
#define NORM_CUDA_OPTIONAL_CALLS(CALL)                                         \
  CALL(launchKernelEx, "cuLaunchKernelEx",                                     \
       (const LaunchConfig *config, Function function, void **params,          \
        void **extra))                                                         \
  CALL(occupancyOfClusters, "cuOccupancyMaxActiveClusters",                    \
       (int *clusters, Function function, const LaunchConfig *config))         \
  CALL(deviceGetPCIBusId, "cuDeviceGetPCIBusId",                               \
       (char *text, int bytes, DeviceId device))                               \
  CALL(streamIsCapturing, "cuStreamIsCapturing",                               \
       (Stream stream, int *status))                                           \
  CALL(streamBeginCapture, "cuStreamBeginCapture_v2",                          \
       (Stream stream, CaptureMode mode))                                      \
  CALL(streamEndCapture, "cuStreamEndCapture",                                 \
       (Stream stream, Graph * graph))                                         \
  CALL(graphInstantiate, "cuGraphInstantiateWithFlags",                        \
       (GraphExec * executable, Graph graph, unsigned long long flags))        \
  CALL(graphLaunch, "cuGraphLaunch", (GraphExec executable, Stream stream))    \
  CALL(graphDestroy, "cuGraphDestroy", (Graph graph))                          \
  CALL(graphExecDestroy, "cuGraphExecDestroy", (GraphExec executable))

/// The driver's entry points. A value of this class exists only if all calls
/// but the optional ones were found; of those that weren't, the member is null.
class Driver {
public:
  /// Loads the library once per call of `load`; it is never unloaded, because
  /// the driver keeps threads of its own. `norm::NoDeviceError` if it cannot be
  /// loaded or lacks a call.
  static llvm::Expected<std::shared_ptr<const Driver>>
  load(llvm::StringRef library);

  /// Success, or an error that names the call and gives the driver's text:
  /// `cuMemAlloc failed: out of memory (CUDA_ERROR_OUT_OF_MEMORY)`.
  llvm::Error check(Status status, llvm::StringRef call) const;

  /// The driver's text of a status other than success.
  std::string describe(Status status) const;

  // The arguments are declarators, which take no parentheses.
  // NOLINTBEGIN(bugprone-macro-parentheses)
#define NORM_CUDA_MEMBER(MEMBER, NAME, PARAMETERS)                             \
  Status(*MEMBER) PARAMETERS = nullptr;
  NORM_CUDA_CALLS(NORM_CUDA_MEMBER)
  NORM_CUDA_OPTIONAL_CALLS(NORM_CUDA_MEMBER)
#undef NORM_CUDA_MEMBER
  // NOLINTEND(bugprone-macro-parentheses)
};

} // namespace norm::cuda

#endif // NORM_RUNTIME_CUDADRIVER_H
