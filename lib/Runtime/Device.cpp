//===- Device.cpp - Devices, their memory, and loaded code ----------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Runtime/Device.h"
#include "Workspace.h"
#include "norm/Runtime/CudaDevice.h"
#include "norm/Runtime/EmulatedDevice.h"
#include "norm/Runtime/HostDevice.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>
#include <cmath>
#include <limits>

using namespace norm;

char NoDeviceError::ID = 0;

void NoDeviceError::log(llvm::raw_ostream &os) const { os << text; }

std::error_code NoDeviceError::convertToErrorCode() const {
  return std::make_error_code(std::errc::no_such_device);
}

char DeviceError::ID = 0;

void DeviceError::log(llvm::raw_ostream &os) const { os << text; }

std::error_code DeviceError::convertToErrorCode() const {
  return std::make_error_code(std::errc::io_error);
}

Buffer::~Buffer() = default;
PreparedLaunch::~PreparedLaunch() = default;
Executable::~Executable() = default;
ThreadScope::~ThreadScope() = default;
Device::~Device() = default;

double Timing::quantile(double share) const {
  if (milliseconds.empty())
    return std::numeric_limits<double>::quiet_NaN();
  std::vector<double> sorted = milliseconds;
  llvm::sort(sorted);
  double position = share * double(sorted.size() - 1);
  size_t below = size_t(position);
  size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], position - double(below));
}

llvm::Error Executable::launch(llvm::ArrayRef<BoundArgument> arguments) {
  llvm::Expected<std::unique_ptr<PreparedLaunch>> prepared = prepare(arguments);
  if (!prepared)
    return prepared.takeError();
  llvm::Error error = (*prepared)->run();
  // The temporaries must outlive the kernels, even after a failed launch.
  return llvm::joinErrors(std::move(error), synchronize());
}

/// What the parts of a workspace are aligned to.
static constexpr uint64_t kWorkspaceAlignment = 256;

static llvm::Error checkWorkspace(const LaunchOptions &options,
                                  uint64_t bytes) {
  if (options.workspace % kWorkspaceAlignment != 0)
    return llvm::createStringError(
        "expects a workspace aligned to " + llvm::Twine(kWorkspaceAlignment) +
        " bytes but got 0x" + llvm::utohexstr(options.workspace));
  if (options.workspaceBytes < bytes)
    return llvm::createStringError("expects a workspace of " +
                                   llvm::Twine(bytes) + " bytes but got " +
                                   llvm::Twine(options.workspaceBytes));
  return llvm::Error::success();
}

llvm::Expected<LaunchPlan> Executable::planWithWorkspace(
    llvm::ArrayRef<BoundArgument> arguments, const LaunchOptions &options,
    llvm::function_ref<llvm::Error(uint64_t)> own,
    std::shared_ptr<WorkspaceMemory> &workspace) const {
  auto take = [&](uint64_t bytes) -> llvm::Expected<uint64_t> {
    if (bytes == 0)
      return 0;
    if (options.workspace == 0) {
      if (llvm::Error error = own(bytes))
        return std::move(error);
      return workspace->address();
    }
    if (llvm::Error error = checkWorkspace(options, bytes))
      return std::move(error);
    workspace = std::make_shared<WorkspaceMemory>(
        std::make_unique<BorrowedBuffer>(options.workspace, bytes),
        /*isCallers=*/true);
    return options.workspace;
  };
  auto resident = [&](unsigned kernel, unsigned variant) {
    return residentCtas(kernel, variant);
  };
  LaunchResources resources;
  resources.workspace = take;
  resources.residentCtas = resident;
  resources.maxCtas = options.maxCtas;
  llvm::Expected<LaunchPlan> plan =
      planLaunch(description, arguments, resources);
  if (plan && workspace && options.workspace && options.isCleared)
    workspace->assumeCleared(*plan);
  return plan;
}

llvm::Expected<uint64_t>
Executable::workspaceSize(llvm::ArrayRef<BoundArgument> arguments,
                          const LaunchOptions &options) const {
  auto resident = [&](unsigned kernel, unsigned variant) {
    return residentCtas(kernel, variant);
  };
  auto none = [](uint64_t) -> llvm::Expected<uint64_t> { return 0; };
  LaunchResources resources;
  resources.workspace = none;
  resources.residentCtas = resident;
  resources.maxCtas = options.maxCtas;
  llvm::Expected<LaunchPlan> plan =
      planLaunch(description, arguments, resources);
  if (!plan)
    return plan.takeError();
  return plan->workspaceBytes;
}

llvm::Expected<DeviceClocks> Device::clocks() const {
  return llvm::createStringError("device " + name() + " has no clock readings");
}

llvm::Expected<std::unique_ptr<ThreadScope>> Device::makeCurrent() {
  return nullptr;
}

llvm::Expected<DeviceWork> Device::record(DeviceWork work) { return work; }

llvm::Expected<std::vector<Timing>>
Device::timeInTurns(llvm::ArrayRef<DeviceWork> works,
                    const TurnOptions &options) {
  using Clock = std::chrono::steady_clock;
  auto since = [](Clock::time_point start) {
    return std::chrono::duration<double, std::milli>(Clock::now() - start)
        .count();
  };
  std::vector<Timing> timings(works.size());
  Clock::time_point start;
  for (unsigned i = 0; i < options.warmups + options.launches; ++i) {
    bool isTimed = i >= options.warmups;
    if (i == options.warmups)
      start = Clock::now();
    if (i >= options.warmups + 3 && since(start) > options.budget)
      break;
    for (auto [work, timing] : llvm::zip(works, timings)) {
      Clock::time_point begin = Clock::now();
      if (llvm::Error error = work())
        return error;
      if (llvm::Error error = synchronize())
        return error;
      if (isTimed)
        timing.milliseconds.push_back(since(begin));
    }
  }
  return timings;
}

llvm::Expected<std::unique_ptr<Device>> norm::openDevice(llvm::StringRef name) {
  if (name == "host")
    return openHostDevice();
  if (name == "auto") {
    llvm::Expected<std::unique_ptr<Device>> device = openCudaDevice(0);
    if (device)
      return device;
    // Only the lack of a device makes the host the answer; a device that is
    // there but fails is reported.
    if (llvm::Error other = llvm::handleErrors(device.takeError(),
                                               [](const NoDeviceError &) {}))
      return other;
    return openHostDevice();
  }
  if (llvm::StringRef seed = name; seed.consume_front("emulated")) {
    EmulatedOptions options;
    if (seed.empty() ||
        (seed.consume_front(":") && !seed.getAsInteger(10, options.seed)))
      return openEmulatedDevice(options);
  }
  llvm::StringRef ordinal = name;
  unsigned index = 0;
  if (ordinal.consume_front("cuda:") && !ordinal.getAsInteger(10, index))
    return openCudaDevice(index);
  return llvm::createStringError("expects device auto, host, emulated or "
                                 "cuda:N but got '" +
                                 name + "'");
}
