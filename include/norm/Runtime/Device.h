//===- Device.h - Devices, their memory, and loaded code --------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One interface over the host and CUDA devices. A device outlives nothing: the
// memory and the executables made by it keep what they need of it alive.
//
//===----------------------------------------------------------------------===//

#ifndef NORM_RUNTIME_DEVICE_H
#define NORM_RUNTIME_DEVICE_H

#include "norm/Runtime/LaunchPlan.h"
#include "norm/Support/Manifest.h"
#include "llvm/Support/Error.h"
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace norm {

class WorkspaceMemory;

/// There is no such device, or no driver for it: the one failure that says
/// nothing about the program or its input. Tools exit with status 3 on it.
class NoDeviceError : public llvm::ErrorInfo<NoDeviceError> {
public:
  static char ID;

  explicit NoDeviceError(std::string text) : text(std::move(text)) {}
  void log(llvm::raw_ostream &os) const override;
  std::error_code convertToErrorCode() const override;

private:
  std::string text;
};

/// A driver's call failed; the text says which and why.
class DeviceError : public llvm::ErrorInfo<DeviceError> {
public:
  static char ID;

  explicit DeviceError(std::string text) : text(std::move(text)) {}
  void log(llvm::raw_ostream &os) const override;
  std::error_code convertToErrorCode() const override;

private:
  std::string text;
};

/// Memory of a device, freed with the object.
class Buffer {
public:
  virtual ~Buffer();
  uint64_t address() const { return base; }
  uint64_t bytes() const { return size; }

protected:
  Buffer(uint64_t base, uint64_t size) : base(base), size(size) {}
  uint64_t base;
  uint64_t size;
};

/// Durations of the timed launches, in milliseconds, in order.
struct Timing {
  std::vector<double> milliseconds;

  double median() const { return quantile(0.5); }
  /// The value below which the share `share` (0 to 1) of the durations lies,
  /// interpolated between neighbours; NaN without durations.
  double quantile(double share) const;
};

struct TimingOptions {
  unsigned warmups = 5;
  unsigned launches = 50;
  /// No further launch is timed once this many milliseconds were spent, but
  /// at least three are.
  double budget = 4000;
};

/// Work that can be given to a device again and again. It returns before the
/// end of the work where the device is asynchronous.
using DeviceWork = std::function<llvm::Error()>;

/// How pieces of work are timed in turns.
struct TurnOptions : TimingOptions {
  /// Whether a GPU's L2 cache is filled with other, clean memory before each
  /// turn. Without, it holds what the work before left there.
  bool flush = false;
};

/// Numbers that a device tells of itself; 0 where it doesn't.
struct DeviceFacts {
  uint64_t cacheBytes = 0;      ///< the last cache before the memory
  unsigned multiprocessors = 0; ///< or cores
  double megahertz = 0;         ///< the highest clock of these
};

/// What a device's sensors tell at one moment; 0 where they don't.
struct DeviceClocks {
  unsigned coreMegahertz = 0;
  unsigned memoryMegahertz = 0;
  unsigned coreMostMegahertz = 0;   ///< the highest that the device allows
  unsigned memoryMostMegahertz = 0; ///< likewise
  unsigned celsius = 0;
  double watts = 0;
};

/// Copy speed of a device's memory.
struct CopyRate {
  double gigabytesPerSecond = 0; ///< 10^9 bytes, read and written ones, per s
  uint64_t bytes = 0;            ///< size of the copied buffer
};

/// Bytes read and written.
struct AccessBytes {
  uint64_t read = 0;
  uint64_t written = 0;
};

/// What a kernel did to one buffer.
struct BufferTraffic {
  unsigned buffer = 0;
  AccessBytes accessed; ///< by all accesses together
  AccessBytes distinct; ///< each byte once
  AccessBytes minimal;  ///< what the manifest says: all elements, once
};

/// What a kernel did to its buffers, by parameter.
struct KernelTraffic {
  std::vector<BufferTraffic> buffers;
};

/// A checked call with its temporaries, ready to be run any number of times.
class PreparedLaunch {
public:
  virtual ~PreparedLaunch();

  const LaunchPlan &plan() const { return launchPlan; }

  /// Runs the kernels in order, on the device's stream; returns before they
  /// end where the device is asynchronous. On a CUDA device nothing is
  /// allocated and nobody waits; in a stream that is being captured, the
  /// launch becomes part of the graph, which zeroes its own counters.
  virtual llvm::Error run() = 0;

  /// Times `plan().kernels[index]` alone, after a `run`. Between two launches
  /// a GPU's L2 cache is made cold; a launch's duration is that between two
  /// events around it. A kernel that isn't launched takes no time at all and
  /// gives one duration of 0.
  virtual llvm::Expected<Timing> time(unsigned index,
                                      const TimingOptions &options) = 0;

  /// The bytes that each kernel of the last run moved, on a device that counts
  /// them; else nothing. A kernel that wasn't launched has no buffers.
  virtual llvm::ArrayRef<KernelTraffic> traffic() const { return {}; }

protected:
  LaunchPlan launchPlan;
};

/// Where a call runs, and the memory it works in, of both of which the caller
/// is in charge.
struct LaunchOptions {
  /// The `CUstream` to enqueue on, 0 for the default stream; of no meaning
  /// elsewhere.
  uint64_t stream = 0;
  /// Memory of the device at a multiple of 256, of `workspaceSize` bytes or
  /// more, for this stream alone. 0: the executable has one for each stream,
  /// which grows; a call that is captured into a graph should have its own.
  uint64_t workspace = 0;
  uint64_t workspaceBytes = 0;
  /// The counters in the workspace are zero: it was zeroed as a whole, and
  /// since then used by calls of this executable with these extents only. Else
  /// the call zeroes them first.
  bool isCleared = false;
  /// The most CTAs that may run at once, 0 for any number.
  uint64_t maxCtas = 0;
};

/// Code loaded on a device. Not to be used by two threads at once, except by
/// `enqueue` and `workspaceSize`.
class Executable {
public:
  virtual ~Executable();

  const Manifest &manifest() const { return description; }

  /// Checks the arguments (see `planLaunch`) and allocates temporaries.
  virtual llvm::Expected<std::unique_ptr<PreparedLaunch>>
  prepare(llvm::ArrayRef<BoundArgument> arguments) = 0;

  /// Prepares, runs, and waits for the end.
  llvm::Error launch(llvm::ArrayRef<BoundArgument> arguments);

  /// Checks the arguments (see `planLaunch`) and runs the kernels; on a CUDA
  /// device enqueues them, and returns before they end. Besides what
  /// `planLaunch` refuses, an error for a workspace that is too small or not
  /// aligned.
  virtual llvm::Error enqueue(llvm::ArrayRef<BoundArgument> arguments,
                              const LaunchOptions &options = {}) = 0;
  /// The bytes of workspace that a call with these arguments needs; of the
  /// options, `maxCtas` counts.
  llvm::Expected<uint64_t>
  workspaceSize(llvm::ArrayRef<BoundArgument> arguments,
                const LaunchOptions &options = {}) const;

  /// What the device says about the loaded code (registers, local memory), one
  /// line per variant.
  virtual std::vector<std::string> notes() const { return {}; }

protected:
  explicit Executable(Manifest manifest) : description(std::move(manifest)) {}
  virtual llvm::Error synchronize() = 0;
  /// See `LaunchResources`.
  virtual uint64_t residentCtas(unsigned kernel, unsigned variant) const = 0;

  /// The plan of a call. `workspace` is what the options give, or what `own`
  /// puts there for so many bytes; null where the plan needs none.
  llvm::Expected<LaunchPlan>
  planWithWorkspace(llvm::ArrayRef<BoundArgument> arguments,
                    const LaunchOptions &options,
                    llvm::function_ref<llvm::Error(uint64_t bytes)> own,
                    std::shared_ptr<WorkspaceMemory> &workspace) const;

  Manifest description;
};

/// See `Device::makeCurrent`.
class ThreadScope {
public:
  virtual ~ThreadScope();
};

/// A device. Not to be used by two threads at once.
class Device {
public:
  virtual ~Device();

  /// `host` or `cuda:0`.
  virtual std::string name() const = 0;
  /// The product's name and what matters of it, for a report's first line.
  virtual std::string description() const = 0;
  /// The product's name, which those that are equally fast share: `NVIDIA
  /// H200`; where there is none, `name`.
  virtual std::string product() const { return name(); }
  /// The target to compile for: `host`, or `sm_90`.
  virtual std::string target() const = 0;
  /// Whether code is compiled for the host to be run as the target's threads.
  virtual bool isEmulated() const { return false; }
  /// `cuDriverGetVersion` (13000 is CUDA 13.0); 0 on the host.
  virtual unsigned driverVersion() const { return 0; }

  /// `bytes` bytes (0 is fine) whose address is `misalignment` bytes past a
  /// multiple of 256. The content is undefined.
  virtual llvm::Expected<std::unique_ptr<Buffer>>
  allocate(uint64_t bytes, uint64_t misalignment = 0) = 0;

  /// Sets every byte of the buffer.
  virtual llvm::Error fill(Buffer &buffer, uint8_t byte) = 0;
  /// Copies into the buffer from `offset` on; an error if it doesn't fit.
  virtual llvm::Error copyIn(Buffer &buffer, uint64_t offset,
                             llvm::ArrayRef<uint8_t> bytes) = 0;
  /// Copies out of the buffer from `offset` on; an error beyond its end.
  virtual llvm::Error copyOut(llvm::MutableArrayRef<uint8_t> bytes,
                              const Buffer &buffer, uint64_t offset) = 0;

  /// Loads an artifact: an ELF object on the host; PTX text or a cubin on a
  /// CUDA device. An error for another target, a manifest that doesn't verify,
  /// a missing symbol, a driver that is too old, or code that doesn't link
  /// (with the driver's log).
  virtual llvm::Expected<std::unique_ptr<Executable>>
  load(llvm::StringRef code, const Manifest &manifest) = 0;

  /// Waits until all launches have ended; an error if one failed.
  virtual llvm::Error synchronize() = 0;

  /// Keeps the device's context current in the calling thread, as long as the
  /// result lives, which must end in that thread. Nothing needs it; but every
  /// call has the context current while it lasts, and a launch from where it
  /// is current already is faster. Null where there are no contexts.
  virtual llvm::Expected<std::unique_ptr<ThreadScope>> makeCurrent();

  /// The rate of a large copy within the device's memory, median of several:
  /// of about `bytes` of traffic, but of 512 MiB at least on a GPU, and never
  /// of more than memory allows.
  virtual llvm::Expected<CopyRate> measureCopyRate(uint64_t bytes) = 0;

  virtual DeviceFacts facts() const { return {}; }

  /// The clocks at this moment; an error that says why they can't be read.
  virtual llvm::Expected<DeviceClocks> clocks() const;

  /// Times pieces of work one after the other, round after round, so that what
  /// changes in the meantime (clocks, temperature) changes for all. Duration
  /// `i` of each was measured in round `i`. On a GPU a duration is that between
  /// two events, and the device is busy while the host enqueues; elsewhere it
  /// is the host's time.
  virtual llvm::Expected<std::vector<Timing>>
  timeInTurns(llvm::ArrayRef<DeviceWork> works, const TurnOptions &options);

  /// The same work, enqueued faster: on a GPU, what `work` enqueues as one
  /// graph; elsewhere `work` itself. It must have been run before, and must not
  /// wait for the device. The result keeps `work` alive.
  virtual llvm::Expected<DeviceWork> record(DeviceWork work);
};

/// Opens `host`, `cuda:N`, `emulated` or `emulated:SEED` (a GPU's threads on
/// the host: EmulatedDevice.h), or `auto`: `cuda:0` where it can be opened,
/// else the host. `NoDeviceError` where there is no such device; another error
/// for another name.
llvm::Expected<std::unique_ptr<Device>> openDevice(llvm::StringRef name);

} // namespace norm

#endif // NORM_RUNTIME_DEVICE_H
