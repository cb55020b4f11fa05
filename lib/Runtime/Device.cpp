//===- Device.cpp - Devices, their memory, and loaded code ----------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Runtime/Device.h"
#include "norm/Runtime/CudaDevice.h"
#include "norm/Runtime/EmulatedDevice.h"
#include "norm/Runtime/HostDevice.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <limits>

using namespace norm;

char NoDeviceError::ID = 0;

void NoDeviceError::log(llvm::raw_ostream &os) const { os << text; }

std::error_code NoDeviceError::convertToErrorCode() const {
  return std::make_error_code(std::errc::no_such_device);
}

Buffer::~Buffer() = default;
PreparedLaunch::~PreparedLaunch() = default;
Executable::~Executable() = default;
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
