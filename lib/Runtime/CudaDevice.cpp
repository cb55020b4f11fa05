//===- CudaDevice.cpp - A CUDA device -------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Runtime/CudaDevice.h"
#include "CudaLaunch.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>
#include <limits>
#include <map>
#include <mutex>

using namespace norm;
using namespace norm::cuda;

namespace {

/// Shared memory a CTA gets without asking, in bytes.
constexpr uint64_t kDefaultShared = 48 << 10;
/// The largest cluster that every device with clusters takes.
constexpr unsigned kPortableCluster = 8;
/// Bytes of local memory per thread at most where registers are capped.
constexpr int kMostLocalBytes = 1024;

class CudaLaunch final : public PreparedLaunch {
public:
  static llvm::Expected<std::unique_ptr<PreparedLaunch>>
  create(std::shared_ptr<const CudaCode> code, LaunchPlan plan,
         std::shared_ptr<WorkspaceMemory> workspace) {
    std::unique_ptr<CudaLaunch> launch(
        new CudaLaunch(std::move(code), std::move(plan), std::move(workspace)));
    if (llvm::Error error = launch->calls.prepare())
      return error;
    return launch;
  }

  llvm::Error run() override {
    CurrentContext current(*code->context);
    if (llvm::Error error = current.enter())
      return error;
    return calls.run(workspace.get());
  }

  llvm::Expected<Timing> time(unsigned index,
                              const TimingOptions &options) override {
    KernelLaunch &kernel = launchPlan.kernels[index];
    if (kernel.empty())
      return Timing{{0.0}};
    CurrentContext current(*code->context);
    if (llvm::Error error = current.enter())
      return error;
    if (llvm::Error error = calls.clearCounters(*workspace))
      return error;
    llvm::Expected<Timing> timing =
        timeOnStream(code->context, kernel.minimalBytes, options,
                     [&] { return calls.launch(index); });
    if (!timing)
      workspace->invalidate();
    return timing;
  }

private:
  CudaLaunch(std::shared_ptr<const CudaCode> loaded, LaunchPlan plan,
             std::shared_ptr<WorkspaceMemory> workspace)
      : code(std::move(loaded)), workspace(std::move(workspace)),
        calls(*code, launchPlan, code->context->stream()) {
    launchPlan = std::move(plan);
  }

  std::shared_ptr<const CudaCode> code;
  std::shared_ptr<WorkspaceMemory> workspace;
  CudaCalls calls;
};

class CudaExecutable final : public Executable {
public:
  explicit CudaExecutable(std::shared_ptr<const CudaCode> loaded)
      : Executable(loaded->manifest), code(std::move(loaded)) {}

  llvm::Expected<std::unique_ptr<PreparedLaunch>>
  prepare(llvm::ArrayRef<BoundArgument> arguments) override;
  llvm::Error enqueue(llvm::ArrayRef<BoundArgument> arguments,
                      const LaunchOptions &options) override;

  std::vector<std::string> notes() const override {
    std::vector<std::string> lines;
    for (auto [kernel, variants] :
         llvm::zip(description.kernels, code->kernels))
      for (auto [variant, loaded] : llvm::zip(kernel.variants, variants))
        lines.push_back(
            llvm::formatv("{0}: {1} registers, {2} bytes of local memory",
                          variant.symbol, loaded.registers, loaded.localBytes));
    return lines;
  }

private:
  llvm::Error synchronize() override {
    CurrentContext current(*code->context);
    if (llvm::Error error = current.enter())
      return error;
    llvm::Error error = code->context->synchronize();
    if (error)
      pool.invalidate();
    return error;
  }
  uint64_t residentCtas(unsigned kernel, unsigned variant) const override {
    return code->kernels[kernel][variant].residentCtas;
  }

  std::shared_ptr<const CudaCode> code;
  WorkspacePool pool;
  std::mutex mutex; ///< of what follows, and while it's used
  std::map<uint64_t, WorkspacePool> streamPools;
};

llvm::Error CudaExecutable::enqueue(llvm::ArrayRef<BoundArgument> arguments,
                                    const LaunchOptions &options) {
  CurrentContext current(*code->context);
  if (llvm::Error error = current.enter())
    return error;
  std::shared_ptr<WorkspaceMemory> workspace;
  std::unique_lock<std::mutex> lock(mutex, std::defer_lock);
  auto own = [&](uint64_t bytes) -> llvm::Error {
    // Until all is enqueued: launches on one stream follow each other.
    lock.lock();
    return streamPools[options.stream]
        .get(bytes,
             [&](uint64_t size) {
               return CudaBuffer::create(code->context, size, 0);
             })
        .moveInto(workspace);
  };
  llvm::Expected<LaunchPlan> plan =
      planWithWorkspace(arguments, options, own, workspace);
  if (!plan)
    return plan.takeError();
  // The driver's handles are pointers.
  auto stream = reinterpret_cast<cuda::Stream>(uintptr_t(options.stream));
  CudaCalls calls(*code, *plan, stream);
  if (llvm::Error error = calls.prepare())
    return error;
  return calls.run(workspace.get());
}

llvm::Expected<std::unique_ptr<PreparedLaunch>>
CudaExecutable::prepare(llvm::ArrayRef<BoundArgument> arguments) {
  std::shared_ptr<WorkspaceMemory> workspace;
  auto allocate = [&](uint64_t bytes) {
    return CudaBuffer::create(code->context, bytes, 0);
  };
  auto shared = [&](uint64_t bytes) -> llvm::Expected<uint64_t> {
    if (llvm::Error error = pool.get(bytes, allocate).moveInto(workspace))
      return error;
    return workspace->address();
  };
  auto resident = [&](unsigned kernel, unsigned variant) {
    return residentCtas(kernel, variant);
  };
  LaunchResources resources;
  resources.workspace = shared;
  resources.residentCtas = resident;
  llvm::Expected<LaunchPlan> plan =
      planLaunch(description, arguments, resources);
  if (!plan)
    return plan.takeError();
  return CudaLaunch::create(code, std::move(*plan), std::move(workspace));
}

class CudaThreadScope final : public ThreadScope {
public:
  explicit CudaThreadScope(std::shared_ptr<DeviceContext> entered)
      : context(std::move(entered)), current(*context) {}
  llvm::Error enter() { return current.enter(); }

private:
  std::shared_ptr<DeviceContext> context;
  CurrentContext current;
};

class CudaDevice final : public Device {
public:
  CudaDevice(std::string title, std::shared_ptr<DeviceContext> context)
      : title(std::move(title)), context(std::move(context)) {}

  std::string name() const override { return title; }
  std::string description() const override;
  std::string product() const override { return context->properties().name; }
  std::string target() const override {
    const DeviceProperties &props = context->properties();
    return llvm::formatv("sm_{0}{1}", props.major, props.minor);
  }
  unsigned driverVersion() const override {
    return unsigned(context->properties().driver);
  }

  llvm::Expected<std::unique_ptr<Buffer>>
  allocate(uint64_t bytes, uint64_t misalignment) override {
    return CudaBuffer::create(context, bytes, misalignment);
  }
  llvm::Error fill(Buffer &buffer, uint8_t byte) override;
  llvm::Error copyIn(Buffer &buffer, uint64_t offset,
                     llvm::ArrayRef<uint8_t> bytes) override;
  llvm::Error copyOut(llvm::MutableArrayRef<uint8_t> bytes,
                      const Buffer &buffer, uint64_t offset) override;
  llvm::Expected<std::unique_ptr<Executable>>
  load(llvm::StringRef code, const Manifest &manifest) override;
  llvm::Error synchronize() override {
    CurrentContext current(*context);
    if (llvm::Error error = current.enter())
      return error;
    return context->synchronize();
  }
  llvm::Expected<std::unique_ptr<ThreadScope>> makeCurrent() override {
    auto scope = std::make_unique<CudaThreadScope>(context);
    if (llvm::Error error = scope->enter())
      return error;
    return scope;
  }
  llvm::Expected<CopyRate> measureCopyRate(uint64_t bytes) override;
  DeviceFacts facts() const override;
  llvm::Expected<DeviceClocks> clocks() const override {
    return readClocks(*context);
  }
  llvm::Expected<std::vector<Timing>>
  timeInTurns(llvm::ArrayRef<DeviceWork> works,
              const TurnOptions &options) override {
    return timeTurnsOnStream(context, works, options);
  }
  llvm::Expected<DeviceWork> record(DeviceWork work) override {
    return recordGraph(context, std::move(work));
  }

private:
  llvm::Error checkTarget(const Manifest &manifest) const;
  llvm::Expected<CudaVariant> loadVariant(const LoadedModule &module,
                                          const Variant &variant);
  llvm::Expected<uint64_t> countResident(const Variant &variant,
                                         Function function);
  uint64_t countClusters(const Variant &variant, Function function);

  std::string title;
  std::shared_ptr<DeviceContext> context;
};

std::string CudaDevice::description() const {
  const DeviceProperties &props = context->properties();
  return llvm::formatv("{0}, sm_{1}{2}, {3} SMs at {4} MHz, L2 {5} MiB, "
                       "driver CUDA {6}.{7}",
                       props.name, props.major, props.minor,
                       props.multiprocessors, props.clock / 1000,
                       props.l2Bytes >> 20, props.driver / 1000,
                       props.driver % 1000 / 10);
}

DeviceFacts CudaDevice::facts() const {
  const DeviceProperties &props = context->properties();
  DeviceFacts facts;
  facts.cacheBytes = uint64_t(props.l2Bytes);
  facts.multiprocessors = unsigned(props.multiprocessors);
  facts.megahertz = props.clock / 1000.0;
  return facts;
}

llvm::Error checkRange(uint64_t offset, uint64_t bytes, const Buffer &buffer) {
  if (offset <= buffer.bytes() && bytes <= buffer.bytes() - offset)
    return llvm::Error::success();
  return llvm::createStringError("expects a copy within " +
                                 llvm::Twine(buffer.bytes()) +
                                 " bytes but got " + llvm::Twine(bytes) +
                                 " bytes at " + llvm::Twine(offset));
}

llvm::Error CudaDevice::fill(Buffer &buffer, uint8_t byte) {
  if (buffer.bytes() == 0)
    return llvm::Error::success();
  const Driver &cu = context->driver();
  CurrentContext current(*context);
  if (llvm::Error error = current.enter())
    return error;
  return cu.check(cu.memsetD8Async(buffer.address(), byte,
                                   size_t(buffer.bytes()), context->stream()),
                  "cuMemsetD8Async");
}

llvm::Error CudaDevice::copyIn(Buffer &buffer, uint64_t offset,
                               llvm::ArrayRef<uint8_t> bytes) {
  if (llvm::Error error = checkRange(offset, bytes.size(), buffer))
    return error;
  if (bytes.empty())
    return llvm::Error::success();
  const Driver &cu = context->driver();
  CurrentContext current(*context);
  if (llvm::Error error = current.enter())
    return error;
  if (llvm::Error error =
          cu.check(cu.memcpyHtoDAsync(buffer.address() + offset, bytes.data(),
                                      bytes.size(), context->stream()),
                   "cuMemcpyHtoDAsync"))
    return error;
  // The source belongs to the caller, who may free it at once.
  return context->synchronize();
}

llvm::Error CudaDevice::copyOut(llvm::MutableArrayRef<uint8_t> bytes,
                                const Buffer &buffer, uint64_t offset) {
  if (llvm::Error error = checkRange(offset, bytes.size(), buffer))
    return error;
  if (bytes.empty())
    return llvm::Error::success();
  const Driver &cu = context->driver();
  CurrentContext current(*context);
  if (llvm::Error error = current.enter())
    return error;
  if (llvm::Error error =
          cu.check(cu.memcpyDtoHAsync(bytes.data(), buffer.address() + offset,
                                      bytes.size(), context->stream()),
                   "cuMemcpyDtoHAsync"))
    return error;
  return context->synchronize();
}

llvm::Error CudaDevice::checkTarget(const Manifest &manifest) const {
  const DeviceProperties &props = context->properties();
  llvm::StringRef arch = manifest.target;
  int have = props.major * 10 + props.minor, want = 0;
  bool specific = arch.ends_with("a") || arch.ends_with("f");
  bool valid =
      arch.consume_front("sm_") && !arch.rtrim("af").getAsInteger(10, want);
  // Code for a plain target runs on every later one; for an architecture's
  // own features ("a"), on that one alone.
  if (!valid || want > have || (specific && want != have))
    return llvm::createStringError("device " + name() + " expects code for " +
                                   target() + " but got " + manifest.target);
  if (manifest.minDriver > unsigned(props.driver))
    return llvm::createStringError(
        "device " + name() + " expects code for driver " +
        llvm::Twine(props.driver) + " or older but got " +
        llvm::Twine(manifest.minDriver));
  return llvm::Error::success();
}

llvm::Expected<CudaVariant> CudaDevice::loadVariant(const LoadedModule &module,
                                                    const Variant &variant) {
  const Driver &cu = context->driver();
  CudaVariant loaded;
  if (llvm::Error error =
          module.function(variant.symbol).moveInto(loaded.function))
    return error;
  auto get = [&](FunctionAttribute attribute, int &value) {
    return cu.check(cu.funcGetAttribute(&value, attribute, loaded.function),
                    "cuFuncGetAttribute of '" + variant.symbol + "'");
  };
  auto set = [&](FunctionAttribute attribute, int value) {
    return cu.check(cu.funcSetAttribute(loaded.function, attribute, value),
                    "cuFuncSetAttribute of '" + variant.symbol + "'");
  };
  int threads = 0, shared = 0;
  for (auto [attribute, value] : {std::pair(kMaxThreadsPerBlock, &threads),
                                  {kSharedSizeBytes, &shared},
                                  {kNumRegs, &loaded.registers},
                                  {kLocalSizeBytes, &loaded.localBytes}})
    if (llvm::Error error = get(attribute, *value))
      return error;
  if (variant.block > unsigned(threads))
    return llvm::createStringError(
        "kernel '" + variant.symbol + "': expects at most " +
        llvm::Twine(threads) + " threads per CTA but got " +
        llvm::Twine(variant.block));
  uint64_t needed = variant.dynamicShared + uint64_t(shared);
  uint64_t allowed = uint64_t(context->properties().sharedBytes);
  if (needed > allowed)
    return llvm::createStringError(
        "kernel '" + variant.symbol + "': expects at most " +
        llvm::Twine(allowed) + " bytes of shared memory per CTA but got " +
        llvm::Twine(needed));
  if (needed > kDefaultShared)
    if (llvm::Error error =
            set(kMaxDynamicSharedSizeBytes, int(variant.dynamicShared)))
      return error;
  if (variant.cluster > kPortableCluster)
    if (llvm::Error error = set(kNonPortableClusterSizeAllowed, 1))
      return error;
  if (variant.persistent)
    loaded.residentCtas = countClusters(variant, loaded.function);
  else if (variant.split != 1)
    if (llvm::Error error = countResident(variant, loaded.function)
                                .moveInto(loaded.residentCtas))
      return error;
  return loaded;
}

/// How many CTAs the device holds at once; 0 without cooperative launches.
llvm::Expected<uint64_t> CudaDevice::countResident(const Variant &variant,
                                                   Function function) {
  const Driver &cu = context->driver();
  const DeviceProperties &props = context->properties();
  if (!props.cooperative)
    return 0;
  int perMultiprocessor = 0;
  if (llvm::Error error = cu.check(
          cu.occupancy(&perMultiprocessor, function, int(variant.block),
                       size_t(variant.dynamicShared)),
          "cuOccupancyMaxActiveBlocksPerMultiprocessor of '" + variant.symbol +
              "'"))
    return error;
  return uint64_t(std::max(perMultiprocessor, 0)) *
         uint64_t(std::max(props.multiprocessors, 0));
}

/// The CTAs of all clusters that the device holds at once; any number where the
/// driver can't tell.
uint64_t CudaDevice::countClusters(const Variant &variant, Function function) {
  const Driver &cu = context->driver();
  if (!cu.occupancyOfClusters)
    return std::numeric_limits<uint64_t>::max();
  LaunchAttribute attribute = {};
  attribute.id = kLaunchClusterDimension;
  attribute.value.clusterDim = {variant.cluster, 1, 1};
  LaunchConfig config = {variant.cluster,
                         1,
                         1,
                         variant.block,
                         1,
                         1,
                         unsigned(variant.dynamicShared),
                         nullptr,
                         &attribute,
                         1};
  int clusters = 0;
  if (cu.occupancyOfClusters(&clusters, function, &config) != kSuccess)
    return std::numeric_limits<uint64_t>::max();
  return uint64_t(std::max(clusters, 0)) * variant.cluster;
}

llvm::Expected<std::unique_ptr<Executable>>
CudaDevice::load(llvm::StringRef image, const Manifest &manifest) {
  if (llvm::Error error = verifyManifest(manifest))
    return error;
  if (llvm::Error error = checkTarget(manifest))
    return error;
  CurrentContext current(*context);
  if (llvm::Error error = current.enter())
    return error;
  auto code = std::make_shared<CudaCode>();
  code->manifest = manifest;
  code->context = context;
  if (llvm::Error error =
          LoadedModule::load(context, image).moveInto(code->module))
    return error;
  for (const Kernel &kernel : manifest.kernels) {
    std::vector<CudaVariant> &variants = code->kernels.emplace_back();
    for (const Variant &variant : kernel.variants) {
      if (llvm::Error error = loadVariant(*code->module, variant)
                                  .moveInto(variants.emplace_back()))
        return error;
      // The driver's compiler was seen to lose addresses where it had to keep
      // 2600 bytes per thread elsewhere; it would be slow in any case.
      if (variants.back().localBytes > kMostLocalBytes &&
          llvm::StringRef(kernel.schedule).contains("max_registers"))
        return llvm::createStringError(
            "kernel '" + variant.symbol +
            "': schedule needs more registers than its max_registers, " +
            llvm::Twine(variants.back().localBytes) +
            " bytes of local memory per thread, but at most " +
            llvm::Twine(kMostLocalBytes) + " are allowed");
    }
  }
  return std::make_unique<CudaExecutable>(std::move(code));
}

llvm::Expected<CopyRate> CudaDevice::measureCopyRate(uint64_t bytes) {
  const Driver &cu = context->driver();
  CurrentContext current(*context);
  if (llvm::Error error = current.enter())
    return error;
  size_t free = 0, total = 0;
  if (llvm::Error error =
          cu.check(cu.memGetInfo(&free, &total), "cuMemGetInfo"))
    return error;
  // Half of the traffic is read, half written; two such buffers must fit.
  constexpr uint64_t kLeast = 512 << 20;
  uint64_t size = std::max(bytes / 2, kLeast);
  size = std::min<uint64_t>(size, uint64_t(free) / 4) & ~uint64_t(255);
  if (size == 0)
    return llvm::createStringError("expects memory for measuring copies but "
                                   "got " +
                                   llvm::Twine(uint64_t(free)) + " bytes free");
  llvm::Expected<std::unique_ptr<CudaBuffer>> from =
      CudaBuffer::create(context, size, 0);
  if (!from)
    return from.takeError();
  llvm::Expected<std::unique_ptr<CudaBuffer>> to =
      CudaBuffer::create(context, size, 0);
  if (!to)
    return to.takeError();
  if (llvm::Error error = fill(**from, 1))
    return error;
  TimingOptions options;
  options.launches = 20;
  llvm::Expected<Timing> timing = timeOnStream(context, 2 * size, options, [&] {
    return cu.check(cu.memcpyDtoDAsync((*to)->address(), (*from)->address(),
                                       size_t(size), context->stream()),
                    "cuMemcpyDtoDAsync");
  });
  // Whatever happened, the copies must end before their memory is freed.
  if (llvm::Error error =
          llvm::joinErrors(timing ? llvm::Error::success() : timing.takeError(),
                           context->synchronize()))
    return error;
  return CopyRate{2.0 * double(size) / (timing->median() * 1e6), size};
}

} // namespace

llvm::Expected<std::unique_ptr<Device>>
norm::openCudaDevice(unsigned ordinal, llvm::StringRef library) {
  llvm::Expected<std::shared_ptr<DeviceContext>> context =
      DeviceContext::open(ordinal, library);
  if (!context)
    return context.takeError();
  return std::make_unique<CudaDevice>("cuda:" + std::to_string(ordinal),
                                      std::move(*context));
}

llvm::Expected<std::unique_ptr<Device>>
norm::openCudaContext(uint64_t context, llvm::StringRef library) {
  if (context == 0)
    return llvm::createStringError("expects a CUDA context but got null");
  llvm::Expected<std::shared_ptr<DeviceContext>> borrowed =
      DeviceContext::borrow(reinterpret_cast<Context>(uintptr_t(context)),
                            library);
  if (!borrowed)
    return borrowed.takeError();
  return std::make_unique<CudaDevice>("cuda", std::move(*borrowed));
}
