//===- CudaContext.h - An opened CUDA device and its stream -----*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_LIB_RUNTIME_CUDACONTEXT_H
#define NORM_LIB_RUNTIME_CUDACONTEXT_H

#include "norm/Runtime/CudaDriver.h"
#include "norm/Runtime/Device.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace norm::cuda {

struct DeviceProperties {
  std::string name;
  int major = 0;
  int minor = 0;
  int multiprocessors = 0;
  int clock = 0;       ///< kHz
  int memoryClock = 0; ///< kHz
  int busWidth = 0;    ///< bits
  int l2Bytes = 0;
  int sharedBytes = 0; ///< most that one CTA may ask for
  int driver = 0;      ///< cuDriverGetVersion
  int cooperative = 0; ///< 1: cooperative launches
};

/// A context of one device and one stream in it, shared by all that lives on
/// the device.
class DeviceContext {
public:
  /// The primary context of a device.
  static llvm::Expected<std::shared_ptr<DeviceContext>>
  open(unsigned ordinal, llvm::StringRef library);
  /// A context that somebody else owns, and keeps as long as this exists.
  static llvm::Expected<std::shared_ptr<DeviceContext>>
  borrow(Context borrowed, llvm::StringRef library);
  ~DeviceContext();

  const Driver &driver() const { return *table; }
  const DeviceProperties &properties() const { return props; }
  cuda::Stream stream() const { return queue; }
  Context handle() const { return context; }
  DeviceId id() const { return device; }

  llvm::Error synchronize() const;

private:
  explicit DeviceContext(std::shared_ptr<const Driver> table)
      : table(std::move(table)) {}
  llvm::Error readProperties();
  llvm::Error createStream();

  std::shared_ptr<const Driver> table;
  DeviceId device = 0;
  Context context = nullptr;
  bool isBorrowed = false;
  cuda::Stream queue = nullptr;
  DeviceProperties props;
};

/// Has a context current in the calling thread until the end of the scope, and
/// then what was current before; every entry point of the runtime has one.
class CurrentContext {
public:
  explicit CurrentContext(const DeviceContext &context) : context(context) {}
  ~CurrentContext();
  CurrentContext(const CurrentContext &) = delete;
  CurrentContext &operator=(const CurrentContext &) = delete;

  llvm::Error enter();

private:
  const DeviceContext &context;
  Context before = nullptr;
  bool isChanged = false;
};

/// Memory of a CUDA device.
class CudaBuffer final : public Buffer {
public:
  static llvm::Expected<std::unique_ptr<CudaBuffer>>
  create(std::shared_ptr<DeviceContext> context, uint64_t bytes,
         uint64_t misalignment);
  ~CudaBuffer() override;

private:
  CudaBuffer(std::shared_ptr<DeviceContext> context, Address memory,
             uint64_t misalignment, uint64_t bytes)
      : Buffer(memory + misalignment, bytes), context(std::move(context)),
        memory(memory) {}

  std::shared_ptr<DeviceContext> context;
  Address memory;
};

/// A loaded module, unloaded with the object.
class LoadedModule {
public:
  /// `image` is PTX text or a cubin. On failure the error carries the log of
  /// the driver's compiler.
  static llvm::Expected<std::unique_ptr<LoadedModule>>
  load(std::shared_ptr<DeviceContext> context, llvm::StringRef image);
  ~LoadedModule();

  llvm::Expected<Function> function(const std::string &symbol) const;

private:
  LoadedModule(std::shared_ptr<DeviceContext> context, Module loaded)
      : context(std::move(context)), loaded(loaded) {}

  std::shared_ptr<DeviceContext> context;
  Module loaded;
};

/// Durations on the stream of what `body` enqueues, one per call.
///
/// A body with less traffic than four times the L2 cache starts with a cold
/// cache: before each call the cache is filled by reading other memory, which
/// leaves no dirty lines to be written back meanwhile. A larger body evicts
/// its own traces and runs back to back, so that each pays for writing back
/// what its predecessor left in the cache. Either way the device is busy while
/// the host enqueues, and the host's latency isn't timed.
llvm::Expected<Timing> timeOnStream(std::shared_ptr<DeviceContext> context,
                                    uint64_t traffic,
                                    const TimingOptions &options,
                                    llvm::function_ref<llvm::Error()> body);

/// The same for several bodies that take turns, flushed or not as the options
/// say (`Device::timeInTurns`).
llvm::Expected<std::vector<Timing>>
timeTurnsOnStream(std::shared_ptr<DeviceContext> context,
                  llvm::ArrayRef<DeviceWork> bodies,
                  const TurnOptions &options);

/// What `work` enqueues on the context's stream, as a graph that is launched
/// (`Device::record`). An error for a driver without graphs, and for work that
/// can't be captured.
llvm::Expected<DeviceWork> recordGraph(std::shared_ptr<DeviceContext> context,
                                       DeviceWork work);

/// Reads the sensors through NVIDIA's management library. An error where it
/// can't be loaded or doesn't know the device.
llvm::Expected<DeviceClocks> readClocks(const DeviceContext &context);

} // namespace norm::cuda

#endif // NORM_LIB_RUNTIME_CUDACONTEXT_H
