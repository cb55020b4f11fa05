//===- CudaClocks.cpp - Sensors of a CUDA device --------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A few calls of NVIDIA's management library, declared after its API reference
// and looked up at run time.
//
//===----------------------------------------------------------------------===//

#include "CudaContext.h"
#include "llvm/ADT/ScopeExit.h"
#include <dlfcn.h>

using namespace norm;
using namespace norm::cuda;

namespace {

constexpr const char *kManagementLibrary = "libnvidia-ml.so.1";

using NvmlDevice = struct NvmlDeviceObject *;

// nvmlClockType_t and nvmlTemperatureSensors_t
enum : int { kClockMultiprocessor = 1, kClockMemory = 2, kOnChip = 0 };

/// One call of the library; null where it lacks it.
template <typename Signature>
Signature *find(void *library, const char *name) {
  return reinterpret_cast<Signature *>(dlsym(library, name));
}

llvm::Error unavailable(const llvm::Twine &reason) {
  return llvm::createStringError("no clock readings: " + reason);
}

} // namespace

llvm::Expected<DeviceClocks> cuda::readClocks(const DeviceContext &context) {
  void *library = dlopen(kManagementLibrary, RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return unavailable(llvm::Twine(kManagementLibrary) + " isn't installed");
  auto close = llvm::scope_exit([&] { dlclose(library); });
  auto *init = find<int()>(library, "nvmlInit_v2");
  auto *shutdown = find<int()>(library, "nvmlShutdown");
  auto *byBus = find<int(const char *, NvmlDevice *)>(
      library, "nvmlDeviceGetHandleByPciBusId_v2");
  auto *clock = find<int(NvmlDevice, int, unsigned *)>(
      library, "nvmlDeviceGetClockInfo");
  auto *mostClock = find<int(NvmlDevice, int, unsigned *)>(
      library, "nvmlDeviceGetMaxClockInfo");
  auto *temperature = find<int(NvmlDevice, int, unsigned *)>(
      library, "nvmlDeviceGetTemperature");
  auto *power =
      find<int(NvmlDevice, unsigned *)>(library, "nvmlDeviceGetPowerUsage");
  const Driver &cu = context.driver();
  if (!init || !shutdown || !byBus || !clock || !cu.deviceGetPCIBusId)
    return unavailable("the driver is too old");

  char bus[64] = {};
  if (llvm::Error error = cu.check(
          cu.deviceGetPCIBusId(bus, sizeof(bus) - 1, context.id()),
          "cuDeviceGetPCIBusId"))
    return error;
  if (int status = init())
    return unavailable("nvmlInit gave " + llvm::Twine(status));
  auto end = llvm::scope_exit([&] { (void)shutdown(); });
  NvmlDevice device = nullptr;
  if (int status = byBus(bus, &device))
    return unavailable("nvmlDeviceGetHandleByPciBusId gave " +
                       llvm::Twine(status));
  // A sensor that isn't there leaves its 0.
  DeviceClocks clocks;
  (void)clock(device, kClockMultiprocessor, &clocks.coreMegahertz);
  (void)clock(device, kClockMemory, &clocks.memoryMegahertz);
  if (mostClock) {
    (void)mostClock(device, kClockMultiprocessor, &clocks.coreMostMegahertz);
    (void)mostClock(device, kClockMemory, &clocks.memoryMostMegahertz);
  }
  if (temperature)
    (void)temperature(device, kOnChip, &clocks.celsius);
  unsigned milliwatts = 0;
  if (power && power(device, &milliwatts) == 0)
    clocks.watts = milliwatts / 1000.0;
  return clocks;
}
