//===- HostDevice.cpp - The machine's own cores as a device ---------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Runtime/HostDevice.h"
#include "HostCode.h"
#include "Workspace.h"
#include "norm/Runtime/HostMemory.h"
#include "norm/Runtime/Workers.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/TargetParser/Host.h"
#include <algorithm>
#include <chrono>
#include <cstring>

using namespace norm;

namespace {

/// Least number of bytes per range of rows: below, handing a range to another
/// thread costs more than it saves.
constexpr uint64_t kBytesPerRange = 64 << 10;

double millisecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now() - start)
      .count();
}

class HostBuffer final : public Buffer {
public:
  HostBuffer(HostMemory owned, uint64_t misalignment, uint64_t size)
      : Buffer(uint64_t(uintptr_t(owned.get())) + misalignment, size),
        memory(std::move(owned)) {}
  uint8_t *data() const {
    return reinterpret_cast<uint8_t *>(uintptr_t(address()));
  }

private:
  HostMemory memory;
};

llvm::Expected<std::unique_ptr<HostBuffer>>
allocateHost(uint64_t bytes, uint64_t misalignment) {
  HostMemory memory =
      allocateHostMemory(llvm::SaturatingAdd(bytes, misalignment));
  if (!memory)
    return llvm::createStringError("expects " + llvm::Twine(bytes) +
                                   " bytes of host memory but got none");
  return std::make_unique<HostBuffer>(std::move(memory), misalignment, bytes);
}

llvm::Error clearCounters(const LaunchPlan &plan, WorkspaceMemory &workspace) {
  return workspace.enter(plan, [](uint64_t address, uint64_t bytes) {
    std::memset(reinterpret_cast<void *>(uintptr_t(address)), 0, bytes);
    return llvm::Error::success();
  });
}

void runKernel(const KernelLaunch &kernel, const HostCode &code,
               Workers &workers) {
  if (kernel.empty())
    return;
  HostKernel *function = code.kernel(kernel.kernel, kernel.variant);
  // The function is called for a range of groups of rows.
  uint64_t bytesPerGroup =
      std::max<uint64_t>(kernel.minimalBytes / kernel.groups, 1);
  int64_t grain = int64_t(kBytesPerRange / bytesPerGroup) + 1;
  const uint64_t *params = kernel.params.data();
  workers.forRanges(
      int64_t(kernel.groups), grain,
      [&](int64_t begin, int64_t end) { function(params, begin, end); });
}

class HostLaunch final : public PreparedLaunch {
public:
  HostLaunch(std::shared_ptr<Workers> workers, std::shared_ptr<HostCode> code,
             LaunchPlan plan, std::shared_ptr<WorkspaceMemory> workspace)
      : workers(std::move(workers)), code(std::move(code)),
        workspace(std::move(workspace)) {
    launchPlan = std::move(plan);
  }

  llvm::Error run() override {
    if (llvm::Error error = clearCounters(launchPlan, *workspace))
      return error;
    for (const KernelLaunch &kernel : launchPlan.kernels)
      runKernel(kernel, *code, *workers);
    return llvm::Error::success();
  }

  llvm::Expected<Timing> time(unsigned index,
                              const TimingOptions &options) override {
    const KernelLaunch &kernel = launchPlan.kernels[index];
    if (kernel.empty())
      return Timing{{0.0}};
    if (llvm::Error error = clearCounters(launchPlan, *workspace))
      return error;
    for (unsigned i = 0; i < options.warmups; ++i)
      runKernel(kernel, *code, *workers);
    Timing timing;
    auto start = std::chrono::steady_clock::now();
    for (unsigned i = 0; i < options.launches; ++i) {
      if (i >= 3 && millisecondsSince(start) > options.budget)
        break;
      auto begin = std::chrono::steady_clock::now();
      runKernel(kernel, *code, *workers);
      timing.milliseconds.push_back(millisecondsSince(begin));
    }
    return timing;
  }

private:
  std::shared_ptr<Workers> workers;
  std::shared_ptr<HostCode> code;
  std::shared_ptr<WorkspaceMemory> workspace;
};

class HostExecutable final : public Executable {
public:
  HostExecutable(Manifest manifest, std::shared_ptr<Workers> workers,
                 std::shared_ptr<HostCode> code)
      : Executable(std::move(manifest)), workers(std::move(workers)),
        code(std::move(code)) {}

  llvm::Expected<std::unique_ptr<PreparedLaunch>>
  prepare(llvm::ArrayRef<BoundArgument> arguments) override {
    std::shared_ptr<WorkspaceMemory> workspace;
    LaunchResources resources;
    auto shared = [&](uint64_t bytes) -> llvm::Expected<uint64_t> {
      if (llvm::Error error =
              pool.get(bytes,
                       [](uint64_t size) { return allocateHost(size, 0); })
                  .moveInto(workspace))
        return error;
      return workspace->address();
    };
    resources.workspace = shared;
    llvm::Expected<LaunchPlan> plan =
        planLaunch(description, arguments, resources);
    if (!plan)
      return plan.takeError();
    return std::make_unique<HostLaunch>(workers, code, std::move(*plan),
                                        std::move(workspace));
  }

  llvm::Error enqueue(llvm::ArrayRef<BoundArgument> arguments,
                      const LaunchOptions &options) override {
    // Rows are spread over cores, not over CTAs.
    LaunchOptions uncapped = options;
    uncapped.maxCtas = 0;
    std::shared_ptr<WorkspaceMemory> workspace;
    auto own = [&](uint64_t bytes) -> llvm::Error {
      llvm::Expected<std::unique_ptr<HostBuffer>> memory =
          allocateHost(bytes, 0);
      if (!memory)
        return memory.takeError();
      workspace = std::make_shared<WorkspaceMemory>(std::move(*memory));
      return llvm::Error::success();
    };
    llvm::Expected<LaunchPlan> plan =
        planWithWorkspace(arguments, uncapped, own, workspace);
    if (!plan)
      return plan.takeError();
    if (workspace)
      if (llvm::Error error = clearCounters(*plan, *workspace))
        return error;
    for (const KernelLaunch &kernel : plan->kernels)
      runKernel(kernel, *code, *workers);
    return llvm::Error::success();
  }

private:
  llvm::Error synchronize() override { return llvm::Error::success(); }
  uint64_t residentCtas(unsigned, unsigned) const override { return 1; }

  std::shared_ptr<Workers> workers;
  std::shared_ptr<HostCode> code;
  WorkspacePool pool;
};

class HostDevice final : public Device {
public:
  explicit HostDevice(unsigned threads)
      : workers(std::make_shared<Workers>(threads)) {}

  std::string name() const override { return "host"; }
  std::string target() const override { return "host"; }
  std::string description() const override;

  llvm::Expected<std::unique_ptr<Buffer>>
  allocate(uint64_t bytes, uint64_t misalignment) override {
    return allocateHost(bytes, misalignment);
  }
  llvm::Error fill(Buffer &buffer, uint8_t byte) override;
  llvm::Error copyIn(Buffer &buffer, uint64_t offset,
                     llvm::ArrayRef<uint8_t> bytes) override;
  llvm::Error copyOut(llvm::MutableArrayRef<uint8_t> bytes,
                      const Buffer &buffer, uint64_t offset) override;
  llvm::Expected<std::unique_ptr<Executable>>
  load(llvm::StringRef code, const Manifest &manifest) override;
  llvm::Error synchronize() override { return llvm::Error::success(); }
  llvm::Expected<CopyRate> measureCopyRate(uint64_t bytes) override;
  DeviceFacts facts() const override {
    DeviceFacts facts;
    facts.multiprocessors = workers->count();
    return facts;
  }

private:
  void copy(uint8_t *to, const uint8_t *from, uint64_t bytes);

  std::shared_ptr<Workers> workers;
};

/// The processor's name as the system tells it, else LLVM's name for it.
std::string processorName() {
  if (auto file = llvm::MemoryBuffer::getFileAsStream("/proc/cpuinfo")) {
    for (llvm::StringRef line : llvm::split((*file)->getBuffer(), '\n')) {
      auto [key, value] = line.split(':');
      if (key.trim() == "model name")
        return value.trim().str();
    }
  }
  return llvm::sys::getHostCPUName().str();
}

std::string HostDevice::description() const {
  return processorName() + ", " + llvm::utostr(workers->count()) +
         (workers->count() == 1 ? " thread" : " threads");
}

llvm::Error checkRange(uint64_t offset, uint64_t bytes, const Buffer &buffer) {
  if (offset <= buffer.bytes() && bytes <= buffer.bytes() - offset)
    return llvm::Error::success();
  return llvm::createStringError("expects a copy within " +
                                 llvm::Twine(buffer.bytes()) +
                                 " bytes but got " + llvm::Twine(bytes) +
                                 " bytes at " + llvm::Twine(offset));
}

void HostDevice::copy(uint8_t *to, const uint8_t *from, uint64_t bytes) {
  workers->forRanges(int64_t(bytes), 1 << 20, [&](int64_t begin, int64_t end) {
    std::memcpy(to + begin, from + begin, size_t(end - begin));
  });
}

llvm::Error HostDevice::fill(Buffer &buffer, uint8_t byte) {
  uint8_t *data = static_cast<HostBuffer &>(buffer).data();
  workers->forRanges(int64_t(buffer.bytes()), 1 << 20,
                     [&](int64_t begin, int64_t end) {
                       std::memset(data + begin, byte, size_t(end - begin));
                     });
  return llvm::Error::success();
}

llvm::Error HostDevice::copyIn(Buffer &buffer, uint64_t offset,
                               llvm::ArrayRef<uint8_t> bytes) {
  if (llvm::Error error = checkRange(offset, bytes.size(), buffer))
    return error;
  copy(static_cast<HostBuffer &>(buffer).data() + offset, bytes.data(),
       bytes.size());
  return llvm::Error::success();
}

llvm::Error HostDevice::copyOut(llvm::MutableArrayRef<uint8_t> bytes,
                                const Buffer &buffer, uint64_t offset) {
  if (llvm::Error error = checkRange(offset, bytes.size(), buffer))
    return error;
  copy(bytes.data(), static_cast<const HostBuffer &>(buffer).data() + offset,
       bytes.size());
  return llvm::Error::success();
}

llvm::Expected<std::unique_ptr<Executable>>
HostDevice::load(llvm::StringRef code, const Manifest &manifest) {
  if (llvm::Error error = verifyManifest(manifest))
    return error;
  if (manifest.target != "host")
    return llvm::createStringError("device host expects code for target host "
                                   "but got " +
                                   manifest.target);
  llvm::Expected<std::shared_ptr<HostCode>> linked =
      HostCode::link(code, manifest);
  if (!linked)
    return linked.takeError();
  return std::make_unique<HostExecutable>(manifest, workers,
                                          std::move(*linked));
}

llvm::Expected<CopyRate> HostDevice::measureCopyRate(uint64_t bytes) {
  // Half of the traffic is read, half written. The bounds keep the buffers
  // out of the caches and the measurement short.
  constexpr uint64_t kLeast = 64 << 20, kMost = 512 << 20;
  uint64_t size = std::clamp(bytes / 2, kLeast, kMost);
  llvm::Expected<std::unique_ptr<HostBuffer>> from = allocateHost(size, 0);
  if (!from)
    return from.takeError();
  llvm::Expected<std::unique_ptr<HostBuffer>> to = allocateHost(size, 0);
  if (!to)
    return to.takeError();
  if (llvm::Error error = fill(**from, 1))
    return error;
  Timing timing;
  for (unsigned i = 0; i < 9; ++i) {
    auto begin = std::chrono::steady_clock::now();
    copy((*to)->data(), (*from)->data(), size);
    // The first two make the pages.
    if (i >= 2)
      timing.milliseconds.push_back(millisecondsSince(begin));
  }
  return CopyRate{2.0 * double(size) / (timing.median() * 1e6), size};
}

} // namespace

llvm::Expected<std::unique_ptr<Device>> norm::openHostDevice(unsigned threads) {
  return std::make_unique<HostDevice>(threads);
}
